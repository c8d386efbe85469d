"""One row of the benchmarks: the same question put to this project and to its peers, and how that is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from timing import in_turns

CATENA = "Catena"

Array = npt.NDArray[np.float64]


@dataclass
class Contestant:
    """Somebody who answers.

    `run` computes `samples` answers, `answer` gives the first few, or all, in Catena's order.
    """

    run: Callable[[], object]
    samples: int
    answer: Callable[[], Any]


@dataclass
class Case:
    """A question about a robot, and who answers it."""

    group: str
    question: str
    robot: str
    ours: Contestant
    peers: dict[str, Contestant] = field(default_factory=dict)
    tolerance: float = 1e-8
    operations: int = 0
    """Additions, multiplications and the like for a sample; 0 where they were not counted."""

    @property
    def name(self) -> str:
        """What the row is called, in reports and for `--only`."""
        return f"{self.group}: {self.question}, {self.robot}"


class Disagreement(Exception):
    """Answers differ, so that times would mean nothing."""


def measured(case: Case, seconds: float) -> dict[str, Any]:
    """One pass over a row: nanoseconds for a sample, turn by turn, of everyone, after their answers were compared."""
    differences = {name: difference(case, name, peer) for name, peer in case.peers.items()}
    everyone = {CATENA: case.ours, **case.peers}
    times = in_turns({name: one.run for name, one in everyone.items()}, seconds, least=5)
    turns = {name: [1e9 * x / one.samples for x in times[name]] for name, one in everyone.items()}
    row = {"group": case.group, "question": case.question, "robot": case.robot, "samples": case.ours.samples}
    return {**row, "operations": case.operations, "differences": differences, "turns": turns}


def summed_up(passes: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of the report from its passes: nanoseconds, and how many times as long peers take, with the spread.

    Ratios are taken turn by turn, so that both sides of each feel the same noise; low and high are the tenth and the
    ninetieth of a hundred, over the turns of all passes.
    """
    row = {name: value for name, value in passes[0].items() if name not in ("turns", "differences")}
    each = {name: np.concatenate([one["turns"][name] for one in passes]) for name in passes[0]["turns"]}
    peers = {
        name: {
            "ns": float(np.median(each[name])),
            **_spread(each[name] / each[CATENA], "ratio"),
            "difference": max(one["differences"][name] for one in passes),
        }
        for name in passes[0]["differences"]
    }
    return {**row, **_spread(each[CATENA], "ns"), "peers": peers}


def _spread(values: Array, name: str) -> dict[str, float]:
    low, middle, high = map(float, np.percentile(values, (10, 50, 90)))
    return {name: middle, "low": low, "high": high}


def difference(case: Case, name: str, peer: Contestant) -> float:
    """The largest difference between the answers, relative to the largest number in them."""
    case.ours.run()
    peer.run()
    ours, theirs = np.asarray(case.ours.answer()), np.asarray(peer.answer())
    ours = ours[: len(theirs)] if case.ours.samples > 1 else ours
    if ours.shape != theirs.shape:
        raise Disagreement(f"{case.name}: {name} answers with shape {theirs.shape}, not {ours.shape}")
    found = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not found <= case.tolerance:
        raise Disagreement(f"{case.name}: {name} differs by {found:.1e}, more than {case.tolerance:.0e}")
    return found
