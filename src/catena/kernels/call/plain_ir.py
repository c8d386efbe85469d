"""The IR that makes plain arrays of what callers give: contiguous, aligned, of the type that a kernel computes in.

``plain(x, dtype)`` gives a new reference; null, without an error, where Python has to look at x. Strided arrays and
floats of the other size, numbers, and lists or tuples of numbers, are copied here; other arrays and lists by NumPy.
"""

from __future__ import annotations

from catena.kernels.call.api import api, type_of
from catena.kernels.call.code import Code
from catena.kernels.call.header import FORCE, NATIVE, PLAIN, Header

FEW = 65_536
"""Larger arrays are copied piece by piece as the computation proceeds, by several threads."""


def plain_ir() -> str:
    """``plain`` and the functions that it is made of."""
    return "\n".join((_plain(), _copied(), _listed(), _converted()))


def _plain() -> str:
    c = Code("ptr @plain(ptr %x, ptr %dtype)")
    kind, dtypes = type_of(c, "%x"), (api(c, "dtype64"), api(c, "dtype32"))
    with c.when(c.same(kind, api(c, "PyArray_Type"))):
        own = c.member("%x", Header.DTYPE)
        flat = c.compare("sle", c.member("%x", Header.RANK, "i32"), "2", "i32")
        with c.when(c.both(flat, c.either(*[c.same(own, dtype) for dtype in dtypes]))):
            c.give(c.call("@copied", "ptr %x", "ptr %dtype"))
        c.give(c.call("@converted", "ptr %x", "ptr %dtype"))
    single = c.either(
        c.either(*[c.same(kind, api(c, name)) for name in ("float", "float64")]), c.same(kind, api(c, "int"))
    )
    with c.when(single):
        item = c.room("ptr")
        c.set_word(item, 0, "%x", "ptr")
        c.give(c.call("@listed", f"ptr {item}", "i64 1", "ptr %dtype", "i32 0"))
    is_list, is_tuple = c.same(kind, api(c, "list")), c.same(kind, api(c, "tuple"))
    c.go_unless(c.either(is_list, is_tuple), "refused")
    items = c.variable("ptr", c.at("%x", Header.ITEMS, "i8"))
    with c.when(is_list):
        items.set(c.member("%x", Header.LIST))
    length = c.member("%x", Header.LENGTH, "i64")
    made = c.call("@listed", f"ptr {items.get()}", f"i64 {length}", "ptr %dtype", "i32 1")
    with c.when(c.compare("ne", made, "null", "ptr")):
        c.give(made)
    flags = f"i32 {PLAIN | NATIVE}"
    first = c.call(api(c, "PyArray_FromAny"), "ptr %x", "ptr null", "i32 0", "i32 0", flags, "ptr null")
    c.go_unless(c.compare("ne", first, "null", "ptr"), "failed")
    second = c.call("@converted", f"ptr {first}", "ptr %dtype")
    c.call(api(c, "Py_DecRef"), f"ptr {first}", gives="void")
    c.give(second)
    c.label("failed")
    c.call(api(c, "PyErr_Clear"), gives="void")
    c.label("refused")
    c.give("null")
    return str(c)


def _converted() -> str:
    """``converted(array, dtype)``: by NumPy, if the array holds floats, integers or truth values."""
    c = Code("ptr @converted(ptr %x, ptr %dtype)")
    letter = c.member(c.member("%x", Header.DTYPE), Header.KIND, "i8")
    found = [c.compare("eq", letter, str(ord(kind)), "i8") for kind in "fiub"]
    c.go_unless(c.either(c.either(found[0], found[1]), c.either(found[2], found[3])), "refused")
    c.call(api(c, "Py_IncRef"), "ptr %dtype", gives="void")
    flags = f"i32 {PLAIN | NATIVE | FORCE}"
    made = c.call(api(c, "PyArray_FromAny"), "ptr %x", "ptr %dtype", "i32 0", "i32 0", flags, "ptr null")
    with c.when(c.same(made, "null")):
        c.call(api(c, "PyErr_Clear"), gives="void")
    c.give(made)
    c.label("refused")
    c.give("null")
    return str(c)


def _new(c: Code, rank: str, shape: str) -> str:
    """A new array of type ``%dtype``; goes to "failed" if there is none."""
    c.call(api(c, "Py_IncRef"), "ptr %dtype", gives="void")
    what = f"ptr {api(c, 'PyArray_Type')}", "ptr %dtype", f"i32 {rank}", f"ptr {shape}"
    made = c.call(api(c, "PyArray_NewFromDescr"), *what, "ptr null", "ptr null", "i32 0", "ptr null")
    c.go_unless(c.compare("ne", made, "null", "ptr"), "failed")
    return made


