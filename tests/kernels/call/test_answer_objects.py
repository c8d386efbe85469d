"""The emitted call as an object among objects: references, errors, methods, threads, the end of the process."""

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
from tests.kernels.call.answering import arguments, assert_same, ports
from tests.kernels.call.test_call import N
from tests.kernels.handmade import Machine, Results, multiply_add_ir

from catena.arguments.arrays import Port
from catena.errors import ShapeError
from catena.kernels.call import emitted, layout
from catena.kernels.call.api import API
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import load, object_code

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


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
    gc.collect()  # what other tests left behind refers to the dtype, too
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
        ("_require_familiar_interpreter", lambda: _unfamiliar()),
        ("_as_expected", lambda a: False),
        ("_objects_as_expected", lambda: False),
    ],
)
def test_any_doubt_means_that_python_answers(monkeypatch, name, value):
    monkeypatch.setattr(layout, name, value)
    assert layout.python_api.__wrapped__() is None
    assert str(layout._looked())


def _unfamiliar() -> None:
    raise layout.UnfamiliarError("a test")


def test_results_are_tuples_in_all_that_python_does_with_them(machine, kernel):
    """From Python 3.14 on tuples keep their hash, which is not that of nothing."""
    results = machine.multiply_add(*arguments(kernel.dtype, (), (), ()))
    assert isinstance(results, tuple)
    with pytest.raises(TypeError, match="unhashable"):
        hash(results)


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
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=600, check=False)
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
