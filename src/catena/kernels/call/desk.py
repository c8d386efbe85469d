"""Desks: memory at which a kernel is called from Python in little time, since all of it is laid out beforehand.

A desk serves arguments of certain shapes. Small ones are copied to it, whatever their dtype, strides and leading
dimensions, and small results from it, so that nothing can overlap. Large ones are used where they are, if they can be.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.arrays import Shape
from catena.kernels.call.api import X86
from catena.kernels.call.job import SHARED_WORK, Words
from catena.kernels.call.layout import python_api
from catena.kernels.call.procedures import MAX_SCRATCH, aligned
from catena.kernels.call.results import new_result
from catena.kernels.call.runtime import runtime_module
from catena.kernels.call.scratch import ALIGNMENT
from catena.kernels.call.share_ir import JOB, RESULTS, ROWS, STRIDES

if TYPE_CHECKING:
    from catena.kernels.call.kernel import Kernel

SMALL = 2**13
"""Bytes of an array up to which copying it takes less time than to use it where it is."""

_place, _in_buffer = ctypes.addressof, ctypes.c_char.from_buffer


class Unfit(Exception):
    """This desk cannot serve these arrays."""


class _Job:
    """A kernel called with memory that stays where it is: rows and results that are None are set before each call.

    `run` computes; what it gives is not 0 if numbers became infinite or NaN.
    """

    def __init__(
        self, kernel: Kernel, rows: Sequence[Any], strides: Sequence[int], results: Sequence[Any], samples: int
    ) -> None:
        one = samples == 1
        if kernel.operations * samples // (1 if one else kernel.lanes) >= SHARED_WORK:
            raise Unfit  # threads share it
        size, entry = (
            (kernel.single_scratch, kernel.single_entry) if one else (kernel.batch_scratch, kernel.batch_entry)
        )
        if size > MAX_SCRATCH:
            raise Unfit
        scratch, self.words = np.empty(size + ALIGNMENT, dtype=np.uint8), Words()
        values = {
            "entry": entry,
            "context": kernel.context_address,
            "samples": samples,
            "piece": samples,
            "inputs": len(kernel.inputs),
            "outputs": len(kernel.outputs),
            "bytes": kernel.dtype.itemsize,
            "widths": kernel.widths_address,
            "bell": _place(self.words) + 8 * JOB.index("unheard"),
        }
        self.words[: len(JOB)] = [values.get(word, 0) for word in JOB]
        for start, arrays in ((ROWS, rows), (RESULTS, results)):
            self.words[start : start + len(arrays)] = [0 if x is None else x.ctypes.data for x in arrays]
        self.words[STRIDES : STRIDES + len(strides)] = [*strides]
        share = runtime_module().address("share_single" if one else "share_batch")
        again = (ctypes.c_int64 * 3)(share, _place(self.words), aligned(scratch))
        self.run = functools.partial(_again(), _place(again))
        self._kept = kernel, rows, results, scratch, again


@functools.cache
def _again() -> Callable[[int], int]:
    """What works through a job. It keeps the GIL: the jobs here take less time than to get it back may."""
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(runtime_module().address("again"))


class Wrenches:
    """Wrenches on frames, carried and summed up to the input of this number, wrenches on links.

    `frames` has the link and the twelve numbers of each frame, and `carry` is the kernel that takes these and a wrench.
    """

    def __init__(
        self, carry: Kernel, number: int, frames: Sequence[tuple[int, np.ndarray]], links: int, batch: Shape
    ) -> None:
        self.number, self.count = number, len(frames)
        self.total, self._steps = np.zeros((*batch, links, 6)), []
        for link, numbers in frames:
            wrench, moved = np.zeros((*batch, 6)), np.zeros((*batch, 6))
            job = _Job(carry, (numbers, wrench), (0, 6), (moved,), math.prod(batch))
            self._steps.append((wrench, job, moved, self.total[..., link, :] if link >= 0 else None))

    def summed(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The arrays with the total in place of the last ones, one for each frame; it is valid until the next."""
        self.total[...] = 0.0
        for (memory, job, moved, row), wrench in zip(self._steps, arrays[-self.count :], strict=True):
            if row is not None:  # not on the base
                memory[...] = wrench
                job.run()
                row += moved
        return [*arrays[: self.number], self.total, *arrays[self.number : -self.count]]


