"""The order in which a straight-line program is computed: values should be used up while they are in registers.

List scheduling: of the first :data:`WINDOW` operations that could come next, in the order of the trace, the best one
does. The weights were found by search on forward dynamics of four robots, with the stores and loads as the cost that
16 registers need when the value that is used last is spilt: a third fewer stores than in the order of the trace.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

WINDOW = 16
LAST_USE = 27.0
"""An operand that dies gives this much, less if it has not been touched for long."""
FORGOTTEN = 0.035
AT_HAND = 1.0
"""An operand that was touched lately gives up to this much, one that was not costs as much."""
LATELY = 24
ENABLES = 8.0
"""What it is worth that another operation can come next."""
LATE = 0.09
"""What each place costs that the operation is behind in the order of the trace."""
NEVER = 10**6


def schedule(work: Sequence[int], args: Sequence[tuple[int, ...]]) -> list[int]:
    """The values of ``work`` in a better order. Operands that are not among them are there from the start."""
    state = _State(work, args)
    ready, rank, score = state.ready, state.rank, state.score
    for now in range(len(work)):
        first, best, most = rank[ready[0]], ready[0], float("-inf")
        for v in ready[:WINDOW]:
            worth = score(v, now) - LATE * (rank[v] - first)
            if worth > most:
                best, most = v, worth
        state.take(best, now)
    return state.order


class _State:
    """What has been computed, what could come next, and when each value was last touched."""

    def __init__(self, work: Sequence[int], args: Sequence[tuple[int, ...]]) -> None:
        self.order: list[int] = []
        self.rank = {v: i for i, v in enumerate(work)}
        self._operands = {v: tuple(dict.fromkeys(args[v])) for v in work}
        self._users: dict[int, list[int]] = {v: [] for v in work}
        self._missing = dict.fromkeys(work, 0)
        self._uses = dict.fromkeys(work, 0)
        for v, operands in self._operands.items():
            for a in operands:
                if a in self.rank:
                    self._uses[a] += 1
                    self._users[a].append(v)
                    self._missing[v] += 1
        self._touched = dict.fromkeys([*work, *[a for v in work for a in args[v]]], -NEVER)
        self.ready = [v for v in work if not self._missing[v]]

    def score(self, v: int, now: int) -> float:
        """What speaks for computing v next."""
        worth = 0.0
        for a in self._operands[v]:
            age = now - self._touched[a]
            if self._uses.get(a) == 1:
                worth += LAST_USE / (1.0 + FORGOTTEN * age)
            worth += AT_HAND * (1.0 - age / LATELY) if age < LATELY else -AT_HAND
        for u in self._users[v]:
            if self._missing[u] == 1:
                return worth + ENABLES
        return worth

    def take(self, v: int, now: int) -> None:
        """Compute v."""
        self.order.append(v)
        self.ready.remove(v)
        self._touched[v] = now
        for a in self._operands[v]:
            self._touched[a] = now
            if a in self._uses:
                self._uses[a] -= 1
        for u in self._users[v]:
            self._missing[u] -= 1
            if not self._missing[u]:
                insort(self.ready, u, key=self.rank.__getitem__)
