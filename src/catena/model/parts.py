"""Links and joints as a builder or loader hands them over, before anything is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy.typing as npt

Limits = float | Sequence[float] | None


class Mimic(NamedTuple):
    """A joint that is meant to follow another: q = multiplier * q_master + offset."""

    master: str
    multiplier: float = 1.0
    offset: float = 0.0


class LinkPart(NamedTuple):
    """A rigid body: mass (kg), centre of mass (m, link frame), inertia about it (3x3, kg m², link axes)."""

    name: str
    mass: float = 0.0
    com: npt.ArrayLike = (0.0, 0.0, 0.0)
    inertia: npt.ArrayLike = ((0.0, 0.0, 0.0),) * 3
    meshes: tuple[Any, ...] = ()


class JointPart(NamedTuple):
    """A joint from `parent` to `child` (link names).

    `rotation` (3x3) and `position` place the child's frame in the parent's at joint zero. `axis` (and `axis2`, the
    universal joint's second, perpendicular one) are in the child's frame; they need not be of unit length. `pitch` is
    metres per radian (helical). Limits are one number or one per coordinate: `lower`, `upper` of length nq,
    `velocity_limit`, `effort_limit`, `damping`, `friction`, `armature`, `stiffness`, `rest` of length nv; None means
    unlimited. A spring is slack where the joint is `rest` away from zero, as `difference` measures it.
    """

    name: str
    type: str
    parent: str
    child: str
    rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: npt.ArrayLike = (0.0, 0.0, 0.0)
    axis: npt.ArrayLike = (1.0, 0.0, 0.0)
    axis2: npt.ArrayLike | None = None
    pitch: float = 0.0
    lower: Limits = None
    upper: Limits = None
    velocity_limit: Limits = None
    effort_limit: Limits = None
    damping: float | Sequence[float] = 0.0
    friction: float | Sequence[float] = 0.0
    armature: float | Sequence[float] = 0.0
    mimic: Mimic | None = None
    stiffness: float | Sequence[float] = 0.0
    rest: float | Sequence[float] = 0.0


Part = TypeVar("Part", LinkPart, JointPart)


class Parts(Generic[Part]):
    """Many parts of one kind: single ones by number, or one field of all.

    `rows` are parts, or plain tuples of the same fields: those of 100,000 links are made in half the time, and the
    garbage collector has nothing to do with them.
    """

    def __init__(self, kind: type[Part], rows: Iterable[tuple[Any, ...]]) -> None:
        self.kind: type[Part] = kind
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> Part:
        part: Part = self.kind(*self.rows[number])
        return part

    def __iter__(self) -> Iterator[Part]:
        return (self.kind(*row) for row in self.rows)

    def column(self, field: str) -> list[Any]:
        """One field of all parts."""
        return list(map(itemgetter(self.kind._fields.index(field)), self.rows))

    def select(self, numbers: Iterable[int]) -> Parts[Part]:
        """Some of the parts, by number."""
        return Parts(self.kind, map(self.rows.__getitem__, numbers))
