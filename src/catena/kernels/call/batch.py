"""One call of a kernel with checked arrays: what can be used in place, and what has to be copied."""

from __future__ import annotations

import ctypes
import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.arrays import Port, Shape
from catena.kernels.call.job import PIECE, Plan, Words, plan_for, run_job
from catena.kernels.call.layout import address
from catena.kernels.call.rows import Tile, row_stride, tiles
from catena.kernels.call.share_ir import RESULTS, ROWS, STRIDES
from catena.kernels.call.threads import run_shared

if TYPE_CHECKING:
    from catena.kernels.call.kernel import Kernel

TILE_BYTES = 2**18
"""About how much of an array is copied at a time when it cannot be used in place."""


def run_batch(kernel: Kernel, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], batch: Shape) -> None:
    """Fill the results, which do not overlap the arguments, for a batch of at least one sample."""
    samples = math.prod(batch)
    plan = plan_for(kernel, samples)
    sources = [_Source(a, p, batch, kernel.dtype) for a, p in zip(arrays, kernel.inputs, strict=True)]
    sinks = [_Sink(r, p) for r, p in zip(results, kernel.outputs, strict=True)]
    if all(s.direct for s in sources) and all(s.direct for s in sinks):
        strides = [s.stride for s in sources]
        words = _words([s.address for s in sources], strides, [s.address for s in sinks])
        run_job(kernel, plan, words, samples, (sources, sinks))
    else:
        _run_in_tiles(kernel, plan, sources, sinks, batch)


def _run_in_tiles(kernel: Kernel, plan: Plan, sources: Sequence[_Source], sinks: Sequence[_Sink], batch: Shape) -> None:
    """Go through buffers of a tile's size where arrays cannot be used in place."""
    widest = max(1, *[p.width for p in (*kernel.inputs, *kernel.outputs)])
    rows = max(PIECE, TILE_BYTES // (widest * kernel.dtype.itemsize))
    every = tuple(tiles(batch, rows))

    def work(todo: deque[Tile]) -> None:
        into, out_of = [s.buffer(rows) for s in sources], [s.buffer(rows) for s in sinks]
        for tile in _taken(todo):
            inputs = [s.fetch(tile, b) for s, b in zip(sources, into, strict=True)]
            outputs = [s.place(tile, b) for s, b in zip(sinks, out_of, strict=True)]
            words = _words(inputs, [s.stride for s in sources], outputs)
            run_job(kernel, Plan(1, plan.one_by_one), words, tile.samples, (sources, sinks, into, out_of))
            for sink, buffer in zip(sinks, out_of, strict=True):
                sink.collect(tile, buffer)

    if not run_shared(partial(work, deque(every)), plan.threads):
        work(deque(every))  # forked meanwhile: all again, alone


def _taken(todo: deque[Tile]) -> Iterator[Tile]:
    """The tiles that nobody else has taken; each is taken in one step, without a lock."""
    with suppress(IndexError):
        while True:
            yield todo.popleft()


class _Source:
    """An argument as rows, in place if it can be."""

    def __init__(self, array: np.ndarray, port: Port, batch: Shape, dtype: np.dtype[Any]) -> None:
        stride = row_stride(array, batch, port, dtype)
        if stride is None and array.nbytes <= TILE_BYTES:
            array = array.astype(dtype, order="C")
            stride = row_stride(array, batch, port, dtype)
        self.port, self.dtype, self.direct = port, dtype, stride is not None
        self.array = array if self.direct else np.broadcast_to(array, batch + port.shape)
        self.stride = port.width if stride is None else stride
        self.address = address(array)

    def buffer(self, rows: int) -> np.ndarray:
        """Memory for a tile, none if the array is used in place."""
        return np.empty((0 if self.direct else rows, self.port.width), self.dtype)

    def fetch(self, tile: Tile, buffer: np.ndarray) -> int:
        """The address of the tile's first row."""
        if self.direct:
            return self.address + tile.first * self.stride * self.dtype.itemsize
        part = self.array[tile.box]
        np.copyto(buffer[: tile.samples].reshape(part.shape), part, casting="same_kind")
        return address(buffer)


class _Sink:
    """A result as rows, in place if it can be."""

    def __init__(self, array: np.ndarray, port: Port) -> None:
        self.array, self.port = array, port
        self.direct = array.flags.c_contiguous and array.flags.aligned
        self.address = address(array)

    def buffer(self, rows: int) -> np.ndarray:
        """Memory for a tile, none if the array is used in place."""
        return np.empty((0 if self.direct else rows, self.port.width), self.array.dtype)

    def place(self, tile: Tile, buffer: np.ndarray) -> int:
        """Where the tile's first row is to be written."""
        if self.direct:
            return self.address + tile.first * self.port.width * self.array.itemsize
        return address(buffer)

    def collect(self, tile: Tile, buffer: np.ndarray) -> None:
        """Move the tile from the buffer to its place."""
        if not self.direct:
            part = self.array[tile.box]
            part[...] = buffer[: tile.samples].reshape(part.shape)


def _words(inputs: list[int], strides: list[int], outputs: list[int]) -> ctypes.Array[ctypes.c_int64]:
    """A job with its addresses filled in."""
    words = Words()
    for start, values in ((ROWS, inputs), (STRIDES, strides), (RESULTS, outputs)):
        words[start : start + len(values)] = [*values]
    return words
