"""Where a scene is looked at from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import pair
from catena.errors import ShapeError, shown
from catena.model.axes import axis_frame

Array = npt.NDArray[Any]

VIEW = (-55.0, 20.0)
"""Degrees: round the vertical from x towards y, and above the floor."""
OPENING = np.radians(30.0)
"""The angle that the height of a picture takes in."""


@dataclass(frozen=True)
class Camera:
    """An eye, the point it looks at, and what is up there, (3,) each, in m."""

    eye: Array
    target: Array
    up: Array

    @classmethod
    def on(cls, balls: tuple[Array, Array], up: Array, view: tuple[float, float], aspect: float) -> Camera:
        """A camera that sees all of some balls from the given angles.

        Args:
            balls: centres (k, 3) and radii (k,), m.
            up: a unit vector.
            view: azimuth and elevation in degrees.
            aspect: width of the picture over its height.
        """
        angles = pair(view)
        if angles is None:
            raise ShapeError(f"view: expected an azimuth and an elevation in degrees, got {shown(view)}")
        azimuth, elevation = np.radians(angles)
        ground = axis_frame(up)
        level = ground[:, 0] * np.cos(azimuth) + ground[:, 1] * np.sin(azimuth)
        out = level * np.cos(elevation) + up * np.sin(elevation)
        axes = cls(out, np.zeros(3), up).axes()
        (centre, radius), tall = balls, np.tan(OPENING / 2)
        seen = centre @ axes.T
        lower, upper = (seen - radius[:, None]).min(axis=0), (seen + radius[:, None]).max(axis=0)
        middle = (lower + upper) / 2
        # from each ball: how far back the eye must be for it to be inside the picture
        side = (np.abs(seen - middle)[:, :2] + radius[:, None]) / (tall * np.array([aspect, 1.0]))
        back = float((seen[:, 2] - middle[2] + radius + side.max(axis=1)).max())
        target = middle @ axes
        return cls(target + out * max(1.06 * back, 1e-6), target, up)

    def in_upper(self, share: float) -> Camera:
        """A camera that has what this one sees in the upper share of its picture, as wide as before."""
        out = (self.eye - self.target) / share
        lower = self.axes()[1] * ((1 - share) * float(np.linalg.norm(out)) * np.tan(OPENING / 2))
        return Camera(self.target + out - lower, self.target - lower, self.up)

    def axes(self) -> Array:
        """Rows: to the right, up and towards the eye, (3, 3)."""
        out = self.eye - self.target
        out = out / np.linalg.norm(out)
        right = np.cross(self.up, out)
        if np.linalg.norm(right) < 1e-9:  # from straight above
            right = axis_frame(self.up)[:, 1]
        right = right / np.linalg.norm(right)
        return np.stack([right, np.cross(out, right), out])

    def seen(self, points: Array) -> tuple[Array, Array, Array]:
        """Points (k, 3) as the camera has them: how far to the right, up and in front, (k,) each."""
        x, y, z = (points - self.eye.astype(points.dtype)).T
        right, up, back = self.axes().astype(points.dtype)
        a, b, c = (x * axis[0] + y * axis[1] + z * axis[2] for axis in (right, up, -back))
        return a, b, c
