"""From IR to addresses: symbols, helpers, the key, threads and forks."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import math
import mmap
import os
import platform
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.kernels.elf import undefined_symbols
from tests.kernels.handmade import multiply_add_ir

import catena
from catena.errors import CatenaError
from catena.kernels.call.runtime import runtime_ir
from catena.kernels.machine import fingerprint
from catena.kernels.machine.cache import Cache
from catena.kernels.machine.compile import (
    Codegen,
    _llvm,
    _target_machine,
    compile_cached,
    load,
    object_code,
    target_parts,
)
from catena.kernels.machine.target import Target, host

IDENTITY = "define dso_local double @f(double %x) nounwind { ret double %x }"

HELPED = """
@helpers = dso_local global [3 x ptr] zeroinitializer
define dso_local double @f(i64 %i, double %x) nounwind {
  %at = getelementptr ptr, ptr @helpers, i64 %i
  %function = load ptr, ptr %at
  %y = call double %function(double %x)
  ret double %y
}
"""


def test_helpers_are_those_of_the_c_library():
    module = load(object_code(HELPED))
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)(module.address("f"))
    for i, function in enumerate((math.sin, math.cos, math.log)):
        assert call(i, 1e6) == function(1e6)


@pytest.mark.parametrize(
    "declaration",
    [
        "declare double @sin(double)",
        "declare double @llvm.sin.f64(double)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        "@elsewhere = external global i64",
    ],
)
def test_external_symbols_are_refused(declaration):
    with pytest.raises(CatenaError, match="external symbols"):
        object_code(declaration + "\n" + IDENTITY)


TARGETS = {
    "baseline": ("x86_64-unknown-linux-gnu", "x86-64", ""),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", "+avx2,+fma"),
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512", ""),
    "this one": (),
}


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="looks at ELF for x86-64")
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("ir", [runtime_ir(), multiply_add_ir(7)], ids=["runtime", "handmade"])
@pytest.mark.parametrize("passes", [0, 2, 3])
def test_nothing_is_needed_from_outside(ir, name, passes):
    target = dataclasses.replace(host(), **dict(zip(("triple", "cpu", "features"), TARGETS[name], strict=False)))
    assert undefined_symbols(object_code(ir, Codegen(passes=passes), target)) == []


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="looks at ELF for x86-64")
def test_the_check_for_outside_symbols_sees_them():
    assert "sin" in undefined_symbols(
        _target_machine(host(), 2).emit_object(
            _parsed("""
        declare double @sin(double)
        define double @f(double %x) { %y = call double @sin(double %x)
        ret double %y }""")
        )
    )


def _parsed(ir):
    return _llvm().parse_assembly(ir)


def test_unknown_symbols():
    module = load(object_code(IDENTITY))
    assert module.has("f")
    assert not module.has("g")
    with pytest.raises(CatenaError, match="'g'"):
        module.address("g")


def test_code_is_loaded_without_mcjit(monkeypatch):
    """LLVM is about to drop MCJIT."""
    monkeypatch.delattr(_llvm(), "create_mcjit_compiler", raising=False)
    module = load(object_code(IDENTITY))
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(module.address("f"))(2.5) == 2.5


def test_symbols_are_those_of_the_object_only():
    module = load(object_code(IDENTITY))
    assert not module.has("printf")
    assert not module.has("sin")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_loading_and_freeing_leaves_nothing_behind():
    def resident():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    code, grown = object_code(HELPED), []
    for _ in range(3):  # an allocator may settle once more; what leaks grows every time
        before = resident()
        for _ in range(200):
            assert load(code).has("f")
        grown.append(resident() - before)
    assert min(grown) < 2**20


def test_make_ir_is_called_once_per_key(cache_directory):
    calls = []

    def make():
        calls.append(1)
        return multiply_add_ir(3)

    first = compile_cached(("once",), make)
    assert compile_cached(("once",), make) is first
    del first
    gc.collect()
    assert compile_cached(("once",), make).integers("lanes") == (1,)
    assert len(calls) == 1
    compile_cached(("twice",), make)
    compile_cached(("once",), make, Codegen(opt=1))
    assert len(calls) == 3
    assert Cache.default().info().files == 3


def test_without_a_cache(monkeypatch):
    monkeypatch.setenv("CATENA_CACHE_DIR", "")
    assert compile_cached(("nowhere",), lambda: multiply_add_ir(3)).integers("operations") == (1,)


def test_a_damaged_file_is_compiled_again(cache_directory):
    module = compile_cached(("damaged",), lambda: multiply_add_ir(3))
    del module
    gc.collect()
    (path,) = cache_directory.iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    assert compile_cached(("damaged",), lambda: multiply_add_ir(3)).integers("lanes") == (1,)


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Writes files of a made-up package, and lets it be imported anew."""

    def write(files: dict[str, str], imported: bool = True) -> str | None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        if imported:
            monkeypatch.setattr(fingerprint, "_imported", fingerprint._state())
            fingerprint._digest.cache_clear()
        return fingerprint.package_fingerprint()

    monkeypatch.setattr(catena, "__file__", str(tmp_path / "__init__.py"))
    yield write
    fingerprint._digest.cache_clear()


