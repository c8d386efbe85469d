"""What tells expressions apart, as a short text that is the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from catena.trace.graph import LEAF, Expr, live


def digest(results: Sequence[Any]) -> str:
    """What tells expressions apart, the same in every process."""
    state, number = hashlib.blake2b(digest_size=16), dict[int, int]()

    def name(x: Any) -> str:
        return f"#{number[x.id]}" if isinstance(x, Expr) else repr(x)

    for node in live(results):
        number[node.id] = len(number)
        state.update(f"{node.op}({', '.join(map(repr if node.op == LEAF else name, node.args))});".encode())
    state.update(", ".join(map(name, results)).encode())
    return state.hexdigest()
