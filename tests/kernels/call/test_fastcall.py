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
from tests.kernels.handmade import Counting, multiply_add_ir, square_ir

from catena.arguments.arrays import Port
from catena.errors import ShapeError
from catena.kernels.call import fastcall, layout
from catena.kernels.call.call_ir import API
from catena.kernels.call.fastcall import fast_call
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.threads import set_threads
from catena.kernels.machine.compile import load, object_code

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


def ports(n: int = N):
    """Without scalar results, so that the kernel with two results can be called fast."""
    return [Port("a", (1,)), Port("x", (n,)), Port("b", (n,))], [Port("y", (n,)), Port("total", (1,))]


@pytest.fixture(params=[np.float64, np.float32])
def kernel(multiply_add, request):
    made = multiply_add(dtype=request.param)
    return Kernel("multiply_add", made.module, *ports(), dtype=request.param)


@pytest.fixture
def general(kernel):
    return Counting(kernel)


@pytest.fixture
def fast(kernel, general):
    return fast_call(kernel, general)


def arguments(dtype, *leading):
    return [normal(*lead, n).astype(dtype) for lead, n in zip(leading, (1, N, N), strict=True)]


def assert_same(results, expected):
    assert isinstance(results, tuple)
    for r, e in zip(results, expected, strict=True):
        assert type(r) is type(e)
        assert r.dtype == e.dtype
        assert r.shape == e.shape
        np.testing.assert_array_equal(r, e)


@pytest.mark.parametrize(
    "leading",
    [((), (), ()), ((7,), (7,), (7,)), ((), (7,), ()), ((7,), (), ()), ((1,), (1,), ()), ((500,), (500,), (500,))],
)
def test_served_at_once(kernel, general, fast, leading):
    given = arguments(kernel.dtype, *leading)
    assert_same(fast(*given), kernel(*given))
    assert general.calls == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_large_batches(multiply_add, threads):
    made = multiply_add(operations=10**5)
    kernel = Kernel("multiply_add", made.module, *ports())
    general = Counting(kernel)
    set_threads(threads)
    given = arguments(np.float64, (1001,), (1001,), ())
    assert_same(fast_call(kernel, general)(*given), kernel(*given))
    assert general.calls == 0


@pytest.mark.parametrize(
    "leading",
    [((0,), (0,), ()), ((3, 4), (3, 4), ()), ((1,), (7,), (7,)), ((3, 1), (4,), ())],
)
def test_other_shapes_are_passed_on(kernel, general, fast, leading):
    given = arguments(kernel.dtype, *leading)
    assert_same(fast(*given), kernel(*given))
    assert general.calls == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_layouts_are_passed_on(multiply_add, layout):
    kernel = multiply_add()
    a, x, b = LAYOUTS[layout]
    kernel = Kernel("multiply_add", kernel.module, *ports())
    a = np.asarray(a)[..., None]
    assert_same(fast_call(kernel, kernel)(a, x, b), kernel(a, x, b))


class Derived(np.ndarray):
    """Not a plain array."""


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.view(Derived),
        lambda x: x.tolist(),
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(np.int64),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:].view(x.dtype),
        lambda x: tuple(x),
    ],
)
@pytest.mark.parametrize("place", [1, 2])
def test_other_arguments_are_passed_on(kernel, general, fast, change, place):
    given = arguments(kernel.dtype, (), (), ())
    given[place] = change(given[place])
    assert_same(fast(*given), kernel(*given))
    assert general.calls == 1


def test_read_only_arrays_are_served(kernel, general, fast):
    given = arguments(kernel.dtype, (), (), ())
    for array in given:
        array.flags.writeable = False
    assert_same(fast(*given), kernel(*given))
    assert general.calls == 0


def test_keywords_and_wrong_numbers_are_passed_on(fast, kernel, general):
    given = arguments(kernel.dtype, (), (), ())
    y = np.empty(N, kernel.dtype)
    assert fast(*given, out=(y, None))[0] is y
    with pytest.raises(TypeError, match="3 arrays"):
        fast(*given[:2])
    with pytest.raises(TypeError, match="3 arrays"):
        fast()
    with pytest.raises(TypeError, match="3 arrays"):
        fast(*given, *given)
    assert general.calls == 4


