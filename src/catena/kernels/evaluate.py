"""One call of a kernel: who computes which samples, where, and what has to be copied."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catena.kernels.arrays import Port, Shape, Tile, row_stride, tiles
from catena.kernels.runtime import share_batch, share_single
from catena.kernels.scratch import borrow, give_back
from catena.kernels.threads import get_threads, run_shared

if TYPE_CHECKING:
    from catena.kernels.call import Kernel

SCRATCH_BUDGET = 2**30
"""Bytes that the threads of one call may compute in, unless one sample alone needs more."""

SHARED_WORK = 400_000
"""Vector operations, about 0.1 ms of them, from which a call is worth sharing between threads."""

TILE_BYTES = 2**18
"""About how much of an array is copied at a time when it cannot be used in place."""

PIECE = 64
"""Threads take samples in multiples of this."""


def evaluate(kernel: Kernel, arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], batch: Shape) -> None:
    """Fill the results, which do not overlap the arguments, for a batch of at least one sample."""
    samples, plan = math.prod(batch), plan_for(kernel, math.prod(batch))
    sources = [_Source(a, p, batch, kernel.dtype) for a, p in zip(arrays, kernel.inputs, strict=True)]
    sinks = [_Sink(r, p) for r, p in zip(results, kernel.outputs, strict=True)]
    if all(s.direct for s in sources) and all(s.direct for s in sinks):
        piece = samples if plan.threads == 1 else -(-samples // (8 * plan.threads * PIECE)) * PIECE
        job = _Job(kernel, plan, [s.address for s in sources], [s.stride for s in sources], [s.address for s in sinks])
        job.set_samples(samples, piece)
        run_shared(job.work, plan.threads)
    else:
        _evaluate_in_tiles(kernel, plan, sources, sinks, batch)


class Plan(NamedTuple):
    """How many threads work on a call, and whether sample by sample rather than in lanes."""

    threads: int
    one_by_one: bool


def plan_for(kernel: Kernel, samples: int) -> Plan:
    """Threads for what takes long, and no more memory than :data:`SCRATCH_BUDGET` unless one sample needs more."""
    one_by_one = samples == 1 or kernel.batch_scratch > max(SCRATCH_BUDGET, kernel.single_scratch)
    scratch, lanes = (kernel.single_scratch, 1) if one_by_one else (kernel.batch_scratch, kernel.lanes)
    if kernel.operations * samples // lanes < SHARED_WORK:
        return Plan(1, one_by_one)
    pieces = samples if one_by_one else -(-samples // PIECE)
    return Plan(max(1, min(get_threads(), pieces, SCRATCH_BUDGET // max(1, scratch))), one_by_one)


def _evaluate_in_tiles(
    kernel: Kernel, plan: Plan, sources: Sequence[_Source], sinks: Sequence[_Sink], batch: Shape
) -> None:
    """Go through buffers of a tile's size where arrays cannot be used in place."""
    widest = max(1, *[p.width for p in (*kernel.inputs, *kernel.outputs)])
    rows = max(PIECE, TILE_BYTES // (widest * kernel.dtype.itemsize))
    todo, lock = tiles(batch, rows), threading.Lock()

    def taken() -> Iterator[Tile]:
        while True:
            with lock:
                tile = next(todo, None)
            if tile is None:
                return
            yield tile

    def work() -> None:
        into, out_of = [s.buffer(rows) for s in sources], [s.buffer(rows) for s in sinks]
        for tile in taken():
            inputs = [s.fetch(tile, b) for s, b in zip(sources, into, strict=True)]
            outputs = [s.place(tile, b) for s, b in zip(sinks, out_of, strict=True)]
            job = _Job(kernel, plan, inputs, [s.stride for s in sources], outputs)
            job.set_samples(tile.samples, tile.samples)
            job.work()
            for sink, buffer in zip(sinks, out_of, strict=True):
                sink.collect(tile, buffer)

    run_shared(work, plan.threads)


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
        self.address = int(array.ctypes.data)

    def buffer(self, rows: int) -> np.ndarray:
        """Memory for a tile, none if the array is used in place."""
        return np.empty((0 if self.direct else rows, self.port.width), self.dtype)

    def fetch(self, tile: Tile, buffer: np.ndarray) -> int:
        """The address of the tile's first row."""
        if self.direct:
            return self.address + tile.first * self.stride * self.dtype.itemsize
        part = self.array[tile.box]
        np.copyto(buffer[: tile.samples].reshape(part.shape), part, casting="same_kind")
        return int(buffer.ctypes.data)


class _Sink:
    """A result as rows, in place if it can be."""

    def __init__(self, array: np.ndarray, port: Port) -> None:
        self.array, self.port = array, port
        self.direct = array.flags.c_contiguous and array.flags.aligned
        self.address = int(array.ctypes.data)

    def buffer(self, rows: int) -> np.ndarray:
        """Memory for a tile, none if the array is used in place."""
        return np.empty((0 if self.direct else rows, self.port.width), self.array.dtype)

    def place(self, tile: Tile, buffer: np.ndarray) -> int:
        """Where the tile's first row is to be written."""
        if self.direct:
            return self.address + tile.first * self.port.width * self.array.itemsize
        return int(buffer.ctypes.data)

    def collect(self, tile: Tile, buffer: np.ndarray) -> None:
        """Move the tile from the buffer to its place."""
        if not self.direct:
            part = self.array[tile.box]
            part[...] = buffer[: tile.samples].reshape(part.shape)


class _Job:
    """Samples for :mod:`catena.kernels.runtime`; threads that call :meth:`work` share them."""

    def __init__(
        self, kernel: Kernel, plan: Plan, inputs: Sequence[int], strides: Sequence[int], outputs: Sequence[int]
    ) -> None:
        self._share = share_single() if plan.one_by_one else share_batch()
        self._scratch = kernel.single_scratch if plan.one_by_one else kernel.batch_scratch
        pointers, integers = ctypes.c_void_p * len(inputs), ctypes.c_int64 * len(inputs)
        self._tables = (
            pointers(*inputs),
            integers(*strides),
            (ctypes.c_void_p * len(outputs))(*outputs),
            (ctypes.c_int64 * len(outputs))(*[p.width for p in kernel.outputs]),
        )
        rows, steps, results, widths = [ctypes.addressof(t) for t in self._tables]
        entry = kernel.single_entry if plan.one_by_one else kernel.batch_entry
        sizes = len(inputs), len(outputs), kernel.dtype.itemsize
        self._words = (ctypes.c_int64 * 12)(
            entry, kernel.context_address, rows, steps, results, 0, 0, 0, *sizes, widths
        )

    def set_samples(self, samples: int, piece: int) -> None:
        """How many samples there are, and how many a thread takes at a time."""
        self._words[6], self._words[7] = samples, piece

    def work(self) -> None:
        """Compute until no sample is left to take."""
        scratch = borrow(self._scratch)
        try:
            self._share(ctypes.addressof(self._words), scratch.address)
        finally:
            give_back(scratch)
