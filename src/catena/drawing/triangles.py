"""All triangles of a scene in a row, for the painter: what they share between frames, and where they are in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.scene import Group, Places, Scene

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Placed:
    """One frame: `points` (k, 3), the corners in the world, and `matrices` (instances, 3, 3), which turn normals."""

    points: Array
    matrices: Array


def corners(group: Group, turn: Array, shift: Array, scale: Array) -> Array:
    """The corners of a group's instances in the world, (instances, corners, 3), at places of a scene, (..., k)."""
    stretch = np.swapaxes(turn * scale[..., None, :], -1, -2).reshape(-1, 3, 3).astype(np.float32)
    return np.asarray(group.surface.welded[0] @ stretch + shift.reshape(-1, 1, 3).astype(np.float32))


class Triangles:
    """The triangles of a number of samples of a scene, group by group, in it sample by sample, instance by instance.

    `faces` (3, m) are numbers of corners among the points of a frame, `back` (m,) says which have two sides, and
    `marks` (m,) which are seen through all others.
    """

    def __init__(self, scene: Scene, samples: int) -> None:
        self.scene, self.samples = scene, samples
        faces, back, marks = [np.zeros((3, 0), np.intp)], [np.zeros(0, bool)], [np.zeros(0, bool)]
        normals = [np.zeros((3, 0, 3), np.float32)]
        colors, counts, starts = [np.zeros((0, 3), np.float32)], [np.zeros(0, int)], [np.zeros(0, int)]
        total = known = 0
        for group in scene.groups:
            surface, copies = group.surface, samples * len(group.link)
            points, numbered = surface.welded
            first = total + len(points) * np.arange(copies)
            faces.append((numbered + first[:, None, None]).transpose(2, 0, 1).reshape(3, -1))
            back.append(np.full(copies * len(numbered), not surface.closed))
            marks.append(np.full(copies * len(numbered), group.mark))
            normals.append(surface.normals[surface.faces.T])
            colors.append(np.tile(group.color.astype(np.float32), (samples, 1)))
            counts.append(np.full(copies, len(numbered)))
            starts.append(np.full(copies, known))
            total, known = total + copies * len(points), known + len(numbered)
        self.faces, self.back, self.marks = np.concatenate(faces, 1), np.concatenate(back), np.concatenate(marks)
        self._colors, self._normals = np.concatenate(colors), np.concatenate(normals, 1)
        count = np.concatenate(counts)
        self._ends = np.cumsum(count)
        self._shift = np.concatenate(starts) - (self._ends - count)  # from a triangle to its normals

    def placed(self, places: Places) -> Placed:
        """Where they are; `places` has the samples in front, (samples, 1 + links, 3)."""
        points, matrices = [np.zeros((0, 3), np.float32)], [np.zeros((0, 3, 3), np.float32)]
        for group, turn, shift, scale in self.scene.placed(places):
            points.append(corners(group, turn, shift, scale).reshape(-1, 3))
            over = np.where(scale == 0, 1.0, scale)
            matrices.append((turn / over[..., None, :]).reshape(-1, 3, 3).astype(np.float32))
        return Placed(np.concatenate(points), np.concatenate(matrices))

    def looks(self, placed: Placed, triangle: Array) -> tuple[Array, Array]:
        """Of some triangles, (k,): normals at their corners in the world, (3, k, 3), not of unit length; colours."""
        instance = np.searchsorted(self._ends, triangle, side="right")
        normals = self._normals[:, triangle + self._shift[instance], :, None]
        return (placed.matrices[instance] @ normals)[..., 0], self._colors[instance]
