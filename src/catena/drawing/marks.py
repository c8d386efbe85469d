"""What is drawn besides the links, on request: axes of frames, the centre of mass; and samples side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.links import link_names
from catena.drawing import colors
from catena.drawing.scene import Group, Places, Scene
from catena.drawing.surfaces import ball, cylinder
from catena.errors import UnknownNameError
from catena.model.axes import axis_frame
from catena.model.tree import Tree

Array = npt.NDArray[Any]

AXES = ("#d0362f", "#3a9a3f", "#2f5fd0")
"""The colours of x, y and z."""
MASS = "#f2c230"
APART = 1.25
"""The distance of samples side by side, beside their size."""


def marked(scene: Scene, tree: Tree, frames: Any, center_of_mass: bool, size: float) -> Scene:
    """The scene with axes and the centre of mass.

    Args:
        scene: the links.
        tree: the mechanism.
        frames: links and frames whose axes are drawn; True for all links.
        center_of_mass: whether it is marked.
        size: how large the scene is, m.
    """
    extra: list[Group] = []
    if frames is not False and frames is not None:
        names = list(tree.link_names) if frames is True else link_names(tree, frames)
        extra += _axes(tree, names, size / 12)
    if center_of_mass:
        eye, wide = np.eye(3)[None], np.full((1, 3), size / 25)
        extra.append(Group(ball(), np.array([tree.n]), eye, np.zeros((1, 3)), wide, colors.rgb(MASS)[None]))
    return replace(scene, groups=(*scene.groups, *extra), center_of_mass=center_of_mass)


def _axes(tree: Tree, names: Iterable[str], length: float) -> Iterator[Group]:
    """A group of bars for each of the three axes."""
    numbers = {name: i for i, name in enumerate(tree.link_names)}
    places = [_place(tree, numbers, name) for name in names]
    if not places:
        return
    link = np.array([at[0] for at in places])
    turn, shift = np.array([at[1] for at in places]), np.array([at[2] for at in places])
    scale = np.tile([0.06 * length, 0.06 * length, length], (len(link), 1))
    for axis, color in enumerate(AXES):
        along = turn @ axis_frame(np.eye(3)[axis])
        middle = shift + 0.5 * length * turn[:, :, axis]
        yield Group(cylinder(), link, along, middle, scale, np.tile(colors.rgb(color), (len(link), 1)))


def _place(tree: Tree, numbers: dict[str, int], name: str) -> tuple[int, Array, Array]:
    if name in tree.frames:
        frame = tree.frames[name]
        return frame.link, np.asarray(frame.rotation), np.asarray(frame.position)
    if name not in numbers and name != tree.base_name:
        raise UnknownNameError.among("link or frame", name, [*tree.link_names, *tree.frames, tree.base_name])
    return numbers.get(name, -1), np.eye(3), np.zeros(3)


def side_by_side(scene: Scene, places: Places, samples: int) -> Places:
    """Samples, the first axis of `places`, moved apart along the ground, in rows; one alone stays where it is."""
    if samples < 2:
        return places
    lower, upper = scene.extent(places)
    level = axis_frame(scene.up)[:, :2].T
    width = [APART * float(np.abs(axis) @ (upper - lower)) for axis in level]
    columns = int(np.ceil(np.sqrt(samples * width[1] / max(width[0], 1e-9)).clip(1, samples)))
    row, column = np.divmod(np.arange(samples), columns)
    offset = column[:, None] * width[0] * level[0] + row[:, None] * width[1] * level[1]
    return places.moved(offset.reshape(samples, *([1] * (places.position.ndim - 3)), 3))