def _store(c: Code, to: str, i: str, x: str, is_double: str, lost: str) -> None:
    """Write a double to an array of doubles or floats; note in ``lost`` if it is too large for a float."""
    with c.when(is_double):
        c.put(f"store double {x}, ptr {c.at(to, i, 'double')}")
    with c.when(c.negated(is_double)):
        short = c.new(f"fptrunc double {x} to float")
        c.put(f"store float {short}, ptr {c.at(to, i, 'float')}")
        back = c.new(f"fpext float {short} to double")
        infinite = [c.new(f"fcmp oeq double {y}, 0x7FF0000000000000") for y in (_size(c, back), _size(c, x))]
        with c.when(c.both(infinite[0], c.negated(infinite[1]))):
            c.put(f"store i64 1, ptr {lost}")


def _size(c: Code, x: str) -> str:
    negative = c.new(f"fcmp olt double {x}, 0.0")
    return c.choice(negative, c.new(f"fneg double {x}"), x, "double")


def _leave(c: Code, made: str, lost: str) -> None:
    """Return an array unless numbers were lost in it, of which NumPy is to warn."""
    with c.when(c.compare("eq", c.word(lost, 0), "0")):
        c.give(made)
    c.call(api(c, "Py_DecRef"), f"ptr {made}", gives="void")
    c.give("null")
    c.label("failed")
    c.call(api(c, "PyErr_Clear"), gives="void")
    c.give("null")


def _copied() -> str:
    """``copied(array, dtype)``: an array of doubles or floats with at most two dimensions."""
    c = Code("ptr @copied(ptr %x, ptr %dtype)")
    lost = c.room("i64")
    c.put(f"store i64 0, ptr {lost}")
    shape, steps = c.member("%x", Header.SHAPE), c.member("%x", Header.STRIDES)
    rank32 = c.member("%x", Header.RANK, "i32")
    rank = c.new(f"sext i32 {rank32} to i64")
    sizes = [c.variable("i64", "1") for _ in range(2)]
    strides = [c.variable("i64", "0") for _ in range(2)]
    for dimension in range(2):  # the last one is the last of the array
        place = c.sum(rank, dimension - 2)
        with c.when(c.compare("sge", place, "0")):
            sizes[dimension].set(c.word(shape, place))
            strides[dimension].set(c.word(steps, place))
    rows, columns = (x.get() for x in sizes)
    down, along = (x.get() for x in strides)
    c.go_unless(c.compare("sle", c.product(rows, columns), str(FEW)), "large")
    made = _new(c, rank32, shape)
    to, data = c.member(made, Header.DATA), c.member("%x", Header.DATA)
    from_double = c.same(c.member("%x", Header.DTYPE), api(c, "dtype64"))
    to_double = c.same("%dtype", api(c, "dtype64"))
    with c.count(rows) as i, c.count(columns) as j:
        place = c.at(data, c.sum(c.product(i, down), c.product(j, along)), "i8")
        x = c.variable("double", "0.0")
        with c.when(from_double):
            x.set(c.new(f"load double, ptr {place}, align 1"))
        with c.when(c.negated(from_double)):
            x.set(c.new(f"fpext float {c.new(f'load float, ptr {place}, align 1')} to double"))
        _store(c, to, c.sum(c.product(i, columns), j), x.get(), to_double, lost)
    _leave(c, made, lost)
    c.label("large")
    c.give("null")
    return str(c)


def _listed() -> str:
    """``listed(items, count, dtype, rank)``: Python's floats and integers and NumPy's doubles, nothing else.

    They come from a list, rank 1, or there is one number that stands alone, rank 0.
    """
    c = Code("ptr @listed(ptr %items, i64 %count, ptr %dtype, i32 %rank)")
    lost, shape = c.room("i64"), c.room("i64")
    c.put(f"store i64 0, ptr {lost}")
    c.put(f"store i64 %count, ptr {shape}")
    c.go_unless(c.compare("sle", "%count", str(FEW)), "other")
    made = _new(c, "%rank", shape)
    to, is_double = c.member(made, Header.DATA), c.same("%dtype", api(c, "dtype64"))
    with c.count("%count") as i:
        item, x = c.word("%items", i, "ptr"), c.variable("double", "0.0")
        kind = type_of(c, item)
        is_float = c.either(c.same(kind, api(c, "float")), c.same(kind, api(c, "float64")))
        with c.when(is_float):
            x.set(c.member(item, Header.NUMBER, "double"))
        with c.when(c.negated(is_float)):
            c.go_unless(c.same(kind, api(c, "int")), "undo")
            x.set(c.call(api(c, "PyLong_AsDouble"), f"ptr {item}", gives="double"))
            with c.when(c.new(f"fcmp oeq double {x.get()}, -1.0")):
                c.go_unless(c.same(c.call(api(c, "PyErr_Occurred")), "null"), "undo")
        _store(c, to, i, x.get(), is_double, lost)
    _leave(c, made, lost)
    c.label("undo")
    c.call(api(c, "PyErr_Clear"), gives="void")
    c.call(api(c, "Py_DecRef"), f"ptr {made}", gives="void")
    c.label("other")
    c.give("null")
    return str(c)
