"""What a robot is: names, sizes, links, joints, frames; and its text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.links import JointLike, LinkLike, joint_name, link_name
from catena.errors import UnknownNameError
from catena.model import describe
from catena.model.names import Names
from catena.model.tree import Frame, Tree
from catena.model.views import JointView, LinkView, Views


class Description:
    """The part of Robot that answers what it is."""

    tree: Tree

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.tree.name

    @property
    def nq(self) -> int:
        """Length of a configuration q."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Length of a velocity v: the degrees of freedom."""
        return self.tree.nv

    @property
    def links(self) -> Views[LinkView]:
        """The moving links, base to tip."""
        return Views(LinkView, self.tree)

    @property
    def joints(self) -> Views[JointView]:
        """The moving joints; joint i carries link i."""
        return Views(JointView, self.tree)

    @property
    def base_name(self) -> str:
        """Name of what does not move."""
        return self.tree.base_name

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Links merged by fixed joints: name -> (link index or -1 for the base, rotation, position) in that link."""
        return self.tree.frames

    @property
    def gravity(self) -> npt.NDArray[Any]:
        """Gravity in the base's frame, m/s²."""
        return self.tree.gravity

    @property
    def total_mass(self) -> float:
        """Mass of everything that moves, kg; what is bolted to a fixed base does not count."""
        return float(self.tree.mass.sum())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the model but usable."""
        return self.tree.warnings

    def link(self, link: LinkLike) -> LinkView:
        """The moving link of that name or number."""
        return LinkView(self.tree, self.link_index(link))

    def joint(self, joint: JointLike) -> JointView:
        """The moving joint of that name or number."""
        return JointView(self.tree, self.joint_index(joint))

    def link_index(self, link: LinkLike) -> int:
        """Number of a moving link."""
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
        """Number of a moving joint."""
        name = joint_name(self.tree, joint)
        found = _find(self._joint_numbers, name)
        if found is None:
            raise UnknownNameError.among("joint", name, self.tree.joint_names)
        return found

    def frame(self, link: LinkLike) -> Frame:
        """The frame of a moving link, of one merged by a fixed joint, or of the base (link -1)."""
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

    @cached_property
    def _link_numbers(self) -> Names | dict[str, int]:
        return _numbered(self.tree.link_names)

    @cached_property
    def _joint_numbers(self) -> Names | dict[str, int]:
        return _numbered(self.tree.joint_names)

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