def test_fingerprint_follows_the_sources(sources, monkeypatch):
    first = sources({"__init__.py": "", "a.py": "one", "trace/b.py": "two", "cli/c.py": "three"})
    assert sources({}) == first
    assert sources({"cli/c.py": "four", "notes.txt": "five"}) == first
    assert sources({"trace/b.py": "owt"}) != first
    assert sources({"trace/b.py": "two"}) == first
    monkeypatch.setattr(fingerprint, "__version__", "99")
    assert sources({}) != first


def test_fingerprint_is_of_the_sources_that_were_imported(sources, tmp_path):
    files = {"__init__.py": "", "a.py": "one"}
    sources(files)
    sources({"a.py": "two"}, imported=False)
    fingerprint._digest.cache_clear()
    assert fingerprint.package_fingerprint() is None  # changed before the first kernel
    first = sources(files)
    assert first is not None
    assert fingerprint.sources_are_as_imported()
    for change in ({"a.py": "two"}, {"a.py": "one"}, {"b.py": ""}):  # back again is not the same: who read what?
        sources(change, imported=False)
        assert fingerprint.package_fingerprint() == first
        assert not fingerprint.sources_are_as_imported()


def test_without_sources_there_is_no_fingerprint(sources, monkeypatch):
    sources({"__init__.py": "", "a.py": "one"})
    monkeypatch.setattr(catena, "__file__", "/nowhere/catena.zip/__init__.py")
    fingerprint._digest.cache_clear()
    assert fingerprint.package_fingerprint() is None
    assert not fingerprint.sources_are_as_imported()


UPDATED = """
import sys
sys.path.insert(0, {root!r})
import catena
file = {root!r} + "/catena/algorithms/energy.py"
robot = catena.planar_chain([1.0], 1.0)
{before}
text = open(file).read()
open(file, "w").write(text.replace("0.5 * (", "5.0 * ("))
print(robot.kinetic_energy([0.0], [1.0]))
"""


@pytest.mark.parametrize("before", ["", "robot.bias([0.0], [0.0])"], ids=["first kernel", "later kernel"])
def test_an_update_under_a_running_process_does_not_reach_the_cache(cache_directory, tmp_path, before):
    """The process goes on with the sources it has; the next one, with the new sources, gets kernels of those."""
    root = tmp_path / "site"
    shutil.copytree(Path(catena.__file__).parent, root / "catena", ignore=shutil.ignore_patterns("__pycache__"))
    code = UPDATED.format(root=str(root), before=before)
    answers = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    assert answers[1] == 10 * answers[0] > 0


def test_the_key_knows_what_the_environment_chose():
    target = Target("x86_64-unknown-linux-gnu", "", "+avx")
    others = [target, dataclasses.replace(target, vector_bits=128), dataclasses.replace(target, assembly=False)]
    assert len({target_parts(t) for t in others}) == 3


def test_threads_get_one_module(cache_directory):
    found, barrier = [], threading.Barrier(8)

    def ask():
        barrier.wait()
        found.append(compile_cached(("shared",), lambda: multiply_add_ir(4)))

    workers = [threading.Thread(target=ask) for _ in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(found) == 8
    assert len({id(m) for m in found}) == 1


FORKS = """
import os, sys, threading, time
sys.path.insert(0, {root!r})
from tests.kernels.elf import undefined_symbols
from tests.kernels.handmade import multiply_add_ir
from catena.kernels.machine.compile import load, object_code
stop = threading.Event()
def compile_on_and_on():
    n = 1
    while not stop.is_set():
        n += 1
        load(object_code(multiply_add_ir(n)))
workers = [threading.Thread(target=compile_on_and_on) for _ in range(2)]
for w in workers: w.start()
for _ in range(20):
    child = os.fork()
    if not child:
        load(object_code(multiply_add_ir(7)))
        os._exit(17)
    deadline = time.monotonic() + 30
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            stop.set()
            sys.exit("a forked child hangs")
        time.sleep(0.001)
    assert os.waitstatus_to_exitcode(done[1]) == 17
stop.set()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forking_while_others_compile():
    code = FORKS.format(root=str(Path(__file__).parents[3]))
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr.decode()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_modules_leave_memory_when_they_are_dropped():
    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    code = object_code(multiply_add_ir(50))
    for _ in range(100):
        load(code)
    before = resident()
    for _ in range(300):
        load(code)
    assert resident() - before < 2**21


FORBIDDEN = """
import ctypes, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, of Linux 6.3
    sys.exit(77)
import catena
try:
    catena.load("two_link_arm").forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
except catena.CatenaError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's")
def test_memory_that_may_not_be_made_executable_is_an_error() -> None:
    run = subprocess.run([sys.executable, "-c", FORBIDDEN], capture_output=True, text=True, timeout=600)
    if run.returncode == 77:
        pytest.skip("this kernel cannot forbid it")
    assert run.returncode == 0, run.stderr
    assert "may not make memory executable" in run.stdout
    assert "MemoryDenyWriteExecute" in run.stdout
