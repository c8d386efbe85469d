"""How arrays go through a kernel, as tables that the emitted call follows: procedures, and wrenches on frames.

The tables are laid out as :mod:`catena.kernels.call.words` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catena.kernels.call.api import X86
from catena.kernels.call.books import Made
from catena.kernels.call.job import SHARED_WORK, large_job
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.layout import python_api
from catena.kernels.call.results import LARGE, new_result
from catena.kernels.call.scratch import ALIGNMENT
from catena.kernels.call.words import MAX_DIMENSIONS, PORT_WORDS, Frame, Port, Procedure, Wrenches

MAX_SCRATCH = 2**20
"""Kernels that compute in more bytes than this take so long that the call doesn't matter."""


def procedure(
    kernel: Kernel,
    sources: Sequence[int],
    wrapper: type = tuple,
    maker: Callable[[Any], None] | None = None,
    wrenches: Made | None = None,
    watch: Callable[..., None] | None = None,
) -> Made | None:
    """The procedure that runs a kernel with inputs from these sources; None where that takes Python.

    ``wrapper`` is the class of several results. ``maker(self)`` makes arrays of self's own that are missing.
    ``watch(leading, samples, *arrays)`` is called after numbers became infinite or NaN; ``leading`` is 0 for one
    sample alone.
    """
    ports = (*kernel.inputs, *kernel.outputs)
    largest = max(kernel.single_scratch, kernel.batch_scratch)
    deepest = max((p.rank for p in ports), default=0)
    if largest > MAX_SCRATCH or deepest > MAX_DIMENSIONS or not _callable(watch is not None):
        return None
    memory = np.empty(largest + ALIGNMENT, dtype=np.uint8)
    large, fresh = large_job(kernel, watch), _fresh(kernel)
    words = np.zeros(Procedure.SIZE + PORT_WORDS * len(ports), dtype=np.int64)
    widest = max(p.width for p in kernel.outputs) * kernel.dtype.itemsize
    values = {
        Procedure.DTYPE: id(kernel.dtype),
        Procedure.ITEM_BYTES: kernel.dtype.itemsize,
        Procedure.INPUTS: len(kernel.inputs),
        Procedure.OUTPUTS: len(kernel.outputs),
        Procedure.SINGLE: kernel.single_entry,
        Procedure.BATCH: kernel.batch_entry,
        Procedure.CONTEXT: kernel.context_address,
        Procedure.SCRATCH: aligned(memory),
        Procedure.FEW: SHARED_WORK * kernel.lanes // max(1, kernel.operations),
        Procedure.LARGE: id(large),
        Procedure.POOLED: max(1, LARGE // max(1, widest)),
        Procedure.FRESH: id(fresh),
        Procedure.WRAPPER: id(wrapper),
        Procedure.MAKER: 0 if maker is None else id(maker),
        Procedure.WRENCHES: 0 if wrenches is None else wrenches.address,
        Procedure.WATCH: 0 if watch is None else id(watch),
    }
    for word, value in values.items():
        words[word] = value
    rows = words[Procedure.SIZE :].reshape(-1, PORT_WORDS)
    for port, source, row in zip(ports, (*sources, *[0] * len(kernel.outputs)), rows, strict=True):
        row[[Port.SOURCE, Port.RANK, Port.WIDTH, Port.POSITIVE]] = source, len(port.shape), port.width, port.positive
        row[Port.DIMENSIONS : Port.DIMENSIONS + len(port.shape)] = port.shape
    return Made(words, (kernel, memory, large, fresh, wrapper, maker, wrenches, watch))


def _callable(watched: bool) -> bool:
    """Whether machine code may call Python here and, if need be, can tell that numbers became infinite."""
    known = python_api()
    return known is not None and (not watched or X86 or known["fetestexcept"] != 0)


def aligned(memory: np.ndarray) -> int:
    """The first address in a block at which scratch may start."""
    start = int(memory.ctypes.data)
    return start + -start % ALIGNMENT


def _fresh(kernel: Kernel) -> Callable[[int, int], np.ndarray]:
    def fresh(output: int, samples: int) -> np.ndarray:
        return new_result((samples, *kernel.outputs[output].shape), kernel.dtype)

    return fresh


def wrench_table(carry: Kernel, links: Sequence[int], places: np.ndarray, count: int) -> Made:
    """The table for wrenches on frames that sit on these links (-1: the base), of ``count`` links in all.

    ``places`` has twelve numbers for each frame, its rotation and its origin; ``carry`` is the kernel that takes them
    and a wrench on the frame, and gives the wrench on the link.
    """
    total, places = np.zeros((count, 6), carry.dtype), np.ascontiguousarray(places, carry.dtype)
    memory = np.empty(carry.single_scratch + ALIGNMENT, dtype=np.uint8)
    words = np.zeros(Wrenches.SIZE + Frame.SIZE * len(links), dtype=np.int64)
    addresses = total.ctypes.data, carry.single_entry, carry.context_address, aligned(memory)
    words[: Wrenches.SIZE] = *addresses, len(links)
    for i, (row, link) in enumerate(zip(words[Wrenches.SIZE :].reshape(-1, Frame.SIZE), links, strict=True)):
        row[Frame.ROW] = total[link].ctypes.data if link >= 0 else 0
        row[Frame.PLACE] = places[i].ctypes.data
    return Made(words, (carry, total, places, memory))
