"""What a robot looks like: surfaces on its links, the same for pictures and pages.

A :class:`Scene` holds groups: one surface at many places, each fixed to a link. Chains of thousands of links are a few
groups, and so is a robot whose links are boxes and cylinders. What moves with q is only where the links are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from catena.drawing import colors
from catena.drawing.arrows import Arrows
from catena.drawing.mesh_files import read_mesh
from catena.drawing.skeleton import skeleton
from catena.drawing.surfaces import Surface, ball, box, cylinder, sides_for
from catena.errors import LoadError
from catena.model.axes import unit
from catena.model.merge import compose
from catena.model.readers.meshes import MeshReference
from catena.model.shapes import BOX, CAPSULE, CYLINDER, Primitive
from catena.model.tree import Tree

Array = npt.NDArray[Any]

FAR = 1e60
"""Metres beyond which nothing is looked at: cameras and floors are found by squares of lengths, and their products."""


class Drawable(Protocol):
    """A Robot or a System."""

    @property
    def tree(self) -> Tree:
        """Its links."""

    def placements(self, q: npt.ArrayLike) -> tuple[Array, Array]:
        """Where the links are."""

    def center_of_mass(self, q: npt.ArrayLike) -> Array:
        """Where the centre of mass is."""


@dataclass(frozen=True)
class Piece:
    """A surface on one link (-1: the base): rotation and position in its frame, scale along its own axes, colour."""

    surface: Surface
    link: int
    rotation: Array
    position: Array
    scale: Array
    color: Array


@dataclass(frozen=True, eq=False)
class Group:
    """One surface at k places: rows of `link` (k,), `rotation` (k, 3, 3), `position`, `scale` and `color` (k, 3).

    A `mark` is seen through links that stand before it.
    """

    surface: Surface
    link: Array
    rotation: Array
    position: Array
    scale: Array
    color: Array
    mark: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class Places:
    """Where all that moves is: the base, the links, then marks such as the centre of mass.

    `rotation` (..., 1 + links + marks, 3, 3) and `position` (..., 1 + links + marks, 3) in the world, m; `size` (...,
    1 + links + marks) is by how much what is there is stretched.
    """

    rotation: Array
    position: Array
    size: Array

    def moved(self, offset: Array) -> Places:
        """All of it somewhere else; `offset` (..., 3), m."""
        return Places(self.rotation, self.position + offset[..., None, :], self.size)


@dataclass(frozen=True, eq=False)
class Scene:
    """What is drawn: groups of surfaces on links, and notes about what could not be drawn as the file asks.

    `center_of_mass` says that a mark for it comes after the links, then come those of `arrows`.
    """

    groups: tuple[Group, ...]
    up: Array
    notes: tuple[str, ...] = ()
    center_of_mass: bool = False
    arrows: Arrows | None = None

    def places(self, robot: Drawable, q: npt.ArrayLike, acting: Array | None = None) -> Places:
        """Where everything is at configurations q, (..., nq), with points and forces of arrows, (..., arrows, 6)."""
        rotation, position = robot.placements(q)
        shape, eye = position.shape[:-2], np.eye(3)
        turns = [np.broadcast_to(eye, (*shape, 1, 3, 3)), rotation]
        shifts = [np.zeros((*shape, 1, 3)), position]
        if self.center_of_mass:
            turns.append(turns[0])
            shifts.append(np.asarray(robot.center_of_mass(q))[..., None, :])
        sizes = [np.ones((*shape, sum(turn.shape[-3] for turn in turns)))]
        if self.arrows is not None and acting is not None:
            links = np.concatenate(turns[:2], axis=-3), np.concatenate(shifts[:2], axis=-2)
            for found, more in zip((turns, shifts, sizes), self.arrows.placed(*links, acting), strict=True):
                found.append(more)
        return Places(*(np.concatenate(x, axis=axis) for x, axis in ((turns, -3), (shifts, -2), (sizes, -1))))

    def placed(self, places: Places) -> Iterator[tuple[Group, Array, Array, Array]]:
        """Each group with its instances in the world: rotations (..., k, 3, 3), positions and scales (..., k, 3)."""
        for group in self.groups:
            carrier = places.rotation[..., group.link + 1, :, :]
            moved = places.position[..., group.link + 1, :] + (carrier @ group.position[:, :, None])[..., 0]
            yield group, carrier @ group.rotation, moved, places.size[..., group.link + 1, None] * group.scale

    def balls(self, places: Places) -> tuple[Array, Array]:
        """Balls around all that is drawn, over all samples that are finite: centres (k, 3) and radii (k,), in m."""
        centres, radii = [np.zeros((0, 3))], [np.zeros(0)]
        for group, turn, shift, scale in self.placed(places):
            ends = group.surface.bounds
            middle, half = (ends[0] + ends[1]) / 2 * scale, (ends[1] - ends[0]) / 2 * np.abs(scale)
            centre = shift + (turn @ middle[..., None])[..., 0]
            centres.append(centre.reshape(-1, 3))
            radii.append(np.linalg.norm(half, axis=-1).ravel())
        centre, radius = np.concatenate(centres), np.concatenate(radii)
        good = (np.abs(centre) < FAR).all(axis=1) & (radius < FAR)
        return (centre[good], radius[good]) if good.any() else (np.zeros((1, 3)), np.ones(1))

    def extent(self, places: Places) -> tuple[Array, Array]:
        """The lowest and the highest x, y and z of what is drawn, over all samples: two arrays (3,)."""
        lower, upper = np.full(3, np.inf), np.full(3, -np.inf)
        for group, turn, shift, scale in self.placed(places):
            ends = group.surface.bounds
            middle, half = (ends[0] + ends[1]) / 2 * scale, (ends[1] - ends[0]) / 2 * np.abs(scale)
            centre = shift + (turn @ middle[..., None])[..., 0]
            reach = (np.abs(turn) @ half[..., None])[..., 0]
            for sign, take in ((-1, np.fmin), (1, np.fmax)):
                bounds = (centre + sign * reach).reshape(-1, 3)
                found = take.reduce(bounds, axis=0, initial=np.inf if sign < 0 else -np.inf)
                lower, upper = (np.fmin(lower, found), upper) if sign < 0 else (lower, np.fmax(upper, found))
        if not (np.abs([lower, upper]) < FAR).all():
            return np.full(3, -0.5), np.full(3, 0.5)
        return lower, upper


def scene_of(tree: Tree, size: float = 0.0) -> Scene:
    """The scene of a mechanism; `size` is how large it is where it is drawn, in m, so that thin links can be seen."""
    groups, drawn, notes = tree.once("shapes", lambda: _shapes(tree))
    bare = skeleton(tree, drawn, colors.of_links(tree), size)
    up = unit(-tree.gravity) if tree.gravity.any() else np.array([0.0, 0.0, 1.0])
    return Scene((*groups, *(Group(*rows) for rows in bare)), up, notes)


def _shapes(tree: Tree) -> tuple[tuple[Group, ...], Array, tuple[str, ...]]:
    """The shapes of the model's file, for the base and each link whether it has any, and notes."""
    notes: list[str] = []
    shade = colors.of_links(tree)
    drawn = np.zeros(tree.n + 1, bool)
    pieces: list[Piece] = []
    sides = sides_for(sum(map(len, tree.meshes.values())))
    for name, link, place in _places(tree):
        for shape in _chosen(tree.meshes[name]):
            try:
                found = list(_pieces(shape, link, place, shade[link + 1], sides))
            except LoadError as error:
                notes.append(f"{name!r} is drawn without {error}")
                continue
            pieces += found
            drawn[link + 1] = True
    return tuple(_grouped(pieces)), drawn, tuple(notes)


