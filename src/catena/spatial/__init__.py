"""Spatial algebra over any scalar: vectors, transforms applied stage by stage, inertias in blocks, joint axes."""

from catena.spatial.axes import Axes, Columns, Dofs, SmallSymmetric
from catena.spatial.inertia import ArticulatedInertia, RigidInertia
from catena.spatial.motion import Force, Motion
from catena.spatial.transform import ShiftAlong, Transform, Turn, TurnAbout
from catena.spatial.vectors import Mat3, Sym3, Vec3

__all__ = [
    "ArticulatedInertia",
    "Axes",
    "Columns",
    "Dofs",
    "Force",
    "Mat3",
    "Motion",
    "RigidInertia",
    "ShiftAlong",
    "SmallSymmetric",
    "Sym3",
    "Transform",
    "Turn",
    "TurnAbout",
    "Vec3",
]
