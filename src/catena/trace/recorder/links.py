"""Links that stand for many to sweep over, and fields that turn reading and writing into loads and stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from catena.errors import CatenaError
from catena.functions.function import Kind
from catena.model.lowering.lowered import OF_JOINT
from catena.scalars import Scalar
from catena.spatial import Dofs, Motion, Vec3
from catena.spatial.leaves import leaves, rebuilt
from catena.sweeps import Link
from catena.trace.graph import LEAF, Expr, Graph, Operand, live
from catena.trace.recorder.recording import BASE, CARRY, CONST, PARENT, SELF, TIP, Body, LinkClass, Loop, Slot

_NO_LOOP = -2
"""In place of a loop's number, when fields are read between loops."""


class ItsParent:
    """The parent of the link at hand."""

    where = PARENT


class TheBase:
    """The base: its values are numbers known before the loops start, and after them what links have added to those."""

    where = BASE


class TheTip:
    """The last link of a chain, after the loops."""

    where = TIP


class AnyLink(Link):
    """Any link of one class."""

    where = SELF

    def __init__(self, number: int, of: LinkClass, graph: Graph, only_child: bool = False) -> None:
        constants: dict[str, Scalar] = dict(of.shared)
        constants.update({name: graph._leaf(LEAF, (CONST, name)) for name in of.varying})
        dofs = [Dofs([constants[f"{letter}{i}"] for i in range(of.joint_type.nv)]) for letter in OF_JOINT]
        super().__init__(of.joint_type, constants, *dofs)
        self.number, self.parent = number, ItsParent()
        self.solid, self.on_solid, self.only_child = of.solid, of.on_solid, only_child