class Desk:
    """Where a kernel is called with arrays of these shapes, whose leading dimensions broadcast to `batch`."""

    def __init__(self, kernel: Kernel, shapes: Sequence[Shape], batch: Shape, wrenches: Wrenches | None = None) -> None:
        self._dtype, self.batch, self._wrenches = kernel.dtype, batch, wrenches
        if wrenches is not None:
            n = wrenches.number
            shapes = [*shapes[:n], wrenches.total.shape, *shapes[n : -wrenches.count]]
        self._shapes = [batch + port.shape for port in kernel.outputs]
        rows = [p.shape if s == p.shape else batch + p.shape for s, p in zip(shapes, kernel.inputs, strict=True)]
        self._inputs, self._outputs = [self._memory(x) for x in rows], [self._memory(x) for x in self._shapes]
        if any(x is None and s != row for x, s, row in zip(self._inputs, shapes, rows, strict=True)):
            raise Unfit  # a large one that would have to be repeated
        self._positive = [x for x, port in zip(self._inputs, kernel.inputs, strict=True) if port.positive]
        strides = [0 if s == p.shape else p.width for s, p in zip(shapes, kernel.inputs, strict=True)]
        self._job = _Job(kernel, self._inputs, strides, self._outputs, math.prod(batch))
        self._run = self._job.run
        self._large = any(x is None for x in (*self._inputs, *self._outputs))
        self._numbers = () in self._shapes
        self._blind = not X86 and not (python_api() or {}).get("fetestexcept")  # nothing tells what was raised
        self._new: list[np.ndarray | None] = [None] * len(self._shapes)

    def _memory(self, shape: Shape) -> Any:
        """Memory for an array of this shape, None if it is large."""
        return np.empty(shape, self._dtype) if math.prod(shape) * self._dtype.itemsize <= SMALL else None

    def answer(self, arrays: Sequence[np.ndarray], wanted: Sequence[np.ndarray | None] | None, watch: Any) -> Any:
        """The results for arrays of the desk's shapes, in those that are wanted and in new ones."""
        if self._wrenches is not None:
            arrays = self._wrenches.summed(arrays)
        for memory, x in zip(self._inputs, arrays, strict=True):
            if memory is not None:
                memory[...] = x
        if self._positive and not all(x is not None and (x > 0).all() and np.isfinite(x).all() for x in self._positive):
            raise Unfit
        if wanted is None and not self._large:
            raised = self._run()
            results = [x.copy() for x in self._outputs]
        else:
            given = self._new if wanted is None else wanted
            placed = self._placed(arrays, given) if self._large else self._outputs
            raised = self._run()
            results = [_given_back(x, y, z) for x, y, z in zip(given, placed, self._outputs, strict=True)]
        if watch is not None and (raised or self._blind):
            seen = [x if memory is None else memory for x, memory in zip(arrays, self._inputs, strict=True)]
            watch.look(seen, results, self.batch)
        return [x if x.ndim else x[()] for x in results] if self._numbers and wanted is None else results

    def _placed(self, arrays: Sequence[np.ndarray], given: Sequence[Any]) -> list[Any]:
        """Where results are written: large arrays are used where they are, plain, and apart from arguments."""
        words, placed = self._job.words, list(self._outputs)
        used = [(i, x) for i, x in enumerate(arrays) if self._inputs[i] is None]
        for i, x in used:
            words[ROWS + i] = self._address(x)
        for i, out in enumerate(given):
            if placed[i] is None:
                if out is not None and any(np.may_share_memory(out, x) for _, x in used):
                    raise Unfit
                placed[i] = new_result(self._shapes[i], self._dtype) if out is None else out
                words[RESULTS + i] = self._address(placed[i])
        return placed

    def _address(self, x: Any) -> int:
        flags = x.flags
        if x.dtype != self._dtype or not flags.c_contiguous or not flags.aligned:
            raise Unfit
        return _place(_in_buffer(x)) if flags.writeable else int(x.ctypes.data)


def _given_back(out: Any, placed: Any, memory: Any) -> Any:
    """A result out of the desk's memory, in the array that was given for it if one was."""
    if memory is None:
        return placed
    if out is None:
        return memory.copy()
    out[...] = memory
    return out
