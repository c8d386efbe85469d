"""Fixman's partition: Lee and Chirikjian's Fig. 2 again, time to a million links, digits against n, chains in pieces.

python benchmarks/fixman.py [figure2] [linear] [digits] [pieces] [--largest 1000000] [--out benchmarks/results]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core for everybody; before NumPy is loaded

import numpy as np
from loglog import plot
from timing import best, table

import catena
from catena.algorithms import determinant, fixman, fixman_determinant, innovations, point_mass
from catena.fixman import planar_blocks, solve_in_pieces
from catena.functions import engine
from catena.functions.pieces import SHORT, TOGETHER

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200, 500, 1000, 2000)


def kernel(robot: catena.Robot, function: catena.functions.function.Function) -> engine.Kernel:
    return engine.kernel(robot, function, kernel="rolled")


def powers(first: int, largest: int) -> list[int]:
    found = []
    while first <= largest:
        found.append(first)
        first *= 10
    return found


def crossover(curves: dict[str, list[tuple[float, float]]], slow: str, fast: str) -> float | None:
    """From which number of links on the second curve stays below the first."""
    above = [n for (n, a), (_, b) in zip(curves[slow], curves[fast], strict=False) if b >= a]
    later = [n for n, _ in curves[fast] if not above or n > above[-1]]
    return later[0] if later else None


def figure2(out: Path, largest: int) -> None:
    """Solve M x = b for planar chains of point masses: the paper's O(n) against inverting the n x n mass matrix."""
    names = "O(n³) inversion", "O(n³) elimination", "O(n) banded (13)", "O(n) kernel"
    curves: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    rng = np.random.default_rng(0)
    for n in (n for n in SIZES if n <= largest):
        robot = catena.planar_chain(np.ones(n), np.ones(n))
        q, b = rng.uniform(-3, 3, n), rng.standard_normal(n)
        compiled = engine.kernel(robot, point_mass.SOLVE)
        runs = {
            names[0]: lambda q=q, b=b: np.linalg.inv(dense(q)) @ b,
            names[1]: lambda q=q, b=b: np.linalg.solve(dense(q), b),
            names[2]: lambda q=q, b=b: planar_blocks(q, 1.0, 1.0).solve(b).x,
            names[3]: lambda run=compiled, q=q, b=b: run(q, b),
        }
        for name, seconds in best(runs, 0.15).items():
            curves[name].append((n, seconds))
    marks = {}
    for fast in names[2:]:
        at = crossover(curves, names[0], fast)
        if at is not None:
            marks[f"{fast} wins from {at:g}"] = at
    rows = [[f"{n:,}", *[1e6 * dict(curves[name])[n] for name in names]] for n, _ in curves[names[0]]]
    table("Fig. 2 again: planar chains, one solve with its mass matrix, µs", ["links", *names], rows)
    print("\n" + "; ".join(marks))
    plot(out / "fixman_figure2.svg", "M x = b, planar chain of point masses", "links", "seconds", curves, marks)


