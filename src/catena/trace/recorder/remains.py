"""What is left of the numbers that recorded loops computed with, for loops that need them once more later on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from catena.trace.graph import LEAF, Expr, Operand, live
from catena.trace.recorder.links import RolledLinks
from catena.trace.recorder.recording import CARRY, PARENT, SELF, Loop, Slot
from catena.trace.substitute import substituted

COSTLY = frozenset({"div", "sqrt", "sin", "cos", "log", "exp", "arctan2"})
"""Operations that take longer than a number from memory."""


class Remains:
    """Expressions of loops that have run, in terms of what is in memory after the last of them.

    A number that is not, and that is costly to compute again or cannot be, is stored in a new field by its loop.

    Args:
        links: what was recorded.
        loops: the loops.
        tag: the end of the names of fields that are not theirs.
    """

    def __init__(self, links: RolledLinks, loops: Sequence[Loop], tag: str) -> None:
        self.graph, self.loops, self.tag = links.graph, loops, tag
        self._written: list[dict[Slot, set[str]]] = []
        self._kept: dict[tuple[int, int, int], Expr] = {}
        for loop in loops:
            written: dict[Slot, set[str]] = defaultdict(set)
            for array, slot in (key for body in loop.bodies for key in body.stores):
                written[slot].add(array)
            self._written.append(dict(written))

    def of_loop(self, j: int) -> Callable[[int, Sequence[Operand]], list[Operand]]:
        """The function (class, values) -> values for expressions that are made of those of loop j."""
        return lambda number, values: self._rewritten(j, number, values)

    def _rewritten(self, j: int, number: int, values: Sequence[Operand]) -> list[Operand]:
        body, stored = self.loops[j].bodies[number], dict[int, Slot]()
        for (array, slot), x in body.stores.items():
            if array == SELF and isinstance(x, Expr) and self._lasts(j, slot):
                stored.setdefault(x.id, slot)
        known = self._made_of_known(values)

        def instead(node: Expr) -> Operand | None:
            if node.id not in known:
                return None
            if node.op == LEAF and (left := self._left(j, number, node)) is not None:
                return left
            if node.id in stored:
                return self.graph._leaf(LEAF, (SELF, stored[node.id]))
            return self._keep(j, number, node) if node.op == LEAF or node.op in COSTLY else None

        return substituted(values, instead)

    def _made_of_known(self, values: Sequence[Operand]) -> set[int]:
        """The nodes that are made of the loops' own numbers alone."""
        known: set[int] = set()
        for node in live(values):
            if node.op == LEAF:
                array, index = node.args
                own = array not in (SELF, PARENT, CARRY) or not index[0].endswith(self.tag)
            else:
                own = all(a.id in known for a in node.args if isinstance(a, Expr))
            if own:
                known.add(node.id)
        return known

    def _left(self, j: int, number: int, node: Expr) -> Expr | None:
        """The leaf that still holds what this one held in loop j."""
        (array, slot), loop = node.args, self.loops[j]
        if array == SELF:
            own = (SELF, slot) in loop.bodies[number].stores
            return node if self._lasts(j, slot) and not own else None
        if array == CARRY and loop.direction > 0 and all((SELF, slot) in body.stores for body in loop.bodies):
            array = PARENT  # what was carried outwards is what the parent stored
        if array == PARENT:
            written = self._written[j].get(slot, set())
            partial = PARENT in written or (SELF in written and loop.direction < 0)
            lasts = self._lasts(j, slot) and not partial
            return self.graph._leaf(LEAF, (PARENT, slot)) if lasts else None
        return None if array == CARRY else node

    def _lasts(self, j: int, slot: Slot) -> bool:
        """Whether a scalar that a link has in memory in its turn of loop j is never changed afterwards."""
        added_later = self.loops[j].direction > 0 and PARENT in self._written[j].get(slot, ())
        return not added_later and not any(slot in written for written in self._written[j + 1 :])

    def _keep(self, j: int, number: int, node: Expr) -> Expr:
        """A new field for the value of a node, stored by loop j."""
        key = j, number, node.id
        if key not in self._kept:
            count = sum(kept[:2] == (j, number) for kept in self._kept)
            slot = f"kept{self.tag}.{j}", count
            self.loops[j].bodies[number].stores[SELF, slot] = node
            self._kept[key] = self.graph._leaf(LEAF, (SELF, slot))
        return self._kept[key]
