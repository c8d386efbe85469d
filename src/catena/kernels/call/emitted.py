"""Questions as objects that machine code answers: a type of our own, and its instances.

A question behaves as a function does: it binds to the object it is asked of, has a name, a signature and documentation,
and can be pickled when bound. Its call is ``answer`` (:mod:`catena.kernels.call.answer_ir`). Questions and their type
last as long as the process, so nothing that they point to is ever freed too early.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catena.kernels.call.answer_ir import TABLE
from catena.kernels.call.api import API
from catena.kernels.call.layout import python_api
from catena.kernels.call.runtime import runtime_module
from catena.kernels.call.words import MAX_PARAMETERS, QUESTIONS, Parameter, Question, Role

_VECTORCALL, _DICT, _SIZE = 16, 24, TABLE + 8
_HAVE_VECTORCALL, _METHOD_DESCRIPTOR, _VERSION_TAG = 1 << 11, 1 << 17, 1 << 18
_CALL, _DESCR_GET, _MEMBERS = 50, 54, 72
_SSIZE, _READ_ONLY = 19, 1
_kept: list[Any] = []
_numbers = itertools.count()


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("function", ctypes.c_void_p))


class _Specification(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


@functools.cache
def entry(name: str) -> int:
    """The address of an emitted function that may call Python, ready for use."""
    module, known = runtime_module(), python_api()
    if known is not None:
        vectorcall = known["PyObject_Vectorcall"] or module.address("vectorcall")
        table = (ctypes.c_void_p * len(API)).from_address(module.address("api"))
        table[:] = [{**known, "PyObject_Vectorcall": vectorcall}[name] for name in API]
    return module.address(name)


@functools.cache
def question_type() -> Any:
    """The type of questions, a kind of method: ``object.question(x)`` makes no object on the way."""
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _SSIZE, _VECTORCALL, _READ_ONLY, None),
        _Member(b"__dictoffset__", _SSIZE, _DICT, _READ_ONLY, None),
    )
    slots = (_Slot * 4)(_Slot(_CALL, call), _Slot(_DESCR_GET, entry("get")), _Slot(_MEMBERS, ctypes.addressof(members)))
    flags = _HAVE_VECTORCALL | _METHOD_DESCRIPTOR | _VERSION_TAG
    specification = _Specification(b"catena.question", _SIZE, 0, flags, ctypes.addressof(slots))
    _kept.extend((members, slots, specification))
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p,)
    return make(ctypes.addressof(specification))


def emitted_question(general: Callable[..., Any], table: np.ndarray) -> Any:
    """A function that behaves as ``general`` does, and answers at once what the asked object's book knows.

    ``table`` is laid out as :class:`catena.kernels.call.words.Question` says.
    """
    made = question_type()()
    for offset, address in ((_VECTORCALL, entry("answer")), (TABLE, int(table.ctypes.data))):
        ctypes.c_void_p.from_address(id(made) + offset).value = address
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(general, name):
            setattr(made, name, getattr(general, name))
    made.__wrapped__ = general
    _kept.extend((made, table, general))
    return made


def question_table(
    owner: type,
    general: Callable[..., Any],
    names: Sequence[str],
    roles: Sequence[Role],
    defaults: Sequence[Any],
    positional: int,
) -> tuple[int, np.ndarray] | None:
    """The number of a new question, and its table; None if there is no room for it.

    A parameter without a default has ``inspect.Parameter.empty``.
    """
    number = next(_numbers)
    if number >= QUESTIONS or len(names) > MAX_PARAMETERS:
        return None
    words = np.zeros(Question.SIZE + Parameter.SIZE * len(names), dtype=np.int64)
    usually = _most_special(owner)
    words[: Question.SIZE] = id(general), number, id(owner), id(usually), len(names), positional
    rows = words[Question.SIZE :].reshape(-1, Parameter.SIZE)
    for row, name, role, default in zip(rows, names, roles, defaults, strict=True):
        interned = sys.intern(name)
        row[:] = id(interned), role, 0 if default is inspect.Parameter.empty else id(default)
        _kept.extend((interned, default))
    _kept.extend((owner, usually))
    return number, words


def _most_special(owner: type) -> type:
    """The class of this package that is furthest below another one."""
    package = __name__.partition(".")[0]
    below: list[type] = owner.__subclasses__()
    ours = [cls for cls in below if cls.__module__.partition(".")[0] == package]
    return _most_special(ours[0]) if ours else owner
