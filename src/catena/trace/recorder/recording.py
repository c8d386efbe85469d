"""What is left of an algorithm that ran on symbolic links: loops, their bodies, and the memory of a link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES, JointType
from catena.model.lowering.lowered import OF_JOINT, Lowered
from catena.trace.graph import Operand

Array = npt.NDArray[Any]

CONST, SELF, PARENT, CARRY = "const", "self", "parent", "carry"
"""The arrays that leaves stand for, besides inputs: link constants, fields of the link and of its parent, carried
values."""

Slot = tuple[str, int]
"""A field's name and the number of one of its scalars."""


@dataclass
class Body:
    """What one turn of a loop does for one kind of link: stores (array, index, value), and the values it carries on."""

    stores: dict[tuple[str, Any], Operand] = field(default_factory=dict)
    carried: dict[Slot, Operand] = field(default_factory=dict)


@dataclass
class Loop:
    """One sweep: +1 base to tip, -1 tip to base; a body for each kind of link; what the first turn finds carried."""

    direction: int
    bodies: list[Body] = field(default_factory=list)
    start: dict[Slot, float] = field(default_factory=dict)


@dataclass
class LinkClass:
    """Links with one joint type, with the constants that all of them share; the others are loads.

    They are also alike in whether their own inertia and that of their parents have inverses, where an algorithm asks.
    """

    kind: type[JointType]
    shared: dict[str, float]
    varying: tuple[str, ...]
    solid: bool
    on_solid: bool


@dataclass
class Program:
    """Loops with everything dead taken out, and memory laid out: `slots` tells each scalar's place in that of a link.

    `base` is what the base's memory holds at the start, `columns` the constants that each class reads, `results` the
    slots of the base that are outputs by themselves.
    """

    classes: list[LinkClass]
    loops: list[Loop]
    slots: dict[Slot, int]
    base: dict[Slot, float]
    columns: list[list[str]]
    results: dict[str, list[Slot]]
    chain: bool

    @property
    def size(self) -> int:
        """How many numbers each link, and the base, keeps in memory."""
        return 1 + max(self.slots.values(), default=-1)


def classify(lowered: Lowered) -> tuple[list[LinkClass], Array]:
    """The classes of links of a mechanism, and the number of the class of each link."""
    marks = lowered.kind.astype(np.int16) * 4 + lowered.solid * 2 + lowered.on_solid
    found = np.flatnonzero(np.bincount(marks))
    which = np.searchsorted(found, marks)
    classes = []
    for number, mark in enumerate(found.tolist()):
        kind = JOINT_TYPES[mark // 4]
        rows = which == number if len(found) > 1 else slice(None)
        columns = {name: column[rows] for name, column in lowered.constants.items()}
        names = [f"{letter}{i}" for letter in OF_JOINT for i in range(kind.nv)]
        columns.update({name: lowered.of_joint(name, rows) for name in names})
        shared = {name: float(x[0]) for name, x in columns.items() if x.strides == (0,) or (x == x[0]).all()}
        varying = tuple(name for name in columns if name not in shared)
        classes.append(LinkClass(kind, shared, varying, bool(mark & 2), bool(mark & 1)))
    return classes, which.astype(np.int8)
