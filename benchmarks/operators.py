"""Operator expressions on long mechanisms: applying one costs linear time.

    python benchmarks/operators.py [--largest 100000] [--plot operators.png]

For chains and trees of 10^3, 10^4, … links: time to set the operators up (joint transforms, the Riccati recursion,
sparse matrices), and microseconds for a link to apply expressions exactly as Rodriguez & Kreutz write them. The plot
needs the extra `plot`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from timing import best, table

import catena

JOINTS = ["revolute", "prismatic", "spherical"]
MECHANISMS = {
    "revolute chain": lambda n: catena.random_tree(1, n, ["revolute"], 0.0),
    "mixed tree": lambda n: catena.random_tree(1, n, JOINTS, 0.3),
}


def measure(name: str, n: int) -> dict[str, float]:
    """Seconds to set up, then seconds to apply each expression."""
    robot = MECHANISMS[name](n)
    rng = np.random.default_rng(0)
    begin = time.perf_counter()
    o = robot.operators(robot.random_configuration(rng))
    K = o.I - o.H @ o.Psi @ o.L
    tau, f = rng.standard_normal(robot.nv), rng.standard_normal(6 * n)
    inverse, mass = K.T @ o.D.inv @ K, o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
    expressions = {
        "φ f": lambda: o.phi @ f,
        "H φ M φᵀ Hᵀ τ": lambda: mass @ tau,
        "(I − HΨL) τ": lambda: K @ tau,
        "(I − HΨL)ᵀ D⁻¹ (I − HΨL) τ": lambda: inverse @ tau,
    }
    for apply in expressions.values():
        apply()
    return {"set up": time.perf_counter() - begin, **best(expressions, 0.3)}


def main() -> None:
    """Measure, print, plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--plot", help="draw the times into this file")
    arguments = parser.parse_args()
    sizes = [n for n in (1000, 10_000, 100_000, 1_000_000) if n <= arguments.largest]
    found = {(name, n): measure(name, n) for name in MECHANISMS for n in sizes}
    expressions = list(next(iter(found.values())))[1:]
    rows = [
        [name, f"{n:,}", times["set up"], *[times[text] / n * 1e6 for text in expressions]]
        for (name, n), times in found.items()
    ]
    table("Operators, µs for a link", ["mechanism", "links", "set up, s", *expressions], rows)
    if arguments.plot:
        plot(arguments.plot, found, sizes, expressions)


def plot(file: str, found: dict[tuple[str, int], dict[str, float]], sizes: list[int], expressions: list[str]) -> None:
    """Seconds against links, both logarithmic, with a line of slope one."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(MECHANISMS), figsize=(11, 4.5), sharey=True)
    for axis, name in zip(axes, MECHANISMS, strict=True):
        for text in expressions:
            axis.loglog(sizes, [found[name, n][text] for n in sizes], "o-", label=text)
        first = min(found[name, sizes[0]][text] for text in expressions)
        axis.loglog(sizes, [first * n / sizes[0] for n in sizes], "k:", label="linear")
        axis.set(title=name, xlabel="links")
    axes[0].set_ylabel("seconds to apply")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    main()
