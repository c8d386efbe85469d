"""Surfaces made of triangles: box, ball, cylinder and cone of size one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROUND = 24
"""Sides of what is round."""
COARSER = ((200, 8), (1000, 3))
"""From how many round things on they have fewer sides."""
CELLS = 10**6
"""Cells along a surface in which vertices count as one."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles: `vertices` (k, 3) in m, and `faces` (m, 3), numbers of vertices, counter-clockwise from outside.

    Where an edge is sharp each side has vertices of its own. `closed` says that no back of a triangle is ever seen;
    `color` is red, green and blue, 0 to 1, where the file of a mesh says so.
    """

    vertices: Array
    faces: Array
    closed: bool = False
    color: tuple[float, ...] | None = None

    @cached_property
    def normals(self) -> Array:
        """Unit normals at the vertices, (k, 3): the mean of the triangles there, by area."""
        a, b, c = (self.vertices[corner] for corner in self.faces.T)
        across = np.cross(b - a, c - a)
        around = self.faces.T.ravel()
        total = np.stack([np.bincount(around, np.tile(x, 3), len(self.vertices)) for x in across.T], -1)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return np.asarray(total / np.where(length > 0, length, 1.0), np.float32)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest x, y and z, (3,) each."""
        columns = [np.ascontiguousarray(column) for column in self.vertices.T]
        return np.array([x.min() for x in columns]), np.array([x.max() for x in columns])

    @cached_property
    def welded(self) -> tuple[Array, Array]:
        """Vertices and faces without the vertices of sharp edges: those at one place (to a millionth) are one."""
        lower, upper = self.bounds
        step = max(float((upper - lower).max()), 1e-30) / CELLS
        x, y, z = ((self.vertices - lower) / step + 0.5).astype(np.int64).T
        _, first, number = np.unique((x * (CELLS + 1) + y) * (CELLS + 1) + z, return_index=True, return_inverse=True)
        return self.vertices[first], number.reshape(-1).astype(np.int32)[self.faces]


def sides_for(count: int) -> int:
    """How many sides each of so many round things has."""
    return next((sides for most, sides in reversed(COARSER) if count > most), ROUND)


def surface(vertices: npt.ArrayLike, faces: npt.ArrayLike, closed: bool = False) -> Surface:
    """A surface of any arrays of numbers."""
    return Surface(np.asarray(vertices, np.float32).reshape(-1, 3), np.asarray(faces, np.int32).reshape(-1, 3), closed)


@cache
def box() -> Surface:
    """A cube with edges of 1 m about the origin."""
    points: list[Array] = []
    faces: list[int] = []
    for axis in range(3):
        for side in (-1, 1):
            across = np.roll(np.eye(3), axis, axis=0)  # rows: the normal, then two edges
            start = len(points)
            points += [
                0.5 * (side * across[0] + u * across[1] + w * across[2])
                for u, w in ((-1, -1), (1, -1), (1, 1), (-1, 1))
            ]
            quad = [0, 1, 2, 0, 2, 3] if side > 0 else [0, 2, 1, 0, 3, 2]
            faces += [start + k for k in quad]
    return surface(np.array(points), faces, closed=True)


@cache
def ball(sides: int = ROUND) -> Surface:
    """A ball of diameter 1 m about the origin."""
    rings = max(sides // 2, 4)
    down, round_ = np.meshgrid(np.linspace(0, np.pi, rings + 1), _angles(sides), indexing="ij")
    points = 0.5 * np.stack([np.sin(down) * np.cos(round_), np.sin(down) * np.sin(round_), np.cos(down)], -1)
    return surface(points, _grid(rings, sides), closed=True)


@cache
def cylinder(sides: int = ROUND, top: float = 1.0) -> Surface:
    """A cylinder of diameter and length 1 m about the origin, along z; with `top` < 1 it is a cone, cut off."""
    turn = _angles(sides)
    ring = 0.5 * np.stack([np.cos(turn), np.sin(turn), np.zeros(sides)], -1)
    lower, upper = ring - [0, 0, 0.5], ring * [top, top, 1] + [0, 0, 0.5]
    wall = _grid(1, sides)
    fan = np.array([(0, i, i + 1) for i in range(1, sides - 1)])
    points = np.concatenate([upper, lower, upper, lower])
    return surface(points, np.concatenate([wall, fan + 2 * sides, fan[:, ::-1] + 3 * sides]), closed=True)


@cache
def arrow() -> Surface:
    """An arrow of length 1 m from the origin along z."""
    shaft, head = cylinder(), cylinder(top=0.02)
    points = shaft.vertices * [0.04, 0.04, 0.75] + [0, 0, 0.375], head.vertices * [0.12, 0.12, 0.25] + [0, 0, 0.875]
    return surface(np.concatenate(points), [*shaft.faces, *(head.faces + len(shaft.vertices))], closed=True)


def _angles(sides: int) -> Array:
    return np.arange(sides) * (2 * np.pi / sides)


def _grid(rows: int, sides: int) -> Array:
    """The triangles between rings of vertices that lie one below the other."""
    row, side = np.divmod(np.arange(rows * sides), sides)
    a, b = row * sides + side, row * sides + (side + 1) % sides
    return np.concatenate([np.stack([a, a + sides, b], -1), np.stack([b, a + sides, b + sides], -1)])
