"""What is drawn besides the links, on request: axes, forces, the centre of mass; and samples side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.links import link_name, link_names
from catena.drawing import colors
from catena.drawing.scene import Group, Places, Scene
from catena.drawing.surfaces import ball, cylinder
from catena.errors import ShapeError, UnknownNameError
from catena.model.axes import axis_frame, unit
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
    `forces` a mapping from links and frames to forces (3,), or wrenches (6,), moment first, in their axes.
    """

    frames: Any = False
    center_of_mass: bool = False
    forces: Mapping[Any, npt.ArrayLike] | None = None

    def __bool__(self) -> bool:
        return self.frames not in (False, None) or self.center_of_mass or bool(self.forces)


def marked(scene: Scene, tree: Tree, marks: Marks, size: float) -> Scene:
    """The scene with axes, arrows and the centre of mass; `size` is how large the scene is, m."""
    extra: list[Group] = []
    if marks.frames is not False and marks.frames is not None:
        names = list(tree.link_names) if marks.frames is True else link_names(tree, marks.frames)
        extra += _axes(tree, names, size / 12)
    if marks.forces:
        extra += _arrows(tree, marks.forces, size / 3)
    if marks.center_of_mass:
        eye, wide = np.eye(3)[None], np.full((1, 3), size / 25)
        extra.append(Group(ball(), np.array([tree.n]), eye, np.zeros((1, 3)), wide, colors.rgb(MASS)[None]))
    return replace(scene, groups=(*scene.groups, *extra), center_of_mass=marks.center_of_mass)


def _arrows(tree: Tree, forces: Mapping[Any, npt.ArrayLike], longest: float) -> Iterator[Group]:
    """Arrows from the origins of links and frames along forces; the largest force has the longest one."""
    numbers = {name: i for i, name in enumerate(tree.link_names)}
    places = [_place(tree, numbers, link_name(tree, name)) for name in forces]
    given = np.array([_force(name, value) for name, value in forces.items()])
    size = np.linalg.norm(given, axis=1)
    there = size > 1e-9 * size.max()
    if not there.any() or not size.max():
        return
    link = np.array([place[0] for place in places])[there]
    turn, start = (np.array([place[k] for place in places])[there] for k in (1, 2))
    along = axis_frame(unit((turn @ given[there, :, None])[..., 0]))
    length = (longest * size[there] / size.max())[:, None]
    color = np.tile(colors.rgb(FORCE), (len(link), 1))
    thick = np.full_like(length, 0.03 * longest)
    head = np.minimum(0.2 * longest, 0.5 * length)
    shaft = start + 0.5 * (length - head) * along[..., 2]
    yield Group(cylinder(), link, along, shaft, np.concatenate([thick, thick, length - head], 1), color)
    tip = start + (length - 0.5 * head) * along[..., 2]
    yield Group(cylinder(top=0.02), link, along, tip, np.concatenate([3 * thick, 3 * thick, head], 1), color)


def _force(name: Any, value: npt.ArrayLike) -> Array:
    found = np.asarray(value, float)
    if found.shape not in ((3,), (6,)) or not np.isfinite(found).all():
        raise ShapeError(f"forces[{name!r}]: expected a force (3,) or a wrench (6,) of finite numbers, got {value!r}")
    return found[-3:]


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
