"""Pictures of a scene: triangles, light, floor and shadow. See `raster.py` for what is seen where."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.camera import Camera
from catena.drawing.raster import Raster, weights
from catena.drawing.scene import Places, Scene
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
        camera: from where.
        floor: its height along the scene's vertical, m.
        size: width and height of the picture in pixels.
    """

    def __init__(self, scene: Scene, camera: Camera, floor: float, size: tuple[int, int]) -> None:
        self.scene, self.camera, self.floor = scene, camera, floor
        self.width, self.height = size
        self._coarse, self._raster = Raster(camera, *size), Raster(camera, FINER * size[0], FINER * size[1])
        level = axis_frame(scene.up)
        light = 0.35 * camera.axes()[0] + 0.3 * camera.axes()[2] + 1.0 * scene.up + 0.05 * level[:, 0]
        self._light = light / np.linalg.norm(light)
        self._colors, self._back = _triangles(scene)
        self._background = self._empty()

    def picture(self, places: Places) -> Array:
        """The picture for links at these places: (height, width, 3), red, green and blue of 8 bits.

        Several samples, (..., 1 + links, 3), are painted together.
        """
        points, normals = self._placed(places)
        samples = len(points) // max(len(self._colors), 1)
        corners = self._raster.projected(points)
        pixel, triangle = self._raster.visible(corners, np.tile(self._back, samples))
        share = weights(corners[triangle], pixel, self._raster.width)
        normal, place = (_mixed(share, field[triangle]) for field in (normals, points))
        seen = self._shaded(self._colors[triangle % len(self._colors)], normal, place) if len(triangle) else normal
        row, column = np.divmod(pixel, self._raster.width)
        owner = row // FINER * self.width + column // FINER
        count = np.bincount(owner, minlength=self.width * self.height)
        light = self._background * (self._shadow(points) * (1 - count.reshape(self.height, -1) / FINER**2))[..., None]
        for channel in range(3):
            sums = np.bincount(owner, seen[:, channel], minlength=self.width * self.height)
            light[..., channel] += sums.reshape(self.height, -1) / FINER**2
        return np.asarray(np.clip(light, 0, 1) * 255 + 0.5, np.uint8)

    def _placed(self, places: Places) -> tuple[Array, Array]:
        """The corners of all triangles and the normals there, (m, 3, 3) each, sample by sample."""
        points, normals = [np.zeros((0, 3, 3), np.float32)], [np.zeros((0, 3, 3), np.float32)]
        flat = (
            places.rotation.reshape(-1, *places.rotation.shape[-3:]),
            places.position.reshape(-1, *places.position.shape[-2:]),
        )
        for sample in map(Places, *flat):
            for group, turn, shift in self.scene.placed(sample):
                surface = group.surface
                over = np.where(group.scale == 0, 1.0, group.scale)
                at = _turned(surface.vertices, turn, group.scale) + shift[:, None, :].astype(np.float32)
                points.append(at[:, surface.faces].reshape(-1, 3, 3))
                normals.append(_turned(surface.normals, turn, 1 / over)[:, surface.faces].reshape(-1, 3, 3))
        return np.concatenate(points), np.concatenate(normals)

    def _shaded(self, color: Array, normal: Array, place: Array) -> Array:
        """The light that comes back from points of surfaces, (k, 3)."""
        normal, look = _unit(normal), _unit(self.camera.eye.astype(np.float32) - place)
        normal *= np.where(_dot(normal, look) < 0, np.float32(-1), np.float32(1))[:, None]
        direct = _dot(normal, self._light).clip(0.0)
        around = 0.5 + 0.5 * _dot(normal, self.scene.up)
        shine = _dot(normal, _unit(look + self._light.astype(np.float32))).clip(0.0) ** 40
        return np.asarray(color * (0.32 + 0.22 * around + 0.62 * direct)[:, None] + 0.16 * shine[:, None])

    def _shadow(self, points: Array) -> Array:
        """The share of light at each pixel of the floor, (height, width)."""
        height = _dot(points, self.scene.up) - self.floor
        cast = points - (height / (self._light @ self.scene.up))[..., None] * self._light
        covered: Array = self._coarse.covered(self._coarse.projected(cast)).astype(np.float32)
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
    """What triangles have at their corners, (k, 3, 3), at points inside."""
    return np.asarray(sum(share[:, k, None] * corners[:, k] for k in range(3)))


def _turned(vectors: Array, turn: Array, scale: Array) -> Array:
    """The vectors (v, 3) scaled and turned for each of k instances, (k, v, 3)."""
    matrices = np.swapaxes(turn * scale[:, None, :], -1, -2).astype(np.float32)
    return np.asarray(vectors @ matrices)


def _triangles(scene: Scene) -> tuple[Array, Array]:
    """Of all triangles of one sample, in the order in which they are placed: colours, and which have two sides."""
    colors, back = [np.zeros((0, 3), np.float32)], [np.zeros(0, bool)]
    for group in scene.groups:
        count = len(group.surface.faces)
        colors.append(np.repeat(group.color, count, axis=0).astype(np.float32))
        back.append(np.full(count * len(group.link), not group.surface.closed))
    return np.concatenate(colors), np.concatenate(back)


def _round_length(length: float) -> float:
    """1, 2 or 5 times a power of ten, near `length`."""
    power = 10.0 ** np.floor(np.log10(max(length, 1e-12)))
    return float(next(k * power for k in (1, 2, 5, 10) if length <= k * power * 1.4))
