"""Several trees side by side on one base, the world, as one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError
from catena.model import edit
from catena.model.assemble import assemble, checked_gravity
from catena.model.joints import BY_NAME
from catena.model.parts import LinkPart
from catena.model.tree import Frame, Tree

Array = npt.NDArray[Any]

WORLD = "world"
"""The name of the base that all trees stand on."""


class Standing(NamedTuple):
    """A tree in a forest: its name, which goes before those of its links, and where its base stands in the world."""

    name: str
    tree: Tree
    rotation: Array
    position: Array
    is_object: bool = False


def forest(trees: Sequence[Standing], gravity: npt.ArrayLike | None = None, name: str = "system") -> Tree:
    """One tree of all: names become "left/tool"; the root link of an object is also known by the object's name."""
    if not trees:
        raise ModelError("a system needs at least one robot or object, found none")
    ground = replace(_empty(name), gravity=_gravity(trees, gravity))
    return edit.attached(ground, [_added(standing) for standing in trees])


def _added(standing: Standing) -> edit.Added:
    known_as = {standing.name: _root(standing)} if standing.is_object else {}
    place = Frame(-1, standing.rotation, standing.position)
    return edit.Added(standing.tree, place, f"{standing.name}/", known_as)


def _empty(name: str) -> Tree:
    return assemble([LinkPart(WORLD)], [], name=name, base="fixed", gravity=(0.0, 0.0, -9.81))


def _root(standing: Standing) -> int:
    """The number of the link that an object is known by."""
    roots = np.flatnonzero(standing.tree.parent < 0)
    if len(roots) != 1 or standing.tree.joint_type[roots[0]] != BY_NAME["free"].code:
        raise ModelError(
            f"object {standing.name!r}: expected one body, or one tree, that moves freely; "
            "build or load it with base='floating', or give it as a robot"
        )
    return int(roots[0])


def _gravity(trees: Sequence[Standing], gravity: npt.ArrayLike | None) -> Array:
    if gravity is not None:
        return checked_gravity(gravity)
    first = trees[0]
    for other in trees[1:]:
        if not np.array_equal(other.tree.gravity, first.tree.gravity):
            raise ModelError(
                f"{first.name!r} and {other.name!r} have different gravity, {first.tree.gravity.tolist()} and "
                f"{other.tree.gravity.tolist()}; say which is meant with gravity=…"
            )
    return first.tree.gravity
