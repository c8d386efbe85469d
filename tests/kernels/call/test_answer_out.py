"""The emitted call with arrays given for the results: filled at once if they are plain and in nobody's way."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.kernels.call.answering import arguments, ports
from tests.kernels.call.test_call import N
from tests.kernels.handmade import Machine, Results, square_ir

from catena.arguments.arrays import Port
from catena.errors import ShapeError
from catena.kernels.call import layout
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import load, object_code

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


@pytest.fixture
def square():
    kernel = Kernel("square", load(object_code(square_ir())), [Port("x", ())], [Port("y", ())])
    machine = Machine(kernel)
    machine.square(np.array(1.0), "s")
    return machine.square


@pytest.mark.parametrize("x", [np.array(3.0), np.arange(5.0), np.arange(0.0)], ids=["one", "some", "none"])
def test_a_given_array_is_filled_at_once(square, asked, x):
    memory = np.full(x.size + 2, -1.0)
    out = memory[1:-1].reshape(x.shape)
    count = sys.getrefcount(out)
    assert square(x, "s", out=out) is out
    np.testing.assert_array_equal(out, x**2)
    assert (memory[0], memory[-1]) == (-1, -1)
    assert sys.getrefcount(out) == count
    assert len(asked) == (x.size == 0)
    np.testing.assert_array_equal(square(x, "s", out=None), x**2)


def test_given_arrays_that_are_not_plain_go_to_python(square, asked):
    x, wide = np.arange(6.0), np.zeros(12)
    assert square(x, "s", out=wide[::2]) is not None
    np.testing.assert_array_equal(wide[::2], x**2)
    assert len(asked) == 1
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    for wrong in (frozen, np.zeros(5), np.zeros((6, 1)), np.zeros(6, np.float32), [0.0] * 6):
        with pytest.raises(ShapeError, match="square: out"):
            square(x, "s", out=wrong)


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 3, 2)])
def test_arguments_under_a_given_array_are_copied(square, asked, shape):
    x, wide = np.arange(6.0), np.zeros(12)
    for start in (0, 3, 5):
        wide[3:9] = x
        given, out = wide[3:9].reshape(shape), wide[start : start + 6].reshape(shape)
        counts = sys.getrefcount(given), sys.getrefcount(out)
        assert square(given, "s", out=out) is out
        np.testing.assert_array_equal(out.ravel(), x**2)
        assert counts == (sys.getrefcount(given), sys.getrefcount(out))
    assert not asked


def test_a_copied_argument_is_in_nobodys_way(square, asked):
    wide = np.arange(12.0)
    x = wide[::2]
    expected = x**2
    out = wide[:6]
    np.testing.assert_array_equal(square(x, "s", out=out), expected)
    assert not asked


@pytest.mark.parametrize("kind", [tuple, Results._make])
@pytest.mark.parametrize("samples", [None, 4])
@pytest.mark.parametrize("which", [(True, True), (True, False), (False, True), (False, False)])
def test_several_results(multiply_add, asked, samples, which, kind):
    kernel = Kernel("multiply_add", multiply_add().module, *ports())
    machine, batch = Machine(kernel), () if samples is None else (samples,)
    given = arguments(np.float64, batch, batch, ())
    expected = machine.multiply_add(*given)
    out = np.empty((*batch, N)) if which[0] else None, np.empty(batch) if which[1] else None
    results = machine.multiply_add(*given, out=kind(out))
    for r, e, o in zip(results, expected, out, strict=True):
        np.testing.assert_array_equal(r, e)
        assert o is None or r is o
    assert len(asked) == 1


def test_results_that_overlap_are_refused(multiply_add):
    kernel = Kernel("multiply_add", multiply_add().module, *ports())
    machine = Machine(kernel)
    given = arguments(np.float64, (), (), ())
    memory = np.empty(N)
    for _ in range(2):
        with pytest.raises(ShapeError, match="overlap"):
            machine.multiply_add(*given, out=(memory, memory[2:3].reshape(())))
    for wrong in ((memory,), [memory, None], memory):
        with pytest.raises(ShapeError, match="tuple"):
            machine.multiply_add(*given, out=wrong)


class Liar(np.ndarray):
    """An array with a shape that it does not have."""

    shape = (6,)  # type: ignore[assignment]


class Mine(np.ndarray):
    """An honest class."""


def test_a_class_that_lies_about_its_shape_is_not_believed(square):
    with pytest.raises(ShapeError, match=r"square: out must have shape \(6,\), got \(2,\)"):
        square(np.arange(6.0), "s", out=np.zeros(2).view(Liar))
    for out in (np.zeros(6).view(Liar), np.zeros(6).view(Mine), np.zeros(12).view(Mine)[::2]):
        assert square(np.arange(6.0), "s", out=out) is out
        np.testing.assert_array_equal(np.ndarray.view(out, np.ndarray), np.arange(6.0) ** 2)
