"""Symbolic links: an algorithm that sweeps over them leaves loops behind instead of one long expression.

There is one symbolic link for each joint type of the mechanism. A sweep runs the body once for each of them; reading
``V[k.parent]`` gives leaves that a kernel will load, writing gives stores, and when the generator is resumed the body
is complete. The algorithm is run twice: the first run only finds out which fields are accumulated at the parent
(``P[k.parent] += …``) and where.

On a chain, what goes from one link to the next stays in registers: a field read at the parent in the sweep that writes
it, and a sum that the parent accumulates, are *carried* from one turn of the loop to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catena.kinds import Kind
from catena.model.joints import JOINT_TYPES, JointType
from catena.model.lowered import Lowered
from catena.scalars import Scalar
from catena.spatial import Dofs, Motion, Vec3
from catena.spatial.leaves import leaves, rebuilt
from catena.sweeps import Link
from catena.trace.graph import LEAF, Expr, Graph, Operand, live

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
    """A joint type of the mechanism, with the constants that all its links share; the others are loads."""

    kind: type[JointType]
    shared: dict[str, float]
    varying: tuple[str, ...]


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


class SymbolicParent:
    """The parent of the link at hand."""

    where = PARENT


class SymbolicBase:
    """The base, whose values are numbers known before the loops start."""

    where = "base"


class SymbolicLink(Link):
    """Any link of one class."""

    where = SELF

    def __init__(self, number: int, of: LinkClass, graph: Graph) -> None:
        constants: dict[str, Scalar] = dict(of.shared)
        constants.update({name: graph._leaf(LEAF, (CONST, name)) for name in of.varying})
        super().__init__(of.kind, constants, Dofs([constants[f"A{i}"] for i in range(of.kind.nv)]))
        self.number, self.parent = number, SymbolicParent()


class Deposit:
    """A sum on its way to the parent: on a chain the next turn of the loop adds it to the parent's own value."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __add__(self, other: Any) -> Deposit:
        return Deposit(other if self.value is None else self.value + other)


@dataclass
class Habits:
    """What the first run finds out about the fields: sweeps in which they are accumulated, and written at the link."""

    accumulated: set[tuple[str, int]] = field(default_factory=set)
    written: set[tuple[str, int]] = field(default_factory=set)

    def ever_accumulated(self, name: str) -> bool:
        """Whether some sweep adds to the field at the parent."""
        return any(name == accumulated for accumulated, _ in self.accumulated)


class RolledField:
    """A field in memory. Inside a body, what was written there is read back as it is."""

    def __init__(self, links: RolledLinks, name: str) -> None:
        self.links, self.name = links, name
        self.templates: dict[Any, Any] = {}  # class number, or "any": an object of the shape stored there
        self.known: dict[int, list[Operand | None]] = {}  # class number: scalars that need no memory

    def __getitem__(self, link: Any) -> Any:
        links, where = self.links, link.where
        if where == "base":
            return rebuilt(self.templates["any"], iter(links.base_values[self.name]))
        if (self.name, where) in links.pending:
            return links.pending[self.name, where]
        if where == PARENT:
            return self._at_parent()
        return self._at_self(link)

    def __setitem__(self, link: Any, value: Any) -> None:
        links, where = self.links, link.where
        if where == "base":
            links.base_values[self.name] = [float(x) for x in leaves(value)]
            self.templates.setdefault("any", value)
            return
        links.pending[self.name, where] = value
        sweep = (self.name, links.sweep)
        if where == PARENT:
            links.found.accumulated.add(sweep)
            return
        links.found.written.add(sweep)
        self.templates[link.number] = value
        self.templates.setdefault("any", value)
        kept = links.habits.ever_accumulated(self.name)
        self.known[link.number] = [None if kept or not _rematerial(x) else x for x in leaves(value)]

    def _load(self, array: str, template: Any) -> list[Operand]:
        graph = self.links.graph
        return [graph._leaf(LEAF, (array, (self.name, i))) for i in range(len(leaves(template)))]

    def _at_parent(self) -> Any:
        links = self.links
        if links.chain and (self.name, links.sweep) in links.habits.accumulated:
            return Deposit()
        template = self.templates.get("any")
        if template is None:
            raise KeyError(
                f"field {self.name!r} is read at the parent before it was ever written, at the base or elsewhere"
            )
        carried = links.chain and links.direction > 0 and (self.name, links.sweep) in links.habits.written
        return rebuilt(template, iter(self._load(CARRY if carried else PARENT, template)))

    def _at_self(self, link: SymbolicLink) -> Any:
        links, template = self.links, self.templates[link.number]
        known = self.known[link.number]
        scalars = [x if x is not None else y for x, y in zip(known, self._load(SELF, template), strict=True)]
        value = rebuilt(template, iter(scalars))
        if links.chain and (self.name, links.sweep) in links.habits.accumulated:
            own = self._own(link, template)
            value = own + rebuilt(template, iter(self._load(CARRY, template)))
            links.pending[self.name, SELF] = value
        return value

    def _own(self, link: SymbolicLink, template: Any) -> Any:
        """The link's own share of a sum, before its child's is added: from constants alone where that is possible."""
        scalars = leaves(template)
        if all(_rematerial(x) for x in scalars):
            return template
        return rebuilt(template, iter(self._load(SELF, template)))


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

    def __getitem__(self, link: SymbolicLink) -> Any:
        count = self.kind.count(link.kind.nq, link.kind.nv)
        return self.kind.build([self.graph.input(self.array, i) for i in range(count)])


