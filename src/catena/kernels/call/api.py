"""The functions and types of CPython and NumPy that emitted code uses, in the order of the table ``@api``."""

from __future__ import annotations

import platform

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
    "fetestexcept",
    "feclearexcept",
)
"""Two are needed where ``PyObject_Vectorcall`` is not exported; the last two are C's."""

OBJECTS = ("PyArray_Type", "None", "str", "int", "float", "list", "tuple", "dict", "float64", "dtype64", "dtype32")

API = FUNCTIONS + OBJECTS

API_IR = f"@api = dso_local global [{len(API)} x ptr] zeroinitializer\n"


def api(code: Code, name: str) -> str:
    """Code that loads an address from the table."""
    return code.word("@api", API.index(name), "ptr")


X86 = platform.machine().lower() in ("x86_64", "amd64")
FLAGS = 0x0D if X86 else 0x07
"""In C FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW, and on x86 the bits of the register that holds them."""


def raised_ir() -> str:
    """``raised``: whether numbers of this thread became infinite or NaN since it was last asked."""
    return _raised_on_x86() if X86 else _raised_by_c()


def _raised_on_x86() -> str:
    """The register itself is read: C's function also reads the one of an older kind of arithmetic, which takes long."""
    c = Code("i1 @raised()")
    register = c.room("i32")
    c.call("@llvm.x86.sse.stmxcsr", f"ptr {register}", gives="void")
    bits = c.word(register, 0, "i32")
    found = c.compare("ne", c.new(f"and i32 {bits}, {FLAGS}"), "0", "i32")
    with c.when(found):
        c.set_word(register, 0, c.new(f"and i32 {bits}, {~FLAGS}"), "i32")
        c.call("@llvm.x86.sse.ldmxcsr", f"ptr {register}", gives="void")
    c.give(found, "i1")
    return f"declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n{c}"


def _raised_by_c() -> str:
    c = Code("i1 @raised()")
    found = c.variable("i1", "false")
    test = api(c, "fetestexcept")
    with c.when(c.compare("ne", test, "null", "ptr")):
        found.set(c.compare("ne", c.call(test, f"i32 {FLAGS}", gives="i32"), "0", "i32"))
        with c.when(found.get()):
            c.call(api(c, "feclearexcept"), f"i32 {FLAGS}", gives="i32")
    c.give(found.get(), "i1")
    return str(c)


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
