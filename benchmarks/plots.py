"""The plots of the benchmark page, as PNG files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def draw(report: dict[str, Any], folder: Path) -> None:
    """Write all plots."""
    folder.mkdir(exist_ok=True)
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    _batches([row for row in report["rows"] if row["group"] == "batch of 8192"], folder / "benchmark-batches.png")
    _chain([row for row in report["rows"] if row["group"] == "one long chain"], folder / "benchmark-chain.png")


def _batches(rows: list[dict[str, Any]], file: Path) -> None:
    """Bars of ratios to Pinocchio, a group for each question and a colour for each robot."""
    rows = [row for row in rows if "Pinocchio" in row["peers"]]
    if not rows:
        return
    questions = list(dict.fromkeys(row["question"] for row in rows))
    robots = list(dict.fromkeys(row["robot"] for row in rows))
    robots = [robot for robot in robots if sum(row["robot"] == robot for row in rows) > 1] or robots
    questions = [q for q in questions if any(row["question"] == q and row["robot"] in robots for row in rows)]
    figure, axes = plt.subplots(figsize=(7.2, 0.55 * len(questions) + 1.2), layout="constrained")
    width = 0.8 / len(robots)
    for i, robot in enumerate(robots):
        found = {row["question"]: row["peers"]["Pinocchio"] for row in rows if row["robot"] == robot}
        at = [j + (i - (len(robots) - 1) / 2) * width for j, q in enumerate(questions) if q in found]
        shown = [found[q] for q in questions if q in found]
        middle = np.array([x["ratio"] for x in shown])
        spread = [middle - [x["low"] for x in shown], [x["high"] for x in shown] - middle]
        axes.barh(at, middle, width, xerr=spread, color=COLOURS[i], label=robot, error_kw={"lw": 0.8, "alpha": 0.6})
    axes.set_yticks(range(len(questions)), questions)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
    axes.axvline(1, color="black", lw=0.8)
    axes.set_xlabel("times as long as Catena: Pinocchio, one core (range: eight of ten turns)")
    axes.legend(frameon=False, ncols=len(robots), loc="lower left", bbox_to_anchor=(0, 1))
    figure.savefig(file, dpi=120)
    plt.close(figure)


def _chain(rows: list[dict[str, Any]], file: Path) -> None:
    """Time for a link against the length of the chain."""
    lengths = [row["samples"] for row in rows]
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(5.4, 3.2), layout="constrained")
    axes.loglog(lengths, [row["ns"] for row in rows], "o-", color=COLOURS[0], label="Catena")
    shared = [(row["samples"], row["peers"]["Pinocchio"]["ns"]) for row in rows if "Pinocchio" in row["peers"]]
    if shared:
        axes.loglog(*zip(*shared, strict=True), "s", color=COLOURS[1], label="Pinocchio")
    axes.set(xlabel="links", ylabel="nanoseconds for a link", ylim=(10, 1000))
    axes.legend(frameon=False)
    figure.savefig(file, dpi=120)
    plt.close(figure)
