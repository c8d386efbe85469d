"""Links without shapes, drawn from what is known of them: bars between joints, joints by type, boxes for inertias."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing import colors
from catena.drawing.surfaces import Surface, ball, box, cylinder, sides_for
from catena.model.axes import axis_frame, unit
from catena.model.joints import BY_NAME
from catena.model.tree import Tree

Array = npt.NDArray[Any]
Rows = tuple[Surface, Array, Array, Array, Array, Array]  # surface, link, rotation, position, scale, colour

THIN = 0.05
"""The radius of a bar beside its usual length."""
SLENDER = 0.004
"""The radius of a bar beside the size of what is drawn, at least: thinner ones could not be seen."""
DETAILS = 200
"""Links up to which joints and inertias are drawn, too; of more, those shorter than wide are drawn together."""
TURNING = ("revolute", "continuous", "helical", "universal")


def skeleton(tree: Tree, drawn: Array, shade: Array, size: float = 0.0) -> Iterator[Rows]:
    """Rows of groups for those links that are not drawn yet.

    Args:
        tree: the mechanism.
        drawn: for the base and each link whether it has shapes, (n + 1,).
        shade: colours of the base and the links, (n + 1, 3).
        size: how large what is drawn is, m: bars are never so thin that they could not be seen.
    """
    bare = ~drawn[1:]
    if not bare.any():
        return
    link, end = _bars(tree, drawn)
    length = np.linalg.norm(end, axis=1)
    radius = max(THIN * _usual_length(tree, length), SLENDER * size)
    if tree.n > DETAILS:
        some = _seen(tree, link, length, radius)
        bare &= ~np.isin(np.arange(tree.n), np.setdiff1d(link, link[some]))
        link, end, length = link[some], end[some], length[some]
    sides = sides_for(max(len(link), int(bare.sum())))
    if len(link):
        longer = np.where(length < radius, radius + 2 * length, length)
        scale = np.stack([np.full(len(link), 2 * radius)] * 2 + [longer], -1)
        yield cylinder(sides), link, axis_frame(unit(end)), end / 2, scale, shade[link + 1]
    if tree.n <= DETAILS:
        yield from _joints(tree, bare, radius, sides)
    yield from _masses(tree, bare, radius, shade, sides)


def _seen(tree: Tree, link: Array, length: Array, radius: float) -> Array:
    """Which bars to draw, (k,): all that are longer than `radius`; of shorter ones in a row, one for each radius.

    Such a one is drawn as long as the row: what differs is inside the bars.
    """
    step = np.linalg.norm(np.asarray(tree.placement_position), axis=1)
    parent = np.asarray(tree.parent)
    if np.array_equal(parent, np.arange(-1, tree.n - 1)):
        along = np.cumsum(step)
    else:
        along = np.zeros(tree.n + 1)  # the last one is the base, -1
        for i, before in enumerate(parent.tolist()):
            along[i] = along[before] + step[i]
    start = np.where(link >= 0, along[link], 0.0)
    return np.asarray(np.floor((start + length) / radius) > np.floor(start / radius))


def _bars(tree: Tree, drawn: Array) -> tuple[Array, Array]:
    """Bars from the origins of links to what they carry.

    Links that carry nothing end at their mass if that is a point, else at twice the distance of their centre of mass.
    """
    carrier, end = np.asarray(tree.parent), np.asarray(tree.placement_position)
    leaf = np.setdiff1d(np.arange(tree.n), carrier)
    tips = [(frame.link, frame.position) for frame in tree.frames.values() if frame.link >= 0]
    held = np.array([link for link, _ in tips], int)
    alone = np.setdiff1d(leaf, held)
    link = np.concatenate([carrier, alone, held])
    point = ~np.asarray(tree.inertia)[alone].any(axis=(1, 2))
    tip = np.asarray(tree.com)[alone] * np.where(point, 1.0, 2.0)[:, None]
    reach = np.concatenate([end, tip, np.array([p for _, p in tips]).reshape(-1, 3)])
    wanted = ~drawn[link + 1] & (np.abs(reach).max(axis=1, initial=0) > 1e-9)
    return link[wanted], reach[wanted]


def _usual_length(tree: Tree, length: Array) -> float:
    if len(length):
        return float(np.median(length))
    sizes = _box_of_inertia(tree)[1]
    return float(sizes.max()) if sizes.size and sizes.max() > 0 else 1.0


def _joints(tree: Tree, bare: Array, radius: float, sides: int) -> Iterator[Rows]:
    """Turning joints as pins along their axes, sliding ones as blocks, others as balls; free ones not at all."""
    kinds = {name: BY_NAME[name].code for name in (*TURNING, "prismatic", "spherical")}
    for names, body, scale in (
        (TURNING, cylinder(sides), (3.2, 3.2, 4.5)),
        (("prismatic",), box(), (3.0, 3.0, 4.5)),
        (("spherical",), ball(sides), (3.6, 3.6, 3.6)),
    ):
        link = np.flatnonzero(bare & np.isin(tree.joint_type, [kinds[name] for name in names]))
        if len(link):
            turn, zero = np.asarray(tree.joint_rotation)[link], np.zeros((len(link), 3))
            yield body, link, turn, zero, np.tile(radius * np.array(scale), (len(link), 1)), _one(colors.DARK, link)


def _masses(tree: Tree, bare: Array, radius: float, shade: Array, sides: int) -> Iterator[Rows]:
    """Boxes with the inertias of the links; balls for masses at a point."""
    turn, size = _box_of_inertia(tree)
    heavy = bare & (np.asarray(tree.mass) > 0)
    wide = np.sort(size, axis=1)[:, 1] > 2.2 * radius  # thinner than its bar otherwise
    boxes = np.flatnonzero(heavy & wide) if tree.n <= DETAILS else np.zeros(0, int)
    points = np.flatnonzero(heavy & (size.max(axis=1, initial=0) <= 1e-6 * radius))
    com = np.asarray(tree.com)
    if len(boxes):
        yield box(), boxes, turn[boxes], com[boxes], np.maximum(size[boxes], radius), shade[boxes + 1]
    if len(points):
        scale = np.full((len(points), 3), 5 * radius)
        yield ball(sides), points, np.tile(np.eye(3), (len(points), 1, 1)), com[points], scale, shade[points + 1]


def _box_of_inertia(tree: Tree) -> tuple[Array, Array]:
    """Axes (n, 3, 3) and edges (n, 3) of the solid boxes that have the links' masses and inertias."""
    moments, turn = np.linalg.eigh(np.asarray(tree.inertia))
    turn[np.linalg.det(turn) < 0, :, 0] *= -1.0
    square = 6 * (moments.sum(axis=1, keepdims=True) - 2 * moments)
    mass = np.where(np.asarray(tree.mass) > 0, tree.mass, np.inf)[:, None]
    return turn, np.sqrt(np.maximum(square / mass, 0.0))


def _one(color: str, link: Array) -> Array:
    return np.tile(colors.rgb(color), (len(link), 1))
