"""How many processors a process may use, in control groups of both versions as Linux shows them."""

from __future__ import annotations

import math
import os

import pytest

from catena.kernels.call import processors as counting
from catena.kernels.call.threads import get_threads


def lay_out(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/pod/task\n", {"pod/task/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/pod/task\n", {"pod/task/cpu.max": "max 100000\n", "pod/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/\n", {"cpu.max": "400000 100000\n"}, 4.0),  # as seen from inside a container
        ("0::/pod\n", {"pod/cpu.max": "max 100000\n"}, math.inf),
        ("0::/pod\n", {"pod/cpu.max": "what is this"}, math.inf),
        (
            "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/\n",
            {"cpu,cpuacct/docker/x/cpu.cfs_quota_us": "250000", "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000"},
            2.5,
        ),
        (
            "5:cpu,cpuacct:/docker/x\n",  # inside a container its own group is the root
            {"cpu,cpuacct/cpu.cfs_quota_us": "100000", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
            1.0,
        ),
        (
            "5:cpu:/x\n",
            {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"},
            math.inf,
        ),
        ("", {}, math.inf),
    ],
)
def test_quota(tmp_path, groups, files, expected):
    lay_out(tmp_path, {"groups": groups, **files})
    assert counting.quota(str(tmp_path / "groups"), str(tmp_path)) == expected


def test_no_groups_at_all(tmp_path):
    assert counting.quota(str(tmp_path / "none"), str(tmp_path)) == math.inf


@pytest.mark.parametrize(("quota", "expected"), [(0.1, 1), (1.5, 2), (math.inf, 6), (40.0, 6)])
def test_threads_follow_the_quota_and_the_affinity(monkeypatch, quota, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)), raising=False)
    monkeypatch.setattr(counting, "quota", lambda: quota)
    assert get_threads() == expected