def _places(tree: Tree) -> Iterator[tuple[str, int, tuple[Array, Array]]]:
    """Links that have shapes: the name, the moving link that carries it (-1: the base), and its place there."""
    numbers = {name: i for i, name in enumerate(tree.link_names)} if tree.meshes else {}
    for name in tree.meshes:
        if name in tree.frames:
            frame = tree.frames[name]
            yield name, frame.link, (frame.rotation, frame.position)
        elif name in numbers or name == tree.base_name:
            yield name, numbers.get(name, -1), (np.eye(3), np.zeros(3))


def _chosen(shapes: Iterable[Any]) -> list[Any]:
    """The shapes to see; those for collisions only where there are no others."""
    known = [x for x in shapes if isinstance(x, MeshReference | Primitive)]
    return [x for x in known if x.role == "visual"] or known


def _pieces(
    shape: MeshReference | Primitive, link: int, place: tuple[Array, Array], shade: Array, sides: int
) -> Iterator[Piece]:
    """The surfaces of one shape; nothing if it cannot be seen through its opacity. Raises LoadError."""
    if shape.color is not None and shape.color[3] == 0:
        return
    color = shade if shape.color is None else _seen(shape.color)
    rotation, position = compose(place, (np.array(shape.rotation), np.array(shape.position)))
    if isinstance(shape, MeshReference):
        for part in read_mesh(shape.resolve()):
            own = color if shape.color is not None or part.color is None else _seen(part.color)
            yield Piece(part, link, rotation, position, np.array(shape.scale), own)
        return
    size = np.array(shape.size)
    body = box() if shape.kind == BOX else cylinder(sides) if shape.kind in (CYLINDER, CAPSULE) else ball(sides)
    yield Piece(body, link, rotation, position, size, color)
    if shape.kind == CAPSULE:
        for end in (-0.5, 0.5):
            at = position + rotation[:, 2] * (end * size[2])
            yield Piece(ball(sides), link, rotation, at, np.full(3, size[0]), color)


def _seen(color: Sequence[float]) -> Array:
    """A colour of a file as it is drawn: what is black shows its form, too."""
    return 0.05 + 0.95 * np.array(color[:3])


def _grouped(pieces: Iterable[Piece]) -> Iterator[Group]:
    """Pieces with the same surface together."""
    together: defaultdict[int, list[Piece]] = defaultdict(list)
    for piece in pieces:
        together[id(piece.surface)].append(piece)
    for same in together.values():
        link = np.array([piece.link for piece in same])
        columns = [np.array([getattr(p, name) for p in same]) for name in ("rotation", "position", "scale", "color")]
        yield Group(same[0].surface, link, *columns)
