"""The functions and types of CPython and NumPy that emitted code uses, in the order of the table ``@api``."""

from __future__ import annotations

from catena.kernels.call.code import Code
from catena.kernels.call.header import Header

FUNCTIONS = (
    "PyObject_Vectorcall",
    "PyObject_RichCompareBool",
    "PyErr_Clear",
    "PyMethod_New",
    "PyType_IsSubtype",
    "PyType_GenericAlloc",
    "PyTuple_New",
    "PyDict_Next",
    "PyLong_FromVoidPtr",
    "PyLong_AsDouble",
    "PyErr_Occurred",
    "Py_IncRef",
    "Py_DecRef",
    "PyArray_NewFromDescr",
    "PyArray_FromAny",
    "PyArray_Return",
    "PyThreadState_Get",
    "_PyObject_MakeTpCall",
)
"""The last two are needed where ``PyObject_Vectorcall`` is not exported."""

OBJECTS = ("PyArray_Type", "None", "str", "int", "float", "list", "tuple", "dict", "float64", "dtype64", "dtype32")

API = FUNCTIONS + OBJECTS

API_IR = f"@api = dso_local global [{len(API)} x ptr] zeroinitializer\n"


def api(code: Code, name: str) -> str:
    """Code that loads an address from the table."""
    return code.word("@api", API.index(name), "ptr")


def vectorcall_ir() -> str:
    """``vectorcall``: PyObject_Vectorcall for Python 3.10, which has it in its headers only."""
    c = Code("ptr @vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %names)")
    thread, count = c.call(api(c, "PyThreadState_Get")), c.new(f"and i64 %nargs, {2**63 - 1}")
    arguments = f"ptr {thread}", "ptr %callable", "ptr %args", f"i64 {count}", "ptr %names"
    c.give(c.call(api(c, "_PyObject_MakeTpCall"), *arguments))
    return str(c)


def type_of(code: Code, x: str) -> str:
    """Code that loads the type of an object."""
    return code.member(x, Header.TYPE)
