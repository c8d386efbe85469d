"""Where CPython and NumPy keep things in memory, found out by looking.

The call that is emitted as machine code reads the headers of arrays directly. It may do so only if they look exactly
as it expects, which :func:`python_api` verifies on real arrays of this process. Where they do not, Python answers, and
:func:`why_python_answers` says why.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from typing import Any

import numpy as np

from catena.kernels.call.api import FUNCTIONS
from catena.kernels.call.header import ALIGNED, CONTIGUOUS, WRITEABLE, Header

NUMPY_ABIS = (0x01000009, 0x02000000)
"""The binary interfaces of NumPy 1 and 2."""

_NUMPY_TABLE = {"PyArray_Type": 2, "PyArray_FromAny": 69, "PyArray_Return": 76, "PyArray_NewFromDescr": 94}


class UnfamiliarError(Exception):
    """Why machine code may not call this Python."""


@functools.cache
def python_api() -> dict[str, int] | None:
    """Addresses of everything in :data:`~catena.kernels.call.api.API`; None where machine code may not call Python.

    An address is 0 if it doesn't exist in this version of Python and there is another way.
    """
    found = _looked()
    return found if isinstance(found, dict) else None


def why_python_answers() -> str | None:
    """Why machine code may not call this Python; None where it may."""
    return None if python_api() is not None else str(_looked())


def _looked() -> dict[str, int] | UnfamiliarError:
    """The addresses, or what speaks against using them."""
    try:
        return _addresses()
    except UnfamiliarError as error:
        return error


def _addresses() -> dict[str, int]:
    _require_familiar_interpreter()
    table = _numpy_table()
    if table is None or table[_NUMPY_TABLE["PyArray_Type"]] != id(np.ndarray):
        raise UnfamiliarError(f"the binary interface of NumPy {np.__version__} is not known")
    if not all(map(_as_expected, _samples())):
        raise UnfamiliarError(f"NumPy {np.__version__} keeps arrays in an unknown way")
    found = {name: table[place] or 0 for name, place in _NUMPY_TABLE.items()}
    found |= {name: _address(name) for name in FUNCTIONS if name not in found}
    missing = {name for name in FUNCTIONS if not found[name]} - {"fetestexcept", "feclearexcept"}
    if not (missing <= {"PyObject_Vectorcall"} or missing <= {"_PyObject_MakeTpCall"}):
        raise UnfamiliarError(f"this Python lacks the C functions {', '.join(sorted(missing))}")
    found |= {"None": id(None), "dtype64": id(np.dtype(np.float64)), "dtype32": id(np.dtype(np.float32))}
    found |= {kind.__name__: id(kind) for kind in (str, int, float, list, tuple, dict, np.float64)}
    if not _objects_as_expected():
        raise UnfamiliarError(f"Python {platform.python_version()} keeps tuples, lists or floats in an unknown way")
    if not (_makes_arrays(found["PyArray_NewFromDescr"]) and _converts(found["PyArray_FromAny"])):
        raise UnfamiliarError(f"NumPy {np.__version__} makes arrays in an unknown way")
    return found


def address(array: np.ndarray) -> int:
    """Where the elements of an array begin; ``array.ctypes.data`` says the same in four times the time."""
    if python_api() is None:
        return int(array.ctypes.data)
    return ctypes.c_int64.from_address(id(array) + Header.DATA).value


def _require_familiar_interpreter() -> None:
    """Raise unless this is the main interpreter of a 64-bit CPython with a GIL."""
    if sys.implementation.name != "cpython" or sys.maxsize != 2**63 - 1:
        raise UnfamiliarError("this is not a 64-bit CPython")
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or object.__basicsize__ != 16:
        raise UnfamiliarError(
            "this is a free-threaded build of Python, whose objects other threads may change meanwhile"
        )
    state, number = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_GetID
    state.restype, state.argtypes = ctypes.c_void_p, ()
    number.restype, number.argtypes = ctypes.c_int64, (ctypes.c_void_p,)
    if number(state()):
        raise UnfamiliarError("this is a subinterpreter")


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
    if type(array).__basicsize__ < Header.BYTES:
        return False
    start = id(array)
    pointer, integer = ctypes.c_void_p.from_address, ctypes.c_int32.from_address
    if integer(start + Header.RANK).value != array.ndim or pointer(start + Header.TYPE).value != id(np.ndarray):
        return False
    places = [pointer(start + offset).value or 0 for offset in (Header.SHAPE, Header.STRIDES)] if array.ndim else []
    seen = [tuple((ctypes.c_int64 * array.ndim).from_address(place)) for place in places]
    flags = integer(start + Header.FLAGS).value
    return (
        pointer(start + Header.DATA).value == array.ctypes.data
        and (not array.ndim or seen == [array.shape, array.strides])
        and pointer(start + Header.DTYPE).value == id(array.dtype)
        and bool(flags & CONTIGUOUS) == array.flags.c_contiguous
        and bool(flags & ALIGNED) == array.flags.aligned
        and bool(flags & WRITEABLE) == array.flags.writeable
        and ctypes.c_char.from_address(id(array.dtype) + Header.KIND).value == array.dtype.kind.encode()
    )


def _objects_as_expected() -> bool:
    """Whether tuples, lists and floats keep what they hold where the code reads it."""
    items = (object(), "x", 1.5)
    listed, pointer = list(items), ctypes.c_void_p.from_address
    places = id(items) + Header.ITEMS, pointer(id(listed) + Header.LIST).value or 0
    seen = [list((ctypes.c_void_p * 3).from_address(place)) for place in places]
    lengths = [ctypes.c_int64.from_address(id(x) + Header.LENGTH).value for x in (items, listed)]
    between = [ctypes.c_int64.from_address(id(items) + at).value for at in range(Header.LENGTH + 8, Header.ITEMS, 8)]
    numbers = [ctypes.c_double.from_address(id(x) + Header.NUMBER).value for x in (items[2], np.float64(1.5))]
    if set(between) - {-1}:  # a hash that was not asked for
        return False
    return lengths == [3, 3] and seen == [[id(item) for item in items]] * 2 and numbers == [1.5, 1.5]


def _makes_arrays(address: int) -> bool:
    """Whether the function there is PyArray_NewFromDescr: try it."""
    word, number = ctypes.c_void_p, ctypes.c_int
    new = ctypes.PYFUNCTYPE(ctypes.py_object, word, word, number, word, word, word, number, word)(address)
    dtype = np.dtype(np.float64)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))
    shape = (ctypes.c_int64 * 2)(3, 5)
    array = new(id(np.ndarray), id(dtype), 2, ctypes.addressof(shape), None, None, 0, None)
    return type(array) is np.ndarray and array.shape == (3, 5) and array.dtype == dtype and array.flags.c_contiguous


def _converts(address: int) -> bool:
    """Whether the function there is PyArray_FromAny: try it."""
    word, number = ctypes.c_void_p, ctypes.c_int
    convert = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, word, number, number, number, word)(address)
    array = convert([[1, 2], [3, 4]], None, 0, 0, 0, None)
    return type(array) is np.ndarray and array.shape == (2, 2) and array.dtype.kind == "i"


def _address(name: str) -> int:
    function = getattr(ctypes.pythonapi, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0