@pytest.mark.parametrize("wrong", [np.ones(N - 1), np.ones((N, 1)), np.ones(N) * 1j, None, "x", np.float64(1)])
def test_errors_of_the_general_path_arrive(fast, kernel, general, wrong):
    a, _, b = arguments(kernel.dtype, (), (), ())
    with pytest.raises(ShapeError, match="multiply_add: x"):
        fast(a, wrong, b)
    assert general.calls == 1


def test_scalar_results():
    kernel = Kernel("square", load(object_code(square_ir())), [Port("x", ())], [Port("y", ())])
    general = Counting(kernel)
    fast = fast_call(kernel, general)
    assert type(fast(np.array(3.0))) is type(kernel(3.0)) is np.float64
    assert fast(np.array(3.0)) == 9.0
    np.testing.assert_array_equal(fast(np.arange(4.0)), [0.0, 1.0, 4.0, 9.0])
    assert general.calls == 0


def test_scalars_among_several_results(multiply_add):
    kernel = multiply_add()
    assert fast_call(kernel, kernel) is kernel


def test_results_are_new_arrays_that_own_their_memory(fast, kernel):
    given = arguments(kernel.dtype, (), (), ())
    first, second = fast(*given)[0], fast(*given)[0]
    assert first.base is None
    assert first.flags.owndata
    assert first.flags.writeable
    assert first is not second
    first[:] = 0
    np.testing.assert_array_equal(second, kernel(*given)[0])


@pytest.mark.parametrize("leading", [((), (), ()), ((3,), (3,), ()), ((0,), (0,), ())])
def test_references_balance(fast, kernel, general, leading):
    given = arguments(kernel.dtype, *leading)
    watched = [*given, kernel.dtype, general, fast, fast.__self__, None, np.ndarray]
    fast(*given)
    before = [sys.getrefcount(w) for w in watched]
    for _ in range(1000):
        fast(*given)
    after = [sys.getrefcount(w) for w in watched]
    assert np.abs(np.array(after) - before).max() < 100


def test_failures_balance_too(multiply_add):
    made = multiply_add()
    inputs, outputs = ports()
    huge = Kernel("huge", made.module, inputs, [*outputs, Port("impossible", (2**50,))])
    fast = fast_call(huge, huge)
    given = arguments(np.float64, (), (), ())
    count = sys.getrefcount(huge.dtype)
    for _ in range(1000):
        with pytest.raises(MemoryError):
            fast(*given)
    assert abs(sys.getrefcount(huge.dtype) - count) < 100


def test_an_error_in_a_large_batch(multiply_add, monkeypatch):
    made = multiply_add(operations=10**6)
    kernel = Kernel("multiply_add", made.module, *ports())
    fast = fast_call(kernel, kernel)
    given = arguments(np.float64, (100,), (100,), ())
    before = [sys.getrefcount(g) for g in given]
    monkeypatch.setattr("catena.kernels.call.job.borrow", lambda size: 1 / 0)
    for _ in range(50):
        with pytest.raises(ZeroDivisionError):
            fast(*given)
    deadline = time.monotonic() + 30
    while [sys.getrefcount(g) for g in given] != before:  # helpers that wake late still hold closed jobs
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Machine:
    """What a robot does: a method that replaces itself by a built-in function on the instance."""

    def __init__(self, kernel):
        self.kernel = kernel

    def multiply_add(self, a, x, b, *, out=None, method="only", dtype=np.float64):
        """Multiply, then add."""
        return self.kernel(a, x, b, out=out)

    def prepare(self):
        self.__dict__["multiply_add"] = fast_call(self.kernel, self.multiply_add)


