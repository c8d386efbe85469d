"""The emitted call and the kernels under tools that see reads and writes outside of what was allocated.

Python's and the C library's checking allocators look at the ends of blocks when these are freed, and spoil what is
free. Valgrind sees every single access: ``pytest -m long`` runs it, for some ten minutes. It imitates a processor of
its own; code for that one is compiled outside, as LLVM would take minutes inside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VALGRIND = shutil.which("valgrind")
MALLOC_DEBUG = "libc_malloc_debug.so.0"
ROOT = Path(__file__).parents[3]
PATIENCE = 5400  # seconds: on a machine with other things to do, valgrind took 1650

CHECKERS = {
    "Python's": {"PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "2"},
    "the C library's": {"PYTHONMALLOC": "malloc", "MALLOC_CHECK_": "3", "LD_PRELOAD": MALLOC_DEBUG},
}

ALLOCATED = """
import ctypes, sys
python = ctypes.pythonapi
python.PyMem_Malloc.restype, python.PyMem_Malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
python.PyMem_Free.argtypes = (ctypes.c_void_p,)
block = python.PyMem_Malloc(1000)
"""
"""A block of 1000 bytes; what follows goes one byte too far."""

READ = """
from catena.kernels.machine.compile import load
module = load(open(sys.argv[1], "rb").read())
ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(module.address("f"))(block + 1000)
"""

READS = "define dso_local double @f(ptr %x) nounwind { %y = load double, ptr %x ret double %y }"

PROCESSOR = """
from catena.kernels.machine.target import host
print(repr((host().triple, host().cpu, host().features)))
"""

OUTSIDE = """
import sys
from dataclasses import replace
from catena.kernels.machine import target
imitated = replace(target.host(), **dict(zip(("triple", "cpu", "features"), {processor})))
target.host = lambda: imitated
from catena.kernels.machine.compile import object_code
open(sys.argv[1], "wb").write(object_code({reads!r}))
from tests.kernels.call.calls import main
main()
"""

LOADER = "".join(
    f"{{\n  the loader of libraries reads strings by words\n  Memcheck:Addr{n}\n  obj:*/ld*.so*\n}}\n"
    for n in (4, 8, 16, 32)
)


def run(*command: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        "CATENA_CACHE_DIR": str(cache),
        "OPENBLAS_NUM_THREADS": "1",
        **environment,
    }
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests of this file."""
    return tmp_path_factory.mktemp("cache")


def has_checker(name: str) -> bool:
    if "LD_PRELOAD" not in CHECKERS[name]:
        return True
    found = run(sys.executable, "-c", "", cache=Path(), **CHECKERS[name]) if sys.platform == "linux" else None
    return found is not None and found.stderr == ""


@pytest.mark.parametrize("name", CHECKERS)
def test_calls_write_nothing_outside_their_blocks(name: str, cache: Path) -> None:
    if not has_checker(name):
        pytest.skip(f"there is no {MALLOC_DEBUG}")
    wrong = run(
        sys.executable,
        "-c",
        ALLOCATED + "ctypes.memset(block, 0, 1001); python.PyMem_Free(block)",
        cache=cache,
        **CHECKERS[name],
    )
    assert wrong.returncode < 0  # the checker is there
    found = run(sys.executable, "-m", "tests.kernels.call.calls", cache=cache, **CHECKERS[name])
    assert found.returncode == 0, found.stderr[-10_000:]
    answered, refused = map(int, found.stdout.split())
    assert min(answered, refused) > 300


@pytest.mark.long
@pytest.mark.skipif(VALGRIND is None, reason="needs valgrind")
def test_calls_read_nothing_outside_their_blocks_either(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "loader.supp").write_text(LOADER)
    options = ("-q", "--undef-value-errors=no", "--error-exitcode=99", "--redzone-size=128", "--num-callers=30")
    memcheck = (str(VALGRIND), *options, f"--suppressions={tmp_path / 'loader.supp'}", sys.executable)
    asked = run(str(VALGRIND), "-q", "--tool=none", sys.executable, "-c", PROCESSOR, cache=cache)
    assert asked.returncode == 0, asked.stderr
    code = OUTSIDE.format(processor=asked.stdout.strip(), reads=READS)
    outside = run(sys.executable, "-c", code, str(tmp_path / "reads.o"), cache=cache)
    assert outside.returncode == 0, outside.stderr

    wrong = run(*memcheck, "-c", ALLOCATED + READ, str(tmp_path / "reads.o"), cache=cache, PYTHONMALLOC="malloc")
    assert wrong.returncode == 99  # machine code is watched
    assert "Invalid read of size 8" in wrong.stderr
    inside = run(*memcheck, "-m", "tests.kernels.call.calls", cache=cache, PYTHONMALLOC="malloc")
    assert inside.returncode == 0, inside.stderr[-10_000:]
    assert inside.stdout == outside.stdout
