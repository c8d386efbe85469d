"""The emitted call: the same answers and errors as the general path, and every reference accounted for."""

from __future__ import annotations

import ctypes
import gc
import inspect
import pickle
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from tests.kernels.call.test_call import LAYOUTS, N, normal
from tests.kernels.handmade import Machine, Results, Scale, multiply_add_ir, square_ir

from catena.arguments.arrays import Port
from catena.errors import ShapeError
from catena.functions.question import Declared
from catena.kernels.call import emitted, layout
from catena.kernels.call.api import API
from catena.kernels.call.books import MOST
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.threads import set_threads
from catena.kernels.machine.compile import load, object_code

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


def ports(n: int = N):
    return [Port("a", (1,)), Port("x", (n,)), Port("b", (n,))], [Port("y", (n,)), Port("total", ())]


@pytest.fixture(params=[np.float64, np.float32])
def kernel(multiply_add, request):
    made = multiply_add(dtype=request.param)
    return Kernel("multiply_add", made.module, *ports(), dtype=request.param)


@pytest.fixture
def machine(kernel):
    """An object whose question has been asked once, so that the emitted call knows it."""
    made = Machine(kernel)
    made.multiply_add(*arguments(kernel.dtype, (), (), ()))
    return made


@pytest.fixture
def asked(monkeypatch):
    """The calls that reach Python."""
    seen, answer = [], Declared.answer
    monkeypatch.setattr(Declared, "answer", lambda self, *args: (seen.append(self.name), answer(self, *args))[1])
    return seen


def arguments(dtype, *leading):
    return [normal(*lead, n).astype(dtype) for lead, n in zip(leading, (1, N, N), strict=True)]


def assert_same(results, expected):
    assert isinstance(results, Results)
    for r, e in zip(results, expected, strict=True):
        assert type(r) is type(e)
        assert r.dtype == e.dtype
        assert r.shape == e.shape
        np.testing.assert_array_equal(r, e)


@pytest.mark.parametrize(
    "leading",
    [((), (), ()), ((7,), (7,), (7,)), ((), (7,), ()), ((7,), (), ()), ((1,), (1,), ()), ((500,), (500,), (500,))],
)
def test_served_at_once(kernel, machine, asked, leading):
    given = arguments(kernel.dtype, *leading)
    assert_same(machine.multiply_add(*given), kernel(*given))
    assert not asked


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_large_batches(multiply_add, asked, threads):
    kernel = Kernel("multiply_add", multiply_add(operations=10**5).module, *ports())
    machine = Machine(kernel)
    machine.multiply_add(*arguments(np.float64, (), (), ()))
    set_threads(threads)
    given = arguments(np.float64, (1001,), (1001,), ())
    assert_same(machine.multiply_add(*given), kernel(*given))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "leading",
    [((0,), (0,), ()), ((3, 4), (3, 4), ()), ((1,), (7,), (7,)), ((3, 1), (4,), ())],
)
def test_other_shapes_go_to_python(kernel, machine, asked, leading):
    given = arguments(kernel.dtype, *leading)
    assert_same(machine.multiply_add(*given), kernel(*given))
    assert len(asked) == 1


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout(machine, kernel, name):
    a, x, b = LAYOUTS[name]
    given = np.asarray(a)[..., None], x, b
    with np.errstate(over="ignore"):
        assert_same(machine.multiply_add(*given), kernel(*given))


class Derived(np.ndarray):
    """Not a plain array."""


COPIED = {
    "list": lambda x: x.tolist(),
    "tuple": tuple,
    "list of float64": lambda x: list(x.astype(np.float64)),
    "integers": lambda x: [3] * len(x),
    "mixed": lambda x: [1, *x[1:].tolist()],
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "half": lambda x: x.astype(np.float16),
    "int64": lambda x: x.astype(np.int64),
    "bool": lambda x: x > 0,
    "steps": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:].view(x.dtype),
    "other size": lambda x: x.astype({8: np.float32, 4: np.float64}[x.dtype.itemsize]),
    "long double": lambda x: x.astype(np.longdouble),
    "column": lambda x: np.stack([x, x], axis=-1)[:, 1],
}


@pytest.mark.parametrize("change", COPIED)
@pytest.mark.parametrize("place", [1, 2])
def test_other_arrays_are_copied(kernel, machine, asked, change, place):
    given = arguments(kernel.dtype, (), (), ())
    given[place] = COPIED[change](given[place])
    assert_same(machine.multiply_add(*given), kernel(*given))
    assert not asked


@pytest.mark.parametrize("rows", [1, 3, 70_000])
def test_batches_of_other_arrays_are_copied(kernel, machine, rows):
    a, _, b = arguments(kernel.dtype, (), (), ())
    wide = normal(rows, 2 * N).astype(kernel.dtype)[:, ::2]
    assert_same(machine.multiply_add(a, wide, b), kernel(a, np.ascontiguousarray(wide), b))


