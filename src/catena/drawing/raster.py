"""A z-buffer on NumPy: which triangle is seen at each pixel, and where in it.

Most triangles of a large mesh lie between the middles of pixels and are dropped first, by comparing whole numbers. The
others are cut into rows of pixels, rows into pixels, many at once. A pixel keeps the smallest of the numbers that reach
it: 32 bits of depth, then 32 bits that name the triangle. Numbers are gathered by `take`, which is far quicker than
brackets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.camera import OPENING, Camera

Array = npt.NDArray[Any]

FAR = np.uint64(2**64 - 1)
AT_ONCE = 1 << 15
"""Triangles that are worked on at a time, for what is in between to stay in the processor's caches."""


class Raster:
    """Pictures of one size from one camera."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        self.camera, self.width, self.height = camera, width, height
        self.focus = float(0.5 * height / np.tan(OPENING / 2))
        """Pixels for one metre at a distance of one metre."""

    def projected(self, points: Array) -> Array:
        """Points (k, 3) in pixels from the upper left corner, and one over their distance: rows x, y, near, (3, k)."""
        right, up, away = self.camera.seen(points)
        ahead = away > 0
        near = np.where(ahead, 1 / np.where(ahead, away, 1), -1)
        across, down = 0.5 * self.width + self.focus * right * near, 0.5 * self.height - self.focus * up * near
        return np.array([across, down, near], float)

    def rays(self) -> Array:
        """The direction from the eye through each pixel, (height, width, 3); one metre towards the target."""
        x = (np.arange(self.width) + 0.5 - 0.5 * self.width) / self.focus
        y = (0.5 * self.height - np.arange(self.height) - 0.5) / self.focus
        right, up, out = self.camera.axes()
        return np.asarray(x[None, :, None] * right + y[:, None, None] * up - out)

    def visible(self, points: Array, faces: Array, back: Array, marks: Array) -> tuple[Array, Array]:
        """Pixels that triangles cover and the triangle that is nearest there.

        Args:
            points: corners as `projected` gives them, (3, k).
            faces: triangles as numbers of corners, (3, m).
            back: which triangles may be seen from behind, (m,).
            marks: which triangles are seen through all others, (m,): their depths come before those of the others.

        Returns:
            Pixels, numbered row by row, (p,), and numbers of triangles, (p,).
        """
        buffer = np.full(self.width * self.height, FAR)
        nearest = max(float(points[2].max(initial=0.0)), 1e-300)
        for number, corners in self._candidates(points, faces):
            shown = np.flatnonzero(back[number] | (_area(corners) < 0))
            pixel, of, near = _pixels(corners.take(shown, axis=2), self.width, self.height)
            layer = np.where(marks[number.take(shown)], 0.0, 0.5)
            behind = layer.take(of) + 0.5 * (1.0 - near / nearest).clip(0.0, 1.0)
            depth = (behind * (2**32 - 1)).astype(np.uint64)
            np.minimum.at(buffer, pixel, (depth << np.uint64(32)) | number.take(shown).astype(np.uint64).take(of))
        pixel = np.flatnonzero(buffer != FAR)
        return pixel, (buffer[pixel] & np.uint64(2**32 - 1)).astype(np.int64)

    def covered(self, points: Array, faces: Array) -> Array:
        """Whether a triangle is anywhere at each pixel, (height, width)."""
        found = np.zeros(self.width * self.height, bool)
        for _, corners in self._candidates(points, faces):
            found[_pixels(corners, self.width, self.height)[0]] = True
        return found.reshape(self.height, self.width)

    def _candidates(self, points: Array, faces: Array) -> Iterator[tuple[Array, Array]]:
        """Triangles that may cover the middle of a pixel, some at a time: numbers (m,), and x, y, near of corners.

        The latter are (3, 3, m): of the first corner, of the second, of the third.
        """
        ahead = points[2] > 0
        column, row = (
            _first(np.where(ahead, at, 0), size) for at, size in ((points[0], self.width), (points[1], self.height))
        )
        cell = (column << 16 | row).astype(np.int32)
        for start in range(0, faces.shape[1], AT_ONCE):
            a, b, c = cell.take(faces[:, start : start + AT_ONCE])
            differ = (a ^ b) | (a ^ c)
            number = np.flatnonzero((differ >> 16 != 0) & (differ & 0xFFFF != 0)) + start
            number = number[ahead.take(faces.take(number, axis=1)).all(axis=0)]
            yield number, points.take(faces.take(number, axis=1), axis=1)


def weights(corners: Array, pixel: Array, width: int) -> Array:
    """How much of each corner there is at a pixel of its triangle, in space: (3, k), which sum up to one.

    Args:
        corners: x, y and near of the three corners of the triangle at each pixel, (3, 3, k).
        pixel: numbers of pixels, (k,).
        width: of the picture.
    """
    x, y = pixel % width + 0.5 - corners[0], pixel // width + 0.5 - corners[1]
    after, last = [1, 2, 0], [2, 0, 1]
    share = (x[after] * y[last] - y[after] * x[last]) * corners[2]
    total = share.sum(axis=0)
    return np.asarray(share / np.where(total == 0, 1.0, total))


def _pixels(corners: Array, width: int, height: int) -> tuple[Array, Array, Array]:
    """Every pixel of every triangle: its number, which of the triangles it is, and one over the distance there.

    Args:
        corners: x, y and near of the three corners, (3, 3, m).
        width: of the picture.
        height: of the picture.
    """
    top, bottom, edges = _edges(corners[0], corners[1])
    owner, y = _spread(_first(top, height), _first(bottom, height))
    row, x = _spread(*(_first(side, width) for side in _ends(edges, owner, y + 0.5)))
    of, y = owner.take(row), y.take(row)
    across, down, start = _planes(corners)
    near = across.take(of) * (x + 0.5) + down.take(of) * (y + 0.5) + start.take(of)
    return y * width + x, of, near


def _area(corners: Array) -> Array:
    """Twice the area of triangles in the picture, (m,); below zero where their front is seen."""
    (x1, x2), (y1, y2) = (field[1:] - field[0] for field in corners[:2])
    return np.asarray(x1 * y2 - y1 * x2)


def _first(at: Array, size: int) -> Array:
    """The first pixel whose middle is at or after a place, from 0 to `size`."""
    return np.asarray(np.ceil(at - 0.5).clip(0, size).astype(np.int64))


def _spread(first: Array, end: Array) -> tuple[Array, Array]:
    """For ranges first:end, one after the other, which range each number belongs to, and the numbers."""
    count = np.maximum(end - first, 0)
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) + (first - np.cumsum(count) + count).take(owner)


def _edges(x: Array, y: Array) -> tuple[Array, Array, tuple[Array, Array, Array]]:
    """Of triangles with corners x and y, (3, m) each: top, bottom, and the edges as lines x = slope y + start.

    The edges are the height of the middle corner, (m,), then slopes and starts, (3, m) each: of the edge from the upper
    corner to the middle one, from there to the lower, and from the upper to the lower. An edge that two triangles share
    is one line for both, so that no gap is between them.
    """
    order = _order(y)
    x, y = x.take(order), y.take(order)
    first, last = [0, 1, 0], [1, 2, 2]
    fall = y[last] - y[first]
    slope = (x[last] - x[first]) / np.where(fall == 0, 1.0, fall)
    return y[0], y[2], (y[1], slope, x[first] - slope * y[first])


def _order(y: Array) -> Array:
    """Where in y, (3, m) in a row, the upper, the middle and the lower of three corners are, (3, m)."""
    a, b, c = y
    upper = np.where(a <= b, np.where(a <= c, 0, 2), np.where(b <= c, 1, 2))
    lower = np.where(a > b, np.where(a > c, 0, 2), np.where(b > c, 1, 2))
    return len(a) * np.stack([upper, 3 - upper - lower, lower]) + np.arange(len(a))


def _ends(edges: tuple[Array, Array, Array], owner: Array, y: Array) -> tuple[Array, Array]:
    """Where triangles begin and end in rows of pixels, whose middles are at y."""
    middle, slope, start = edges
    short = np.where(y < middle.take(owner), 0, len(middle)) + owner  # the upper or the lower short edge
    one, other = (slope.take(edge) * y + start.take(edge) for edge in (short, owner + 2 * len(middle)))
    return np.minimum(one, other), np.maximum(one, other)


def _planes(corners: Array) -> tuple[Array, Array, Array]:
    """One over the distance as a plane over the picture, a x + b y + c: a, b and c, (m,) each."""
    x, y, near = corners
    (x1, x2), (y1, y2), (n1, n2) = (field[1:] - field[0] for field in corners)
    area = _area(corners)
    area = np.where(area == 0, 1.0, area)  # of slivers
    a, b = (n1 * y2 - n2 * y1) / area, (n2 * x1 - n1 * x2) / area
    return a, b, near[0] - a * x[0] - b * y[0]
