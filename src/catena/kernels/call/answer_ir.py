"""The IR of a call from Python: it reads positional and keyword arguments, and finds the procedure that they choose.

``answer`` is the vectorcall of every question (:mod:`catena.kernels.call.emitted`): ``callable`` is the question,
the first argument the object that is asked. Options are looked up in the object's book, as the same objects or as equal
ones of the same type; a dictionary by its keys. What is not found there, and every call that ``run`` finds
unusual, goes unchanged to the question's Python function, which knows everything and fills the book.
"""

from __future__ import annotations

from catena.kernels.call.api import api, type_of
from catena.kernels.call.code import Code
from catena.kernels.call.header import Header
from catena.kernels.call.words import COMPILED, MAX_PARAMETERS, Book, Given, Parameter, Question, Role

TABLE = 32
"""Where a question keeps the address of its table, in bytes."""

_EQUAL = 2  # Py_EQ


def get_ir() -> str:
    """``get(question, object, type)``: what ``object.question`` is."""
    c = Code("ptr @get(ptr %question, ptr %object, ptr %type)")
    with c.when(c.same("%object", "null")):
        c.call(api(c, "Py_IncRef"), "ptr %question", gives="void")
        c.give("%question")
    c.give(c.call(api(c, "PyMethod_New"), "ptr %question", "ptr %object"))
    return str(c)


def same_ir() -> str:
    """``same(known, given)``: 1 if two objects choose the same, 0 if not or if only Python can tell."""
    c = Code("i64 @same(ptr %known, ptr %given)")
    with c.when(c.same("%known", "%given")):
        c.give("1", "i64")
    kind = type_of(c, "%given")
    with c.when(c.same(kind, api(c, "dict"))):
        c.go_unless(c.same(type_of(c, "%known"), api(c, "tuple")), "different")
        c.give(c.call("@same_keys", "ptr %known", "ptr %given", gives="i64"), "i64")
    c.go_unless(c.same(kind, type_of(c, "%known")), "different")
    equal = c.call(api(c, "PyObject_RichCompareBool"), "ptr %known", "ptr %given", f"i32 {_EQUAL}", gives="i32")
    with c.when(c.compare("slt", equal, "0", "i32")):
        c.call(api(c, "PyErr_Clear"), gives="void")
        c.go("different")
    c.give(c.new(f"sext i32 {equal} to i64"), "i64")
    c.label("different")
    c.give("0", "i64")
    return str(c)


