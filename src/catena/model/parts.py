"""Links and joints as a builder or loader hands them over, before anything is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Limits = float | Sequence[float] | None
Column = Any  # a sequence, or an array


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
    """Many parts of one kind: single ones by number, or one field of all."""

    def __init__(self, kind: type[Part], rows: Iterable[tuple[Any, ...]]) -> None:
        """`rows` are parts, or plain tuples of the same fields."""
        self.kind: type[Part] = kind
        rows = [kind(*row) for row in rows]
        self._count = len(rows)
        self._columns: list[Column] = [[row[i] for row in rows] for i in range(len(kind._fields))]

    @classmethod
    def of_columns(cls, kind: type[Part], **columns: Column) -> Parts[Part]:
        """Parts by their fields: lists or arrays of one length; a field that is left out has its default in all."""
        parts = cls(kind, ())
        parts._count = len(next(iter(columns.values())))
        defaults = kind._field_defaults
        parts._columns = [columns[f] if f in columns else [defaults[f]] * parts._count for f in kind._fields]
        return parts

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Part:
        part: Part = self.kind(*(column[number] for column in self._columns))
        return part

    def __iter__(self) -> Iterator[Part]:
        return map(self.__getitem__, range(len(self)))

    def column(self, field: str) -> Column:
        """One field of all parts."""
        return self._columns[self.kind._fields.index(field)]

    def followed_by(self, part: Part) -> Parts[Part]:
        """The parts and one more."""
        both = zip(self.kind._fields, self._columns, part, strict=True)
        return Parts.of_columns(self.kind, **{field: _followed(column, value) for field, column, value in both})

    def select(self, numbers: Sequence[int]) -> Parts[Part]:
        """Some of the parts, by number."""
        if numbers == list(range(len(self))):
            return self
        chosen = {f: _chosen(self.column(f), numbers) for f in self.kind._fields}
        return Parts.of_columns(self.kind, **chosen)


def _chosen(column: Column, numbers: Sequence[int]) -> Column:
    return column[numbers] if isinstance(column, np.ndarray) else list(map(column.__getitem__, numbers))


def _followed(column: Column, value: Any) -> Column:
    if isinstance(column, np.ndarray) and value is not None:
        return np.append(column, [value], axis=0)
    return [*(column.tolist() if isinstance(column, np.ndarray) else column), value]
