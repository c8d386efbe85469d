"""Wide results written past the caches: stores that do not fetch the line they write to, for batches beyond the caches.

Such stores must be aligned to the size of a register, and rows need not be. But the W rows of a block follow each other
and fill whole registers, so that all blocks start at the same distance from such a place if one does. Large arrays of
the C library do so :data:`OFFSET` bytes after it, and so do ours. Most registers lie in one row, at a distance from its
start that differs from row to row; others hold the end of one row and the start of the next; and the block begins and
ends with parts of registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from catena.kernels.codegen.emit import Lanes, Writer
from catena.kernels.codegen.transposition import INLINE, shuffle, square

OFFSET = 16
"""Where arrays that are written like this start, in bytes after a multiple of a register's size."""

FENCE = 'call void asm sideeffect "sfence", "~{memory}"()'
"""After the last such store: now others may see what was written."""

METADATA = "!0 = !{i32 1}"
"""What marks the stores is defined once for a module."""


def streaming_functions(name: str, lanes: Lanes, places: Sequence[int | float]) -> list[str]:
    """``name.k(rows, block)`` for k = 0, INLINE, …: together they write W rows, of which ``rows`` is the first.

    ``places`` are as in :func:`~catena.kernels.codegen.transposition.scatter_from`.
    """
    count = len(places) // lanes.W
    return [_function(f"{name}.{k}", lanes, places, k, min(k + INLINE, count)) for k in range(0, count, INLINE)]


def stream_from(w: Writer, name: str, lanes: Lanes, rows: str, block: str, places: Sequence[int | float]) -> None:
    """Calls of the functions above."""
    for k in range(0, len(places) // lanes.W, INLINE):
        w.put(f"call void @{name}.{k}(ptr {rows}, ptr {block})")


def _function(name: str, lanes: Lanes, places: Sequence[int | float], first: int, last: int) -> str:
    """Registers number ``first`` to ``last - 1`` of each row; the first function writes those between rows as well."""
    rows, W, width = _Rows(lanes, places), lanes.W, len(places)
    offset = OFFSET // lanes.dtype.itemsize
    for i in range(first, last):
        for row in range(W):
            start = -(row * width + offset) % W + i * W
            if start + W <= width:
                rows.store(row * width + start, rows.components(row, start))
    if first == 0:
        for row in range(1, W):
            if before := (row * width + offset) % W:
                rows.store(row * width - before, rows.joined(row, before))
        rows.store_part(0, rows.components(0, 0), 0, W - offset)
        rows.store_part(W * width - offset, rows.components(W - 1, width - W), W - offset, offset)
    rows.w.put("ret void")
    return rows.w.function(f"internal void @{name}(ptr %rows, ptr %block)")


class _Rows:
    """The W rows of a block, in a function that writes them."""

    def __init__(self, lanes: Lanes, places: Sequence[int | float]) -> None:
        self.w, self._lanes, self._places = Writer(), lanes, places
        self._squares: dict[int, list[str]] = {}
        self.w.label("entry")

    def components(self, row: int, start: int) -> str:
        """W components of a row, from any one on."""
        W, chosen = self._lanes.W, self._places[start : start + self._lanes.W]
        if all(isinstance(x, float) for x in chosen):
            return self._lanes.numbers([float(x) for x in chosen])
        begin = min(start - start % W, len(self._places) - W)
        if begin == start:
            return self._square(begin)[row]
        following = min(begin + W, len(self._places) - W)
        mask = [i - begin if i < begin + W else W + i - following for i in range(start, start + W)]
        return shuffle(self.w, self._lanes, self._square(begin)[row], self._square(following)[row], mask)

    def joined(self, row: int, before: int) -> str:
        """The last components of the row before, so many of them, and the first of a row."""
        W, width = self._lanes.W, len(self._places)
        ends = self.components(row - 1, width - W), self.components(row, 0)
        return shuffle(self.w, self._lanes, *ends, [*range(W - before, W), *range(W, 2 * W - before)])

    def store(self, at: int, value: str) -> None:
        """Write a register at a distance from the start of the first row."""
        place = self.w.new(f"getelementptr {self._lanes.scalar}, ptr %rows, i64 {at}")
        self.w.put(f"store {self._lanes.type} {value}, ptr {place}, align {self._lanes.size}, !nontemporal !0")

    def store_part(self, at: int, value: str, start: int, count: int) -> None:
        """Write some numbers of a register, 16 bytes at a time."""
        lanes = Lanes(self._lanes.dtype, OFFSET // self._lanes.dtype.itemsize)
        for i in range(0, count, lanes.W):
            mask = ", ".join(f"i32 {start + i + j}" for j in range(lanes.W))
            vectors = f"{self._lanes.type} {value}, {self._lanes.type} poison"
            part = self.w.new(f"shufflevector {vectors}, <{lanes.W} x i32> <{mask}>")
            place = self.w.new(f"getelementptr {lanes.scalar}, ptr %rows, i64 {at + i}")
            self.w.put(f"store {lanes.type} {part}, ptr {place}, align {OFFSET}, !nontemporal !0")

    def _square(self, start: int) -> list[str]:
        if start not in self._squares:
            self._squares[start] = square(self.w, self._lanes, "%block", self._places, start)
        return self._squares[start]
