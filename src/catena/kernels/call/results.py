"""New arrays for results. Large ones reuse memory of earlier results that nobody holds any more.

The system takes memory of that size back as soon as it is freed, and clears it page by page when it is asked for again,
which takes longer than computing the results does.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

from catena.kernels.codegen.streaming import OFFSET

LARGE = 2**22
"""Arrays of so many bytes reuse memory. The C library does that itself for smaller ones."""

LINE = 64
"""Large arrays start 16 bytes after a multiple of this, so that they can be written past the caches."""

KEPT = 2**28
"""Bytes that are kept at most for results to come."""


class _Spare:
    """Memory that nobody uses now, the latest last."""

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []
        self.unlock()

    def unlock(self) -> None:
        """A lock that nobody holds: in a forked child, another thread of the parent might hold it for ever."""
        self._lock = threading.RLock()  # a block may come back while another is being looked for, in the same thread

    def take(self, size: int) -> np.ndarray:
        """A block of this size, an old one if there is one."""
        with self._lock:
            for i in reversed(range(len(self._blocks))):
                if self._blocks[i].nbytes == size + LINE:
                    return self._blocks.pop(i)
        return np.empty(size + LINE, np.uint8)

    def put(self, block: np.ndarray) -> None:
        """Keep a block; the oldest ones go if that is too much."""
        with self._lock:
            self._blocks.append(block)
            while sum(spare.nbytes for spare in self._blocks) > KEPT:
                self._blocks.pop(0)


_spare = _Spare()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _spare.unlock())


class _Lent:
    """The memory of one result, which becomes spare when the result and all views of it are gone."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> None:
        self._spare, self._block = _spare, _spare.take(size)
        address = int(self._block.ctypes.data)
        data = address + (OFFSET - address) % LINE, False
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": data}

    def __del__(self) -> None:
        self._spare.put(self._block)


def new_result(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with arbitrary content, in C order."""
    size = math.prod(shape) * dtype.itemsize
    return np.asarray(_Lent(shape, dtype, size)) if LARGE <= size <= KEPT else np.empty(shape, dtype)
