"""Forward dynamics of batches beside straight-line C that CasADi generates and gcc compiles, on one core.

    python benchmarks/straight_line_c.py [--robots UR5,xArm7,G1,Talos] [--batch 8192] [--seconds 3.0] [--flags=...]

Needs the extra `bench`, gcc and, for sines and cosines of vectors, glibc on x86-64 with AVX2 or AVX-512. The C is the
recursion of articulated_body.py on the same simplified model that Catena's own kernels see, with its numbers folded in.
It is compiled twice: for one sample at a time, which is what CasADi is made for, and with vectors of 4 or 8 samples in
place of its numbers. Both loop over the rows in C. `--flags=-ffast-math` makes no difference to speak of.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from articulated_body import articulated_body
from timing import best, table

import catena
from catena.model.lowering.lowered import lower
from peers import Pair

KINDS: dict[str, list[str]] = {"C": [], "C, vectors": ["-DLANES"]}

SOURCE = r"""
#include <math.h>
#define FOUR(x) (x)[0], (x)[N], (x)[2 * N], (x)[3 * N]
#if defined LANES && defined __AVX512F__
enum { W = 8 };
#define SIMD(name) _ZGVeN8v_##name
#define ROWS(x) FOUR(x), FOUR(x + 4 * N)
#elif defined LANES
enum { W = 4 };
#define SIMD(name) _ZGVdN4v_##name
#define ROWS FOUR
#else
enum { W = 1 };
#endif
#ifdef LANES
typedef double T __attribute__((vector_size(8 * W)));
T SIMD(sin)(T), SIMD(cos)(T);
#define sin SIMD(sin)
#define cos SIMD(cos)
#else
typedef double T;
#endif
#define erf(x) (1 / (x))
static inline T casadi_sq(T x) { return x * x; }
static inline void sample(const T *restrict x0, const T *restrict x1, const T *restrict x2, T *restrict y) {
BODY}
void rows(long n, const double *restrict q, const double *restrict v, const double *restrict tau, double *restrict a) {
  for (long i = 0; i < n * N; i += W * N) {
#ifdef LANES
    T x[3][N], y[N];
    for (int j = 0; j < N; j++)
      x[0][j] = (T){ROWS(&q[i + j])}, x[1][j] = (T){ROWS(&v[i + j])}, x[2][j] = (T){ROWS(&tau[i + j])};
    sample(x[0], x[1], x[2], y);
    for (int j = 0; j < N; j++)
      for (int l = 0; l < W; l++) a[i + l * N + j] = y[j][l];
#else
    sample(q + i, v + i, tau + i, a + i);
#endif
  }
}
"""


def source(function: Any) -> str:
    """CasADi's statements between our own loops: it guards every access against missing arguments."""
    generator = ca.CodeGenerator("sample.c")
    generator.add(function)
    body = generator.dump().split("casadi_f0(const")[1].split("{\n", 1)[1].split("  return 0;")[0]
    body = re.sub(r"arg\[(\d)\]\? arg\[\d\]\[(\d+)\] : 0", r"x\1[\2]", body)
    body = body.replace("if (res[0]!=0) res[0]", "y").replace("casadi_real", "T")
    return SOURCE.replace("BODY", re.sub(r"=(-?\d[\d.e+-]*);", r"=(T){0}+(\1);", body))


def compiled(
    robot: catena.Robot, folder: str, flags: list[str], kinds: Iterable[str] = KINDS
) -> dict[str, Callable[..., object]]:
    """The loops of each of `kinds` in machine code, which take the number of rows and where they are."""
    path, loops = Path(folder) / "rows.c", dict[str, Callable[..., object]]()
    path.write_text(source(articulated_body(lower(robot.tree))))
    for kind in kinds:
        begin, library = time.perf_counter(), path.with_name(f"rows{len(loops)}.so")
        options = ["-O3", "-march=native", "-shared", "-fPIC", f"-DN={robot.nv}", *KINDS[kind], *flags]
        subprocess.check_call(["gcc", *options, str(path), "-o", str(library), "-lmvec", "-lm"])
        print(f"{robot.name}, {kind}: gcc took {time.perf_counter() - begin:.1f} s", flush=True)
        loops[kind] = ctypes.CDLL(str(library)).rows
    return loops


def loop_in_c(robot: catena.Robot, q: Any, v: Any, tau: Any, out: Any) -> Callable[[], object]:
    """Forward dynamics of all rows, one sample at a time; the code lives as long as this process."""
    with tempfile.TemporaryDirectory() as folder:
        loop = compiled(robot, folder, [], ["C"])["C"]
    return functools.partial(loop, ctypes.c_long(len(q)), *[ctypes.c_void_p(x.ctypes.data) for x in (q, v, tau, out)])


def measured(pair: Pair, count: int, seconds: float, flags: list[str]) -> list[object]:
    """Nanoseconds for a sample here and in C, ratios, the largest difference relative to a joint's accelerations."""
    (q, v, tau), robot = pair.states(count)[0], pair.robot
    out, results = np.empty((count, robot.nv)), {kind: np.empty((count, robot.nv)) for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        candidates: dict[str, Callable[[], object]] = {"Catena": lambda: robot.forward_dynamics(q, v, tau, out=out)}
        for kind, loop in compiled(robot, folder, flags).items():
            places = [ctypes.c_void_p(x.ctypes.data) for x in (q, v, tau, results[kind])]
            candidates[kind] = functools.partial(loop, ctypes.c_long(count), *places)
        here, *there = (x / count * 1e9 for x in best(candidates, seconds).values())
    error = max((np.abs(a - out).max(0) / np.abs(out).max(0)).max() for a in results.values())
    return [pair.name, here, *[x for ns in there for x in (ns, ns / here)], f"{error:.1e}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", default="UR5,xArm7,G1,Talos")
    parser.add_argument("--batch", type=int, default=8192, help="a multiple of 8")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--flags", default="", help="more options for gcc")
    arguments = parser.parse_args()
    if arguments.batch % 8:
        parser.error("--batch: the vectors take a multiple of 8")
    catena.set_threads(1)
    flags, names = arguments.flags.split(), arguments.robots.split(",")
    rows = [measured(Pair.load(name), arguments.batch, arguments.seconds, flags) for name in names]
    head = ["robot", "Catena, ns", *[x for kind in KINDS for x in (f"{kind}, ns", "ratio")], "difference"]
    table(f"Forward dynamics, batch of {arguments.batch}, one core", head, rows)


if __name__ == "__main__":
    main()
