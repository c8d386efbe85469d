"""New arrays for results. Those that are not small reuse memory of earlier results that nobody holds any more.

The C library gives memory of that size back to the system when several results are freed at a time, and the system
clears it page by page when it is asked for again, which can take longer than computing the results does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from catena.kernels.call.layout import address
from catena.kernels.codegen.streaming import OFFSET

LARGE = 2**17
"""Arrays of so many bytes reuse memory. The C library does that itself for smaller ones."""

LINE = 64
"""These arrays start 16 bytes after a multiple of this, so that they can be written past the caches."""

KEPT = 2**28
"""Bytes that are kept at most for results to come, and the largest result that reuses memory."""


class _Block(np.ndarray):
    """Bytes that become the memory of one result after another."""

    __slots__ = ()


class _Spare:
    """Blocks that nobody uses now, by their size.

    A signal handler, a finalizer or another thread may come in between any two steps here, and a fork too. Each step
    that they could disturb is one operation on a list or on the dict, which is whole or not done at all.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._blocks: dict[int, list[_Block]] = {}

    def take(self, size: int) -> _Block:
        """A block of at least so many bytes, the one that came back last if there is one."""
        size = _rounded(size)
        try:
            return self._blocks[size].pop()
        except (KeyError, IndexError):
            return _new_block(size)

    def put(self, block: _Block) -> None:
        """Keep a block, unless that would be too much; then blocks of other sizes go first."""
        size = block.size
        if size + self.bytes() > self._kept:
            for other in tuple(self._blocks):
                if other != size:
                    self._blocks.pop(other, None)
            if size + self.bytes() > self._kept:
                return
        self._blocks.setdefault(size, []).append(block)

    def bytes(self) -> int:
        """How much is kept."""
        total = 0
        for size, blocks in tuple(self._blocks.items()):
            total += size * len(blocks)
        return total

    def clear(self) -> None:
        """Free all that is kept."""
        self._blocks.clear()


_spare = _Spare(KEPT)


class _Lent(np.ndarray):
    """A result as the owner of its block, which becomes spare when the result and all views of it are gone.

    The result itself is a plain array that views this one; NumPy does not look through an owner of another class.
    """

    __slots__ = ()

    def __del__(self, spare: _Spare = _spare, kind: type[_Block] = _Block) -> None:
        block: Any = self.base
        if isinstance(block, kind):  # otherwise this is a view or a copy of an owner, which somebody made
            spare.put(block)


def new_result(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with arbitrary content, in C order."""
    size = math.prod(shape) * dtype.itemsize
    if not LARGE <= size <= KEPT:
        return np.empty(shape, dtype)
    result: np.ndarray = _Lent(shape, dtype, _spare.take(size)).view(np.ndarray)
    return result


def release_results() -> None:
    """Free the memory that is kept for results to come."""
    _spare.clear()


def _rounded(size: int) -> int:
    """The next of eight sizes to a doubling, so that batches of about the same size share blocks."""
    step = 1 << max(0, size.bit_length() - 4)
    return -(-size // step) * step


def _new_block(size: int) -> _Block:
    """A block that starts where results should."""
    memory = _Block((size + LINE,), np.uint8)
    start = (OFFSET - address(memory)) % LINE
    block: _Block = memory[start : start + size]
    return block
