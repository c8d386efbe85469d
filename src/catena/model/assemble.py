"""From parts to a Tree: names, order, fixed joints merged, everything checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy.typing as npt

from catena.model.parts import JointPart, LinkPart
from catena.model.tree import Tree


def assemble(
    links: Iterable[LinkPart],
    joints: Iterable[JointPart],
    *,
    name: str = "robot",
    base: Literal["fixed", "floating"] = "fixed",
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
    warnings: Iterable[str] = (),
    strict: bool = True,
) -> Tree:
    """Checks the parts and makes the Tree of which they are the links and joints; `Robot(tree)` is the caller's step.

    Links are ordered base to tip, depth first, children in the order of `joints`. The one link without a parent is the
    base (`base="fixed"`) or moves freely, by a joint "root_joint" (`base="floating"`). Links hanging on fixed joints
    are merged into what carries them and stay as frames.

    `strict=False` is for files of real robots, which have faults their users live with. Then two faults are warnings
    instead of errors: a moving leaf that nothing holds back (no mass, no inertia about its axis, no armature), so that
    the mass matrix has no inverse; and an inertia that is not positive semidefinite about the centre of mass but is so
    about the link's origin, or whose link is fixed to another that makes up for it.

    Raises ModelError or a child of it for anything else wrong. Cost: O(n).
    """