class RolledLinks:
    """One symbolic link for each class of links."""

    def __init__(
        self, classes: Sequence[LinkClass], gravity: Sequence[float], chain: bool, habits: Habits, graph: Graph
    ) -> None:
        self.classes, self.chain, self.habits, self.graph = classes, chain, habits, graph
        self.base = SymbolicBase()
        self.gravity = Motion(Vec3.zero(), Vec3(*gravity))
        self.found = Habits()
        self.loops: list[Loop] = []
        self.base_values: dict[str, list[float]] = {}
        self.pending: dict[tuple[str, str], Any] = {}
        self.sweep, self.direction, self._fields = -1, 0, 0

    def fields(self, names: str) -> list[RolledField]:
        """New fields, one for each of the names; equal names of different calls are kept apart."""
        self._fields += 1
        return [RolledField(self, f"{name}.{self._fields}") for name in names.split()]

    def base_to_tip(self) -> Iterator[SymbolicLink]:
        """A loop over every link after its parent."""
        return self._sweep(+1)

    def tip_to_base(self) -> Iterator[SymbolicLink]:
        """A loop over every link before its parent."""
        return self._sweep(-1)

    def _sweep(self, direction: int) -> Iterator[SymbolicLink]:
        self.sweep, self.direction = self.sweep + 1, direction
        loop = Loop(direction)
        for number, of in enumerate(self.classes):
            self.pending = {}
            yield SymbolicLink(number, of, self.graph)
            loop.bodies.append(self._body())
        self.pending = {}
        carried = {slot for body in loop.bodies for slot in body.carried}
        zero: dict[Slot, float] = dict.fromkeys(carried, 0.0)
        loop.start = zero if direction < 0 else {(name, i): self.base_values[name][i] for name, i in carried}
        self.loops.append(loop)

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


def classify(lowered: Lowered) -> tuple[list[LinkClass], list[int]]:
    """The classes of links of a mechanism, and the joint codes they stand for."""
    codes = sorted(set(lowered.kind.tolist()))
    classes = []
    for code in codes:
        kind = JOINT_TYPES[code]
        rows = lowered.kind == code if len(codes) > 1 else slice(None)
        columns = {name: column[rows] for name, column in lowered.constants.items()}
        starts = lowered.v_start[:-1][rows]
        columns.update({f"A{i}": lowered.armature[starts + i] for i in range(kind.nv)})
        shared = {name: float(x[0]) for name, x in columns.items() if x.strides == (0,) or (x == x[0]).all()}
        classes.append(LinkClass(kind, shared, tuple(name for name in columns if name not in shared)))
    return classes, codes


def record(
    run: Callable[[RolledLinks], Mapping[str, Any]],
    classes: Sequence[LinkClass],
    gravity: Sequence[float],
    chain: bool,
    at_base: Collection[str] = (),
) -> Program:
    """Run an algorithm on symbolic links, twice, and lay out what remains.

    `run` gets the links, runs the algorithm and returns its output fields by name, with a function that takes an output
    apart into scalars. Each is stored to the array "out:name", but for those `at_base`, of which only the base's value
    counts.
    """
    habits = Habits()
    for _ in range(2):
        links = RolledLinks(classes, gravity, chain, habits, Graph())
        outputs = run(links)
        habits = links.found
    results = {}
    for name, (output, take) in outputs.items():
        if name in at_base:
            results[name] = [(output.name, i) for i in range(len(links.base_values[output.name]))]
        else:
            _emit_output(links, name, output, take)
    return _laid_out(links, list(classes), results)


def _emit_output(links: RolledLinks, name: str, output: RolledField, take: Callable[[Any], list[Scalar]]) -> None:
    """Store an output field: where it is written when that happens once, otherwise in one more loop."""
    sweeps = {s for written, s in links.found.written if written == output.name}
    if len(sweeps) == 1 and not links.found.ever_accumulated(output.name):
        bodies, values = links.loops[sweeps.pop()].bodies, output.templates
    else:
        links.sweep += 1
        bodies = [Body() for _ in links.classes]
        links.loops.append(Loop(+1, bodies))
        values = {i: output[SymbolicLink(i, of, links.graph)] for i, of in enumerate(links.classes)}
    for number, body in enumerate(bodies):
        body.stores.update({(f"out:{name}", i): x for i, x in enumerate(take(values[number]))})


