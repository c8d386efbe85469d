"""Where CPython and NumPy keep things in memory, found out by looking.

The call that is emitted as machine code reads the headers of arrays directly. It may do so only if they look exactly
as it expects, which :func:`python_api` verifies on real arrays of this process.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np

from catena.kernels.call.call_ir import API
from catena.kernels.call.header import (
    ALIGNED,
    C_CONTIGUOUS,
    DATA,
    DTYPE,
    FLAGS,
    HEADER_BYTES,
    NDIM,
    SHAPE,
    TYPE,
    WRITEABLE,
)

NUMPY_ABIS = (0x01000009, 0x02000000)
"""The binary interfaces of NumPy 1 and 2."""

_NUMPY_TABLE = {"PyArray_Type": 2, "PyArray_Return": 76, "PyArray_NewFromDescr": 94}


@functools.cache
def python_api() -> dict[str, int] | None:
    """Addresses of everything in :data:`~catena.kernels.call.call_ir.API`; None where machine code may not call Python.

    An address is 0 if it doesn't exist in this version of Python and there is another way.
    """
    if not _familiar_interpreter():
        return None
    table = _numpy_table()
    if table is None or table[_NUMPY_TABLE["PyArray_Type"]] != id(np.ndarray) or not all(map(_as_expected, _samples())):
        return None
    found = {name: table[place] or 0 for name, place in _NUMPY_TABLE.items()}
    found |= {name: _address(name) for name in API if name not in found}
    missing = {name for name in API if not found[name]}
    enough = missing <= {"PyObject_Vectorcall"} or missing <= {"_PyObject_MakeTpCall"}
    return found if enough and _makes_arrays(found["PyArray_NewFromDescr"]) else None


def address(array: np.ndarray) -> int:
    """Where the elements of an array begin; ``array.ctypes.data`` says the same in four times the time."""
    if python_api() is None:
        return int(array.ctypes.data)
    return ctypes.c_int64.from_address(id(array) + DATA).value


def _familiar_interpreter() -> bool:
    """Whether this is the main interpreter of a 64-bit CPython with a GIL."""
    if sys.implementation.name != "cpython" or sys.maxsize != 2**63 - 1:
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    state, number = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_GetID
    state.restype, state.argtypes = ctypes.c_void_p, ()
    number.restype, number.argtypes = ctypes.c_int64, (ctypes.c_void_p,)
    return bool(number(state()) == 0)


def _numpy_table() -> Any:
    """NumPy's table of C functions, None if it is not of a version that is known."""
    core = getattr(np, "_core", None) or getattr(np, "core", None)
    capsule = getattr(getattr(core, "_multiarray_umath", None), "_ARRAY_API", None)
    if capsule is None:
        return None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[0] or 0)
    return table if version() in NUMPY_ABIS else None


def _samples() -> list[np.ndarray]:
    """Arrays that differ in everything the machine code looks at."""
    block = np.arange(24.0).reshape(4, 6)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    shifted = np.frombuffer(bytes(33), dtype=np.uint8)[1:].view(np.float64)
    return [
        block,
        block.T,
        block[::2, ::3],
        block[1],
        frozen,
        np.ones(2, np.float32),
        np.array(1.5),
        np.empty((0, 3)),
        shifted,
    ]


def _as_expected(array: np.ndarray) -> bool:
    """Whether the header of an array says what the array says."""
    if type(array).__basicsize__ < HEADER_BYTES:
        return False
    start = id(array)
    pointer, integer = ctypes.c_void_p.from_address, ctypes.c_int32.from_address
    if integer(start + NDIM).value != array.ndim or pointer(start + TYPE).value != id(np.ndarray):
        return False
    seen_shape = (ctypes.c_int64 * array.ndim).from_address(pointer(start + SHAPE).value or 0) if array.ndim else ()
    flags = integer(start + FLAGS).value
    return (
        pointer(start + DATA).value == array.ctypes.data
        and tuple(seen_shape) == array.shape
        and pointer(start + DTYPE).value == id(array.dtype)
        and bool(flags & C_CONTIGUOUS) == array.flags.c_contiguous
        and bool(flags & ALIGNED) == array.flags.aligned
        and bool(flags & WRITEABLE) == array.flags.writeable
    )


def _makes_arrays(address: int) -> bool:
    """Whether the function there is PyArray_NewFromDescr: try it."""
    word, number = ctypes.c_void_p, ctypes.c_int
    new = ctypes.PYFUNCTYPE(ctypes.py_object, word, word, number, word, word, word, number, word)(address)
    dtype = np.dtype(np.float64)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))
    shape = (ctypes.c_int64 * 2)(3, 5)
    array = new(id(np.ndarray), id(dtype), 2, ctypes.addressof(shape), None, None, 0, None)
    return type(array) is np.ndarray and array.shape == (3, 5) and array.dtype == dtype and array.flags.c_contiguous


def _address(name: str) -> int:
    function = getattr(ctypes.pythonapi, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0
