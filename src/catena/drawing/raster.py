"""A z-buffer on NumPy: which triangle is seen at each pixel, and what colour it has there.

Triangles are cut into rows of pixels, rows into pixels, all of them at once. A pixel keeps the smallest of the numbers
that reach it: 32 bits of depth, then 32 bits that name the triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.camera import OPENING, Camera

Array = npt.NDArray[Any]

FAR = np.uint64(2**64 - 1)
AT_ONCE = 400_000
"""Triangles that are cut into pixels at a time, to bound memory."""


class Raster:
    """Pictures of one size from one camera."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        self.camera, self.width, self.height = camera, width, height
        self.focus = float(0.5 * height / np.tan(OPENING / 2))
        """Pixels for one metre at a distance of one metre."""

    def projected(self, points: Array) -> Array:
        """Points (..., 3) in pixels from the upper left corner, and one over their distance, (..., 3)."""
        seen = self.camera.seen(points)
        ahead = seen[..., 2] > 0
        near = np.where(ahead, 1.0 / np.where(ahead, seen[..., 2], 1.0), -1.0)
        x = 0.5 * self.width + self.focus * seen[..., 0] * near
        y = 0.5 * self.height - self.focus * seen[..., 1] * near
        return np.stack([x, y, near], -1)

    def rays(self) -> Array:
        """The direction from the eye through each pixel, (height, width, 3); one metre towards the target."""
        x = (np.arange(self.width) + 0.5 - 0.5 * self.width) / self.focus
        y = (0.5 * self.height - np.arange(self.height) - 0.5) / self.focus
        right, up, out = self.camera.axes()
        return np.asarray(x[None, :, None] * right + y[:, None, None] * up - out)

    def visible(self, corners: Array, back: Array) -> tuple[Array, Array]:
        """Pixels that triangles cover and the triangle that is nearest there.

        Args:
            corners: triangles as `projected` gives them, (m, 3, 3).
            back: which triangles may be seen from behind, (m,).

        Returns:
            Pixels, numbered row by row, (k,), and numbers of triangles, (k,).
        """
        buffer = np.full(self.width * self.height, FAR)
        nearest = max(float(corners[..., 2].max(initial=0.0)), 1e-300)
        for start in range(0, len(corners), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            pixel, triangle, near = _pixels(corners[rows], back[rows], self.width, self.height)
            depth = ((1.0 - near / nearest).clip(0.0, 1.0) * (2**32 - 1)).astype(np.uint64)
            np.minimum.at(buffer, pixel, (depth << np.uint64(32)) | (triangle + start).astype(np.uint64))
        pixel = np.flatnonzero(buffer != FAR)
        return pixel, (buffer[pixel] & np.uint64(2**32 - 1)).astype(np.int64)

    def covered(self, corners: Array) -> Array:
        """Whether a triangle is anywhere at each pixel, (height, width)."""
        found = np.zeros(self.width * self.height, bool)
        for start in range(0, len(corners), AT_ONCE):
            rows = corners[start : start + AT_ONCE]
            found[_pixels(rows, np.ones(len(rows), bool), self.width, self.height)[0]] = True
        return found.reshape(self.height, self.width)


def weights(corners: Array, pixel: Array, width: int) -> Array:
    """How much of each corner there is at a pixel of its triangle, in space: (k, 3), which sum up to one."""
    at = np.stack([pixel % width + 0.5, pixel // width + 0.5], -1)
    edge = at[:, None, :] - corners[..., :2]
    around = [_cross(edge[:, (k + 1) % 3], edge[:, (k + 2) % 3]) for k in range(3)]
    share = np.stack(around, -1) * corners[..., 2]
    total = share.sum(axis=-1, keepdims=True)
    return np.asarray(share / np.where(total == 0, 1.0, total))


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _pixels(corners: Array, back: Array, width: int, height: int) -> tuple[Array, Array, Array]:
    """Every pixel of every triangle: its number, that of the triangle, and one over the distance there."""
    area = _cross(corners[:, 1, :2] - corners[:, 0, :2], corners[:, 2, :2] - corners[:, 0, :2])
    whole = (corners[..., 2] > 0).all(axis=1) & (area != 0) & (back | (area < 0))
    number = np.flatnonzero(whole)
    corners = np.where((area[number] > 0)[:, None, None], corners[number], corners[number][:, ::-1])
    top = np.ceil(corners[..., 1].min(axis=1) - 0.5).clip(0, height).astype(np.int64)
    bottom = np.ceil(corners[..., 1].max(axis=1) - 0.5).clip(0, height).astype(np.int64)
    owner, y = _spread(top, bottom)
    left, right = _row_ends(corners, owner, y + 0.5, width)
    row, x = _spread(left, right)
    of = owner[row]
    ahead = _planes(corners)
    near = ahead[of, 0] * (x + 0.5) + ahead[of, 1] * (y[row] + 0.5) + ahead[of, 2]
    return y[row] * width + x, number[of], near


def _spread(first: Array, end: Array) -> tuple[Array, Array]:
    """For ranges first:end, one after the other, which range each number belongs to, and the numbers."""
    count = np.maximum(end - first, 0)
    owner = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return owner, first[owner] + within


def _row_ends(corners: Array, owner: Array, y: Array, width: int) -> tuple[Array, Array]:
    """Where triangles begin and end in rows of pixels, whose middles are at y."""
    left, right = np.full(len(y), -1.0), np.full(len(y), width + 1.0)
    for k in range(3):
        start, end = corners[:, k, :2], corners[:, (k + 1) % 3, :2]
        step = end - start
        flat = step[:, 1] == 0
        slope = step[:, 0] / np.where(flat, 1.0, step[:, 1])
        x = start[owner, 0] + (y - start[owner, 1]) * slope[owner]
        falls, rises = (step[:, 1] > 0)[owner], (step[:, 1] < 0)[owner]
        right = np.where(falls, np.minimum(right, x), right)
        left = np.where(rises, np.maximum(left, x), left)
    ends = (np.ceil(side - 0.5).clip(0, width).astype(np.int64) for side in (left, right))
    first, last = ends
    return first, last


def _planes(corners: Array) -> Array:
    """One over the distance as a plane over the picture, a x + b y + c: (m, 3)."""
    p, z = corners[..., :2], corners[..., 2]
    u, w = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    area = _cross(u, w)
    area = np.where(area == 0, 1.0, area)  # by rounding, of slivers
    du, dw = (z[:, 1] - z[:, 0]) / area, (z[:, 2] - z[:, 0]) / area
    a, b = du * w[:, 1] - dw * u[:, 1], dw * u[:, 0] - du * w[:, 0]
    return np.stack([a, b, z[:, 0] - a * p[:, 0, 0] - b * p[:, 0, 1]], -1)
