"""Saha's claim of 1997: recursive forward dynamics are smoother than elimination, so that integrators step longer.

Long arms swing freely under an adaptive integrator (Dormand-Prince, SciPy's RK45), with accelerations by the O(n)
recursion and by elimination in the dense mass matrix. Counted are the evaluations of the right-hand side; measured is
how rough accelerations are, along a straight way so short that they are a parabola but for rounding.

What comes out (results/saha_adaptive.png): accelerations by elimination become rougher with the length of the arm, by
three orders of magnitude at 40 links, and those of the recursion do not. The integrator takes no notice of it: its
steps differ, by one part in a thousand, only where the tolerance is that of rounding.

    python benchmarks/saha_adaptive.py [picture.png]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp

import catena

LENGTHS = (5, 10, 20, 40)
TOLERANCES = (1e-6, 1e-10, 3e-14)
SECONDS, POINTS, STRETCH = 0.2, 101, 1e-6
Dynamics = Callable[[Any, Any], Any]


def ways(robot: catena.Robot) -> dict[str, Dynamics]:
    """Accelerations of a free arm, by recursion and by elimination."""
    zero = np.zeros(robot.nv)

    def recursive(q: Any, v: Any) -> Any:
        return robot.forward_dynamics(q, v, zero)

    def dense(q: Any, v: Any) -> Any:
        return scipy.linalg.solve(robot.mass_matrix(q).dense(), -robot.bias(q, v), assume_a="pos", check_finite=False)

    return {"O(n) recursion": recursive, "dense elimination": dense}


def evaluations(robot: catena.Robot, dynamics: Dynamics, tolerance: float) -> int:
    """How often an adaptive integrator asks for accelerations in a swing from an arm held out straight."""
    n = robot.nv
    start = np.concatenate([np.r_[np.pi / 2, np.full(n - 1, 0.02)], np.zeros(n)])

    def rates(t: float, y: Any) -> Any:
        return np.concatenate([y[n:], dynamics(y[:n], y[n:])])

    return int(solve_ivp(rates, (0.0, SECONDS), start, rtol=tolerance, atol=tolerance).nfev)


def roughness(robot: catena.Robot, dynamics: Dynamics) -> float:
    """The scatter of accelerations about a parabola along a short straight way, beside the largest of them."""
    rng = np.random.default_rng(0)
    q, v, along = 0.3 * rng.standard_normal((3, robot.nv))
    s = np.linspace(-1.0, 1.0, POINTS)
    a = np.array([dynamics(q + STRETCH * x * along, v) for x in s])
    left = a - np.polynomial.polynomial.polyval(s, np.polynomial.polynomial.polyfit(s, a, 2)).T
    return float(np.sqrt(np.mean(left**2)) / np.abs(a).max())


def main(picture: str = "") -> None:
    counts: dict[tuple[str, float], list[int]] = {}
    rough: dict[str, list[float]] = {}
    for n in LENGTHS:
        robot = catena.rod_chain(n, 1.0 / n, 1.0 / n)
        for name, dynamics in ways(robot).items():
            rough.setdefault(name, []).append(roughness(robot, dynamics))
            for tolerance in TOLERANCES:
                counts.setdefault((name, tolerance), []).append(evaluations(robot, dynamics, tolerance))
            found = [counts[name, tolerance][-1] for tolerance in TOLERANCES]
            print(f"{n:4d} links, {name:17s}: evaluations {found}, roughness {rough[name][-1]:.1e}", flush=True)
    if picture:
        drawn(counts, rough, picture)


def drawn(counts: dict[tuple[str, float], list[int]], rough: dict[str, list[float]], picture: str) -> None:
    """The two plots, written to a file."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    marks = {"O(n) recursion": "o-", "dense elimination": "x--"}
    for i, tolerance in enumerate(TOLERANCES):
        for name, mark in marks.items():
            left.loglog(LENGTHS, counts[name, tolerance], mark, color=f"C{i}", label=f"{name}, tolerance {tolerance:g}")
    for name, mark in marks.items():
        right.loglog(LENGTHS, rough[name], mark, color="k", label=name)
    left.set(xlabel="links", ylabel=f"evaluations in {SECONDS:g} s", title="What the integrator takes")
    right.set(xlabel="links", ylabel="scatter / largest acceleration", title="How rough accelerations are")
    for plot in (left, right):
        plot.set_xticks(LENGTHS, map(str, LENGTHS))
        plot.minorticks_off()
        plot.legend(fontsize="x-small", loc="center right" if plot is right else "lower right")
    left.set_ylim(bottom=5)
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main(*sys.argv[1:])
