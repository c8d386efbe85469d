"""Memory that kernels compute in, lent to one call at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from catena.kernels.call.layout import address

ALIGNMENT = 64
LARGE = 64 * 2**20
"""Blocks from this size on are kept only as long as blocks of the same size are asked for."""


class Scratch(NamedTuple):
    """``size`` bytes at ``address``, aligned to 64 bytes and owned by ``memory``."""

    address: int
    size: int
    memory: np.ndarray


_spare: dict[int, list[Scratch]] = {}
"""Blocks that nobody uses now, by size. ``list.pop`` and ``append`` are atomic: no lock is needed."""


def borrow(size: int) -> Scratch:
    """A block of at least ``size`` bytes that no other thread uses. Its content is arbitrary."""
    size = size if size >= LARGE else 1 << max(size - 1, 4095).bit_length()
    try:
        return _spare[size].pop()
    except (KeyError, IndexError):
        if size >= LARGE:
            release_large()
        memory = np.empty(size + ALIGNMENT, dtype=np.uint8)
        start = address(memory)
        return Scratch(start + -start % ALIGNMENT, size, memory)


def give_back(scratch: Scratch) -> None:
    """Return a block for the next call that needs one of its size."""
    _spare.setdefault(scratch.size, []).append(scratch)


def release_large() -> None:
    """Free the large blocks that are not in use."""
    for size in tuple(_spare):  # in one step: others may come in between
        if size >= LARGE:
            _spare.pop(size, None)


def release_scratch() -> None:
    """Free all blocks that are not in use."""
    _spare.clear()
