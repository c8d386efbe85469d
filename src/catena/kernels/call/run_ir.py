"""The IR that makes results of arrays, as a procedure says (:class:`catena.kernels.call.words.Procedure`).

``run(procedure, self, values, out, declined)`` computes in machine code what it can: arguments that are arrays, lists
or tuples of numbers, with no leading dimensions or all with the same, of which those are copied that are not plain
contiguous arrays of the kernel's type, or that ``out`` lies over; mappings of wrenches; results that are new, or plain
arrays given as ``out`` which do not overlap each other. It sets ``declined`` and computes nothing if that is not the
case. The GIL is held throughout, unless many samples go to the Python function ``large(job, samples, *arrays)``, where
``job`` is the address of a job (:mod:`catena.kernels.call.share_ir`) with rows, strides and results filled in, and
``arrays`` own the memory.

All arguments are converted, which may run Python, before anything is relied on that Python could change. Wrenches,
which are summed up in memory that belongs to the procedure, come last; only one sample of them is taken, for all
samples of a small batch.
"""

from __future__ import annotations

from catena.arguments.arrays import MOST_LEADING
from catena.kernels.call.api import api, type_of
from catena.kernels.call.code import Code, Variable
from catena.kernels.call.header import COPIED, PLAIN, WRITEABLE, Header
from catena.kernels.call.share_ir import JOB_WORDS, RESULTS, ROWS, STRIDES
from catena.kernels.call.words import MAPPED, MAX_ARRAYS, MAX_DIMENSIONS, OWN, OWNED, PORT_WORDS, Port, Procedure


def run_ir() -> str:
    """The whole function."""
    return str(_Run().code)