def test_as_a_method(kernel):
    kernel.name = "inside"
    machine = Machine(kernel)
    given = arguments(kernel.dtype, (), (), ())
    before = machine.multiply_add(*given)
    machine.prepare()
    assert inspect.isbuiltin(machine.multiply_add)
    assert machine.multiply_add.__name__ == "multiply_add"
    assert machine.multiply_add.__doc__ == "Multiply, then add."
    assert str(inspect.signature(machine.multiply_add)) == "(a, x, b, *, out=None, method='only', dtype='float64')"
    assert_same(machine.multiply_add(*given), before)
    assert_same(machine.multiply_add(*given, method="other"), before)
    assert_same(machine.multiply_add(given[0], x=given[1], b=given[2]), before)
    with pytest.raises(TypeError, match="unexpected keyword"):
        machine.multiply_add(*given, nonsense=1)


def test_cycles_are_collected(kernel):
    machine = Machine(kernel)
    machine.prepare()
    gone = weakref.ref(machine)
    function = machine.multiply_add
    given = arguments(kernel.dtype, (), (), ())
    del machine
    gc.collect()
    expected = kernel(*given)
    assert_same(function(*given), expected)
    assert_same(function(given[0].tolist(), *given[1:]), expected)
    del function
    gc.collect()
    assert gone() is None


def test_the_kernel_lives_as_long_as_the_function(multiply_add):
    fast = fast_call(kernel := Kernel("short", load(object_code(multiply_add_ir(N))), *ports()), lambda *a: None)
    del kernel
    gc.collect()
    given = arguments(np.float64, (), (), ())
    assert_same(fast(*given), Kernel("short", multiply_add().module, *ports())(*given))


def test_not_pickled(fast):
    with pytest.raises(TypeError, match="belongs to this process"):
        pickle.dumps(fast)


def test_without_the_expected_layout(kernel, general, monkeypatch):
    monkeypatch.setattr(fastcall, "python_api", lambda: None)
    assert fast_call(kernel, general) is general


def test_a_changed_header_is_noticed(monkeypatch):
    assert all(map(layout._as_expected, layout._samples()))

    class Shifted(np.ndarray):
        pass

    assert not layout._as_expected(np.zeros(3).view(Shifted))


@pytest.mark.parametrize(
    ("name", "value"), [("NUMPY_ABIS", ()), ("_familiar_interpreter", lambda: False), ("_as_expected", lambda a: False)]
)
def test_any_doubt_means_the_general_path(monkeypatch, name, value):
    monkeypatch.setattr(layout, name, value)
    assert layout.python_api.__wrapped__() is None


def test_without_vectorcall(kernel, monkeypatch):
    """As in Python 3.10: the emitted code calls Python another way."""
    table = (ctypes.c_void_p * len(API)).from_address(fastcall.runtime_module().address("api"))
    place = API.index("PyObject_Vectorcall")
    fast_call(kernel, kernel)
    usual = table[place]
    table[place] = fastcall.runtime_module().address("vectorcall")
    try:
        machine = Machine(kernel)
        machine.prepare()
        given = arguments(kernel.dtype, (), (), ())
        expected = kernel(*given)
        assert_same(machine.multiply_add(given[0].tolist(), *given[1:]), expected)
        assert_same(machine.multiply_add(*given[:2], b=given[2], method="other"), expected)
        with pytest.raises(ShapeError):
            machine.multiply_add(given[0], given[0], given[0])
        with pytest.raises(TypeError, match="missing"):
            machine.multiply_add()
    finally:
        table[place] = usual


def test_many_threads_at_once(fast, kernel):
    given = [arguments(kernel.dtype, (), (), ()) for _ in range(8)]
    expected = [kernel(*g) for g in given]
    wrong = []

    def hammer(i):
        for _ in range(3000):
            results = fast(*given[i])
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
from catena.arguments.arrays import Port
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import compile_cached
from catena.kernels.call.fastcall import fast_call
from tests.kernels.handmade import multiply_add_ir
kernel = Kernel("k", compile_cached(("exit",), lambda: multiply_add_ir(5, operations=10**6)),
                [Port("a", (1,)), Port("x", (5,)), Port("b", (5,))], [Port("y", (5,)), Port("total", (1,))])
fast = fast_call(kernel, kernel)
fast(np.ones(1), np.ones(5), np.ones(5))
fast(np.ones((1000, 1)), np.ones((1000, 5)), np.ones(5))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
