"""Make the benchmark page, its plots and the table in README from a report that bench.py wrote.

    python benchmarks/report.py [--report FILE] [--docs FOLDER] [--readme FILE]

Plots need matplotlib. Without it the page and the table are made, and the plots stay as they are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
GROUPS = {
    "batch of 8192": "Batches",
    "one state": "One state in a call",
    "rollouts": "Rollouts",
    "one long chain": "One long chain",
}
SAYS = {
    "Batches": "8192 states in one call, with `out=`; nanoseconds for a state. Pinocchio has loops in C++ for forward "
    "and inverse dynamics (`abaInParallel`, `rneaInParallel`, one thread); its other functions are called in a loop.",
    "One state in a call": "What a control loop does: nanoseconds for a call from Python.",
    "Rollouts": "Semi-implicit Euler, all states stored, no contacts, losses and limits off; nanoseconds for a step of "
    "one sample. MuJoCo's `rollout` runs on one thread.",
    "One long chain": "Forward dynamics of one chain of rods; nanoseconds for a link. Pinocchio's model of a chain "
    "needs memory that grows with the square of its length.",
}
SHORT = ("forward dynamics", "inverse dynamics", "mass matrix", "Jacobian", "forward dynamics derivatives")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, default=ROOT / "benchmarks" / "results" / "report.json")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    options = parser.parse_args()
    report = json.loads(options.report.read_text(encoding="utf-8"))
    (options.docs / "benchmarks.md").write_text(page(report), encoding="utf-8")
    options.readme.write_text(with_table(options.readme.read_text(encoding="utf-8"), report), encoding="utf-8")
    try:
        import plots
    except ImportError:
        print("no plots: they need matplotlib, pip install matplotlib")
    else:
        plots.draw(report, options.docs / "pictures")


def page(report: dict[str, Any]) -> str:
    """The benchmark page."""
    made, limits = report["made"], report["limits"]
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    parts = [
        "# Benchmarks",
        "`make bench` measures Catena and every peer that is installed, in turns on one core, once it has checked that "
        "the answers agree; in several processes after another, as it matters where things lie in memory. A ratio says "
        "how many times as long the peer takes: the median of all turns, and in brackets the range that eight of ten "
        "turns lie in. "
        "`python benchmarks/bench.py --compare OLD.json` says what got slower. This page is made from "
        "`benchmarks/results/report.json` by `python benchmarks/report.py`.",
        f"Measured on {made['date']}: {made['processor']}, {made['cores']} cores, {made['system']}, Python "
        f"{made['python']}; {versions}; {report['seconds']} s in all.",
        "![Batches: how many times as long peers take](pictures/benchmark-batches.png)",
    ]
    for group, title in GROUPS.items():
        rows = [row for row in report["rows"] if row["group"] == group]
        if rows:
            parts += [f"## {title}", SAYS[title], table(rows)]
    parts += ["## The hardware's limit", hardware(report, limits)]
    return "\n\n".join(parts) + "\n"


def table(rows: list[dict[str, Any]]) -> str:
    """One line for each question and robot."""
    peers = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    lines = [_cells(["question", "robot", "Catena, ns", *peers]), _cells(["---"] * (3 + len(peers)))]
    for row in rows:
        ratios = [_ratio(row["peers"].get(name)) for name in peers]
        lines.append(_cells([row["question"], row["robot"], _number(row["ns"]), *ratios]))
    return "\n".join(lines)


def hardware(report: dict[str, Any], limits: dict[str, float]) -> str:
    """How near to what the core can do at best."""
    text = (
        f"In the same run, on the same core: a product of large matrices makes {limits['operations']:.1f} operations "
        f"in a nanosecond, which is what the core's arithmetic can do; a copy of a large array reads and writes "
        f"{limits['bytes']:.1f} bytes in one. Batches of dynamics reach these shares of the arithmetic:"
    )
    counted = [row for row in report["rows"] if row["operations"]]
    lines = [_cells(["question", "robot", "operations", "in a nanosecond", "share"]), _cells(["---"] * 5)]
    for row in counted:
        rate = row["operations"] / row["ns"]
        share = f"{rate / limits['operations']:.0%}"
        lines.append(_cells([row["question"], row["robot"], str(row["operations"]), f"{rate:.1f}", share]))
    return text + "\n\n" + "\n".join(lines)


def with_table(readme: str, report: dict[str, Any]) -> str:
    """The text of README with its table of figures replaced."""
    if BEGIN not in readme or END not in readme:
        raise SystemExit(f"README has no place for the table: expected the lines {BEGIN} and {END}")
    before, _, rest = readme.partition(BEGIN)
    rows = [row for row in report["rows"] if row["group"] == "batch of 8192"]
    robots = list(dict.fromkeys(row["robot"] for row in rows if row["question"] == SHORT[0]))
    lines = [_cells(["", *robots]), _cells(["---"] * (1 + len(robots)))]
    for question in SHORT:
        found = {row["robot"]: row for row in rows if row["question"] == question}
        lines.append(_cells([question, *[_short(found.get(robot)) for robot in robots]]))
    return before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.partition(END)[2]


def _short(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{_number(row['ns'])} ns, {row['peers']['Pinocchio']['ratio']:.0f}x"


def _ratio(peer: dict[str, Any] | None) -> str:
    return "–" if peer is None else f"{peer['ratio']:.1f}x ({peer['low']:.1f} to {peer['high']:.1f})"


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 10 else f"{x:.1f}"


def _cells(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
