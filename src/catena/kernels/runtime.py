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
from collections.abc import Callable

from catena.kernels.call_ir import CALL_IR
from catena.kernels.compile import Codegen, Module, compile_cached

MAX_ARRAYS = 16
"""How many inputs, and how many outputs, a kernel can have."""

Share = Callable[[int, int], None]


@functools.cache
def runtime_module() -> Module:
    """The shared machine code."""
    return compile_cached(("runtime", SHARE_IR, CALL_IR), lambda: SHARE_IR + CALL_IR, Codegen(opt=2, passes=2))


@functools.cache
def share_batch() -> Share:
    """``share(job, scratch)``: run pieces of a :func:`job` through ``batch`` until none is left, without the GIL."""
    return _share("share_batch")


@functools.cache
def share_single() -> Share:
    """``share(job, scratch)``: the same through ``single``, sample by sample, where memory is short."""
    return _share("share_single")


def _share(name: str) -> Share:
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    return prototype(runtime_module().address(name))


# A job: 0 entry point, 1 context, 2 inputs, 3 row strides, 4 outputs, 5 the next sample to take, 6 samples, 7 samples
# per piece, 8 number of inputs, 9 number of outputs, 10 bytes per element, 11 widths of the output rows.
SHARE_IR = """
define dso_local void @share_batch(ptr %job, ptr %scratch) #0 {
entry:
  %batch = load ptr, ptr %job
  %context.at = getelementptr i64, ptr %job, i64 1
  %context = load ptr, ptr %context.at
  %inputs.at = getelementptr i64, ptr %job, i64 2
  %inputs = load ptr, ptr %inputs.at
  %strides.at = getelementptr i64, ptr %job, i64 3
  %strides = load ptr, ptr %strides.at
  %outputs.at = getelementptr i64, ptr %job, i64 4
  %outputs = load ptr, ptr %outputs.at
  %next = getelementptr i64, ptr %job, i64 5
  %count.at = getelementptr i64, ptr %job, i64 6
  %count = load i64, ptr %count.at
  %piece.at = getelementptr i64, ptr %job, i64 7
  %piece = load i64, ptr %piece.at
  br label %take
take:
  %first = atomicrmw add ptr %next, i64 %piece monotonic
  %left = sub i64 %count, %first
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %run, label %end
run:
  %last = icmp slt i64 %left, %piece
  %samples = select i1 %last, i64 %left, i64 %piece
  call void %batch(ptr %context, ptr %inputs, ptr %strides, ptr %outputs, ptr %scratch, i64 %first, i64 %samples)
  br label %take
end:
  ret void
}

define dso_local void @share_single(ptr %job, ptr %scratch) #0 {
entry:
  %rows = alloca [16 x ptr]
  %results = alloca [16 x ptr]
  %single = load ptr, ptr %job
  %context.at = getelementptr i64, ptr %job, i64 1
  %context = load ptr, ptr %context.at
  %inputs.at = getelementptr i64, ptr %job, i64 2
  %inputs = load ptr, ptr %inputs.at
  %strides.at = getelementptr i64, ptr %job, i64 3
  %strides = load ptr, ptr %strides.at
  %outputs.at = getelementptr i64, ptr %job, i64 4
  %outputs = load ptr, ptr %outputs.at
  %next = getelementptr i64, ptr %job, i64 5
  %count.at = getelementptr i64, ptr %job, i64 6
  %count = load i64, ptr %count.at
  %n.inputs.at = getelementptr i64, ptr %job, i64 8
  %n.inputs = load i64, ptr %n.inputs.at
  %n.outputs.at = getelementptr i64, ptr %job, i64 9
  %n.outputs = load i64, ptr %n.outputs.at
  %bytes.at = getelementptr i64, ptr %job, i64 10
  %bytes = load i64, ptr %bytes.at
  %widths.at = getelementptr i64, ptr %job, i64 11
  %widths = load ptr, ptr %widths.at
  br label %take
take:
  %sample = atomicrmw add ptr %next, i64 1 monotonic
  %more = icmp slt i64 %sample, %count
  br i1 %more, label %run, label %end
run:
  call void @advance(ptr %rows, ptr %inputs, ptr %strides, i64 %n.inputs, i64 %bytes, i64 %sample)
  call void @advance(ptr %results, ptr %outputs, ptr %widths, i64 %n.outputs, i64 %bytes, i64 %sample)
  call void %single(ptr %context, ptr %rows, ptr %results, ptr %scratch)
  br label %take
end:
  ret void
}

; to[i] = from[i] + sample * strides[i] * bytes
define internal void @advance(ptr %to, ptr %from, ptr %strides, i64 %n, i64 %bytes, i64 %sample) #0 {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i.next, %move]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %move, label %end
move:
  %from.at = getelementptr ptr, ptr %from, i64 %i
  %start = load ptr, ptr %from.at
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.at
  %elements = mul i64 %stride, %sample
  %offset = mul i64 %elements, %bytes
  %row = getelementptr i8, ptr %start, i64 %offset
  %to.at = getelementptr ptr, ptr %to, i64 %i
  store ptr %row, ptr %to.at
  %i.next = add i64 %i, 1
  br label %test
end:
  ret void
}

attributes #0 = { nounwind "no-builtins" "no-stack-arg-probe" }
"""
