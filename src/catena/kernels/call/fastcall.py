"""Kernels as built-in functions: the call itself is machine code and costs a fraction of a microsecond."""

from __future__ import annotations

import ctypes
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from catena.kernels.call.call_ir import API, FIRST_PORT, MAX_DIMENSIONS, PORT_WORDS
from catena.kernels.call.job import SHARED_WORK, large_job
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.layout import python_api
from catena.kernels.call.results import LARGE
from catena.kernels.call.runtime import runtime_module
from catena.kernels.call.scratch import ALIGNMENT

MAX_SCRATCH = 2**20
"""Kernels that compute in more bytes than this take so long that the call doesn't matter."""

_FASTCALL_KEYWORDS = 0x0080 | 0x0002


def fast_call(kernel: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """A function that behaves as ``general`` does, and is faster where it can be.

    Called with exactly the kernel's arguments, as plain arrays of its type and shape or of a few samples each, and with
    nothing else but a plain array for the result as ``out``, it runs the kernel at once. Every other call is passed on
    to ``general``, which must give the same results there. Its name, signature and documentation are those of
    ``general``, which is returned itself where this is not supported, or ``kernel`` is no machine code.

    To make it the method of an object, set it as an attribute of the instance: it hides the method of the class.
    """
    if not isinstance(kernel, Kernel):
        return general
    scalars = [p for p in kernel.outputs if not p.shape]
    largest = max(kernel.single_scratch, kernel.batch_scratch)
    deepest = max(p.rank for p in (*kernel.inputs, *kernel.outputs))
    if (
        python_api() is None
        or (scalars and len(kernel.outputs) > 1)
        or largest > MAX_SCRATCH
        or deepest > MAX_DIMENSIONS
    ):
        return general
    memory = np.empty(largest + ALIGNMENT, dtype=np.uint8)
    scratch = int(memory.ctypes.data)
    large = large_job(kernel)
    descriptor = _descriptor(kernel, id(general), id(large), scratch + -scratch % ALIGNMENT)
    made: Callable[..., Any] = built_in("call", general, kernel.name, descriptor, kernel, large, memory)
    return made


def built_in(entry: str, general: Callable[..., Any], name: str, descriptor: np.ndarray, *kept: Any) -> Any:
    """The emitted code at an entry point as a function that looks like ``general``; ``kept`` lives as long as it."""
    name = getattr(general, "__name__", name)
    method = _MethodDef(name.encode(), _entry(entry), _FASTCALL_KEYWORDS, _documentation(name, general))
    owner = Call((descriptor, name, general, method, runtime_module(), *kept))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return new(ctypes.addressof(method), owner, getattr(general, "__module__", None))


class Call(tuple[Any, ...]):
    """What a built-in function needs to stay alive; its descriptor comes first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<compiled {self[1]}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"the compiled {self[1]} belongs to this process; pickle what it was made from")


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


@functools.cache
def _entry(name: str) -> int:
    """The address of an emitted call, ready for use."""
    module, api = runtime_module(), python_api()
    if api is not None:
        known = {**api, "PyObject_Vectorcall": api["PyObject_Vectorcall"] or module.address("vectorcall")}
        table = (ctypes.c_void_p * len(API)).from_address(module.address("api"))
        table[:] = [known[name] for name in API]
    return module.address(name)


def _descriptor(kernel: Kernel, general: int, large: int, scratch: int) -> np.ndarray:
    """The table that :mod:`catena.kernels.call.call_ir` describes."""
    ports = (*kernel.inputs, *kernel.outputs)
    words = np.zeros(FIRST_PORT + PORT_WORDS * len(ports), dtype=np.int64)
    few = SHARED_WORK * kernel.lanes // max(1, kernel.operations)
    sizes = len(kernel.inputs), len(kernel.outputs)
    entries = kernel.single_entry, kernel.batch_entry
    words[:10] = (general, id(kernel.dtype), *sizes, *entries, kernel.context_address, scratch, few, large)
    large_from = LARGE // (max(p.width for p in kernel.outputs) * kernel.dtype.itemsize or 1)
    words[10:14] = id(sys.intern("out")), id(None), kernel.dtype.itemsize, max(1, large_from)
    for port, row in zip(ports, words[FIRST_PORT:].reshape(-1, PORT_WORDS), strict=True):
        row[:2] = len(port.shape), port.width
        row[3 : 3 + len(port.shape)] = port.shape
    return words


def _documentation(name: str, general: Callable[..., Any]) -> bytes:
    """The docstring with the signature in front, in the form from which ``inspect`` and ``help`` read it."""
    text = inspect.getdoc(general) or ""
    try:
        signature = inspect.signature(general)
    except (TypeError, ValueError):
        return text.encode()
    bare = [p.replace(annotation=p.empty, default=_literal(p.default)) for p in signature.parameters.values()]
    plain = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return f"{name}{plain}\n--\n\n{text}".encode()


def _literal(default: Any) -> Any:
    """A default as a signature in text can show it: types by their name."""
    if default is inspect.Parameter.empty or default is None or isinstance(default, (bool, int, float, str)):
        return default
    return getattr(default, "__name__", repr(default))
