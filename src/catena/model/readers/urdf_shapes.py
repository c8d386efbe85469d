"""URDF's `<visual>` and `<collision>`: meshes, `<box>`, `<sphere>`, `<cylinder>`, `<capsule>`, `<color>`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat, starmap
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from catena.model.readers.columns import LARGEST, numbers, unread, vectors, with_numbers, written
from catena.model.readers.layouts import Group
from catena.model.readers.meshes import MeshReference
from catena.model.readers.urdf_places import ORIGIN, poses, triples
from catena.model.readers.xml import FieldError, children
from catena.model.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, Color, Primitive, ShapesOfLinks

Array = npt.NDArray[Any]
Shape = MeshReference | Primitive
Note = Callable[[str, Iterable[int], Iterable[str]], None]

ONES = (1.0, 1.0, 1.0)
ROUND = {"sphere": ELLIPSOID, "cylinder": CYLINDER, "capsule": CAPSULE}


class UrdfShapes(ShapesOfLinks):
    """What the links of one document are drawn with and collide with: read with the others, made when asked for.

    The shapes of 100,000 links would take as long to make as all the rest of them, and few are ever looked at.
    """

    def __init__(self, directory: str | None, package_roots: tuple[str, ...]) -> None:
        self._directory, self._package_roots = directory, package_roots
        self._colors: dict[str, Color] = {}  # of materials, by name
        self._groups: list[Group] = []  # of links
        self._doubtful: set[int] = set()  # groups in which some links have no shapes
        self._group = self._row = np.zeros(0, dtype=int)  # of each link

    def add(self, links: Group, names: list[str], note: Note) -> int:
        """Reads the shapes of links that have one layout, and these names; returns the number of their group.

        `note` is told what is odd, and which children of the root it is odd in, by number and by name.
        """
        kept = Element("link", links.element.attrib)
        for shape in links.element:
            if shape.tag in ("visual", "collision"):
                self.define(children(shape, "geometry", "origin").get("material"))
                found = self._shapes(Group(shape, links.parts), names, note)
                kept.extend([] if found == () else [shape])
                if isinstance(found, list):
                    self._doubtful.add(len(self._groups))
        self._groups.append(Group(kept, links.parts).alone())
        return len(self._groups) - 1

    def define(self, material: Element | None) -> None:
        """Reads the colours of materials."""
        for inside in () if material is None else material:
            if inside.tag == "color":
                given = map(_color, written(inside, "rgba") or [])
                found = zip(written(material, "name") or repeat(""), given, strict=False)
                self._colors |= {name: color for name, color in found if color is not None}

    def arrange(self, group: Array, row: Array) -> UrdfShapes:
        """Puts the links in order: their groups, and their numbers in these."""
        self._group, self._row = group, row
        return self

    def followed_by_none(self) -> UrdfShapes:
        """The same and, at the end, a link without shapes."""
        self._groups.append(Group(Element("link"), [-1]))
        return self.arrange(np.append(self._group, len(self._groups) - 1), np.append(self._row, 0))

    def drawn(self) -> Iterator[int]:
        """The links that have shapes."""
        some = np.array([len(group.element) > 0 for group in self._groups], dtype=bool)
        found = np.flatnonzero(some[self._group]).tolist()
        return (i for i in found if self._group[i] not in self._doubtful or self[i])

    def __getitem__(self, link: int) -> tuple[Shape, ...]:
        one = self._groups[self._group[link]].some([int(self._row[link])])
        names = list(written(one.element, "name") or [])
        found = chain.from_iterable(self._shapes(Group(shape, one.parts), names, _ignore) for shape in one.element)
        return tuple(found)

    def _shapes(self, group: Group, names: list[str], note: Note) -> Iterable[Shape]:
        """The shapes of <visual>s or <collision>s: read at once, made when they are wanted.

        An empty tuple if there are none, a list if some have none.
        """
        inside = children(group.element, "geometry", "origin")
        kinds = children(inside["geometry"], "mesh") if "geometry" in inside else {}
        if not kinds:
            return ()
        colors = self._colored(inside.get("material"), len(names))
        if "mesh" in kinds:
            return self._meshes(group, names, kinds["mesh"], inside.get("origin"), colors, note)
        try:
            kind, sizes = _primitives(len(names), *kinds.values())
            places = poses(inside.get("origin"), len(names))
            return map(Primitive, repeat(kind), triples(sizes), repeat(group.element.tag), *places, colors)
        except FieldError:  # it does not matter to the mechanism
            if len(names) == 1:
                note("links with shapes that cannot be drawn, passed over", group.parts, names)
                return ()
            return list(chain(*(self._shapes(group.some([i]), [name], note) for i, name in enumerate(names))))

    def _colored(self, material: Element | None, several: int) -> Iterable[Color | None]:
        """The colours that materials have in place, or elsewhere under their names."""
        if material is None:
            return repeat(None)
        given = [written(inside, "rgba") for inside in material if inside.tag == "color"]
        own = map(_color, given[0]) if given and given[0] else repeat(None)
        names = written(material, "name") or [""] * several
        return (color or self._colors.get(name) for name, color in zip(names, own, strict=False))

    def _meshes(
        self,
        group: Group,
        names: list[str],
        mesh: Element,
        origin: Element | None,
        colors: Iterable[Color | None],
        note: Note,
    ) -> Iterable[Shape]:
        uris = list(map(str.strip, written(mesh, "filename") or [""]))
        if not any(uris):
            return ()
        places = *poses(origin, len(names)), triples(_scales(group.parts, names, mesh, note))
        columns = uris, repeat(group.element.tag), *places, repeat(self._directory), repeat(self._package_roots), colors
        rows = zip(*columns, strict=False)
        return starmap(MeshReference, rows) if all(uris) else [MeshReference(*row) for row in rows if row[0]]


def _ignore(what: str, parts: Iterable[int], names: Iterable[str]) -> None:
    """Notes nothing: it was noted before."""


def _scales(parts: Sequence[int], names: list[str], mesh: Element, note: Note) -> Array:
    """The meshes' scales; of four numbers, which some exporters write, the first three."""
    given = written(mesh, "scale") or []
    four = with_numbers(given, 4)
    if not four:
        return vectors(mesh, "scale", len(names), ONES)
    scale = list(given)
    for i in four:
        scale[i] = " ".join(scale[i].split()[:3])
    columns: dict[str, Any] = {"scale": scale}
    try:
        scales = vectors(Element("mesh", columns), "scale", len(names), ONES)
    except FieldError as fault:
        raise unread(mesh, "scale", 3, LARGEST, fault.which) from None
    what = "meshes with a scale of four numbers, of which three are used, in"
    note(what, [parts[i] for i in four], [names[i] for i in four])
    return scales


def _primitives(several: int, shape: Element, *more: Element) -> tuple[str, Array]:
    """The kind and the extents of shapes, (n, 3); FieldError for what is not one, or has no extent."""
    if more:
        raise FieldError(more[0], "is a second shape in one <geometry>")
    if shape.tag == "box":
        kind, sizes = BOX, vectors(shape, "size", several, ORIGIN)
    elif shape.tag in ROUND:
        kind, width = ROUND[shape.tag], 2 * numbers(shape, "radius", several, None, LARGEST)
        length = width if kind == ELLIPSOID else numbers(shape, "length", several, None, LARGEST)
        sizes = np.column_stack((width, width, length))
    else:
        raise FieldError(shape, "is not a shape of URDF")
    if sizes.min() <= 0:
        raise FieldError(shape, "has no extent")
    return kind, sizes


@lru_cache(maxsize=64)
def _color(rgba: str) -> Color | None:
    """Red, green, blue and opacity, 0 to 1; None if they cannot be read."""
    try:
        red, green, blue, opacity = (min(max(float(x), 0.0), 1.0) for x in rgba.split())
    except ValueError:
        return None
    return red, green, blue, opacity
