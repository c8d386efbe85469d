"""Checking an identity between operators: on random configurations, as whole matrices and applied to vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot, generator, whole
from catena.errors import ShapeError, UnsupportedError, kind_of
from catena.operators.algebra import Operators
from catena.operators.expression import ANY, Operator

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Identity = Callable[[Operators], Sequence[Operator]]

LARGEST = 3000
"""Matrices with more rows or columns than this are not formed; the identity is then only applied to vectors."""


@dataclass(frozen=True)
class Verification:
    """The result of checking an identity; errors are relative to the largest number on either side."""

    identity: str
    applied: float
    dense: float | None
    samples: int
    tolerance: float

    @property
    def error(self) -> float:
        """The worst error of all."""
        return max(self.applied, self.dense or 0.0)

    @property
    def holds(self) -> bool:
        """Whether it is below the tolerance."""
        return self.error <= self.tolerance

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        dense = "not formed" if self.dense is None else f"{self.dense:.1e}"
        return (
            f"{self.identity}: {verdict} on {self.samples} configurations, "
            f"worst error {self.applied:.1e} applied, {dense} dense (tolerance {self.tolerance:.0e})"
        )


def verify(
    identity: Identity,
    robot: Robot,
    *,
    samples: int = 3,
    seed: int | np.random.Generator = 0,
    tolerance: float = 1e-12,
) -> Verification:
    """Check an identity between spatial operators numerically, on random configurations of a robot.

        verify(lambda o: (o.phi, o.psi @ (o.I + o.S @ o.L @ o.H @ o.phi)), robot)

    `identity` takes the operators and returns two or more sides that should be equal. `samples` configurations are
    drawn with `seed`; `tolerance` is relative to the largest number. Returns a :class:`Verification`, which is true
    where the identity holds. Cost: O(n) for each configuration, and O(n²) for the whole matrices, which mechanisms with
    more than a few hundred links do without.
    """
    rng, robot = generator("verify", seed), a_robot("verify", robot)
    if not callable(identity):
        raise UnsupportedError(
            f"verify: expected a function of the operators that gives both sides first, got {kind_of(identity)}"
        )
    applied, dense, text = [], [], ""
    for _ in range(whole("verify: samples", samples, 1)):
        sides = _sides(identity(robot.operators(robot.random_configuration(rng))))
        text = " = ".join(str(side) for side in sides)
        sized = next(side for side in sides if side.domain is not ANY)
        x = rng.standard_normal(sized.domain.size)
        applied.append(_difference([side @ x for side in sides]))
        if max(sized.shape) <= LARGEST:
            dense.append(_difference([_matrix(side, sized) for side in sides]))
    return Verification(text, max(applied), max(dense, default=None), samples, tolerance)


def _sides(sides: Any) -> Sequence[Operator]:
    if not isinstance(sides, Sequence) or not all(hasattr(side, "domain") for side in sides):
        raise ShapeError(f"an identity has two sides or more, all of them operators; found {kind_of(sides)}")
    spaces = {(side.domain, side.range) for side in sides if side.domain is not ANY}
    if len(sides) < 2 or len(spaces) != 1:
        raise ShapeError(
            f"an identity has two sides or more, between the same spaces; found {', '.join(map(repr, sides)) or 'none'}"
        )
    return sides


def _matrix(side: Operator, like: Operator) -> Array:
    return np.eye(like.domain.size) if side.domain is ANY else side.dense()


def _difference(values: list[Array]) -> float:
    """The largest difference from the first value, relative to the largest number; NaN counts as infinite."""
    scale = max(float(np.abs(value).max(initial=0.0)) for value in values) or 1.0
    worst = max(float(np.abs(value - values[0]).max(initial=0.0)) for value in values[1:]) / scale
    return worst if np.isfinite(worst) else float("inf")
