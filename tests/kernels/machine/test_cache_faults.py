"""What can lie in the way of the disk cache: strange files and names, no descriptors. Nothing of it is an error."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
import warnings

import pytest

from catena.errors import CacheWarning
from catena.kernels.machine.cache import SUFFIX, Cache, key_of

KEY = key_of("a", "kernel")
CODE = bytes(range(256)) * 20

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@pytest.fixture
def path(cache_directory):
    cache_directory.mkdir(mode=0o700, exist_ok=True)
    return cache_directory / (KEY + SUFFIX)


@pytest.fixture
def cache(cache_directory):
    return Cache(cache_directory)


def run(code: str, **environment: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,  # far more than a busy machine needs
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_a_pipe_under_the_name_of_a_kernel_does_not_hang(path):
    os.mkfifo(path, 0o600)
    code = f"""
import warnings; warnings.simplefilter("ignore")
from pathlib import Path
from catena.kernels.machine.cache import Cache
cache = Cache(Path({str(path.parent)!r}))
assert cache.load({KEY!r}) is None
assert cache.info().files == 0
assert cache.store({KEY!r}, b"code") and cache.load({KEY!r}) == b"code"
print("ok")"""
    assert run(code) == "ok\n"


def test_a_huge_file_is_damaged_not_read(cache, path):
    path.touch(mode=0o600)
    os.truncate(path, 60 * 2**30)
    tracemalloc.start()
    try:
        assert cache.load(KEY) is None
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
    assert not path.exists()
    assert cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE


def test_a_device_is_not_a_kernel(cache, path):
    path.symlink_to("/dev/zero")
    assert cache.load(KEY) is None


@pytest.mark.parametrize("name", ["~nosuchuser/x", "~nosuchuser"])
def test_a_directory_of_nobody_is_said_once(monkeypatch, name):
    monkeypatch.setenv("CATENA_CACHE_DIR", name)
    cache = Cache.default()
    with pytest.warns(CacheWarning, match=f"CATENA_CACHE_DIR={name}"):
        assert cache.load(KEY) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not cache.store(KEY, CODE)
        assert Cache.default().load(KEY) is None
    assert name in cache.info().problem


def test_a_relative_directory_where_there_is_no_working_directory():
    code = """
import os, tempfile, warnings
warnings.simplefilter("ignore")
import catena
here = tempfile.mkdtemp(); os.chdir(here); os.rmdir(here)
print(catena.planar_chain([1.0], 1.0).bias([0.0], [0.0]).shape)"""
    assert run(code, CATENA_CACHE_DIR="relative") == "(1,)\n"


def test_without_file_descriptors_there_are_answers_or_errors_of_ours(cache_directory):
    """What is imported already answers; what has to be read first says so, and works again afterwards."""
    code = """
import os, resource, numpy as np, catena
robot = catena.load(catena.robots.path("two_link_arm"))
q = np.zeros(robot.nq)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
assert robot.forward_dynamics(q, q, q).shape == robot.jacobian(q, 0)[0].shape == q.shape
asked = [lambda: robot.mass_matrix(q).solve(q), lambda: robot.mass_matrix(q, method="fixman"),
         lambda: robot.forward_dynamics(q, q, q, method="fixman"), lambda: catena.count(robot),
         lambda: robot.operators(q), lambda: robot.random_configuration(0),
         lambda: catena.load(catena.robots.path("quadruped")), lambda: catena.load("no.urdf")]
refused = []
for ask in asked:
    try:
        ask()
    except catena.CatenaError as error:
        refused.append(str(error))
for fd in held:
    os.close(fd)
for ask in asked[:-1]:
    ask()
few = sum("Too many open files" in each for each in refused) > 3
print("ok" if few else refused)"""
    for _ in range(2):  # nothing in the cache, then all
        assert run(code) == "ok\n"
