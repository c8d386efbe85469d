"""What is left of an algorithm that ran on the recorder: loops, their bodies, and the memory of a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JointType, in_kernels
from catena.model.lowering.lowered import OF_JOINT, Lowered
from catena.trace.fuse import fuse
from catena.trace.graph import LEAF, Operand, live

Array = npt.NDArray[Any]

CONST, SELF, PARENT, CARRY, BASE, TIP = "const", "self", "parent", "carry", "base", "tip"
"""The arrays that leaves stand for, besides inputs: link constants, fields of the link and of its parent, carried
values, and fields of the base and of a chain's last link after the loops."""

Slot = tuple[str, int]
"""A field's name and the number of one of its scalars."""


@dataclass
class Body:
    """What one turn of a loop does for one kind of link: stores (array, index, value), and the values it carries on."""

    stores: dict[tuple[str, Any], Operand] = field(default_factory=dict)
    carried: dict[Slot, Operand] = field(default_factory=dict)

    @property
    def values(self) -> list[Operand]:
        """All that is stored, then all that is carried on."""
        return [*self.stores.values(), *self.carried.values()]

    def with_values(self, values: Sequence[Operand]) -> Body:
        """The same with other values, in the order of `values`."""
        stores = dict(zip(self.stores, values, strict=False))
        return Body(stores, dict(zip(self.carried, values[len(stores) :], strict=True)))

    def fused(self) -> Body:
        """The same with multiply-adds."""
        return self.with_values(fuse(self.values))

    @property
    def constants(self) -> set[str]:
        """The constants of links that it reads, by name."""
        return {node.args[1] for node in live(self.values) if node.op == LEAF and node.args[0] == CONST}


@dataclass
class Loop:
    """One sweep: +1 base to tip, -1 tip to base; a body for each kind of link; what the first turn finds carried.

    With direction 0 it is no sweep but one turn at the base, which has a single body: what that stores, links find at
    their parent.
    """

    direction: int
    bodies: list[Body] = field(default_factory=list)
    start: dict[Slot, Operand] = field(default_factory=dict)


def constants_of(loops: Sequence[Loop], number: int) -> list[str]:
    """The constants that links of a class read, sorted by name."""
    return sorted(set[str]().union(*[loop.bodies[number].constants for loop in loops if loop.direction]))


@dataclass
class LinkClass:
    """Links with one joint type, with the constants that all of them share; the others are loads.

    They are also alike in whether their own inertia and that of their parents have inverses, where an algorithm asks.
    """

    joint_type: type[JointType]
    shared: dict[str, float]
    varying: tuple[str, ...]
    solid: bool
    on_solid: bool


@dataclass
class Recording:
    """Loops with everything dead taken out, and memory laid out: `slots` tells each scalar's place in that of a link.

    Scalars that only the base has, or only the last link, are `apart`, at places before the base's: -1, -2, ...

    `base` is what the base's memory holds at the start, numbers or functions of inputs of the whole robot, and likewise
    what loops carry at their start. `columns` are the constants that each class reads. After the loops
    comes the `epilogue`, once: what is made of the base's values then, and stored to outputs. `arriving` are the slots
    of the base that it reads, `leaving` those of the last link that loops carry there; `operations` is how many a link
    takes on average.
    """

    classes: list[LinkClass]
    loops: list[Loop]
    slots: dict[Slot, int]
    base: dict[Slot, Operand]
    columns: list[list[str]]
    epilogue: Body
    arriving: set[Slot]
    leaving: set[Slot]
    chain: bool
    operations: int

    @property
    def size(self) -> int:
        """How many numbers each link, and the base, keeps in memory."""
        return 1 + max(self.slots.values(), default=-1)

    @property
    def apart(self) -> int:
        """How many numbers lie before the memory of the base."""
        return -min(0, *self.slots.values(), 0)

    def fused(self) -> Recording:
        """The same with multiply-adds, each of them within one turn of a loop."""
        return replace(self, loops=[replace(x, bodies=[body.fused() for body in x.bodies]) for x in self.loops])


def classify(lowered: Lowered) -> tuple[list[LinkClass], Array]:
    """The classes of links of a mechanism, and the number of the class of each link."""
    marks = lowered.joint_type.astype(np.int16) * 4 + lowered.solid * 2 + lowered.on_solid
    found = np.flatnonzero(np.bincount(marks))
    which = np.searchsorted(found, marks)
    classes = []
    for number, mark in enumerate(found.tolist()):
        joint_type = in_kernels(mark // 4)
        rows = which == number if len(found) > 1 else slice(None)
        columns = {name: column[rows] for name, column in lowered.constants.items()}
        names = [f"{letter}{i}" for letter in OF_JOINT for i in range(joint_type.nv)]
        columns.update({name: lowered.of_joint(name, rows) for name in names})
        shared = {name: float(x[0]) for name, x in columns.items() if x.strides == (0,) or (x == x[0]).all()}
        varying = tuple(name for name in columns if name not in shared)
        classes.append(LinkClass(joint_type, shared, varying, bool(mark & 2), bool(mark & 1)))
    return classes, which.astype(np.int8)
