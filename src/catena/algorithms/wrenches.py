"""Wrenches carried from a frame to the link it sits on."""

from __future__ import annotations

from typing import Any

from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force, Mat3, Transform, Turn, Vec3
from catena.sweeps import Links


def carried_wrench(links: Links, place: list[Scalar], wrench: list[Scalar]) -> Any:
    """A wrench on a frame as one on its link: `place` is the frame's rotation, by rows, and its origin."""
    frame = Transform.shift(Vec3(*place[9:])).then(Transform.of(Turn(Mat3(*place[:9]))))
    return (frame @ Force.of(wrench)).components


CARRIED_WRENCH = Function(
    "f_ext/carried", carried_wrench, inputs={"place": "robot:12", "wrench": "robot:6"}, outputs={"f": "dense:6"}
)