class Deposit:
    """A sum on its way to the parent: on a chain the next turn of the loop adds it to the parent's own value."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __add__(self, other: Any) -> Deposit:
        return Deposit(other if self.value is None else self.value + other)


@dataclass
class Habits:
    """What the first run finds out about the fields: sweeps in which they are accumulated, and written at the link.

    In the first run itself they are `unknown`.
    """

    accumulated: set[tuple[str, int]] = field(default_factory=set)
    written: set[tuple[str, int]] = field(default_factory=set)
    unknown: bool = False

    def may_accumulate(self, name: str) -> bool:
        """Whether some sweep adds to the field at the parent, or may do so for all that is known."""
        return self.unknown or any(name == accumulated for accumulated, _ in self.accumulated)


class RolledField:
    """A field in memory. Inside a body, what was written there is read back as it is."""

    def __init__(self, links: RolledLinks, name: str) -> None:
        self.links, self.name = links, name
        self.templates: dict[Any, Any] = {}  # class number, or "any": an object of the shape stored there
        self.known: dict[int, list[Operand | None]] = {}  # class number: scalars that need no memory

    def __getitem__(self, link: Any) -> Any:
        links, where = self.links, link.where
        if where == BASE:
            return self._at_base()
        if where == TIP:
            return rebuilt(self.templates["any"], iter(self._load(TIP, self.templates["any"])))
        if (self.name, where) in links.pending:
            return links.pending[self.name, where]
        if where == PARENT:
            return self._at_parent()
        return self._at_self(link)

    def __setitem__(self, link: Any, value: Any) -> None:
        links, where = self.links, link.where
        if where == BASE:
            self._set_at_base(value)
            return
        links.pending[self.name, where] = value
        sweep = (self.name, links.sweep)
        if where == PARENT:
            if self.name in links.read_at_base:
                raise CatenaError(f"field {self.name!r} is added to after its sum was read at the base")
            links.found.accumulated.add(sweep)
            return
        links.found.written.add(sweep)
        self.templates[link.number] = value
        self.templates.setdefault("any", value)
        kept = links.habits.may_accumulate(self.name)
        self.known[link.number] = [None if kept or not _rematerial(x) else x for x in leaves(value)]

    def _at_base(self) -> Any:
        """What the base holds by now: numbers, sums over links that have been swept over, or what was made of such."""
        links = self.links
        if self.name in links.made_at_base:
            return links.made_at_base[self.name]
        if self.name not in links.base_values:
            raise CatenaError(f"field {self.name!r} is read at the base, where it was never written")
        if not any(name == self.name for name, _ in links.found.accumulated):
            return rebuilt(self.templates["any"], iter(links.base_values[self.name]))
        links.read_at_base.add(self.name)
        return rebuilt(self.templates["any"], iter(self._load(BASE, self.templates["any"])))

    def _set_at_base(self, value: Any) -> None:
        scalars, links = leaves(value), self.links
        if all(known_before(x) for x in scalars):
            links.base_values[self.name] = [x if isinstance(x, Expr) else float(x) for x in scalars]
            self.templates.setdefault("any", value)
        else:
            links.made_at_base[self.name] = value

    def _load(self, array: str, template: Any) -> list[Operand]:
        graph = self.links.graph
        return [graph._leaf(LEAF, (array, (self.name, i))) for i in range(len(leaves(template)))]

    def _at_parent(self) -> Any:
        links = self.links
        if links.chain and (self.name, links.sweep) in links.habits.accumulated:
            return Deposit()
        template = self.templates.get("any")
        if template is None or self.name in links.made_at_base:
            raise CatenaError(
                f"field {self.name!r} is read at the parent; expected a number at the base, or a value at links, first"
            )
        written = (self.name, links.sweep) in links.habits.written
        loads = self._load(CARRY if written and links.chain and links.direction > 0 else PARENT, template)
        numbers = [None] * len(loads) if written else self._same_everywhere()
        return rebuilt(template, iter([x if y is None else y for x, y in zip(loads, numbers, strict=True)]))

    def _same_everywhere(self) -> list[float | None]:
        """For each scalar of the field the number that it is at every link and at the base, where it is one."""
        links = self.links
        values = [leaves(self.templates[i]) for i in range(len(links.classes)) if i in self.templates]
        count = len(leaves(self.templates["any"]))
        alike = len(values) == len(links.classes) and all(len(x) == count for x in values)
        if not alike or links.habits.may_accumulate(self.name):
            return [None] * count
        values += [links.base_values[self.name]] if self.name in links.base_values else []
        places = zip(*values, strict=True)
        return [x[0] if all(not isinstance(y, Expr) and y == x[0] for y in x) else None for x in places]

    def _at_self(self, link: AnyLink) -> Any:
        links, template = self.links, self.templates[link.number]
        known = self.known[link.number]
        scalars = [x if x is not None else y for x, y in zip(known, self._load(SELF, template), strict=True)]
        value = rebuilt(template, iter(scalars))
        if links.chain and (self.name, links.sweep) in links.habits.accumulated:
            own = self._own(link, template)
            value = own + rebuilt(template, iter(self._load(CARRY, template)))
            links.pending[self.name, SELF] = value
        return value

    def _own(self, link: AnyLink, template: Any) -> Any:
        """The link's own share of a sum, before its child's is added: from constants alone where that is possible."""
        scalars = leaves(template)
        if all(_rematerial(x) for x in scalars):
            return template
        return rebuilt(template, iter(self._load(SELF, template)))


def known_before(x: Operand) -> bool:
    """Whether x can be computed before the loops start: a number, or a function of inputs of the whole robot."""
    inside = (CONST, SELF, PARENT, CARRY, BASE, TIP)
    return all(node.op != LEAF or node.args[0] not in inside for node in live([x]))


def _rematerial(x: Operand) -> bool:
    """Whether a later sweep can do without memory for x: a number, an input, or a function of link constants alone."""
    if not isinstance(x, Expr):
        return True
    if x.op == LEAF:
        return x.args[0] not in (SELF, PARENT, CARRY)
    return all(node.op != LEAF or node.args[0] == CONST for node in live([x]))


class InputField:
    """An input of the whole function: one object for each link, loaded where it is needed."""

    def __init__(self, graph: Graph, array: str, kind: Kind) -> None:
        self.graph, self.array, self.kind = graph, array, kind

    def __getitem__(self, link: AnyLink) -> Any:
        count = self.kind.count(link.joint_type.nq, link.joint_type.nv)
        return self.kind.build([self.graph.input(self.array, i) for i in range(count)])


class RolledLinks:
    """One link that stands for all of its class, for each class of links."""

    def __init__(
        self, classes: Sequence[LinkClass], gravity: Sequence[float], chain: bool, habits: Habits, graph: Graph
    ) -> None:
        self.classes, self.chain, self.habits, self.graph = classes, chain, habits, graph
        self.base, self.tip = TheBase(), TheTip()
        self.gravity = Motion(Vec3.zero(), Vec3(*gravity))
        self.adopted: Mapping[str, Any] | None = None
        self.found = Habits()
        self.loops: list[Loop] = []
        self.base_values: dict[str, list[Operand]] = {}
        self.made_at_base: dict[str, Any] = {}
        self.read_at_base: set[str] = set()
        self.pending: dict[tuple[str, str], Any] = {}
        self.sweep, self.direction, self._fields = -1, 0, 0
        self.composed = False  # whether loops of several algorithms follow each other, and may be merged

    def fields(self, names: str) -> list[RolledField]:
        """New fields, one for each of the names; equal names of different calls are kept apart."""
        self._fields += 1
        return [RolledField(self, f"{name}.{self._fields}") for name in names.split()]

    def tag(self, letter: str) -> str:
        """A mark for the names of fields that no other field has."""
        self._fields += 1
        return f"~{letter}{self._fields}"

    def field(self, name: str, loop: int, values: Sequence[Any]) -> RolledField:
        """A new field that a loop writes although its body has run: one value for each class of links."""
        made = RolledField(self, f"{name}{self.tag('r')}")
        for number, value in enumerate(values):
            made.templates[number] = value
            made.known[number] = [x if _rematerial(x) else None for x in leaves(value)]
            stores = {(SELF, (made.name, i)): x for i, x in enumerate(leaves(value))}
            self.loops[loop].bodies[number].stores.update(stores)
        made.templates["any"] = values[0]
        self.found.written.add((made.name, loop))
        return made

    def append_loop(self, loop: Loop) -> None:
        """Append a loop that no generator of links has made."""
        self.loops.append(loop)
        self.sweep = len(self.loops) - 1

    def between_loops(self, field: Any) -> list[Any]:
        """What a field holds at links of each class when no loop is under way."""
        now, self.sweep, self.pending = self.sweep, _NO_LOOP, {}
        values = [field[AnyLink(number, of, self.graph)] for number, of in enumerate(self.classes)]
        self.sweep, self.pending = now, {}
        return values

    def base_to_tip(self) -> Iterator[AnyLink]:
        """A loop over every link after its parent."""
        return self._sweep(+1)

    def tip_to_base(self) -> Iterator[AnyLink]:
        """A loop over every link before its parent."""
        return self._sweep(-1)

    def _sweep(self, direction: int) -> Iterator[AnyLink]:
        self.sweep, self.direction = self.sweep + 1, direction
        loop = Loop(direction)
        for number, of in enumerate(self.classes):
            self.pending = {}
            yield self._any_link(number, of)
            loop.bodies.append(self._body())
        self.pending = {}
        carried = {slot for body in loop.bodies for slot in body.carried}
        zero: dict[Slot, Operand] = dict.fromkeys(carried, 0.0)
        if direction < 0:
            for body in loop.bodies:
                body.carried = {**zero, **body.carried}  # a class that adds nothing to its parent's sum
        loop.start = zero if direction < 0 else {(name, i): self.base_values[name][i] for name, i in carried}
        self.loops.append(loop)

    def _any_link(self, number: int, of: LinkClass) -> AnyLink:
        link = AnyLink(number, of, self.graph, only_child=self.chain)
        if self.adopted is not None:
            link.adopt(self.adopted)
        return link

    @contextmanager
    def adopting(self, parameters: Mapping[str, Any]) -> Iterator[None]:
        """Have gravity, the links' inertias and what their joints have from parameters for a while, not the model."""
        before = self.adopted, self.gravity
        self.adopted, self.gravity = parameters, Motion(Vec3.zero(), Vec3(*parameters["gravity"]))
        try:
            yield
        finally:
            self.adopted, self.gravity = before

    def _body(self) -> Body:
        body = Body()
        for (name, where), value in self.pending.items():
            deposit = isinstance(value, Deposit)
            scalars = leaves(value.value if deposit else value)
            for i, x in enumerate(scalars):
                if deposit:
                    body.carried[name, i] = x
                else:
                    body.stores[where, (name, i)] = x
                    if where == SELF and self._carries_on(name):
                        body.carried[name, i] = x
        return body

    def _carries_on(self, name: str) -> bool:
        return self.chain and self.direction > 0 and name in self.base_values
