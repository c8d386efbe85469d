"""Derivatives of recorded sweeps: new loops, or more in the same ones, in time and memory proportional to the links.

Forward, :class:`Tangent`: the tangent of a sweep is a sweep in the same direction, so each loop goes on to do the
same with the rates of all that it did: every load, store and carried value has one for its rate beside it.

In reverse, :class:`Adjoint`: the adjoint of a sweep is a sweep in the other direction over adjoint fields. What a loop
read at the parent, its adjoint adds there; what it added there, its adjoint reads; what it carried to the next link
comes back from there.

    for k in base_to_tip:   V[k] = f(V[parent], q[k])
    for k in tip_to_base:   V̄[parent] += ∂f/∂V · V̄[k];  q̄[k] += ∂f/∂q · V̄[k]

The adjoint of a loop needs numbers that the loop computed with. What the loop left in fields, and nobody has
overwritten since, is read again (:class:`Remains`); most of the rest is computed again from that; what took a function
call or a division, and what was carried, is stored in new fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from catena.errors import UnsupportedError
from catena.trace.derivatives import cotangents, tangents
from catena.trace.graph import LEAF, Expr, Graph, Operand, live
from catena.trace.recorder.links import RolledLinks
from catena.trace.recorder.recording import BASE, CARRY, PARENT, SELF, Body, Loop, Slot
from catena.trace.recorder.remains import Remains

Directions = Sequence[Mapping[Expr, Operand]]
"""For each class of links, how fast the leaves of inputs change."""


def leaf(graph: Graph, array: str, slot: Slot) -> Expr:
    """The leaf that stands for a scalar of a field."""
    return graph._leaf(LEAF, (array, slot))


class Tangent:
    """The tangent of the loops from number `first` on, which these compute too from now on.

    Args:
        links: what was recorded so far.
        first: the first loop that counts.
        directions: how the inputs change.
    """

    def __init__(self, links: RolledLinks, first: int, directions: Directions) -> None:
        self.graph, self.directions, self.tag = links.graph, directions, links.tag("d")
        self._loops, self._moving = links.loops[first:], set[Slot]()
        self._starts = {name: self.rates(0, values) for name, values in links.base_values.items()}
        while not (found := self._changing()) <= self._moving:
            self._moving |= found
        for loop in self._loops:
            moving = [slot for slot in loop.start if slot in self._moving]
            rates = self.rates(0, [loop.start[slot] for slot in moving])
            loop.start.update({self.beside(slot): rate for slot, rate in zip(moving, rates, strict=True)})
            for number, body in enumerate(loop.bodies):
                self._extend(number, body)
        for name in {name for name, _ in self._moving} & links.base_values.keys():
            links.base_values[f"{name}{self.tag}"] = self._starts[name]

    def beside(self, slot: Slot) -> Slot:
        """Where the rate of a scalar is kept."""
        return f"{slot[0]}{self.tag}", slot[1]

    def rates(self, number: int, values: Sequence[Operand]) -> list[Operand]:
        """How fast expressions of these loops change, at links of a class; of the base after them, with number 0."""
        given = dict(self.directions[number])
        for node in live(values):
            if node.op == LEAF and node.args[0] in (SELF, PARENT, CARRY, BASE) and node.args[1] in self._moving:
                given[node] = leaf(self.graph, node.args[0], self.beside(node.args[1]))
        return tangents(values, given)

    def _changing(self) -> set[Slot]:
        """The scalars of fields that are seen to change, if those known so far do."""
        found = {(name, i) for name, rates in self._starts.items() for i, x in enumerate(rates) if _changes(x)}
        for number, body in ((n, body) for loop in self._loops for n, body in enumerate(loop.bodies)):
            slots = [*[slot for _, slot in body.stores], *body.carried]
            pairs = zip(slots, self.rates(number, body.values), strict=True)
            found |= {slot for slot, rate in pairs if _changes(rate)}
        return found

    def _extend(self, number: int, body: Body) -> None:
        """Have a body store and carry on the rates of what it stores and carries on."""
        rates = iter(self.rates(number, body.values))
        stores = {(array, self.beside(slot)): next(rates) for array, slot in body.stores}
        carried = {self.beside(slot): next(rates) for slot in body.carried}
        moving = {self.beside(slot) for slot in self._moving}
        body.stores.update({(array, slot): rate for (array, slot), rate in stores.items() if slot in moving})
        body.carried.update({slot: rate for slot, rate in carried.items() if slot in moving})


def _changes(rate: Operand) -> bool:
    return isinstance(rate, Expr) or rate != 0.0


class Adjoint:
    """The adjoint of the loops from number `first` on, which is appended to them loop by loop.

    `seed` and `seed_at_base` say what the weighted sum of outputs takes in of a field; then `append` gives the loops,
    and `gradient` its derivatives by leaves of inputs.

    Args:
        links: what was recorded so far.
        first: the first loop that counts.
        inputs: the arrays of the leaves to differentiate by.
        started: what the base starts with that is made of these.
    """

    def __init__(self, links: RolledLinks, first: int, inputs: Sequence[str], started: Sequence[Slot] = ()) -> None:
        self.links, self.graph, self.inputs = links, links.graph, frozenset(inputs)
        self.loops = links.loops[first:]
        self.tag = links.tag("a")
        self.at_base: set[Slot] = set()  # what the base holds is asked for
        self._started = started
        self._sums: list[dict[Slot, Operand]] = [{} for _ in links.classes]  # of each class, the adjoints so far
        self._ready: list[dict[Slot, Operand]] = [{} for _ in links.classes]  # to be in memory before the next loop

    def seed(self, number: int, slot: Slot, weight: Operand) -> None:
        """The weighted sum has the derivative `weight` by this scalar of a field, at links of a class."""
        written = {slot for loop in self.loops for body in loop.bodies for _, slot in body.stores}
        if any(node.op == LEAF and node.args[1] in written for node in live([weight])):
            self._ready[number][self.beside(slot)] = weight  # made of results, which the loops had not yet
            weight = leaf(self.graph, SELF, self.beside(slot))
        self._sums[number][slot] = weight

    def seed_at_base(self, weights: Mapping[Slot, Operand]) -> None:
        """The weighted sum has these derivatives by what the base holds after all loops."""
        self.at_base = set(weights)
        stores: dict[tuple[str, Slot], Operand] = {}
        for slot, weight in weights.items():
            for place in (self.beside(slot), self.passed(slot)):
                stores[SELF, place] = weight
                self.zero_at_base(place)
        if stores:
            self.links.append_loop(Loop(0, [Body(stores)]))

    def append(self) -> None:
        """Append the adjoint of every loop, the last one first."""
        if not all(loop.direction for loop in self.loops):
            raise UnsupportedError("gradients of gradients of what the base holds are not known in loops over links")
        remains = Remains(self.links, self.loops, self.tag)
        for j in reversed(range(len(self.loops))):
            made = _AdjointLoop(self, self.loops[j], remains.of_loop(j)).made()
            self._prepare()
            self.links.append_loop(made)

    def at_start(self) -> list[Operand]:
        """The adjoints of what the base starts with, in its memory after all loops."""
        for slot in self._started:
            self.zero_at_base(self.beside(slot))
        return [leaf(self.graph, BASE, self.beside(slot)) for slot in self._started]

    def gradient(self, number: int, array: str, count: int) -> list[Operand]:
        """The derivatives by the leaves of an input, at links of a class, as expressions of the last loop."""
        last = self.links.loops[-1].bodies[number].stores
        slots = [(array, i) for i in range(count)]
        return [last.get((SELF, self.beside(slot)), self.sum(number, slot)) for slot in slots]

    def beside(self, slot: Slot) -> Slot:
        """Where the adjoint of a scalar is kept."""
        return f"{slot[0]}{self.tag}", slot[1]

    def passed(self, slot: Slot) -> Slot:
        """Where links of a chain leave the adjoint of a sum for what was added to it, if it does not start at zero."""
        return f"{slot[0]}^{self.tag}", slot[1]

    def zero_at_base(self, slot: Slot) -> None:
        """Have the base start with zero here."""
        at_base = self.links.base_values.setdefault(slot[0], [])
        at_base += [0.0] * (slot[1] + 1 - len(at_base))

    def sum(self, number: int, slot: Slot) -> Operand:
        """The adjoint of a scalar as far as it is known, at links of a class."""
        return self._sums[number].get(slot, 0.0)

    def set_sum(self, number: int, slot: Slot, value: Operand, changing: bool = False) -> None:
        """From now on the adjoint of a scalar is in memory, or a number that does not change in the same loop."""
        kept = changing or isinstance(value, Expr)
        self._sums[number][slot] = leaf(self.graph, SELF, self.beside(slot)) if kept else value

    def any_sum(self, slot: Slot) -> bool:
        """Whether the adjoint of a scalar may be other than zero at some link."""
        return any(isinstance(x := self.sum(n, slot), Expr) or x != 0.0 for n in range(len(self._sums)))

    def in_memory(self, slot: Slot) -> None:
        """Have the adjoint of a scalar in memory, at all links, when the next loop starts."""
        for number in range(len(self._sums)):
            here, known = leaf(self.graph, SELF, self.beside(slot)), self.sum(number, slot)
            if known is not here:
                self._ready[number][self.beside(slot)] = known
                self._sums[number][slot] = here

    def _prepare(self) -> None:
        """A loop that brings to memory what has to be there."""
        if any(self._ready):
            bodies = [Body({(SELF, slot): x for slot, x in ready.items()}) for ready in self._ready]
            self.links.append_loop(Loop(+1, bodies))
            self._ready = [{} for _ in self._ready]


class _AdjointLoop:
    """The adjoint of one loop."""

    def __init__(self, of: Adjoint, loop: Loop, rewritten: Callable[[int, Sequence[Operand]], list[Operand]]) -> None:
        self.of, self.loop, self.rewritten = of, loop, rewritten
        self.graph, self.direction = of.graph, -loop.direction
        self.read = [{node.args: node for node in live(body.values) if node.op == LEAF} for body in loop.bodies]
        at_parent = {slot for read in self.read for array, slot in read if array == PARENT}
        added = {slot for body in loop.bodies for array, slot in body.stores if array == PARENT}
        self.handed = at_parent - added if of.links.chain and self.direction < 0 else set()
        """On a chain, what is added at the parent goes there in registers."""
        self.shared = (at_parent | added) - self.handed
        """What passes between links through memory."""
        carried = {slot for body in loop.bodies for slot in body.carried}
        self.from_base = carried & of.at_base if self.direction > 0 else set()
        """On a chain, sums that reach the base and count there: their adjoints start from the base's memory."""

    def made(self) -> Loop:
        """The loop, with all that the ones after it need to know."""
        of = self.of
        if self.direction < 0:
            for slot in sorted(self.shared):
                of.in_memory(slot)
        passing: set[Slot] = {slot for slot in self.shared if of.any_sum(slot)} | (self.shared & of.at_base)
        passing |= self.from_base
        while True:
            slopes = [self._slopes(number, passing) for number in range(len(self.loop.bodies))]
            found = {slot for s, read in zip(slopes, self.read, strict=True) for slot in self._coming(s, read)}
            if found <= passing:
                break
            passing |= found
        bodies = [self._body(number, s, passing) for number, s in enumerate(slopes)]
        carried = {slot for body in bodies for slot in body.carried}
        for number, body in enumerate(bodies):
            body.carried = {**dict.fromkeys(carried, 0.0), **body.carried}
            bodies[number] = body.with_values(self.rewritten(number, body.values))
        for slot in self.shared:
            of.zero_at_base(of.beside(slot))
        return Loop(self.direction, bodies, dict.fromkeys(carried, 0.0))

    def _coming(self, slopes: Mapping[Expr, Operand], read: Mapping[tuple[str, Slot], Expr]) -> Iterator[Slot]:
        """The scalars whose adjoints this loop makes pass between links."""
        for (array, slot), node in read.items():
            if node in slopes and (array in (CARRY, PARENT) or (array == SELF and slot in self.shared)):
                yield slot

    def _own(self, number: int, slot: Slot, passing: set[Slot]) -> Operand:
        """The adjoint of a link's scalar when its turn comes."""
        known = self.of.sum(number, slot)
        if slot in self.handed and slot in passing:
            return self.graph.add(known, leaf(self.graph, CARRY, self.of.beside(slot)))
        return known

    def _passed(self, array: str, slot: Slot, passing: set[Slot]) -> Operand:
        return leaf(self.graph, array, self.of.beside(slot)) if slot in passing else 0.0

    def _slopes(self, number: int, passing: set[Slot]) -> dict[Expr, Operand]:
        """The derivatives by all leaves of a body."""
        body = self.loop.bodies[number]
        weights = [
            self._own(number, slot, passing) if array == SELF else self._passed(PARENT, slot, passing)
            for array, slot in body.stores
        ]
        return cotangents(body.values, weights + [self._from_next(slot, passing) for slot in body.carried])

    def _from_next(self, slot: Slot, passing: set[Slot]) -> Operand:
        """The adjoint of what was carried on, from where it was carried to."""
        if slot in self.from_base:
            return leaf(self.graph, PARENT, self.of.passed(slot))
        return self._passed(CARRY, slot, passing)

    def _body(self, number: int, slopes: Mapping[Expr, Operand], passing: set[Slot]) -> Body:
        made, body, of = Body(), self.loop.bodies[number], self.of
        made.stores.update({(SELF, of.passed(slot)): 0.0 for slot in self.from_base})
        mine: dict[Slot, Operand] = {}
        for (array, slot), node in self.read[number].items():
            slope = slopes.get(node, 0.0)
            if array == SELF or array in of.inputs:
                mine[slot if array == SELF else (array, slot)] = slope
            elif array == CARRY and slot in self.from_base:
                made.stores[SELF, of.passed(slot)] = slope
            elif array == CARRY or (array == PARENT and slot in self.handed):
                if slot in passing:
                    made.carried[of.beside(slot)] = slope
            elif array == PARENT and slot in passing:
                self._add_at_parent(made, body, slot, slope)
        stored = {slot for array, slot in body.stores if array == SELF}
        for slot in {*mine, *stored, *(passing & (self.handed | self.shared))}:
            before = 0.0 if slot in stored else self._own(number, slot, passing)
            total = self.graph.add(before, mine.get(slot, 0.0))
            open_to_children = self.direction > 0 and slot in self.shared
            if total is not of.sum(number, slot) or open_to_children:
                made.stores[SELF, of.beside(slot)] = total
                of.set_sum(number, slot, total, open_to_children)
        return made

    def _add_at_parent(self, made: Body, body: Body, slot: Slot, slope: Operand) -> None:
        there = leaf(self.graph, PARENT, self.of.beside(slot))
        if (PARENT, slot) not in body.stores:
            made.stores[PARENT, self.of.beside(slot)] = self.graph.add(there, slope)
        elif slope is not there:
            made.stores[PARENT, self.of.beside(slot)] = slope