def outcome(function, *given):
    """The results as text, or the message of the error."""
    try:
        return repr(function(*given))
    except ShapeError as error:
        return str(error)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.view(Derived),
        lambda x: [str(y) for y in x],
        lambda x: [10**400] * len(x),
        lambda x: x + 0j,
        lambda x: x.astype(object),
        lambda x: np.float64(2.0),
        lambda x: None,
        lambda x: "x",
        lambda x: np.ones(N - 1),
        lambda x: np.ones((N, 1)),
        lambda x: np.ones((2, 2, N)),
    ],
)
def test_what_python_has_to_look_at(kernel, machine, asked, change):
    a, x, b = arguments(kernel.dtype, (), (), ())
    wrong = change(x)
    assert outcome(machine.multiply_add, a, wrong, b) == outcome(lambda *given: Results(*kernel(*given)), a, wrong, b)
    assert len(asked) == 1


def test_numbers_too_large_for_the_type_are_warned_of(multiply_add):
    kernel = Kernel("multiply_add", multiply_add(dtype=np.float32).module, *ports(), dtype=np.float32)
    machine = Machine(kernel)
    given = arguments(np.float32, (), (), ())
    machine.multiply_add(*given)
    for large in (np.full(N, 1e300), [1e300] * N):
        with pytest.warns(RuntimeWarning, match="overflow"):
            machine.multiply_add(given[0], large, given[2])
    infinite = machine.multiply_add(given[0], np.full(N, np.inf), given[2])
    assert np.isinf(infinite.y).all()


def test_read_only_arrays_are_served(kernel, machine, asked):
    given = arguments(kernel.dtype, (), (), ())
    for array in given:
        array.flags.writeable = False
    assert_same(machine.multiply_add(*given), kernel(*given))
    assert not asked


def test_keywords(kernel, machine, asked):
    a, x, b = given = arguments(kernel.dtype, (), (), ())
    expected = kernel(*given)
    ask = machine.multiply_add
    for results in (ask(a, x, b=b), ask(b=b, a=a, x=x), ask(a, b=b, x=x), ask(a, x, b, "plainly", links=None)):
        assert_same(results, expected)
    assert not asked
    assert_same(ask(**{"a": a, "x": x, "".join(["", "b"]): b}), expected)