def same_keys_ir() -> str:
    """``same_keys(known, given)``: 1 if a dictionary has the keys that a tuple holds, in this order."""
    c = Code("i64 @same_keys(ptr %known, ptr %given)")
    place, key, value = (c.room("ptr") for _ in range(3))
    c.put(f"store i64 0, ptr {place}")
    n = c.member("%known", Header.LENGTH, "i64")
    following = f"ptr {place}", f"ptr {key}", f"ptr {value}"
    with c.count(n) as i:
        more = c.call(api(c, "PyDict_Next"), "ptr %given", *following, gives="i32")
        c.go_unless(c.compare("ne", more, "0", "i32"), "different")
        expected, found = c.word("%known", c.sum(i, Header.ITEMS // 8), "ptr"), c.word(key, 0, "ptr")
        kind = type_of(c, found)
        plain = c.either(c.same(kind, api(c, "str")), c.same(kind, api(c, "int")))  # others might change the mapping
        c.go_unless(c.either(plain, c.same(expected, found)), "different")
        c.go_unless(c.compare("ne", c.call("@same", f"ptr {expected}", f"ptr {found}", gives="i64"), "0"), "different")
    more = c.call(api(c, "PyDict_Next"), "ptr %given", *following, gives="i32")
    c.give(c.new(f"zext i1 {c.compare('eq', more, '0', 'i32')} to i64"), "i64")
    c.label("different")
    c.give("0", "i64")
    return str(c)


def answer_ir() -> str:
    """The whole function."""
    return str(_Answer().code)


class _Answer:
    """``answer``, written step by step."""

    def __init__(self) -> None:
        c = self.code = Code("ptr @answer(ptr %callable, ptr %args, i64 %flagged, ptr %names)")
        self.values, self.keys = c.room("ptr", MAX_PARAMETERS), c.room("ptr", MAX_PARAMETERS)
        self.table = c.member("%callable", TABLE)
        self.count = c.word(self.table, Question.PARAMETERS)
        self.n = c.difference(c.new(f"and i64 %flagged, {2**63 - 1}"), 1)
        self.unusual = c.room("i64")
        c.put(f"store i64 0, ptr {self.unusual}")
        self._find_self()
        self._take_usual()
        self._read_positional()
        self._read_keywords()
        self._read_keys()
        self._search()
        c.label("general")
        general = c.word(self.table, Question.GENERAL, "ptr")
        arguments = f"ptr {general}", "ptr %args", "i64 %flagged", "ptr %names"
        c.give(c.call(api(c, "PyObject_Vectorcall"), *arguments))

    def _parameter(self, i: str) -> str:
        c = self.code
        return c.at(self.table, c.sum(c.product(i, Parameter.SIZE), Question.SIZE))

    def _find_self(self) -> None:
        c = self.code
        c.go_unless(c.compare("sge", self.n, "0"), "general")
        self.object = c.word("%args", 0, "ptr")
        kind, owner = type_of(c, self.object), c.word(self.table, Question.OWNER, "ptr")
        with c.when(c.negated(c.same(kind, c.word(self.table, Question.USUALLY, "ptr")))):
            below = c.call(api(c, "PyType_IsSubtype"), f"ptr {kind}", f"ptr {owner}", gives="i32")
            c.go_unless(c.compare("ne", below, "0", "i32"), "general")
        compiled = c.member(self.object, COMPILED)
        c.go_unless(c.compare("ne", compiled, "null", "ptr"), "general")
        books = c.member(c.member(compiled, COMPILED), Header.DATA)
        self.book = c.word(books, c.word(self.table, Question.NUMBER), "ptr")
        c.go_unless(c.compare("ne", self.book, "null", "ptr"), "general")

    def _take_usual(self) -> None:
        """Answer at once where nothing but the usual arrays is given."""
        c = self.code
        usual = c.word(self.book, Book.USUAL, "ptr")
        known = c.both(c.compare("ne", usual, "null", "ptr"), c.same("%names", "null"))
        with c.when(c.both(known, c.compare("eq", self.n, c.word(self.book, Book.ARRAYS)))):
            self._run(usual, c.at("%args", 1), "null")

    def _run(self, procedure: str, values: str, out: str) -> None:
        c = self.code
        answer = c.call("@run", *[f"ptr {x}" for x in (procedure, self.object, values, out, self.unusual)])
        c.go_unless(c.compare("eq", c.word(self.unusual, 0), "0"), "general")
        c.give(answer)

    def _read_positional(self) -> None:
        c = self.code
        c.go_unless(c.compare("sle", self.n, c.word(self.table, Question.POSITIONAL)), "general")
        with c.count(self.count) as i:
            x = c.variable("ptr", c.word(self._parameter(i), Parameter.DEFAULT, "ptr"))
            with c.when(c.compare("slt", i, self.n)):
                x.set(c.word("%args", c.sum(i, 1), "ptr"))
            c.set_word(self.values, i, x.get(), "ptr")

    def _read_keywords(self) -> None:
        c = self.code
        n = c.variable("i64", "0")
        with c.when(c.compare("ne", "%names", "null", "ptr")):
            n.set(c.member("%names", Header.LENGTH, "i64"))
        with c.count(n.get(), again="keyword.read") as k:
            name = c.word("%names", c.sum(k, Header.ITEMS // 8), "ptr")
            with c.count(self.count, again="next.name") as i:
                c.go_unless(c.same(c.word(self._parameter(i), Parameter.NAME, "ptr"), name), "next.name")
                c.go_unless(c.compare("sge", i, self.n), "general")
                c.set_word(self.values, i, c.word("%args", c.sum(c.sum(self.n, 1), k), "ptr"), "ptr")
                c.go("keyword.read")
            c.go("general")

    def _read_keys(self) -> None:
        """What each parameter has to be in the entry that is looked for."""
        c, none = self.code, api(self.code, "None")
        self.out = c.variable("ptr", "null")
        with c.count(self.count) as i:
            x, role = c.word(self.values, i, "ptr"), c.word(self._parameter(i), Parameter.ROLE)
            c.go_unless(c.compare("ne", x, "null", "ptr"), "general")
            key, is_none = c.variable("ptr", x), c.same(x, none)
            is_out = c.compare("eq", role, str(int(Role.OUT)))
            with c.when(is_out):
                self.out.set(c.choice(is_none, "null", x, "ptr"))
            with c.when(c.compare("ne", role, str(int(Role.OPTION)))):
                nothing, array = (f"inttoptr (i64 {int(word)} to ptr)" for word in (Given.NOTHING, Given.ARRAY))
                word = c.choice(c.either(is_none, is_out), nothing, array, "ptr")
                kind = type_of(c, x)
                text = c.both(c.compare("eq", role, str(int(Role.WORD_OR_ARRAY))), c.same(kind, api(c, "str")))
                mapping = c.both(c.compare("eq", role, str(int(Role.MAPPING_OR_ARRAY))), c.same(kind, api(c, "dict")))
                key.set(c.choice(c.either(text, mapping), x, word, "ptr"))
            c.set_word(self.keys, i, key.get(), "ptr")

    def _search(self) -> None:
        c = self.code
        size = c.sum(self.count, 1)
        with c.count(c.word(self.book, Book.ENTRIES), again="next.entry") as e:
            entry = c.at(self.book, c.sum(c.product(e, size), Book.SIZE))
            with c.count(self.count, again="next.key") as i:
                known, key = c.word(entry, c.sum(i, 1), "ptr"), c.word(self.keys, i, "ptr")
                c.go_unless(c.negated(c.same(known, key)), "next.key")
                for x in (known, key):
                    number = c.new(f"ptrtoint ptr {x} to i64")
                    c.go_unless(c.compare("ugt", number, str(int(Given.ARRAY))), "next.entry")
                equal = c.call("@same", f"ptr {known}", f"ptr {key}", gives="i64")
                c.go_unless(c.compare("ne", equal, "0"), "next.entry")
            self._run(c.word(entry, 0, "ptr"), self.values, self.out.get())
