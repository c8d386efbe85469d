"""Who computes which samples of a call, and in which memory."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from catena.kernels.call.runtime import finish, help_along, share
from catena.kernels.call.scratch import borrow, give_back
from catena.kernels.call.share_ir import JOB, JOB_WORDS
from catena.kernels.call.threads import current_team, get_threads

if TYPE_CHECKING:
    from catena.kernels.call.kernel import Kernel

SCRATCH_BUDGET = 2**30
"""Bytes that the threads of one call may compute in, unless one sample alone needs more."""

SHARED_WORK = 250_000
"""Vector operations, somewhat under 0.1 ms of them, from which a call is worth sharing between threads."""

PIECE = 64
"""Threads take samples in multiples of this, unless so many alone are worth sharing: then in multiples of the lanes."""

Words = ctypes.c_int64 * JOB_WORDS
"""A job in memory, as :mod:`catena.kernels.call.share_ir` describes it."""


class Plan(NamedTuple):
    """How a call is computed: by how many threads, and whether sample by sample rather than in lanes."""

    threads: int
    one_by_one: bool


def plan_for(kernel: Kernel, samples: int) -> Plan:
    """Threads for what takes long, and no more memory than :data:`SCRATCH_BUDGET` unless one sample needs more."""
    one_by_one = samples == 1 or kernel.batch_scratch > max(SCRATCH_BUDGET, kernel.single_scratch)
    scratch, lanes = (kernel.single_scratch, 1) if one_by_one else (kernel.batch_scratch, kernel.lanes)
    if kernel.operations * samples // lanes < SHARED_WORK:
        return Plan(1, one_by_one)
    pieces = samples if one_by_one else -(-samples // _grain(kernel))
    return Plan(max(1, min(get_threads(), pieces, SCRATCH_BUDGET // max(1, scratch))), one_by_one)


def _grain(kernel: Kernel) -> int:
    """Samples that a thread takes at least."""
    return PIECE if kernel.operations * PIECE // kernel.lanes < SHARED_WORK else kernel.lanes


def run_job(kernel: Kernel, plan: Plan, words: ctypes.Array[ctypes.c_int64], samples: int, owners: Any) -> None:
    """Compute samples whose rows, strides and results are in ``words``; ``owners`` keep that memory alive.

    Threads share them in pieces, about sixteen for each, so that all finish at about the same time.
    """
    grain = _grain(kernel)
    piece = samples if plan.threads == 1 else -(-samples // (16 * plan.threads * grain)) * grain
    entry, size = kernel.batch_entry, kernel.batch_scratch
    way = "share_batch"
    if plan.one_by_one:
        entry, size, way = kernel.single_entry, kernel.single_scratch, "share_single"
    team = current_team()
    _fill(words, kernel, entry, samples, piece, team.bell_address if plan.threads > 1 else None)
    caller = threading.get_ident()

    def work(held: Any = (owners, kernel)) -> None:  # by a thread that still works, whatever becomes of the call
        scratch = borrow(size)
        try:
            run = share(way) if threading.get_ident() == caller else help_along(way)
            run(ctypes.addressof(words), scratch.address)
        finally:
            give_back(scratch)

    wait = finish()
    try:
        if not team.run(work, plan.threads, wait and (lambda: wait(ctypes.addressof(words)))):
            _fill(words, kernel, entry, samples, piece)  # forked meanwhile: all again, alone
            work()
    except ctypes.ArgumentError as error:  # which can only mean that there is no memory for an integer
        raise MemoryError("no memory to call machine code") from error


def _fill(
    words: ctypes.Array[ctypes.c_int64], kernel: Kernel, entry: int, samples: int, piece: int, bell: int | None = None
) -> None:
    """Set the words before the rows; helpers are told when the work begins if it is shared with them, by their bell."""
    values = {
        "entry": entry,
        "context": kernel.context_address,
        "next": 0,
        "samples": samples,
        "piece": piece,
        "inputs": len(kernel.inputs),
        "outputs": len(kernel.outputs),
        "bytes": kernel.dtype.itemsize,
        "widths": kernel.widths_address,
        "done": 0,
        "bell": bell or ctypes.addressof(words) + 8 * JOB.index("unheard"),
        "unheard": 0,
        "raised": 0,
    }
    words[: len(JOB)] = [values[word] for word in JOB]


def large_job(kernel: Kernel, watch: Callable[..., None] | None = None) -> Callable[..., None]:
    """The function to which the emitted call hands batches that are worth sharing.

    ``watch(leading dimensions, samples, *arrays)`` is called if numbers of a sample became infinite or NaN.
    """

    def large(address: int, samples: int, *arrays: Any) -> None:
        words = Words.from_buffer_copy(Words.from_address(address))
        run_job(kernel, plan_for(kernel, samples), words, samples, arrays)
        if watch is not None and words[JOB.index("raised")]:
            watch(arrays[len(kernel.inputs)].ndim - kernel.outputs[0].rank, samples, *arrays)

    return large
