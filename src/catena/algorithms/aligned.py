"""Links whose frames do not turn against each other where axes are parallel: fewer operations for what travels far.

Where a joint turns about an axis that is parallel to that of its parent's joint, the parent's frame may have the
directions of the child's: axes stay the same, what is carried from one to the other is only shifted, and it is the
parent's own inertia that turns. That pays where much is carried along the chain, as for whole matrices of derivatives.
Only directions of frames change, at a given configuration: all that is made of spatial vectors stays the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from catena.algorithms.altered import AlteredLink
from catena.model.joints import Revolute
from catena.scalars import Scalar
from catena.spatial import Axes, RigidInertia, ShiftAlong, Transform, TurnAbout, Vec3
from catena.sweeps import Field

Turned = tuple[Scalar, Scalar]
"""The cosine and the sine of an angle about z."""


class AlignedLink(AlteredLink):
    """A link whose frame has other directions, about the axis of its joint."""

    parent: Any

    def __init__(self, link: Any, phi: Transform, H: Axes, turned: Turned | None) -> None:
        super().__init__(link, parent=link.parent)
        self._joint = phi, H
        self._turn = Transform.of() if turned is None else Transform.of(TurnAbout("z", turned[0], -turned[1]))

    @property
    def M(self) -> RigidInertia:
        """The link's own inertia at its frame."""
        own: RigidInertia = self._turn.congruence(self._link.M)
        return own

    @property
    def frame(self) -> Transform:
        """From this link's frame to the frame the user knows."""
        return self._turn.then(self._link.frame)

    def joint(self, q: Any) -> tuple[Transform, Axes]:
        """φ and H at the configuration for which links were aligned."""
        return self._joint


class AlignedLinks:
    """The links of a mechanism at one configuration, with frames aligned. For unrolled kernels only."""

    def __init__(self, links: Any, q: Field) -> None:
        self._all = links
        children = Counter(k.parent.index for k in links)
        turned: dict[int, Turned] = {}  # how far the frame of an aligned child, or of one beyond it, is turned
        joints = {k.index: k.joint(q[k]) for k in links}
        aligned = set()
        for k in links.tip_to_base():
            phi, p = joints[k.index][0], k.parent
            if p is not links.base and children[p.index] == 1 and _parallel(k, phi) and _revolute(p):
                turned[p.index] = _sum(_own_turn(phi), turned.get(k.index))
                aligned.add(k.index)
        self._links: list[AlignedLink] = []
        for k in links:
            phi, H = joints[k.index]
            if k.index in aligned:
                phi = _shifted(phi, turned[k.parent.index])
            elif k.index in turned:
                phi = _turned_further(phi, turned[k.index])
            made = AlignedLink(k, phi, H, turned.get(k.index))
            if k.parent is not links.base:
                made.parent = self._links[k.parent.index]
            self._links.append(made)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all, name)

    def __iter__(self) -> Iterator[AlignedLink]:
        return iter(self._links)

    def base_to_tip(self) -> Iterator[AlignedLink]:
        """Every link after its parent."""
        return iter(self._links)

    def tip_to_base(self) -> Iterator[AlignedLink]:
        """Every link before its parent."""
        return reversed(self._links)


def _revolute(k: Any) -> bool:
    return issubclass(k.joint_type, Revolute)


def _parallel(k: Any, phi: Transform) -> bool:
    """Whether the joint of a link turns about an axis that is parallel to the z-axis of the parent's frame."""
    turns = [stage for stage in phi.stages if not isinstance(stage, ShiftAlong)]
    return _revolute(k) and len(turns) == 1 and isinstance(turns[0], TurnAbout) and turns[0].axis == "z"


def _own_turn(phi: Transform) -> Turned:
    """The turn of a joint about z, the last one on the way from the parent."""
    turn = next(stage for stage in reversed(phi.stages) if isinstance(stage, TurnAbout))
    return turn.c, turn.s


def _sum(a: Turned, b: Turned | None) -> Turned:
    """The sum of two angles."""
    return a if b is None else (a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1])


def _shifted(phi: Transform, turned: Turned) -> Transform:
    """The way to a child whose frame has the directions of the parent's, which is turned so."""
    way, (c, s) = Vec3.zero(), turned
    for stage in phi.stages:
        if isinstance(stage, ShiftAlong):
            way = way + Vec3.from_cycle(stage.axis, 0, 0, stage.d)
    x, y, z = way
    return Transform.of(ShiftAlong("x", c * x + s * y), ShiftAlong("y", c * y - s * x), ShiftAlong("z", z))


def _turned_further(phi: Transform, turned: Turned) -> Transform:
    """The way to a child on whose joint's turn another follows about the same axis."""
    stages = list(phi.stages)
    last = max(i for i, stage in enumerate(stages) if isinstance(stage, TurnAbout))
    stages[last] = TurnAbout("z", *_sum(_own_turn(phi), turned))
    return Transform(tuple(stages))
