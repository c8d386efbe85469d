"""What is drawn besides the links, on request: axes, forces, the centre of mass; and samples side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.links import link_names
from catena.drawing import colors
from catena.drawing.arrows import Arrows, places_in
from catena.drawing.scene import Group, Places, Scene
from catena.drawing.surfaces import Surface, arrow, ball, cylinder
from catena.model.axes import axis_frame
from catena.model.tree import Tree

Array = npt.NDArray[Any]

AXES = ("#d0362f", "#3a9a3f", "#2f5fd0")
"""The colours of x, y and z."""
MASS, FORCE = "#f2c230", "#c2185b"
APART = 1.25
"""The distance of samples side by side, beside their size."""


class Marks(NamedTuple):
    """What is drawn besides the links.

    `frames` are links and frames whose axes are drawn, True for all links; `center_of_mass` whether it is marked;
    `arrows` forces on links and frames.
    """

    frames: Any = False
    center_of_mass: bool = False
    arrows: Arrows | None = None

    def __bool__(self) -> bool:
        return (self.frames is not False and self.frames is not None) or self.center_of_mass or self.arrows is not None


def marked(scene: Scene, tree: Tree, marks: Marks, size: float) -> Scene:
    """The scene with axes, arrows and the centre of mass; `size` is how large the scene is, m."""
    extra: list[Group] = []
    if marks.frames is not False and marks.frames is not None:
        names = list(tree.link_names) if marks.frames is True else link_names(tree, marks.frames)
        extra += _axes(tree, names, size / 12)
    if marks.center_of_mass:
        extra.append(_following(ball(), np.array([tree.n]), size / 25, MASS))
    if marks.arrows is not None:
        first = tree.n + marks.center_of_mass
        extra.append(_following(arrow(), first + np.arange(len(marks.arrows.link)), size / 3, FORCE))
    groups = (*scene.groups, *extra)
    return replace(scene, groups=groups, center_of_mass=marks.center_of_mass, arrows=marks.arrows)


def _following(surface: Surface, number: Array, size: float, color: str) -> Group:
    """Surfaces of one size and colour at what comes after the links."""
    count = len(number)
    turn, scale = np.tile(np.eye(3), (count, 1, 1)), np.full((count, 3), size)
    return Group(surface, number, turn, np.zeros((count, 3)), scale, np.tile(colors.rgb(color), (count, 1)), mark=True)


def _axes(tree: Tree, names: Iterable[str], length: float) -> Iterator[Group]:
    """A group of bars for each of the three axes."""
    link, turn, shift = places_in(tree, names)
    if not len(link):
        return
    scale = np.tile([0.06 * length, 0.06 * length, length], (len(link), 1))
    for axis, color in enumerate(AXES):
        along = turn @ axis_frame(np.eye(3)[axis])
        middle = shift + 0.5 * length * turn[:, :, axis]
        yield Group(cylinder(), link, along, middle, scale, np.tile(colors.rgb(color), (len(link), 1)), mark=True)


def side_by_side(scene: Scene, places: Places) -> Array:
    """Where samples, the first axis of `places`, are put to stand apart along the ground, in rows, (samples, 3).

    One alone stays where it is.
    """
    samples = len(places.position)
    if samples < 2:
        return np.zeros((samples, 3))
    lower, upper = scene.extent(places)
    level = axis_frame(scene.up)[:, :2].T
    width = [APART * float(np.abs(axis) @ (upper - lower)) for axis in level]
    columns = int(np.ceil(np.sqrt(samples * width[1] / max(width[0], 1e-9)).clip(1, samples)))
    row, column = np.divmod(np.arange(samples), columns)
    return np.asarray(column[:, None] * width[0] * level[0] + row[:, None] * width[1] * level[1])
