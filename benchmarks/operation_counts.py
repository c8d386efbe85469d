"""Operations of forward dynamics over the number of links: O(n) beside O(n³), counted by tracing, and the papers' own.

python benchmarks/operation_counts.py [FILE.svg]
"""

from __future__ import annotations

import sys
from pathlib import Path

from loglog import plot

from catena.functions.count import SAHA, START, crossover, table

LINKS = [4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 50, 65, 80, 100]


def main() -> None:
    """Print the formulas and draw the totals."""
    costs = {cost.name: cost for cost in table()}
    for cost in costs.values():
        print(f"{cost.name:28} ({cost.multiplications}) M + ({cost.additions}) A   [{cost.includes}]")
    linear, cubic = costs["forward_dynamics/udu"], costs["forward_dynamics/dense"]
    n = crossover(linear, cubic)
    print(f"exact for n >= {START}; {linear.name} takes fewer operations than {cubic.name} from n = {n} on")
    drawn = {"UDUᵀ": linear, "composite body": cubic, "Saha (1995)": SAHA}
    curves = {label: [(x, float(cost.total(x))) for x in LINKS] for label, cost in drawn.items()}
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "results" / "operation_counts.svg"
    file.parent.mkdir(exist_ok=True)
    marks = {} if n is None else {f"n = {n}": float(n)}
    plot(file, "Forward dynamics of a general revolute chain", "links n", "operations", curves, marks)
    print(f"plot: {file}")


if __name__ == "__main__":
    main()