_END = 1 << 30  # the loop after all loops: whoever asks for the outputs

Load = tuple[str, Slot, int]
"""An array, the scalar of a field read from it, and the number of the loop that reads it."""


def _laid_out(links: RolledLinks, classes: list[LinkClass], results: dict[str, list[Slot]]) -> Program:
    """Take out what nobody needs, give each scalar that must be kept a slot, and list the constants that are read."""
    loops = links.loops
    asked = {(array, slot, _END) for wanted in results.values() for slot in wanted for array in (SELF, CARRY)}
    loads = set[Load]()
    while True:
        found = asked | {
            (node.args[0], node.args[1], number)
            for number, loop in enumerate(loops)
            for body in loop.bodies
            for node in live([*_stores(body, number, loads).values(), *_carried(body, number, loads).values()])
            if node.op == LEAF and node.args[0] in (SELF, PARENT, CARRY)
        }
        if found == loads:
            break
        loads = found
    for number, loop in enumerate(loops):
        for body in loop.bodies:
            body.stores, body.carried = _stores(body, number, loads), _carried(body, number, loads)
        loop.start = {slot: x for slot, x in loop.start.items() if slot in loop.bodies[0].carried}
    columns = [_columns(loops, number) for number in range(len(classes))]
    kept = {slot for array, slot, _ in loads if array != CARRY}
    base = {
        (name, i): x for name, values in links.base_values.items() for i, x in enumerate(values) if (name, i) in kept
    }
    slots = _places(kept, set(base), loads, loops)
    return Program(classes, loops, slots, base, columns, results, links.chain)


def _places(kept: set[Slot], lasting: set[Slot], loads: set[Load], loops: Sequence[Loop]) -> dict[Slot, int]:
    """A place in a link's memory for each scalar; one that is needed no more leaves its place to another.

    A link stores only after it has loaded, so the last loop that loads a scalar may already fill its place anew, unless
    links further out still want to load it from there. What the base holds at the start, `lasting`, keeps its place.
    """
    born = {slot: len(loops) for slot in kept}
    for number, loop in reversed(list(enumerate(loops))):
        for array, slot in (key for body in loop.bodies for key in body.stores):
            if array in (SELF, PARENT):
                born[slot] = number
    free: list[tuple[int, int]] = []  # from which loop on, and which place
    places: dict[Slot, int] = {}
    count = 0
    for slot in sorted(kept, key=lambda slot: (slot not in lasting, born[slot], slot)):
        open_places = [place for place in free if place[0] <= born[slot]] if slot not in lasting else []
        if open_places:
            free.remove(open_places[0])
            places[slot] = open_places[0][1]
        else:
            places[slot] = count
            count += 1
        if slot not in lasting:
            free.append((_free_from(slot, loads, loops), places[slot]))
    return places


def _free_from(slot: Slot, loads: set[Load], loops: Sequence[Loop]) -> int:
    """The first loop that may store something else in the place of a scalar."""
    last = max(loop for _, loaded, loop in loads if loaded == slot)
    by_children = last < len(loops) and loops[last].direction > 0 and (PARENT, slot, last) in loads
    return last + 1 if by_children else last


def _stores(body: Body, number: int, loads: set[Load]) -> dict[tuple[str, Any], Operand]:
    """The stores of a body that an output, a later loop or another link in the same loop needs."""
    later: dict[Slot, int] = {}
    across: dict[Slot, int] = {}
    for array, slot, loop in loads:
        last = later if array == SELF else across if array == PARENT else {}
        last[slot] = max(loop, last.get(slot, -1))

    def wanted(array: str, slot: Any) -> bool:
        if array.startswith("out:"):
            return True
        same = number if array == PARENT else number + 1
        return later.get(slot, -1) >= same or across.get(slot, -1) >= number

    return {key: x for key, x in body.stores.items() if wanted(*key)}


def _carried(body: Body, number: int, loads: set[Load]) -> dict[Slot, Operand]:
    """The carried values that the next turn reads, or that reach the base and are asked for there."""
    used = {slot for array, slot, loop in loads if array == CARRY and loop in (number, _END)}
    return {slot: x for slot, x in body.carried.items() if slot in used}


def _columns(loops: Sequence[Loop], number: int) -> list[str]:
    """The constants that a class of links reads, sorted by name."""
    nodes = [
        node
        for loop in loops
        for node in live([*loop.bodies[number].stores.values(), *loop.bodies[number].carried.values()])
    ]
    return sorted({node.args[1] for node in nodes if node.op == LEAF and node.args[0] == CONST})
