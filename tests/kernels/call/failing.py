"""The functions of CPython and NumPy that the emitted call uses, made to fail as they do when memory is short."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from catena.kernels.call.api import API
from catena.kernels.call.emitted import entry
from catena.kernels.call.runtime import runtime_module
from catena.kernels.machine.compile import load, object_code

STOLEN = {"PyArray_NewFromDescr": 1, "PyArray_FromAny": 1, "PyArray_Return": 0}
"""Which argument a function gives up also if it fails."""

MAY_FAIL = (
    "PyArray_NewFromDescr",
    "PyArray_FromAny",
    "PyArray_Return",
    "PyLong_FromVoidPtr",
    "PyType_GenericAlloc",
    "PyObject_Vectorcall",
    "PyMethod_New",
)

_ARGUMENTS = ", ".join(f"ptr %a{i}" for i in range(8))
_STUB = """
@real = dso_local global ptr null
@no_memory = dso_local global ptr null
@release = dso_local global ptr null
@left = dso_local global i64 -1
define dso_local ptr @stub({arguments}) nounwind {{
  %left = load i64, ptr @left
  %less = sub i64 %left, 1
  store i64 %less, ptr @left
  %fails = icmp eq i64 %left, 0
  br i1 %fails, label %fail, label %pass
fail:
  %set = load ptr, ptr @no_memory
  %ignored = call ptr %set()
  {stolen}
  ret ptr null
pass:
  %function = load ptr, ptr @real
  %result = call ptr %function({arguments})
  ret ptr %result
}}
"""


class Failing:
    """How often a function was called, and whether it has failed."""

    def __init__(self, left: ctypes.c_int64, after: int) -> None:
        self._left, self._after = left, after

    @property
    def failed(self) -> bool:
        """Whether it was called often enough to fail."""
        return self._left.value < 0


_stubs: dict[str, tuple[object, int, ctypes.c_int64]] = {}


def _stub(name: str, real: int) -> tuple[object, int, ctypes.c_int64]:
    """A function that forwards its arguments, or fails when the time has come."""
    if name not in _stubs:
        place = STOLEN.get(name)
        stolen = "" if place is None else f"%give = load ptr, ptr @release\n  call void %give(ptr %a{place})"
        module = load(object_code(_STUB.format(arguments=_ARGUMENTS, stolen=stolen)))
        api = ctypes.pythonapi
        for symbol, address in (
            ("real", real),
            ("no_memory", ctypes.cast(api.PyErr_NoMemory, ctypes.c_void_p).value),
            ("release", ctypes.cast(api.Py_DecRef, ctypes.c_void_p).value),
        ):
            ctypes.c_void_p.from_address(module.address(symbol)).value = address
        left = ctypes.c_int64.from_address(module.address("left"))
        _stubs[name] = module, module.address("stub"), left
    return _stubs[name]


@contextmanager
def failing(name: str, after: int) -> Iterator[Failing]:
    """The function fails once, after so many calls that succeed."""
    entry("answer")
    word = ctypes.c_void_p.from_address(runtime_module().address("api") + 8 * API.index(name))
    real = word.value or 0
    _, stub, left = _stub(name, real)
    left.value = after
    word.value = stub
    try:
        yield Failing(left, after)
    finally:
        word.value = real
