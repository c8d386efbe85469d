"""The IR that sums up wrenches given by link: ``{"tool": w}`` becomes one row of an array over all links."""

from __future__ import annotations

from catena.kernels.call.api import api
from catena.kernels.call.code import Code
from catena.kernels.call.header import Header
from catena.kernels.call.words import MAX_KEYS, Frame, Procedure, Wrenches


def wrenches_ir() -> str:
    """``wrenches(procedure, mapping)``: the address of the wrenches on all links; null where Python has to look."""
    return str(_Wrenches().code)


class _Wrenches:
    """``wrenches``, written step by step; the mapping has the keys that the procedure is for."""

    def __init__(self) -> None:
        c = self.code = Code("ptr @wrenches(ptr %procedure, ptr %mapping)")
        self.held, self.n_held = c.room("ptr", MAX_KEYS), c.variable("i64", "0")
        self.sum = c.variable("ptr", "null")
        self.dtype, self.table = (c.word("%procedure", word, "ptr") for word in (Procedure.DTYPE, Procedure.WRENCHES))
        self.bytes = c.word("%procedure", Procedure.ITEM_BYTES)
        self._collect()
        self._clear()
        self._add()
        self.sum.set(c.word(self.table, Wrenches.SUM, "ptr"))
        c.label("release")
        with c.count(self.n_held.get()) as i:
            c.call(api(c, "Py_DecRef"), f"ptr {c.word(self.held, i, 'ptr')}", gives="void")
        c.give(self.sum.get())

    def _collect(self) -> None:
        """The wrenches as plain arrays of six numbers."""
        c = self.code
        place, key, value = (c.room("ptr") for _ in range(3))
        c.put(f"store i64 0, ptr {place}")
        following = f"ptr {place}", f"ptr {key}", f"ptr {value}"
        c.label("next.item")
        more = c.call(api(c, "PyDict_Next"), "ptr %mapping", *following, gives="i32")
        c.go_unless(c.compare("ne", more, "0", "i32"), "collected")
        x = c.word(value, 0, "ptr")
        c.call(api(c, "Py_IncRef"), f"ptr {x}", gives="void")  # converting it may run Python, which may let go of it
        copied = c.call("@plain", f"ptr {x}", f"ptr {self.dtype}")
        c.call(api(c, "Py_DecRef"), f"ptr {x}", gives="void")
        c.go_unless(c.compare("ne", copied, "null", "ptr"), "release")
        n = self.n_held.get()
        c.set_word(self.held, n, copied, "ptr")
        self.n_held.set(c.sum(n, 1))
        c.go_unless(c.compare("eq", c.member(copied, Header.RANK, "i32"), "1", "i32"), "release")
        c.go_unless(c.compare("eq", c.word(c.member(copied, Header.SHAPE), 0), "6"), "release")
        c.go_unless(c.compare("slt", n, str(MAX_KEYS - 1)), "collected")
        c.go("next.item")
        c.label("collected")
        # Python that ran meanwhile may have given the dictionary other keys
        c.go_unless(c.compare("eq", self.n_held.get(), c.word(self.table, Wrenches.COUNT)), "release")

    def _frame(self, i: str) -> str:
        return self.code.at(self.table, self.code.sum(self.code.product(i, Frame.SIZE), Wrenches.SIZE))

    def _clear(self) -> None:
        """Forget the wrenches of the last call."""
        c = self.code
        words = c.new(f"udiv i64 {c.product(self.bytes, 6)}, 8")
        with c.count(self.n_held.get(), again="cleared") as i:
            row = c.word(self._frame(i), Frame.ROW, "ptr")
            c.go_unless(c.compare("ne", row, "null", "ptr"), "cleared")
            with c.count(words) as k:
                c.set_word(row, k, "0")

    def _add(self) -> None:
        c = self.code
        rows, results, carried = c.room("ptr", 2), c.room("ptr"), c.room("double", 6)
        c.set_word(results, 0, carried, "ptr")
        single, context, scratch = (
            c.word(self.table, word, "ptr") for word in (Wrenches.SINGLE, Wrenches.CONTEXT, Wrenches.SCRATCH)
        )
        is_double = c.compare("eq", self.bytes, "8")
        with c.count(self.n_held.get(), again="added") as i:
            row = c.word(self._frame(i), Frame.ROW, "ptr")
            c.go_unless(c.compare("ne", row, "null", "ptr"), "added")
            c.set_word(rows, 0, c.word(self._frame(i), Frame.PLACE, "ptr"), "ptr")
            c.set_word(rows, 1, c.member(c.word(self.held, i, "ptr"), Header.DATA), "ptr")
            c.call(single, f"ptr {context}", f"ptr {rows}", f"ptr {results}", f"ptr {scratch}", gives="void")
            for condition, kind in ((is_double, "double"), (c.negated(is_double), "float")):
                with c.when(condition), c.count("6") as k:
                    at = c.at(row, k, kind)
                    x, y = (c.new(f"load {kind}, ptr {place}") for place in (at, c.at(carried, k, kind)))
                    c.put(f"store {kind} {c.new(f'fadd {kind} {x}, {y}')}, ptr {at}")