def dense(theta: np.ndarray) -> np.ndarray:
    """The mass matrix of a planar chain with unit lengths and masses, whole, vectorised: O(n²)."""
    n, phi = len(theta), np.cumsum(theta)
    left = n - np.maximum.outer(np.arange(n), np.arange(n))
    products = left * np.cos(np.subtract.outer(phi, phi))
    return np.cumsum(np.cumsum(products[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]


def linear(out: Path, largest: int) -> None:
    """Nanoseconds for a link, up to a million links."""
    curves: dict[str, list[tuple[float, float]]] = {}
    rng = np.random.default_rng(0)
    for n in powers(100, largest):
        q, b = rng.uniform(-1, 1, n), rng.standard_normal(n)
        planar, rods = catena.planar_chain(np.ones(n), np.ones(n)), catena.rod_chain(n, radius=0.1)
        planar_kernel, rigid_kernel = kernel(planar, point_mass.SOLVE), kernel(rods, fixman.SOLVE)
        factor, apply = kernel(rods, innovations.FACTOR), kernel(rods, innovations.SOLVE)
        runs = {
            "planar, banded": lambda q=q, b=b: planar_blocks(q, 1.0, 1.0).solve(b),
            "planar, kernel": lambda run=planar_kernel, q=q, b=b: run(q, b),
            "rigid, Fixman": lambda run=rigid_kernel, q=q, b=b: run(q, b),
            "rigid, innovations": lambda f=factor, s=apply, q=q, b=b: s(q, *f(q), b),
        }
        for name, seconds in best(runs, 0.3).items():
            curves.setdefault(name, []).append((n, seconds))
    rows = [[f"{n:,}", *[1e9 * dict(c)[n] / n for c in curves.values()]] for n in powers(100, largest)]
    table("M⁻¹ b, ns for a link", ["links", *curves], rows)
    plot(out / "fixman_linear.svg", "M⁻¹ b in linear time", "links", "seconds", curves)


def digits(out: Path, largest: int) -> None:
    """Relative distance of Fixman's results from the articulated recursion, which keeps 15 digits on these chains."""
    rows, curves = [], {}
    rng = np.random.default_rng(0)
    for axes in ("z", "zy"):
        for straight in (True, False):
            for n in powers(10, min(largest, 100_000)):
                robot = catena.rod_chain(n, axes=axes, radius=0.1)
                q, b = np.zeros(n) if straight else rng.uniform(-1, 1, n), rng.standard_normal(n)
                exact = kernel(robot, innovations.SOLVE)(q, *kernel(robot, innovations.FACTOR)(q), b)
                x = kernel(robot, fixman.SOLVE)(q, b)
                log_det = kernel(robot, determinant.LOG_DETERMINANT)(q)
                error = np.abs(x - exact).max() / np.abs(exact).max()
                error_det = abs((kernel(robot, fixman_determinant.LOG_DETERMINANT)(q) - log_det) / log_det)
                name = f"{'parallel' if axes == 'z' else 'crossed'} axes, {'straight' if straight else 'random'}"
                rows.append([name, f"{n:,}", float(error), float(error_det)])
                curves.setdefault(f"{name}: log det", []).append((n, max(float(error_det), 1e-17)))
    table("Digits lost against n", ["chain of rods", "links", "error of M⁻¹ b", "error of log det M"], rows)
    plot(out / "fixman_digits.svg", "log det M by Fixman's theorem", "links", "relative error", curves)


def pieces(out: Path, largest: int) -> None:
    """One chain, one right-hand side: link after link on one lane, against pieces on all lanes and one or two threads.

    "One piece" is what the pieces do, in one: no velocities, no gravity, and only the components that joints feel.
    """
    names = "forward dynamics", "factor and solve", "one piece", "pieces, 1 thread", "pieces, 2 threads"
    curves: dict[str, list[tuple[float, float]]] = {}
    rows: list[list[object]] = []
    for n in sorted({*powers(1000, largest), *powers(3000, largest)}):
        for chain, robot in long_chains(n).items():
            runs = dict(zip(names, one_solve(robot), strict=True))
            times = best(runs, 1.0)
            sequential = min(times[name] for name in names[:3])
            gains = [sequential / times[name] for name in names[3:]]
            rows.append([chain, f"{n:,}", *[1e9 * t / n for t in times.values()], *gains])
            if chain == "crossed axes":
                for name, seconds in times.items():
                    curves.setdefault(name, []).append((n, seconds))
    head = ["chain", "links", *names, "gain, 1 thread", "gain, 2 threads"]
    table("One chain in pieces: M⁻¹ b, ns for a link, and the gain over the best of the first three", head, rows)
    plot(out / "fixman_pieces.svg", "M⁻¹ b for one chain with crossed axes", "links", "seconds", curves)


def long_chains(n: int) -> dict[str, catena.Robot]:
    return {
        "parallel axes": catena.rod_chain(n, axes="z", radius=0.1),
        "crossed axes": catena.rod_chain(n, axes="zy", radius=0.1),
        "point masses": catena.planar_chain(np.ones(n), np.ones(n)),
    }


def one_solve(robot: catena.Robot) -> list[Callable[[], object]]:
    """The ways to solve once with one mass matrix."""
    rng = np.random.default_rng(0)
    q, b, zero = rng.uniform(-1, 1, robot.nq), rng.standard_normal(robot.nv), np.zeros(robot.nv)
    factor, apply = kernel(robot, innovations.FACTOR), kernel(robot, innovations.SOLVE)

    def in_pieces(threads: int) -> object:
        catena.set_threads(threads)
        return solve_in_pieces(robot, q, b, None if robot.nv >= SHORT else TOGETHER)

    return [
        lambda: robot.forward_dynamics(q, zero, b, kernel="rolled"),
        lambda: apply(q, *factor(q), b),
        lambda: solve_in_pieces(robot, q, b, 1),
        lambda: in_pieces(1),
        lambda: in_pieces(2),
    ]


PARTS = {part.__name__: part for part in (figure2, linear, digits, pieces)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all unless given")
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; expected any of {', '.join(PARTS)}")
    for name in arguments.parts or PARTS:
        PARTS[name](arguments.out, arguments.largest)


if __name__ == "__main__":
    main()
