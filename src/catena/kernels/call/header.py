"""Where CPython and NumPy keep what the emitted call reads; :mod:`catena.kernels.call.layout` verifies all of it."""

from __future__ import annotations


class Header:
    """Offsets in the headers of objects, in bytes."""

    TYPE = 8
    LENGTH, ITEMS = 16, tuple.__basicsize__  # of a tuple; from Python 3.14 on it keeps its hash in between
    LIST = 24  # where a list keeps the address of its items; its length is where a tuple has it
    NUMBER = 16  # of a float, and of a float64 of NumPy
    DATA, RANK, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64  # of an array; RANK and FLAGS have four bytes
    BYTES = 72  # of an array, up to and including the flags
    KIND = 24  # of a dtype: one character


CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
"""Flags of arrays."""

FORCE, COPIED, NATIVE = 0x10, 0x20, 0x200
"""Requests for arrays: any numbers, in memory of their own, in the processor's byte order."""

PLAIN = CONTIGUOUS | ALIGNED
