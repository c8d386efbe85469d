"""What a robot is: names, sizes, links, joints and their numbers, frames; and its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.links import JointLike, LinkLike, joint_name, link_name
from catena.errors import UnknownNameError
from catena.model import describe
from catena.model.actuators import Actuators
from catena.model.names import Names
from catena.model.tree import Frame, Tree
from catena.model.views import JointView, LinkView, Views

Array = npt.NDArray[Any]


class Description:
    """The part of Robot that says what it is: its names, sizes, links, joints and frames. All of it is read-only."""

    __slots__ = ()

    tree: Tree

    @property
    def name(self) -> str:
        """The robot's name, as the file or its maker gave it."""
        return self.tree.name

    @property
    def nq(self) -> int:
        """The number of coordinates in a configuration q; it exceeds `nv` where joints have quaternions."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """The number of degrees of freedom: the length of a velocity v, of joint torques and accelerations.

        Joints that mimic others have none, unless they were loaded with `mimic="independent"`.
        """
        return self.tree.nv

    @property
    def links(self) -> Views[LinkView]:
        """The moving links as a sequence of `LinkView`, base to tip; fixed joints are merged (see `frames`)."""
        return Views(LinkView, self.tree)

    @property
    def joints(self) -> Views[JointView]:
        """The moving joints as a sequence of `JointView`, base to tip; joint i carries link i."""
        return Views(JointView, self.tree)

    @property
    def base_name(self) -> str:
        """The name of the base, which does not move."""
        return self.tree.base_name

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The frames of links that fixed joints have merged into others, by name.

        Each is a tuple: the number of the moving link that it is fixed to (-1: the base), and its rotation (3, 3) and
        position (3,), m, in the frame of that link.
        """
        return self.tree.frames

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the base's frame, (3,), m/s²; `with_gravity` makes a robot under another."""
        return self.tree.gravity

    @property
    def total_mass(self) -> float:
        """The mass of all moving links together, kg; what is bolted to a fixed base does not count."""
        return float(self.tree.mass.sum())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd but usable about the file that the robot was loaded from, one message each.

        `catena.load` gives the same messages as Python warnings, in the category `catena.ModelWarning`.
        """
        return self.tree.warnings

    @property
    def lower(self) -> Array:
        """The lower limits of the joint coordinates, (nq,), rad or m; -inf where there is none.

        As all arrays of joint data it is in the order of q (or of v), and read-only. Quaternions have no limits.
        """
        return self.tree.lower

    @property
    def upper(self) -> Array:
        """The upper limits of the joint coordinates, (nq,), rad or m; inf where there is none."""
        return self.tree.upper

    @property
    def velocity_limit(self) -> Array:
        """The largest joint speeds allowed, either way, (nv,), rad/s or m/s; inf where there is no limit."""
        return self.tree.velocity_limit

    @property
    def effort_limit(self) -> Array:
        """The largest joint torques or forces allowed, either way, (nv,), N m or N; inf where there is no limit."""
        return self.tree.effort_limit

    @property
    def actuators(self) -> Actuators:
        """What drives the robot's joints, with gears and limits: all of them, or some by name, `["hip", "knee"]`."""
        return Actuators(self.tree)

    @property
    def damping(self) -> Array:
        """The viscous damping of the joints, (nv,), N m s/rad or N s/m; see `joint_losses` for when it acts."""
        return self.tree.damping

    @property
    def friction(self) -> Array:
        """The dry (Coulomb) friction of the joints, (nv,), N m or N; see `joint_losses` for when it acts."""
        return self.tree.friction

    @property
    def armature(self) -> Array:
        """The inertia of rotors and gears as felt at the joints, (nv,), kg m² or kg; part of the mass matrix.

        They have the kinetic energy ½ vᵀ diag(armature) v in the joints' own speeds, and the bias that follows from it.
        """
        return self.tree.armature

    @property
    def stiffness(self) -> Array:
        """The stiffness of the joints' springs, (nv,), N m/rad or N/m; see `step` for when they act."""
        return self.tree.stiffness

    @property
    def rest(self) -> Array:
        """Where the joints' springs are slack, (nv,), rad or m from zero as `difference` measures it."""
        return self.tree.rest

    def link(self, link: LinkLike) -> LinkView:
        """The moving link of that name or number, with its mass, centre of mass and inertia."""
        return LinkView(self.tree, self.link_index(link))

    def joint(self, joint: JointLike) -> JointView:
        """The moving joint of that name or number, with its type, axis, placement, limits and losses."""
        return JointView(self.tree, self.joint_index(joint))

    def link_index(self, link: LinkLike) -> int:
        """The number of a moving link, from 0 at the base: its row in arrays of shape (..., links, 6).

        Raises UnknownNameError for the base and for frames, which have no number of their own.
        """
        name = link_name(self.tree, link)
        found = _find(self._link_numbers, name)
        if found is not None:
            return found
        if name == self.tree.base_name:
            raise UnknownNameError(f"{name!r} is the base, which does not move and has no number; see robot.frame")
        frame = self.tree.frames.get(name)
        if frame is not None:
            carrier = self.tree.link_names[frame.link] if frame.link >= 0 else self.tree.base_name
            raise UnknownNameError(f"{name!r} is fixed to {carrier!r} and does not move by itself; see robot.frame")
        raise UnknownNameError.among("link", name, self.tree.link_names)

    def joint_index(self, joint: JointLike) -> int:
        """The number of a moving joint, from 0 at the base; the link that it carries has the same number."""
        name = joint_name(self.tree, joint)
        found = _find(self._joint_numbers, name)
        if found is None:
            raise UnknownNameError.among("joint", name, self.tree.joint_names)
        return found

    def frame(self, link: LinkLike) -> Frame:
        """Where a link or frame is fixed: the number of the moving link (-1: the base), rotation and position in it.

        For a moving link, and for the base, that is the link itself with the identity and zero.
        """
        name = link_name(self.tree, link)
        found = _find(self._link_numbers, name)
        if found is None and name == self.tree.base_name:
            found = -1
        if found is not None:
            return Frame(found, np.eye(3), np.zeros(3))
        try:
            return self.tree.frames[name]
        except KeyError:
            known = (*self.tree.frames, self.tree.base_name, *self.tree.link_names[:10_000])
            raise UnknownNameError.among("link or frame", name, known) from None

    @property
    def _link_numbers(self) -> Names | dict[str, int]:
        return self.tree.once("link numbers", lambda: _numbered(self.tree.link_names))

    @property
    def _joint_numbers(self) -> Names | dict[str, int]:
        return self.tree.once("joint numbers", lambda: _numbered(self.tree.joint_names))

    def __str__(self) -> str:
        return describe.text(self.tree)

    def __repr__(self) -> str:
        return f"<Robot {describe.summary(self.tree)}>"


def _numbered(names: Any) -> Names | dict[str, int]:
    return names if isinstance(names, Names) else {name: i for i, name in enumerate(names)}


def _find(numbers: Names | dict[str, int], name: str) -> int | None:
    if isinstance(numbers, Names):
        return numbers.index(name) if name in numbers else None
    return numbers.get(name)
