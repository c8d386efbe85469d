"""Loops that follow each other merged into one, where no link can tell: for algorithms composed of others.

Composed algorithms sweep more often than they need to, and each of them computes sines and placements of its own. A
loop moves to an earlier one of the same direction if nothing in between has to do with it, and if each link, in its
turn of the merged loop, finds all it reads as it would have been. What is then computed twice in one turn is shared,
and so is memory that holds the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from catena.trace.graph import LEAF, Expr, Graph, Operand, live
from catena.trace.recorder.recording import BASE, CARRY, PARENT, SELF, Body, Loop, Slot
from catena.trace.substitute import substituted

AtBase = Mapping[str, Sequence[Operand]]
"""What the base holds at the start, by the names of fields."""


def merged(loops: Sequence[Loop], graph: Graph, at_base: AtBase) -> list[Loop]:
    """The same loops with as few sweeps as possible."""
    done: list[tuple[Loop, Uses]] = []
    for loop in loops:
        uses, place = Uses(loop), None
        for i in reversed(range(len(done))):
            earlier, known = done[i]
            if loop.direction and loop.direction == earlier.direction and uses.fits_into(known, loop.direction):
                place = i
            if not uses.independent_of(known):
                break
        if place is None:
            done.append((loop, uses))
        else:
            joined = _joined(done[place][0], loop, graph, at_base)
            done[place] = joined, Uses(joined)
    loops = _with_shared_memory([loop for loop, _ in done], graph, at_base)
    _drop_overwritten(loops)
    return loops


class Uses:
    """What a loop reads and writes: scalars of fields at the link itself and at its parent, and carried ones."""

    def __init__(self, loop: Loop) -> None:
        read = [node.args for body in loop.bodies for node in live(body.values) if node.op == LEAF]
        kept = [key for body in loop.bodies for key in body.stores]
        self.read_here = {slot for array, slot in read if array == SELF}
        self.read_at_parent = {slot for array, slot in read if array == PARENT}
        self.read_at_base = {slot for array, slot in read if array == BASE}
        self.read = {slot for array, slot in read if isinstance(slot, tuple) and array != CARRY}
        self.written_here = {slot for array, slot in kept if array == SELF}
        self.written_at_parent = {slot for array, slot in kept if array == PARENT}
        self.carried = set(loop.start) | {slot for body in loop.bodies for slot in body.carried}
        self.written = self.written_here | self.written_at_parent | self.carried  # a sum carried to the base ends there

    def independent_of(self, earlier: Uses) -> bool:
        """Whether it makes no difference which of the two comes first."""
        return (self.read | self.written).isdisjoint(earlier.written) and self.written.isdisjoint(earlier.read)

    def fits_into(self, earlier: Uses, direction: int) -> bool:
        """Whether each link may take its turn right after that of the earlier loop, in a common one."""
        outwards = direction > 0
        refused = [
            self.carried & earlier.carried,
            self.read_at_base & earlier.written,  # a sum that is not complete
            self.read_at_parent & earlier.written_at_parent,  # nor is this one
            self.written_at_parent & (earlier.read | earlier.written),
            (self.read_here | self.written_here) & earlier.written_at_parent if outwards else set(),
            self.written_here & earlier.read_at_parent if outwards else set(),
            set() if outwards else self.read_at_parent & earlier.written_here,  # what the parent has not yet written
        ]
        return not any(refused)


def _joined(first: Loop, second: Loop, graph: Graph, at_base: AtBase) -> Loop:
    """One loop that does for each link what the first does, then what the second does."""
    held = {slot for slot in first.start if first.direction > 0 and _is_held(first, slot, at_base)}
    bodies = []
    for a, b in zip(first.bodies, second.bodies, strict=True):
        stored = {slot: x for (array, slot), x in a.stores.items() if array == SELF}

        def instead(node: Expr, stored: Mapping[Slot, Operand] = stored) -> Operand | None:
            array, slot = node.args if node.op == LEAF else ("", None)
            if array == PARENT and slot in held:
                return graph._leaf(LEAF, (CARRY, slot))
            return stored.get(slot) if array == SELF else None

        b = b.with_values(substituted(b.values, instead))
        bodies.append(Body({**a.stores, **b.stores}, {**a.carried, **b.carried}))
    return Loop(first.direction, bodies, {**first.start, **second.start})


def _is_held(loop: Loop, slot: Slot, at_base: AtBase) -> bool:
    """Whether what a loop carries on is what each link stores, and what it starts with what the base holds."""
    name, i = slot
    alike = all((SELF, slot) in body.stores and body.carried[slot] is body.stores[SELF, slot] for body in loop.bodies)
    return alike and i < len(at_base.get(name, ())) and at_base[name][i] is loop.start[slot]


def _with_shared_memory(loops: list[Loop], graph: Graph, at_base: AtBase) -> list[Loop]:
    """The same loops where one scalar of a field takes the place of all that are equal to it at every link."""
    written = Counter(slot for loop in loops for slot in Uses(loop).written)
    added = {slot for loop in loops for slot in Uses(loop).written_at_parent}
    once = {slot for slot, count in written.items() if count == 1} - added
    for number, loop in enumerate(loops):
        known: dict[tuple[object, ...], Slot] = {}
        other: dict[Slot, Slot] = {}
        for slot in sorted(once & Uses(loop).written_here):
            values = [body.stores.get((SELF, slot)) for body in loop.bodies]
            start = at_base.get(slot[0], ())[slot[1] : slot[1] + 1]
            first = known.setdefault((*[_identity(x) for x in values], *map(_identity, start)), slot)
            if first is not slot:
                other[slot] = first

        def instead(node: Expr, other: Mapping[Slot, Slot] = other) -> Operand | None:
            shared = node.op == LEAF and node.args[0] in (SELF, PARENT) and node.args[1] in other
            return graph._leaf(LEAF, (node.args[0], other[node.args[1]])) if shared else None

        if other:
            for later in loops[number:]:
                later.bodies = [body.with_values(substituted(body.values, instead)) for body in later.bodies]
    return loops


def _drop_overwritten(loops: Sequence[Loop]) -> None:
    """Take out what a link stores and stores anew in a later loop before anybody has read it."""
    loops = [loop for loop in loops if loop.direction]  # what is stored at the base is none of theirs
    uses = [Uses(loop) for loop in loops]
    for number, loop in enumerate(loops):
        for slot in uses[number].written_here - uses[number].written_at_parent - uses[number].read_at_parent:
            after = next((j for j in range(number + 1, len(loops)) if slot in uses[j].read | uses[j].written), None)
            if after is None or slot in uses[after].read | uses[after].written_at_parent:
                continue
            if all((SELF, slot) in body.stores for body in loops[after].bodies):
                for body in loop.bodies:
                    body.stores.pop((SELF, slot), None)


def _identity(x: Operand | None) -> object:
    return x.id if isinstance(x, Expr) else repr(x)
