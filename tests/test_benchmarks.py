"""The benchmarks measure, compare and report; how fast anything is decides nothing here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pinocchio")
FOLDER = Path(__file__).parents[1] / "benchmarks"
ROW = {
    "group": "batch of 8192",
    "question": "forward dynamics",
    "robot": "UR5",
    "samples": 8192,
    "ns": 40.0,
    "low": 39.0,
    "high": 42.0,
    "operations": 619,
    "peers": {"Pinocchio": {"ns": 2000.0, "ratio": 50.0, "low": 48.0, "high": 53.0, "difference": 1e-14}},
}
MADE = {
    "date": "2026-11-16",
    "processor": "P",
    "cores": 2,
    "system": "Linux",
    "python": "3.11",
    "versions": {"Catena": "0"},
}
REPORT = {"made": MADE, "seconds": 1, "limits": {"operations": 50.0, "bytes": 10.0}, "rows": [ROW]}


def run(script: str, *options: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-W", "ignore", str(FOLDER / script), *map(str, options)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def written(path: Path, ratio: float) -> Path:
    peer = {**ROW["peers"]["Pinocchio"], "ratio": ratio, "low": ratio - 1, "high": ratio + 1}
    rows = [{**ROW, "group": "one state", "peers": {"Pinocchio": peer}}]
    path.write_text(json.dumps({**REPORT, "rows": rows}), encoding="utf-8")
    return path


def test_a_row_is_checked_timed_and_compared_with_an_earlier_report(tmp_path: Path) -> None:
    much = written(tmp_path / "old.json", 1e9)
    report = tmp_path / "new.json"
    options = ("--only", "one state: forward dynamics, UR5", "--seconds", 0.01, "--passes", 2, "--kind", "single calls")
    done = run("bench.py", *options, "--out", report, "--compare", much)
    assert done.returncode == 1, done.stderr
    assert "0 of 1 rows overlap" in done.stdout
    assert "slower: 1" in done.stdout
    (row,) = json.loads(report.read_text(encoding="utf-8"))["rows"]
    peer = row["peers"]["Pinocchio"]
    assert row["robot"] == "UR5"
    assert peer["difference"] < 1e-10
    assert 0 < peer["low"] <= peer["ratio"] <= peer["high"]


def test_the_page_and_the_table_are_made_from_the_report(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps(REPORT), encoding="utf-8")
    readme = tmp_path / "README.md"
    readme.write_text("above\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nbelow\n", encoding="utf-8")
    done = run("report.py", "--report", tmp_path / "report.json", "--docs", tmp_path, "--readme", readme)
    assert done.returncode == 0, done.stderr
    page, text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8"), readme.read_text(encoding="utf-8")
    assert "| forward dynamics | UR5 | 40 | 50.0x (48.0 to 53.0) |" in page
    assert "| forward dynamics | UR5 | 619 | 15.5 | 31% |" in page
    assert "old" not in text
    assert (text[:6], text[-6:]) == ("above\n", "below\n")
    assert "| forward dynamics | 40 ns, 50x |" in text


def test_the_committed_page_is_that_of_the_committed_report(tmp_path: Path) -> None:
    root, readme = FOLDER.parent, tmp_path / "README.md"
    readme.write_text((root / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    done = run("report.py", "--docs", tmp_path, "--readme", readme)
    assert done.returncode == 0, done.stderr
    for name, there in (("benchmarks.md", root / "docs"), ("README.md", root)):
        made = (tmp_path / name).read_text(encoding="utf-8")
        assert made == (there / name).read_text(encoding="utf-8"), f"run benchmarks/report.py: {name} is not up to date"