class _Run:
    """``run``, written step by step."""

    def __init__(self) -> None:
        c = self.code = Code("ptr @run(ptr %procedure, ptr %self, ptr %values, ptr %out, ptr %declined)")
        self.job = c.room("i64", JOB_WORDS)
        self.rows, self.strides, self.results = (c.at(self.job, i) for i in (ROWS, STRIDES, RESULTS))
        self.passed = c.room("ptr", 2 + 2 * MAX_ARRAYS)
        self.held, self.n_held = c.room("ptr", 2 * MAX_ARRAYS), c.variable("i64", "0")
        self.n_results, self.answer = c.variable("i64", "0"), c.variable("ptr", "null")
        self.arrays = c.at(self.passed, 2)
        self.n_inputs, self.n_outputs = c.word("%procedure", Procedure.INPUTS), c.word("%procedure", Procedure.OUTPUTS)
        self.dtype = c.word("%procedure", Procedure.DTYPE, "ptr")
        self.inputs = c.at("%procedure", Procedure.SIZE)
        self.outputs = c.at(self.inputs, c.product(self.n_inputs, PORT_WORDS))
        self.made = c.at(self.arrays, self.n_inputs)
        self.samples, self.leading = c.variable("i64", "-1"), c.variable("i64", "0")
        self.dimensions = c.room("i64", MOST_LEADING + MAX_DIMENSIONS)
        self._take_plain()
        c.label("from.anywhere")
        self.samples.set("-1")
        self.leading.set("0")
        self._collect()
        self._look_at_inputs()
        c.label("inputs.known")
        self._count_samples()
        self._answer_one_sample()
        self._look_at_outputs()
        self._make_results()
        self._compute()
        self._return()

    def _port(self, ports: str, i: str) -> str:
        return self.code.at(ports, self.code.product(i, PORT_WORDS))

    def _hold(self, x: str) -> None:
        """Give an object back at the end."""
        n = self.n_held.get()
        self.code.set_word(self.held, n, x, "ptr")
        self.n_held.set(self.code.sum(n, 1))

    def _take_plain(self) -> None:
        """Look at the inputs where all are plain arrays that were given: no Python runs meanwhile."""
        c = self.code
        with c.count(self.n_inputs) as i:
            port = self._port(self.inputs, i)
            source = c.word(port, Port.SOURCE)
            c.go_unless(c.compare("slt", source, str(OWN)), "from.anywhere")
            x = c.word("%values", source, "ptr")
            c.go_unless(c.same(type_of(c, x), api(c, "PyArray_Type")), "from.anywhere")
            c.go_unless(self._is_plain(x), "from.anywhere")
            c.set_word(self.arrays, i, x, "ptr")
            self._look_at(x, port, i)
        c.go("inputs.known")

    def _collect(self) -> None:
        """All inputs as plain arrays, wherever they come from."""
        c = self.code
        with c.count(self.n_inputs, again="collected") as i:
            source = c.word(self._port(self.inputs, i), Port.SOURCE)
            c.set_word(self.arrays, i, "null", "ptr")
            with c.when(c.compare("sge", source, str(MAPPED))):
                mapping = c.word("%values", c.difference(source, MAPPED), "ptr")
                summed = c.call("@wrenches", "ptr %procedure", f"ptr {mapping}")
                c.go_unless(c.compare("ne", summed, "null", "ptr"), "unusual")
                c.set_word(self.rows, i, summed, "ptr")
                c.go("collected")
            x = c.variable("ptr", "null")
            with c.when(c.compare("slt", source, str(OWN))):
                x.set(c.word("%values", source, "ptr"))
            with c.when(c.compare("sge", source, str(OWN))):
                x.set(self._own(c.difference(source, OWN)))
            given = x.get()
            plain = c.variable("i1", "false")
            with c.when(c.same(type_of(c, given), api(c, "PyArray_Type"))):
                plain.set(self._is_plain(given))
            with c.when(c.negated(plain.get())):
                copied = c.call("@plain", f"ptr {given}", f"ptr {self.dtype}")
                c.go_unless(c.compare("ne", copied, "null", "ptr"), "unusual")
                self._hold(copied)
                x.set(copied)
            c.set_word(self.arrays, i, x.get(), "ptr")

    def _is_plain(self, array: str, wanted: int = PLAIN) -> str:
        """Whether an array has the kernel's type and these flags."""
        c = self.code
        flags = c.new(f"and i32 {c.member(array, Header.FLAGS, 'i32')}, {wanted}")
        return c.both(c.same(c.member(array, Header.DTYPE), self.dtype), c.compare("eq", flags, str(wanted), "i32"))

    def _own(self, i: str) -> str:
        """An array of self's own; one that is missing is made."""
        c, none = self.code, api(self.code, "None")
        place = c.sum(i, Header.ITEMS // 8)
        found = c.variable("ptr", c.word(c.member("%self", OWNED), place, "ptr"))
        with c.when(c.same(found.get(), none)):
            maker = c.word("%procedure", Procedure.MAKER, "ptr")
            c.go_unless(c.compare("ne", maker, "null", "ptr"), "unusual")
            arguments = c.room("ptr")
            c.set_word(arguments, 0, "%self", "ptr")
            done = c.call(api(c, "PyObject_Vectorcall"), f"ptr {maker}", f"ptr {arguments}", "i64 1", "ptr null")
            c.go_unless(c.compare("ne", done, "null", "ptr"), "release")
            c.call(api(c, "Py_DecRef"), f"ptr {done}", gives="void")
            found.set(c.word(c.member("%self", OWNED), place, "ptr"))
            c.go_unless(c.negated(c.same(found.get(), none)), "unusual")
        x = found.get()
        c.call(api(c, "Py_IncRef"), f"ptr {x}", gives="void")
        self._hold(x)
        return x

    def _look_at_inputs(self) -> None:
        """Shapes, leading dimensions, the number of samples (-1: there are no such dimensions), rows and strides."""
        c = self.code
        with c.count(self.n_inputs, again="looked.at") as i:
            port, x = self._port(self.inputs, i), c.word(self.arrays, i, "ptr")
            with c.when(c.same(x, "null")):
                c.set_word(self.strides, i, "0")
                c.go("looked.at")
            c.go_unless(self._is_plain(x), "unusual")  # it was, but Python may have run since
            self._look_at(x, port, i)

    def _look_at(self, x: str, port: str, i: str) -> None:
        """The shape of input i, a plain array, and its row and stride."""
        c = self.code
        rank, shape = c.word(port, Port.RANK), c.member(x, Header.SHAPE)
        leading, stride = c.difference(self._rank(x), rank), c.variable("i64", "0")
        c.go_unless(c.compare("ule", leading, str(MOST_LEADING)), "unusual")
        self._same_dimensions(c.at(shape, leading), c.at(port, Port.DIMENSIONS), rank)
        with c.when(c.compare("ne", leading, "0")):
            with c.when(c.compare("eq", self.samples.get(), "-1")):
                self.leading.set(leading)
                self.samples.set("1")
                with c.count(leading) as k:
                    c.set_word(self.dimensions, k, c.word(shape, k))
                    self.samples.set(c.product(self.samples.get(), c.word(shape, k)))
            c.go_unless(c.compare("eq", leading, self.leading.get()), "unusual")
            self._same_dimensions(shape, self.dimensions, leading)
            stride.set(c.word(port, Port.WIDTH))
        c.set_word(self.strides, i, stride.get())
        c.set_word(self.rows, i, c.member(x, Header.DATA), "ptr")
        with c.when(c.compare("ne", c.word(port, Port.POSITIVE), "0")):
            entries = c.choice(c.compare("eq", leading, "0"), "1", self.samples.get())
            self._all_positive(x, c.product(c.word(port, Port.WIDTH), entries))

    def _count_samples(self) -> None:
        c = self.code
        c.go_unless(c.compare("ne", self.samples.get(), "0"), "unusual")
        self.one = c.compare("eq", self.samples.get(), "-1")
        unmapped = c.same(c.word("%procedure", Procedure.WRENCHES, "ptr"), "null")
        self.count = c.choice(self.one, "1", self.samples.get())
        at_once = c.compare("sle", self.count, c.word("%procedure", Procedure.FEW))
        self.few = c.compare("slt", self.count, c.word("%procedure", Procedure.POOLED))
        undisturbed = c.either(self.one, c.both(at_once, self.few))  # no Python runs until they are used
        c.go_unless(c.either(undisturbed, unmapped), "unusual")

    def _all_positive(self, array: str, count: str) -> None:
        """Numbers that are finite and above zero: then their bits are, as integers, between those of 0 and infinity."""
        c, data = self.code, self.code.member(array, Header.DATA)
        double = c.same(self.dtype, api(c, "dtype64"))
        with c.count(count) as i:
            for of_type, word, infinity in ((double, "i64", 0x7FF << 52), (c.negated(double), "i32", 0xFF << 23)):
                with c.when(of_type):
                    bits = c.new(f"load {word}, ptr {c.at(data, i, word)}")
                    above = c.compare("sgt", bits, "0", word)
                    c.go_unless(c.both(above, c.compare("slt", bits, str(infinity), word)), "unusual")

    def _rank(self, array: str) -> str:
        return self.code.new(f"sext i32 {self.code.member(array, Header.RANK, 'i32')} to i64")

    def _same_dimensions(self, x: str, y: str, count: str) -> None:
        c = self.code
        with c.count(count) as k:
            c.go_unless(c.compare("eq", c.word(x, k), c.word(y, k)), "unusual")

    def _answer_one_sample(self) -> None:
        """One new result of one sample needs nothing of what follows."""
        c = self.code
        alone = c.both(c.same("%out", "null"), c.compare("eq", self.n_outputs, "1"))
        with c.when(c.both(alone, self.one)):
            made = self._new_array(self.outputs)
            c.go_unless(c.compare("ne", made, "null", "ptr"), "release")
            c.set_word(self.made, 0, made, "ptr")
            c.set_word(self.results, 0, c.member(made, Header.DATA), "ptr")
            self.n_results.set("1")
            self._compute_one()
            self._watch()
            self.answer.set(made)
            with c.when(c.compare("eq", c.word(self.outputs, Port.RANK), "0")):
                self.answer.set(c.call(api(c, "PyArray_Return"), f"ptr {made}"))
            c.go("release")

    def _look_at_outputs(self) -> None:
        """Arrays given for results; null where a new one is wanted."""
        c = self.code
        self.given = c.room("ptr", MAX_ARRAYS)
        is_given = c.compare("ne", "%out", "null", "ptr")
        several = c.compare("ne", self.n_outputs, "1")
        with c.when(c.both(is_given, several)):
            kinds = api(c, "tuple"), c.word("%procedure", Procedure.WRAPPER, "ptr")  # plain, or results of another call
            c.go_unless(c.either(*(c.same(type_of(c, "%out"), kind) for kind in kinds)), "unusual")
            c.go_unless(c.compare("eq", c.member("%out", Header.LENGTH, "i64"), self.n_outputs), "unusual")
        with c.count(self.n_outputs, again="output.looked.at") as j:
            c.set_word(self.given, j, "null", "ptr")
            c.go_unless(is_given, "output.looked.at")
            x = c.variable("ptr", "%out")
            with c.when(several):
                x.set(c.word("%out", c.sum(j, Header.ITEMS // 8), "ptr"))
                c.go_unless(c.negated(c.same(x.get(), api(c, "None"))), "output.looked.at")
            self._check_given(x.get(), j)
            c.set_word(self.given, j, x.get(), "ptr")

    def _check_given(self, x: str, j: str) -> None:
        """A plain array that can be written to, of the right shape, that overlaps no result before it.

        Inputs that it overlaps are copied.
        """
        c, port = self.code, self._port(self.outputs, j)
        c.go_unless(c.same(type_of(c, x), api(c, "PyArray_Type")), "unusual")
        c.go_unless(self._is_plain(x, PLAIN | WRITEABLE), "unusual")
        rank = self._all_dimensions(port)
        c.go_unless(c.compare("eq", self._rank(x), rank), "unusual")
        self._same_dimensions(c.member(x, Header.SHAPE), self.dimensions, rank)
        start = c.member(x, Header.DATA, "i64")
        end = c.sum(start, self._bytes(port))
        with c.count(self.n_inputs, again="apart.input") as i:
            array = c.word(self.arrays, i, "ptr")
            c.go_unless(c.compare("ne", array, "null", "ptr"), "apart.input")
            batched = c.compare("ne", c.word(self.strides, i), "0")
            apart = self._apart(start, end, array, self._port(self.inputs, i), c.choice(batched, self.count, "1"))
            c.go_unless(c.negated(apart), "apart.input")
            c.call(api(c, "Py_IncRef"), f"ptr {self.dtype}", gives="void")
            how = f"ptr {self.dtype}", "i32 0", "i32 0", f"i32 {PLAIN | COPIED}", "ptr null"
            copied = c.call(api(c, "PyArray_FromAny"), f"ptr {array}", *how)
            c.go_unless(c.compare("ne", copied, "null", "ptr"), "release")
            self._hold(copied)
            c.set_word(self.arrays, i, copied, "ptr")
            c.set_word(self.rows, i, c.member(copied, Header.DATA), "ptr")
        with c.count(j, again="apart.result") as k:
            array = c.word(self.given, k, "ptr")
            c.go_unless(c.compare("ne", array, "null", "ptr"), "apart.result")
            c.go_unless(self._apart(start, end, array, self._port(self.outputs, k), self.count), "unusual")

    def _all_dimensions(self, port: str) -> str:
        """Write those of one sample of a result behind the leading ones; how many there are in all."""
        c, leading, rank = self.code, self.leading.get(), self.code.word(port, Port.RANK)
        with c.count(rank) as k:
            c.set_word(self.dimensions, c.sum(leading, k), c.word(c.at(port, Port.DIMENSIONS), k))
        return c.sum(leading, rank)

    def _bytes(self, port: str, count: str | None = None) -> str:
        c = self.code
        elements = c.product(c.word(port, Port.WIDTH), count or self.count)
        return c.product(elements, c.word("%procedure", Procedure.ITEM_BYTES))

    def _apart(self, start: str, end: str, array: str, port: str, count: str) -> str:
        c = self.code
        other = c.member(array, Header.DATA, "i64")
        before = c.compare("ule", end, other)
        behind = c.compare("ule", c.sum(other, self._bytes(port, count)), start)
        return c.either(before, behind)

    def _make_results(self) -> None:
        c = self.code
        with c.count(self.n_outputs) as j:
            port, x = self._port(self.outputs, j), c.variable("ptr", c.word(self.given, j, "ptr"))
            is_new = c.same(x.get(), "null")
            with c.when(c.negated(is_new)):
                c.call(api(c, "Py_IncRef"), f"ptr {x.get()}", gives="void")
            with c.when(c.both(is_new, self.few)):
                x.set(self._new_array(port))
            with c.when(c.both(is_new, c.negated(self.few))):
                c.go_unless(c.compare("eq", self.leading.get(), "1"), "too.large")
                x.set(self._python("FRESH", j, self.samples.get()))
            c.go_unless(c.compare("ne", x.get(), "null", "ptr"), "failed")
            c.set_word(self.made, j, x.get(), "ptr")
            c.set_word(self.results, j, c.member(x.get(), Header.DATA), "ptr")
            self.n_results.set(c.sum(j, 1))

    def _new_array(self, port: str) -> str:
        c = self.code
        c.call(api(c, "Py_IncRef"), f"ptr {self.dtype}", gives="void")
        rank = c.new(f"trunc i64 {self._all_dimensions(port)} to i32")
        what = f"ptr {api(c, 'PyArray_Type')}", f"ptr {self.dtype}", f"i32 {rank}", f"ptr {self.dimensions}"
        return c.call(api(c, "PyArray_NewFromDescr"), *what, "ptr null", "ptr null", "i32 0", "ptr null")

    def _python(self, word: str, x: str, y: str, arrays: str = "0") -> str:
        """Call a Python function of the procedure with two integers, and so many of the arrays after them."""
        c = self.code
        for place, number in enumerate((x, y)):
            address = c.new(f"inttoptr i64 {number} to ptr")
            integer = c.call(api(c, "PyLong_FromVoidPtr"), f"ptr {address}")
            c.set_word(self.passed, place, integer, "ptr")
        function, count = c.word("%procedure", Procedure[word], "ptr"), c.sum(arrays, 2)
        made = c.variable("ptr", "null")
        first, second = (c.word(self.passed, place, "ptr") for place in (0, 1))
        numbers = c.both(c.compare("ne", first, "null", "ptr"), c.compare("ne", second, "null", "ptr"))
        with c.when(numbers):
            passed = f"ptr {function}", f"ptr {self.passed}", f"i64 {count}", "ptr null"
            made.set(c.call(api(c, "PyObject_Vectorcall"), *passed))
        for number in (first, second):
            c.call(api(c, "Py_DecRef"), f"ptr {number}", gives="void")
        return made.get()

    def _compute(self) -> None:
        c = self.code
        with c.when(self.one):
            self._compute_one()
            c.go("computed")
        samples = self.samples.get()
        with c.when(c.compare("sle", samples, c.word("%procedure", Procedure.FEW))):
            batch, context, scratch = self._kernel("BATCH")
            arguments = [f"ptr {x}" for x in (context, self.rows, self.strides, self.results, scratch)]
            c.call(batch, *arguments, "i64 0", f"i64 {samples}", gives="void")
            c.go("computed")
        job = c.new(f"ptrtoint ptr {self.job} to i64")
        done = self._python("LARGE", job, samples, c.sum(self.n_inputs, self.n_outputs))
        c.go_unless(c.compare("ne", done, "null", "ptr"), "failed")
        c.call(api(c, "Py_DecRef"), f"ptr {done}", gives="void")
        c.label("computed")
        self._watch()

    def _watch(self) -> None:
        """Have Python look at a call in which numbers became infinite or NaN, if the procedure says so."""
        c = self.code
        watched = c.compare("ne", c.word("%procedure", Procedure.WATCH, "ptr"), "null", "ptr")
        with c.when(watched), c.when(c.call("@raised", gives="i1")):
            with c.count(self.n_inputs) as i:
                x = c.word(self.arrays, i, "ptr")
                c.set_word(self.arrays, i, c.choice(c.same(x, "null"), api(c, "None"), x, "ptr"), "ptr")
            done = self._python("WATCH", self.leading.get(), self.count, c.sum(self.n_inputs, self.n_outputs))
            c.go_unless(c.compare("ne", done, "null", "ptr"), "failed")
            c.call(api(c, "Py_DecRef"), f"ptr {done}", gives="void")

    def _compute_one(self) -> None:
        single, context, scratch = self._kernel("SINGLE")
        arguments = [f"ptr {x}" for x in (context, self.rows, self.results, scratch)]
        self.code.call(single, *arguments, gives="void")

    def _kernel(self, entry: str) -> list[str]:
        """An entry of the kernel, its context and its scratch."""
        words = Procedure[entry], Procedure.CONTEXT, Procedure.SCRATCH
        return [self.code.word("%procedure", word, "ptr") for word in words]

    def _return(self) -> None:
        """Numbers instead of new arrays without dimensions; several results in one tuple of the right kind."""
        c = self.code
        with c.count(self.n_outputs) as j:
            port, x = self._port(self.outputs, j), c.word(self.made, j, "ptr")
            number = c.both(self.one, c.compare("eq", c.word(port, Port.RANK), "0"))
            with c.when(c.both(number, c.same(c.word(self.given, j, "ptr"), "null"))):
                c.set_word(self.made, j, c.call(api(c, "PyArray_Return"), f"ptr {x}"), "ptr")
                c.go_unless(c.compare("ne", c.word(self.made, j, "ptr"), "null", "ptr"), "failed")
        with c.when(c.compare("eq", self.n_outputs, "1")):
            self.answer.set(c.word(self.made, 0, "ptr"))
            c.go("release")
        wrapper = c.word("%procedure", Procedure.WRAPPER, "ptr")
        together = c.call(api(c, "PyType_GenericAlloc"), f"ptr {wrapper}", f"i64 {self.n_outputs}")
        c.go_unless(c.compare("ne", together, "null", "ptr"), "failed")
        for place in range(Header.LENGTH + 8, Header.ITEMS, 8):  # a hash that nobody has asked for yet
            c.set_word(together, place // 8, "-1")
        with c.count(self.n_outputs) as j:
            c.set_word(together, c.sum(j, Header.ITEMS // 8), c.word(self.made, j, "ptr"), "ptr")
        self.answer.set(together)
        c.go("release")
        self._leave(self.answer)

    def _leave(self, answer: Variable) -> None:
        c = self.code
        c.label("too.large")
        c.put("store i64 1, ptr %declined")
        c.label("failed")
        with c.count(self.n_results.get()) as j:
            c.call(api(c, "Py_DecRef"), f"ptr {c.word(self.made, j, 'ptr')}", gives="void")
        c.go("release")
        c.label("unusual")
        c.put("store i64 1, ptr %declined")
        c.label("release")
        with c.count(self.n_held.get()) as i:
            c.call(api(c, "Py_DecRef"), f"ptr {c.word(self.held, i, 'ptr')}", gives="void")
        c.give(answer.get())
