"""The machine code that all kernels share: taking pieces of a batch, and the call from Python.

It knows kernels by their two entry points only::

    void batch(ptr context, ptr inputs, ptr row_strides, ptr outputs, ptr scratch, i64 first, i64 count)
    void single(ptr context, ptr inputs, ptr outputs, ptr scratch)

``inputs`` and ``outputs`` are arrays of pointers to rows; input strides are in elements, 0 repeats one row for every
sample; output rows follow each other. ``context`` is what the kernel was made with, ``scratch`` is its thread's own.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable

from catena.kernels.call.answer_ir import answer_ir, get_ir, same_ir, same_keys_ir
from catena.kernels.call.api import API_IR, raised_ir, vectorcall_ir
from catena.kernels.call.plain_ir import plain_ir
from catena.kernels.call.run_ir import run_ir
from catena.kernels.call.share_ir import SHARE_IR
from catena.kernels.call.wrenches_ir import wrenches_ir
from catena.kernels.machine.compile import Module, compile_cached

Share = Callable[[int, int], None]

LISTENING = 200
"""How often a helper looks for a next job, some 0.3 µs each time, before it falls asleep: waking takes longer."""


@functools.cache
def runtime_module() -> Module:
    """The shared machine code."""
    text = runtime_ir()
    return compile_cached(("runtime", text), lambda: text)  # passes over the IR would take 0.2 s and gain nothing


def runtime_ir() -> str:
    """The IR of the shared machine code."""
    calls = get_ir(), answer_ir(), same_ir(), same_keys_ir(), run_ir(), plain_ir(), wrenches_ir()
    return "\n".join((SHARE_IR, API_IR, raised_ir(), vectorcall_ir(), *calls))


@functools.cache
def share(name: str) -> Share:
    """``share(job, scratch)``: run pieces of a job until none is left, without the GIL.

    ``name`` is "share_batch", or "share_single" for sample by sample, where memory is short.
    """
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    return prototype(runtime_module().address(name))


@functools.cache
def finish() -> Callable[[int], None] | None:
    """``finish(job)``: wait, without the GIL, until all samples are done; None where the system offers no way."""
    if (way := _way_to_let_others_run()) is None:
        return None
    wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(runtime_module().address("finish"))
    return lambda job: wait(job, way)


@functools.cache
def help_along(name: str) -> Share:
    """``share(job, scratch)`` for a helper, which then listens for the next job for a while, still without the GIL."""
    way, shared = _way_to_let_others_run(), runtime_module().address(name)
    if way is None:
        return share(name)
    words = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    helping = ctypes.CFUNCTYPE(None, *words)(runtime_module().address("help"))
    return lambda job, scratch: helping(shared, job, scratch, LISTENING, way)


def _way_to_let_others_run() -> int | None:
    """The address of a function that gives the processor to another thread, if one is waiting for it."""
    function = getattr(ctypes.CDLL(None), "sched_yield", None) if os.name == "posix" else None
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value
