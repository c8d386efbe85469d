"""Links and joints as a builder or loader hands them over, before anything is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

Limits = float | Sequence[float] | None


class Mimic(NamedTuple):
    """A joint that is meant to follow another: q = multiplier * q_master + offset."""

    master: str
    multiplier: float = 1.0
    offset: float = 0.0


class LinkPart(NamedTuple):
    """A rigid body: mass (kg), centre of mass (m, link frame), inertia about it (3x3, kg m², link axes)."""

    name: str
    mass: float = 0.0
    com: npt.ArrayLike = (0.0, 0.0, 0.0)
    inertia: npt.ArrayLike = ((0.0, 0.0, 0.0),) * 3
    meshes: tuple[Any, ...] = ()


class JointPart(NamedTuple):
    """A joint from `parent` to `child` (link names).

    `rotation` (3x3) and `position` place the child's frame in the parent's at joint zero. `axis` (and `axis2`, the
    universal joint's second, perpendicular one) are in the child's frame; they need not be of unit length. `pitch` is
    metres per radian (helical). Limits are one number or one per coordinate: `lower`, `upper` of length nq,
    `velocity_limit`, `effort_limit`, `damping`, `friction`, `armature`, `stiffness`, `rest` of length nv; None means
    unlimited. A spring is slack where the joint is `rest` away from zero, as `difference` measures it.
    """

    name: str
    type: str
    parent: str
    child: str
    rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: npt.ArrayLike = (0.0, 0.0, 0.0)
    axis: npt.ArrayLike = (1.0, 0.0, 0.0)
    axis2: npt.ArrayLike | None = None
    pitch: float = 0.0
    lower: Limits = None
    upper: Limits = None
    velocity_limit: Limits = None
    effort_limit: Limits = None
    damping: float | Sequence[float] = 0.0
    friction: float | Sequence[float] = 0.0
    armature: float | Sequence[float] = 0.0
    mimic: Mimic | None = None
    stiffness: float | Sequence[float] = 0.0
    rest: float | Sequence[float] = 0.0
