"""The disk cache: what it keeps, what it refuses, and that nothing that goes wrong reaches the user."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from catena.cli import main
from catena.errors import CacheWarning
from catena.kernels.machine import cache as cache_module
from catena.kernels.machine.cache import MAGIC, SUFFIX, Cache, key_of
from catena.kernels.machine.safedir import TEMPORARY, SafeDirectory

KEY, OTHER = key_of("a", "kernel"), key_of("another")
CODE = bytes(range(256)) * 20

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


@pytest.fixture
def cache(cache_directory: Path) -> Cache:
    return Cache(cache_directory, limit=10**6)


def test_keeps_what_it_is_given(cache):
    assert cache.load(KEY) is None
    assert cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert cache.load(OTHER) is None
    assert (cache.info().files, cache.info().problem) == (1, None)
    assert cache.clear() == 1
    assert cache.load(KEY) is None


def test_keys_depend_on_every_part_and_its_place():
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("c", "ab"), ("ab", "c", "")]
    assert len({key_of(*p) for p in parts}) == len(parts)


@pytest.mark.parametrize("place", [0, 10, len(MAGIC), len(MAGIC) + 31, len(MAGIC) + 32, -1])
def test_one_flipped_bit_is_noticed(cache, cache_directory, place):
    cache.store(KEY, CODE)
    path = cache_directory / (KEY + SUFFIX)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert cache.load(KEY) is None
    assert not path.exists()


@pytest.mark.parametrize("length", [0, 5, len(MAGIC), len(MAGIC) + 32, len(MAGIC) + 40, -1])
def test_truncation_is_noticed(cache, cache_directory, length):
    cache.store(KEY, CODE)
    path = cache_directory / (KEY + SUFFIX)
    path.write_bytes(path.read_bytes()[:length])
    assert cache.load(KEY) is None


def test_a_file_under_the_wrong_name_is_noticed(cache, cache_directory):
    cache.store(KEY, CODE)
    (cache_directory / (KEY + SUFFIX)).rename(cache_directory / (OTHER + SUFFIX))
    assert cache.load(OTHER) is None


@posix
def test_only_the_owner_can_use_it(cache, cache_directory):
    cache.store(KEY, CODE)
    assert stat.S_IMODE(cache_directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((cache_directory / (KEY + SUFFIX)).stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_refused(cache, cache_directory, mode):
    cache.store(KEY, CODE)
    cache_directory.chmod(mode)
    with pytest.warns(CacheWarning, match="can be written by other users"):
        assert cache.load(KEY) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not cache.store(OTHER, CODE)
    assert "other users" in cache.info().problem


@posix
def test_a_file_that_others_can_write_is_refused(cache, cache_directory):
    cache.store(KEY, CODE)
    (cache_directory / (KEY + SUFFIX)).chmod(0o666)
    with pytest.warns(CacheWarning, match="can be written by other users"):
        assert cache.load(KEY) is None


@posix
def test_a_directory_of_another_user_is_refused(cache, cache_directory, monkeypatch):
    cache.store(KEY, CODE)
    monkeypatch.setattr(os, "geteuid", lambda: cache_directory.stat().st_uid + 1)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert cache.load(KEY) is None
    with pytest.raises(cache_module.UnsafeDirectoryError):
        cache.clear()


@posix
def test_links_inside_are_not_followed(cache, cache_directory, tmp_path):
    cache.store(OTHER, CODE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes((cache_directory / (OTHER + SUFFIX)).read_bytes())
    (cache_directory / (KEY + SUFFIX)).symlink_to(elsewhere)
    assert cache.load(KEY) is None
    assert cache.store(KEY, CODE)
    assert not (cache_directory / (KEY + SUFFIX)).is_symlink()
    assert cache.load(KEY) == CODE
    assert elsewhere.exists()


def test_a_directory_is_not_a_kernel(cache, cache_directory):
    (cache_directory / (KEY + SUFFIX)).mkdir(parents=True)
    cache_directory.chmod(0o700)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert cache.load(KEY) is None
        assert not cache.store(KEY, CODE)
    assert os.listdir(cache_directory) == [KEY + SUFFIX]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_write_that_fails_leaves_nothing_behind(cache, cache_directory, monkeypatch, code):
    cache.store(OTHER, CODE)

    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", fail)
    assert not cache.store(KEY, CODE)
    assert os.listdir(cache_directory) == [OTHER + SUFFIX]
    assert cache.load(OTHER) == CODE


def test_where_no_directory_can_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "cache")
    assert not cache.store(KEY, CODE)
    assert cache.load(KEY) is None
    assert cache.info().files == 0


def test_a_read_only_cache_serves(cache, monkeypatch):
    cache.store(KEY, CODE)

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "read-only")

    for name in ("utime", "replace", "mkdir", "unlink"):
        monkeypatch.setattr(os, name, refuse)
    assert cache.load(KEY) == CODE


def test_the_least_recently_used_go_first(cache_directory):
    cache = Cache(cache_directory, limit=10 * (len(CODE) + 100))
    keys = [key_of(str(i)) for i in range(10)]
    for age, key in enumerate(keys):
        cache.store(key, CODE)
        os.utime(cache_directory / (key + SUFFIX), (10**9 - age, 10**9 - age))
    assert cache.info().files == 10
    assert cache.load(keys[9]) == CODE
    cache.store(KEY, CODE)
    kept = {k for k in [*keys, KEY] if cache.load(k)}
    assert cache.info().bytes <= 0.8 * cache.limit
    assert {KEY, keys[9], keys[0]} <= kept
    assert keys[8] not in kept


def test_abandoned_files_are_swept_but_not_those_being_written(cache, cache_directory):
    cache.store(KEY, CODE)
    old, new = cache_directory / f"{TEMPORARY}1-aa", cache_directory / f"{TEMPORARY}2-bb"
    old.write_bytes(CODE)
    new.write_bytes(CODE)
    os.utime(old, (1, 1))
    (cache_directory / "precious.txt").write_text("not ours")
    assert cache.clear() == 2
    assert sorted(os.listdir(cache_directory)) == sorted([new.name, "precious.txt"])


def test_a_file_removed_by_another_process_is_no_problem(cache):
    cache.store(KEY, CODE)
    with SafeDirectory(cache.directory, create=False) as directory:
        assert directory.remove(KEY + SUFFIX)
        assert not directory.remove(KEY + SUFFIX)


def test_default_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("CATENA_CACHE_DIR", str(tmp_path))
    assert Cache.default().directory == tmp_path
    monkeypatch.setenv("CATENA_CACHE_DIR", "")
    assert Cache.default().directory is None
    assert Cache.default().load(KEY) is None
    assert not Cache.default().store(KEY, CODE)
    assert "switched off" in Cache.default().info().problem
    monkeypatch.delenv("CATENA_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache.default().directory == tmp_path / "catena"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Cache.default().directory == tmp_path / ".cache" / "catena"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Cache.default().directory == tmp_path / "Library" / "Caches" / "catena"


def test_size_limit_from_the_environment(monkeypatch):
    monkeypatch.setenv("CATENA_CACHE_LIMIT_MB", "3")
    assert Cache.default().limit == 3 * 2**20
    for odd in ("many", "9" * 5000):
        monkeypatch.setenv("CATENA_CACHE_LIMIT_MB", odd)
        assert Cache.default().limit == cache_module.DEFAULT_LIMIT


def test_command_line(cache):
    cache.store(KEY, CODE)
    shown = CliRunner().invoke(main, ["cache", "info"])
    assert shown.exit_code == 0
    assert str(cache.directory) in shown.output
    assert "kernels    1" in shown.output
    assert "removed 1 kernel\n" in CliRunner().invoke(main, ["cache", "clear"]).output
    assert "removed 0 kernels\n" in CliRunner().invoke(main, ["cache", "clear"]).output


@posix
def test_command_line_refuses_what_it_does_not_trust(cache, cache_directory):
    cache.store(KEY, CODE)
    cache_directory.chmod(0o777)
    assert "other users" in CliRunner().invoke(main, ["cache", "info"]).output
    assert CliRunner().invoke(main, ["cache", "clear"]).exit_code == 2
    assert (cache_directory / (KEY + SUFFIX)).exists()


PROCESS = """
import sys
sys.path.insert(0, {root!r})
from tests.kernels.handmade import multiply_add_ir
from catena.kernels.machine.compile import compile_cached
if {limited}:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for n in (2, 3, 4):
    module = compile_cached(("test", str(n)), lambda: multiply_add_ir(n))
    assert module.integers("lanes") == (1,)
"""


def run_processes(count: int, *, limited: bool = False) -> None:
    code = PROCESS.format(root=str(Path(__file__).parents[3]), limited=limited)
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(count)]
    for process in running:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors.decode()


def test_many_processes_at_once(cache, cache_directory):
    run_processes(4)
    assert len(os.listdir(cache_directory)) == cache.info().files == 3
    run_processes(1)


@posix
def test_full_disk(cache_directory):
    run_processes(1, limited=True)
    assert os.listdir(cache_directory) == []