def test_wrong_calls_are_errors_of_python(machine, kernel):
    a, x, b = arguments(kernel.dtype, (), (), ())
    ask = machine.multiply_add
    for call, message in (
        (lambda: ask(), "missing 3 required"),
        (lambda: ask(a, x), "missing 1 required"),
        (lambda: ask(a, x, b, "how", 1), "positional arguments"),
        (lambda: ask(a, x, b, nonsense=1), "unexpected keyword"),
        (lambda: ask(a, x, b, a=a), "multiple values"),
        (lambda: Machine.multiply_add(), "missing"),
        (lambda: Machine.multiply_add(5, a, x, b), "asked of"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def equal_but_not_the_same(word):
    return "".join([word[:1], word[1:]])


OPTIONS = {
    "word": ("straight", equal_but_not_the_same("straight")),
    "number": (10**6, int("1000000")),
    "list": (["a", "b"], [equal_but_not_the_same("a"), "b"]),
    "tuple": (("a", 2), (equal_but_not_the_same("a"), 2)),
    "type": (np.float32, np.float32),
    "nothing": (None, None),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_are_known_again(kernel, machine, asked, option):
    given = arguments(kernel.dtype, (), (), ())
    first, again = OPTIONS[option]
    machine.multiply_add(*given, first)
    before = len(asked)
    for value in (first, again):
        assert_same(machine.multiply_add(*given, value), kernel(*given))
        assert_same(machine.multiply_add(*given, how=value), kernel(*given))
    assert len(asked) == before
    assert machine.chosen[-1]["how"] == first


def test_options_that_differ_are_told_apart(kernel, machine):
    given = arguments(kernel.dtype, (), (), ())
    values = [0, False, 0.0, "0", "", (), [], ["0"], ("0",), None, 1, True, "a", "ab", ["a"], ["a", "b"]]
    for value in values:
        machine.multiply_add(*given, value)
    assert [(type(c["how"]), c["how"]) for c in machine.chosen[1:]] == [(type(v), v) for v in values]


def test_a_list_that_changes_afterwards(kernel, machine):
    given, names = arguments(kernel.dtype, (), (), ()), ["a"]
    machine.multiply_add(*given, names)
    names.append("b")
    machine.multiply_add(*given, names)
    assert [c["how"] for c in machine.chosen[1:]] == [["a"], ["a", "b"]]


def test_options_that_cannot_be_compared(kernel, machine):
    given = arguments(kernel.dtype, (), (), ())
    odd = [np.ones(3)]
    for _ in range(2):
        assert_same(machine.multiply_add(*given, odd), kernel(*given))
    machine.multiply_add(*given, [1])
    assert_same(machine.multiply_add(*given, [np.ones(2)]), kernel(*given))


def test_more_options_than_a_book_holds(kernel, machine):
    given = arguments(kernel.dtype, (), (), ())
    for i in range(MOST + 20):
        assert_same(machine.multiply_add(*given, f"name {i}"), kernel(*given))
    for i in (0, 5, MOST - 1, MOST + 10):
        assert_same(machine.multiply_add(*given, f"name {i}"), kernel(*given))


def test_scalar_results(asked):
    kernel = Kernel("square", load(object_code(square_ir())), [Port("x", ())], [Port("y", ())])
    machine = Machine(kernel)
    machine.square(np.array(3.0), "s")
    assert type(machine.square(np.array(3.0), "s")) is type(kernel(3.0)) is np.float64
    assert machine.square(np.array(3.0), "s") == 9.0
    np.testing.assert_array_equal(machine.square(np.arange(4.0), "s"), [0.0, 1.0, 4.0, 9.0])
    assert len(asked) == 1


def test_results_are_new_arrays_that_own_their_memory(machine, kernel):
    given = arguments(kernel.dtype, (), (), ())
    first, second = machine.multiply_add(*given)[0], machine.multiply_add(*given)[0]
    assert first.base is None
    assert first.flags.owndata
    assert first.flags.writeable
    assert first is not second
    first[:] = 0
    np.testing.assert_array_equal(second, kernel(*given)[0])


def test_arrays_of_its_own(multiply_add, asked):
    kernel = Kernel("multiply_add", multiply_add().module, *ports())
    x = normal(N)
    expected = kernel(np.full(1, 3.0), x, np.full(N, 2.0))
    scale = Scale(kernel, None, None)
    for _ in range(3):
        assert_same(scale.scale(x), expected)
    other = Scale(kernel, None, None)
    other._compiled = scale._compiled  # as the mass matrices of one robot share what is compiled
    for _ in range(2):
        assert_same(other.scale(x), expected)
    assert (scale.made, other.made, len(asked)) == (1, 1, 1)


def test_an_error_while_making_arrays(multiply_add):
    kernel = Kernel("multiply_add", multiply_add().module, *ports())
    Scale(kernel, None, None).scale(np.ones(N))

    class Broken(Scale):
        def _make_own(self):
            raise ZeroDivisionError

    broken = Broken(kernel, None, None)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            broken.scale(np.ones(N))


@pytest.mark.parametrize("leading", [((), (), ()), ((3,), (3,), ()), ((0,), (0,), ())])
@pytest.mark.parametrize("listed", [False, True])
def test_references_balance(machine, kernel, leading, listed):
    given = arguments(kernel.dtype, *leading)
    given = [x.tolist() if x.size and listed else x for x in given]
    watched = [*given, kernel.dtype, machine, Machine.multiply_add, None, np.ndarray, Results, "plainly"]
    bound = machine.multiply_add
    bound(*given)
    before = [sys.getrefcount(w) for w in watched]
    for _ in range(1000):
        bound(*given)
    after = [sys.getrefcount(w) for w in watched]
    assert np.abs(np.array(after) - before).max() < 100


def test_failures_balance_too(multiply_add):
    inputs, outputs = ports()
    huge = Kernel("huge", multiply_add().module, inputs, [*outputs, Port("impossible", (2**50,))])
    machine, given = Machine(huge), arguments(np.float64, (), (), ())
    with pytest.raises(MemoryError):
        machine.multiply_add(*given)
    count = sys.getrefcount(huge.dtype)
    for _ in range(1000):
        with pytest.raises(MemoryError):
            machine.multiply_add(*given)
    assert abs(sys.getrefcount(huge.dtype) - count) < 100


def test_an_error_in_a_large_batch(multiply_add, monkeypatch):
    kernel = Kernel("multiply_add", multiply_add(operations=10**6).module, *ports())
    machine = Machine(kernel)
    machine.multiply_add(*arguments(np.float64, (), (), ()))
    given = arguments(np.float64, (100,), (100,), ())
    before = [sys.getrefcount(g) for g in given]
    monkeypatch.setattr("catena.kernels.call.job.borrow", lambda size: 1 / 0)
    for _ in range(50):
        with pytest.raises(ZeroDivisionError):
            machine.multiply_add(*given)
    deadline = time.monotonic() + 30
    while [sys.getrefcount(g) for g in given] != before:  # helpers that wake late still hold closed jobs
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_it_looks_like_the_function_it_is(machine):
    question = Machine.multiply_add
    assert inspect.isroutine(question)
    for made in (question, machine.multiply_add):
        assert made.__name__ == "multiply_add"
        assert made.__doc__ == "Multiply, then add."
        assert made.__qualname__ == "Machine.multiply_add"
        assert made.__module__ == "tests.kernels.handmade"
    assert str(inspect.signature(machine.multiply_add)).startswith("(a: 'npt.ArrayLike', x: 'npt.ArrayLike', b:")
    assert next(iter(inspect.signature(question).parameters)) == "self"
    assert machine.multiply_add == machine.multiply_add
    assert "Machine.multiply_add" in repr(machine.multiply_add)


def test_a_method_bound_before_the_first_call(kernel, asked):
    machine = Machine(kernel)
    early = machine.multiply_add
    given = arguments(kernel.dtype, (), (), ())
    for _ in range(3):
        assert_same(early(*given), kernel(*given))
    assert len(asked) == 1


def test_a_subclass_that_overrides_it_wins(kernel):
    class Other(Machine):
        def multiply_add(self, *args, **kwargs):
            return "mine", super().multiply_add(*args, **kwargs)

    other, given = Other(kernel), arguments(kernel.dtype, (), (), ())
    for _ in range(3):
        word, results = other.multiply_add(*given)
        assert word == "mine"
        assert_same(results, kernel(*given))


def test_objects_are_freed(kernel):
    machine = Machine(kernel)
    machine.multiply_add(*arguments(kernel.dtype, (), (), ()))
    gone, bound = weakref.ref(machine), machine.multiply_add
    del machine
    gc.collect()
    assert gone() is not None
    bound(*arguments(kernel.dtype, (), (), ()))
    del bound
    gc.collect()
    assert gone() is None


def test_the_kernel_lives_as_long_as_the_object(multiply_add):
    machine = Machine(Kernel("short", load(object_code(multiply_add_ir(N))), *ports()))
    given = arguments(np.float64, (), (), ())
    machine.multiply_add(*given)
    gc.collect()
    assert_same(machine.multiply_add(*given), Kernel("short", multiply_add().module, *ports())(*given))


def test_a_changed_header_is_noticed(monkeypatch):
    assert all(map(layout._as_expected, layout._samples()))

    class Shifted(np.ndarray):
        pass

    assert not layout._as_expected(np.zeros(3).view(Shifted))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NUMPY_ABIS", ()),
        ("_familiar_interpreter", lambda: False),
        ("_as_expected", lambda a: False),
        ("_objects_as_expected", lambda: False),
    ],
)
def test_any_doubt_means_that_python_answers(monkeypatch, name, value):
    monkeypatch.setattr(layout, name, value)
    assert layout.python_api.__wrapped__() is None


def test_without_vectorcall(kernel, asked):
    """As in Python 3.10: the emitted code calls Python another way."""
    table = (ctypes.c_void_p * len(API)).from_address(emitted.runtime_module().address("api"))
    place = API.index("PyObject_Vectorcall")
    usual = table[place]
    table[place] = emitted.runtime_module().address("vectorcall")
    try:
        machine, given = Machine(kernel), arguments(kernel.dtype, (), (), ())
        expected = kernel(*given)
        for _ in range(2):
            assert_same(machine.multiply_add(given[0].tolist(), *given[1:]), expected)
            assert_same(machine.multiply_add(*given[:2], b=given[2], how="other"), expected)
        with pytest.raises(ShapeError):
            machine.multiply_add(given[0], given[0], given[0])
        with pytest.raises(TypeError, match="missing"):
            machine.multiply_add()
    finally:
        table[place] = usual


def test_many_threads_at_once(machine, kernel):
    given = [arguments(kernel.dtype, (), (), ()) for _ in range(8)]
    expected = [kernel(*g) for g in given]
    wrong = []

    def hammer(i):
        for _ in range(3000):
            results = machine.multiply_add(*given[i])
            if not all(np.array_equal(r, e) for r, e in zip(results, expected[i], strict=True)):
                wrong.append(i)

    threads = [threading.Thread(target=hammer, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_interpreter_exit_is_clean():
    code = """
import numpy as np
import catena
robot = catena.rod_chain(3)
q, v = robot.neutral(), np.zeros(robot.nv)
early = robot.forward_dynamics
early(q, v, v)
early(np.zeros((5000, robot.nq)), v, v)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


def test_bound_questions_can_be_pickled():
    import catena

    robot = catena.rod_chain(3)
    q, v = robot.neutral(), np.ones(robot.nv)
    early = robot.forward_dynamics
    before = pickle.loads(pickle.dumps(early))
    expected = robot.forward_dynamics(q, v, v)
    after = pickle.loads(pickle.dumps(robot.forward_dynamics))
    for question in (before, after, early):
        np.testing.assert_array_equal(question(q, v, v), expected)
