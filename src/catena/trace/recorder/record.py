"""Record an algorithm: run it on symbolic links, take out what nobody needs, and lay out the memory of a link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from catena.errors import CatenaError
from catena.scalars import Scalar
from catena.trace.graph import LEAF, Graph, Operand, live
from catena.trace.recorder.links import AnyLink, Habits, RolledField, RolledLinks
from catena.trace.recorder.merge import merged
from catena.trace.recorder.recording import (
    BASE,
    CARRY,
    CONST,
    PARENT,
    SELF,
    TIP,
    Body,
    LinkClass,
    Loop,
    Recording,
    Slot,
    constants_of,
)

_END = 1 << 30  # the loop after all loops: whoever asks for the outputs

Load = tuple[str, Slot, int]
"""An array, the scalar of a field read from it, and the number of the loop that reads it."""


def record(
    run: Callable[[RolledLinks], Mapping[str, Any]],
    classes: Sequence[LinkClass],
    gravity: Sequence[float],
    chain: bool,
    at_base: Collection[str] = (),
) -> Recording:
    """Run an algorithm on symbolic links, twice, and lay out what remains.

    `run` gets the links, runs the algorithm and returns its output fields by name, with a function that takes an output
    apart into scalars. Each is stored to the array "out:name", of those `at_base` the base's value after all loops.
    """
    habits = Habits(unknown=True)
    for _ in range(2):
        links = RolledLinks(classes, gravity, chain, habits, Graph())
        outputs = run(links)
        habits = links.found
    epilogue = Body()
    for name, (output, take) in outputs.items():
        if name in at_base:
            epilogue.stores.update(_stored(name, take(output[links.base])))
        else:
            _emit_output(links, name, output, take)
    if links.composed:
        links.loops = merged(links.loops, links.graph, links.base_values)
    return _laid_out(links, list(classes), epilogue)


def _stored(name: str, scalars: Sequence[Scalar]) -> dict[tuple[str, Any], Operand]:
    return {(f"out:{name}", i): x for i, x in enumerate(scalars)}


def _emit_output(links: RolledLinks, name: str, output: RolledField, take: Callable[[Any], list[Scalar]]) -> None:
    """Store an output field: where it is written when that happens once, otherwise in one more loop."""
    sweeps = {s for written, s in links.found.written if written == output.name}
    if len(sweeps) == 1 and not links.found.may_accumulate(output.name):
        bodies, values = links.loops[sweeps.pop()].bodies, output.templates
    else:
        links.sweep += 1
        bodies = [Body() for _ in links.classes]
        links.loops.append(Loop(+1, bodies))
        values = {i: output[AnyLink(i, of, links.graph)] for i, of in enumerate(links.classes)}
    for number, body in enumerate(bodies):
        body.stores.update(_stored(name, take(values[number])))


def _laid_out(links: RolledLinks, classes: list[LinkClass], epilogue: Body) -> Recording:
    """Take out what nobody needs, give each scalar that must be kept a slot, and list the constants that are read."""
    loops = links.loops
    at_base = _arriving(epilogue).union(
        *[_read(body, BASE) if loop.direction else _arriving(body) for loop in loops for body in loop.bodies]
    )
    asked = {(CARRY, slot, _END) for slot in at_base}
    asked |= {(SELF, slot, _END) for slot in at_base if not links.chain or slot in _put_at_base(loops)}
    at_tip = _read(epilogue, TIP)
    leaving = at_tip & {slot for loop in loops if loop.direction > 0 for body in loop.bodies for slot in body.carried}
    asked |= {(CARRY if slot in leaving else SELF, slot, _END) for slot in at_tip}
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
    kept = {slot for array, slot, _ in loads if array != CARRY} | at_base | leaving
    base = {
        (name, i): x for name, values in links.base_values.items() for i, x in enumerate(values) if (name, i) in kept
    }
    apart = sorted((at_base ^ leaving) - {slot for array, slot, _ in loads if array != CARRY})
    slots = _places(kept.difference(apart), set(base), loads, loops, leaving)
    if links.composed:
        slots = _side_by_side(slots, loads, loops)
    slots.update({slot: -1 - place for place, slot in enumerate(apart)})
    operations = sum(len(live(body.values)) for loop in loops for body in loop.bodies) // len(classes)
    columns = [constants_of(loops, number) for number in range(len(classes))]
    return Recording(classes, loops, slots, base, columns, epilogue, at_base, leaving, links.chain, operations)


def _arriving(epilogue: Body) -> set[Slot]:
    """The scalars of the base that the epilogue reads."""
    if any(_read(epilogue, array) for array in (CONST, SELF, PARENT, CARRY)):
        raise CatenaError("after the last sweep an algorithm may only compute with what fields hold at links.base")
    return _read(epilogue, BASE)


def _read(body: Body, array: str) -> set[Slot]:
    """The scalars that a body reads from an array."""
    leaves = [node.args for node in live(body.values) if node.op == LEAF]
    return {slot for read, slot in leaves if read == array}


def _put_at_base(loops: Sequence[Loop]) -> set[Slot]:
    """The scalars that reach the base's memory otherwise than by being carried there."""
    stored = ((loop, array, slot) for loop in loops for body in loop.bodies for array, slot in body.stores)
    return {slot for loop, array, slot in stored if array == PARENT or (array == SELF and not loop.direction)}


def _places(
    kept: set[Slot], lasting: set[Slot], loads: set[Load], loops: Sequence[Loop], leaving: set[Slot]
) -> dict[Slot, int]:
    """A place in a link's memory for each scalar; one that is needed no more leaves its place to another.

    A link stores only after it has loaded, so the last loop that loads a scalar may already fill its place anew, unless
    links further out still want to load it from there. What the base holds at the start, `lasting`, keeps its place.
    """
    born = {slot: len(loops) for slot in kept}
    for number, loop in reversed(list(enumerate(loops))):
        for array, slot in (key for body in loop.bodies for key in body.stores):
            if array in (SELF, PARENT):
                born[slot] = number
        born.update({slot: number for body in loop.bodies for slot in body.carried if slot in leaving})
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


def _side_by_side(slots: dict[Slot, int], loads: set[Load], loops: Sequence[Loop]) -> dict[Slot, int]:
    """The same places in another order: those that the same loops touch lie side by side, so that loops skip others."""
    touched: dict[int, set[int]] = {place: set() for place in slots.values()}
    for array, slot, number in loads:
        if array != CARRY:
            touched[slots[slot]].add(number)
    for number, loop in enumerate(loops):
        for array, slot in (key for body in loop.bodies for key in body.stores):
            if array in (SELF, PARENT):
                touched[slots[slot]].add(number)
    order = sorted(touched, key=lambda place: (sorted(touched[place]), place))
    return {slot: order.index(place) for slot, place in slots.items()}


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
