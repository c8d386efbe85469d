"""Single numbers, seeds and robots that callers give, checked with messages for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from sys import float_info
from typing import Any, Literal, TypeVar

import numpy as np

from catena.errors import ShapeError, UnsupportedError, kind_of, shown
from catena.later import reading_files
from catena.model.tree import Tree

Taken = TypeVar("Taken", bound=Callable[..., Any])
Closed = Literal["", "held", "forest"]
"""What an answer is of systems with constraints: refused; with them held; or the same with and without them."""


def of_systems(closed: Closed) -> Callable[[Taken], Taken]:
    """Declare what a public method or function does with systems, as `closed` of a question does; without: refuse."""

    def declared(taken: Taken) -> Taken:
        taken.closed = closed  # type: ignore[attr-defined]
        return taken

    return declared


def real(what: str, value: Any, above: float = -math.inf, below: float = math.inf, least: float = -math.inf) -> float:
    """One finite number within these bounds; ShapeError for anything else. `what` names it."""
    found = math.nan
    if isinstance(value, int | float | np.integer | np.floating) and abs(value) <= float_info.max:
        found = float(value)
    if above < found < below and found >= least:
        return found
    bounds = {f"above {above:g}": above, f"of at least {least:g}": least, f"below {below:g}": below}
    words = " and ".join(word for word, bound in bounds.items() if math.isfinite(bound)) or "that is finite"
    raise ShapeError(f"{what} must be a number {words}, got {shown(value)}")


def whole(what: str, value: Any, least: int = 0) -> int:
    """A whole number of at least so much; ShapeError for anything else."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and least <= value < 2**63:
        return int(value)
    raise ShapeError(f"{what} must be a whole number of at least {least}, got {shown(value)}")


def pair(value: Any) -> tuple[float, float] | None:
    """Two finite numbers; None for anything else."""
    try:
        found = np.asarray(value)
    except (TypeError, ValueError):  # rows of different lengths
        return None
    if found.shape != (2,) or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        return None
    return float(found[0]), float(found[1])


def generator(what: str, rng: Any) -> np.random.Generator:
    """A NumPy generator: the one given, or of a seed; ShapeError for what is neither."""
    with reading_files(what):  # NumPy imports its random part when first used
        if isinstance(rng, np.random.Generator):
            return rng
        try:
            if isinstance(rng, np.ndarray):  # of matrices: NumPy before 2.5 never ends reading one, later ones refuse
                rng = np.asarray(rng).ravel() if rng.ndim > 1 else np.asarray(rng)
            return np.random.default_rng(rng)
        except (TypeError, ValueError, OverflowError, MemoryError, RuntimeError):
            raise ShapeError(
                f"{what}: rng must be a NumPy generator, a seed of zero or more, or None, got {shown(rng)}"
            ) from None


def a_robot(what: str, robot: Any, closed: bool = False) -> Any:
    """The robot itself; UnsupportedError for anything that has no tree, or a tree and no coordinates.

    A System with constraints is refused, too, unless `closed` says that what is done with it honours them.
    """
    if not isinstance(getattr(robot, "tree", None), Tree) or not hasattr(robot, "nq"):
        raise UnsupportedError(f"{what}: expected a Robot first, got {kind_of(robot)}")
    if not closed and getattr(robot, "_closed", False):
        raise UnsupportedError(
            f"{what} does not honour constraints, and the System {robot.name!r} has {len(robot.constraints)}; "
            "system.forest is the same robots and objects without them"
        )
    return robot


def having(what: str, kind: str, value: Any, *names: str) -> Any:
    """What is given itself, such as a run; UnsupportedError for anything without attributes of these names."""
    if not all(hasattr(value, name) for name in names):
        raise UnsupportedError(f"{what}: expected {kind} first, got {kind_of(value)}")
    return value
