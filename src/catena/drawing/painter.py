"""Pictures of a scene: triangles, light, floor and shadow. See `raster.py` for what is seen where."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.camera import Camera
from catena.drawing.raster import Raster, weights
from catena.drawing.scene import Places, Scene
from catena.drawing.triangles import Placed, Triangles
from catena.model.axes import axis_frame

Array = npt.NDArray[Any]

FINER = 2
"""Each pixel is the mean of so many squared."""
SKY, GROUND, LINE = np.array([0.98, 0.985, 0.99]), np.array([0.91, 0.925, 0.94]), np.array([0.80, 0.83, 0.86])
SHADOW = 0.72
"""The share of light that is left in the shadow."""


class Painter:
    """Paints a scene from one camera, on one floor.

    Args:
        scene: what to paint.
        samples: how many of it.
        camera: from where.
        floor: its height along the scene's vertical, m.
        size: width and height of the picture in pixels.
    """

    def __init__(self, scene: Scene, samples: int, camera: Camera, floor: float, size: tuple[int, int]) -> None:
        self.scene, self.camera, self.floor = scene, camera, floor
        self.width, self.height = size
        self._coarse, self._raster = Raster(camera, *size), Raster(camera, FINER * size[0], FINER * size[1])
        level = axis_frame(scene.up)
        light = 0.35 * camera.axes()[0] + 0.3 * camera.axes()[2] + 1.0 * scene.up + 0.05 * level[:, 0]
        self._light = (light / np.linalg.norm(light)).astype(np.float32)
        self._up = scene.up.astype(np.float32)
        self._triangles = Triangles(scene, samples)
        self._background = self._empty()

    def picture(self, places: Places) -> Array:
        """The picture for links at these places: (height, width, 3), red, green and blue of 8 bits.

        `places` has the samples in front, (samples, 1 + links, 3).
        """
        placed = self._triangles.placed(places)
        light = self._background * self._shadow(placed.points)[..., None]
        seen = self._raster.projected(placed.points)
        pixel, triangle = self._raster.visible(seen, self._triangles.faces, self._triangles.back, self._triangles.marks)
        if len(pixel):
            row, column = np.divmod(pixel, self._raster.width)
            owner = row // FINER * self.width + column // FINER
            count = np.bincount(owner, minlength=self.width * self.height).reshape(self.height, -1)
            light *= (1 - count / np.float32(FINER**2))[..., None]
            light += self._means(owner, self._colored(placed, seen, pixel, triangle))
        return np.asarray(np.clip(light, 0, 1) * 255 + 0.5, np.uint8)

    def _colored(self, placed: Placed, seen: Array, pixel: Array, triangle: Array) -> Array:
        """The colours of pixels and of the triangles there, (k, 3)."""
        shown = np.zeros(len(self._triangles.back), bool)
        shown[triangle] = True
        number, of = np.flatnonzero(shown), (np.cumsum(shown) - 1).take(triangle)
        faces = self._triangles.faces.take(number, axis=1)
        normals, color = self._triangles.looks(placed, number)
        share = weights(seen.take(faces.take(of, axis=1), axis=1), pixel, self._raster.width).astype(np.float32)
        fields = normals, placed.points.take(faces, axis=0)
        normal, place = (_mixed(share, field.take(of, axis=1)) for field in fields)
        return self._shaded(color.take(of, axis=0), normal, place)

    def _means(self, owner: Array, color: Array) -> Array:
        """Colours (k, 3) of parts of pixels, summed up to pixels, (height, width, 3)."""
        size = self.width * self.height
        sums = [np.bincount(owner, channel, minlength=size) for channel in color.T]
        return np.asarray(np.stack(sums, -1).reshape(self.height, self.width, 3) / FINER**2, np.float32)

    def _shaded(self, color: Array, normal: Array, place: Array) -> Array:
        """The light that comes back from points of surfaces, (k, 3)."""
        normal, look = _unit(normal), _unit(self.camera.eye.astype(np.float32) - place)
        normal *= np.where(_dot(normal, look) < 0, np.float32(-1), np.float32(1))[:, None]
        direct = _dot(normal, self._light).clip(0.0)
        around = 0.5 + 0.5 * _dot(normal, self._up)
        shine = _dot(normal, _unit(look + self._light)).clip(0.0) ** 40
        return np.asarray(color * (0.32 + 0.22 * around + 0.62 * direct)[:, None] + 0.16 * shine[:, None])

    def _shadow(self, points: Array) -> Array:
        """The share of light at each pixel of the floor, (height, width)."""
        height = _dot(points, self._up) - np.float32(self.floor)
        cast = points - (height / _dot(self._light, self._up))[..., None] * self._light
        covered: Array = self._coarse.covered(self._coarse.projected(cast), self._triangles.faces).astype(np.float32)
        for axis in (0, 1):  # a soft edge
            covered = (np.roll(covered, 1, axis) + covered + np.roll(covered, -1, axis)) / 3
        return np.asarray(1.0 - (1.0 - SHADOW) * covered * self._floor_seen)

    def _empty(self) -> Array:
        """Floor with lines, fading into the sky."""
        raster, up = self._coarse, self.scene.up
        rays = raster.rays()
        down = _dot(rays, up)
        above = float(self.camera.eye @ up) - self.floor
        away = np.where(down < -1e-9, above / np.where(down < -1e-9, -down, 1.0), np.inf)
        self._floor_seen = np.isfinite(away) & (above > 0)
        at = self.camera.eye + rays * np.where(self._floor_seen, away, 0.0)[..., None]
        reach = float(np.linalg.norm(self.camera.eye - self.camera.target))
        cell = _round_length(reach / 8)
        line = np.zeros(away.shape)
        for across in axis_frame(up)[:, :2].T:
            where = _dot(at, across) / cell
            wide = np.where(self._floor_seen, away, 1.0) / raster.focus * 0.7 / cell
            line = np.maximum(line, np.clip(1.5 - np.abs(where - np.round(where)) / wide, 0, 1))
        fade = np.exp(-((np.linalg.norm(at - self.camera.target, axis=-1) / (1.6 * reach)) ** 2))
        fade = np.where(self._floor_seen, fade, 0.0)
        ground = GROUND + line[..., None] * (LINE - GROUND)
        return np.asarray(SKY + fade[..., None] * (ground - SKY), np.float32)


def _dot(a: Array, b: Array) -> Array:
    """Products of vectors (..., 3), without the threads that large matrix products start."""
    return np.asarray(a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2])


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.sqrt(_dot(vectors, vectors)).clip(1e-12)[..., None])


def _mixed(share: Array, corners: Array) -> Array:
    """What triangles have at their corners, (3, k, 3), at points inside."""
    return np.asarray(sum(part[:, None] * corner for part, corner in zip(share, corners, strict=True)))


def _round_length(length: float) -> float:
    """1, 2 or 5 times a power of ten, near `length`."""
    power = 10.0 ** np.floor(np.log10(max(length, 1e-12)))
    return float(next(k * power for k in (1, 2, 5, 10) if length <= k * power * 1.4))
