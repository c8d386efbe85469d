"""Simple shapes that a model file draws its links with: boxes, ellipsoids, cylinders, capsules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Vector = tuple[float, float, float]
Color = tuple[float, float, float, float]

BOX, ELLIPSOID, CYLINDER, CAPSULE = "box", "ellipsoid", "cylinder", "capsule"


@dataclass(frozen=True)
class Primitive:
    """A shape and its place in the link's frame.

    `kind` is "box", "ellipsoid", "cylinder" or "capsule"; `size` its extent along its own axes in m, all of it: edges,
    diameters, and the length along z, which of a capsule does not count the two half balls at its ends. `rotation`
    holds the rows of a 3x3 rotation, `position` is in m; `role` is "visual" or "collision"; `color` is red, green, blue
    and opacity, 0 to 1, or None where the file gives none.
    """

    kind: str
    size: Vector
    role: str = "visual"
    rotation: tuple[Vector, Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: Vector = (0.0, 0.0, 0.0)
    color: Color | None = None


class ShapesOfLinks(ABC):
    """The shapes of many links, by number, made when somebody wants to see them."""

    @abstractmethod
    def __getitem__(self, link: int) -> tuple[Any, ...]: ...

    @abstractmethod
    def drawn(self) -> Iterator[int]:
        """The links that have shapes, by number."""

    @abstractmethod
    def followed_by_none(self) -> ShapesOfLinks:
        """The same and, at the end, a link without shapes."""


class NamedShapes(Mapping[str, tuple[Any, ...]]):
    """The shapes of many links, by name, made when somebody wants to see them."""

    def __init__(self, names: Sequence[str], shapes: ShapesOfLinks) -> None:
        self._names, self._shapes = names, shapes

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The links that have shapes."""
        return {self._names[i]: i for i in self._shapes.drawn()}

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        return self._shapes[self._numbers[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return repr(dict(self))
