"""The emitted call: the same answers and errors as the general path, and every reference accounted for."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.call.answering import arguments, assert_same, ports
from tests.kernels.call.test_call import LAYOUTS, N, normal
from tests.kernels.handmade import Machine, Results, Scale, square_ir

from catena.arguments.arrays import Port
from catena.errors import ShapeError
from catena.kernels.call import layout
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.results import LARGE
from catena.kernels.call.threads import set_threads
from catena.kernels.machine.compile import load, object_code

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


@pytest.mark.parametrize(
    "leading",
    [
        ((), (), ()),
        ((7,), (7,), (7,)),
        ((), (7,), ()),
        ((7,), (), ()),
        ((1,), (1,), ()),
        ((500,), (500,), (500,)),
        ((3, 4), (3, 4), ()),
        ((), (2, 1, 3), (2, 1, 3)),
        ((1, 1), (), ()),
        ((), (1,) * 28, ()),
    ],
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
    [
        ((0,), (0,), ()),
        ((3, 0), (3, 0), ()),
        ((1,), (7,), (7,)),
        ((3, 1), (4,), ()),
        ((2, 3), (3, 2), ()),
        ((4,), (2, 4), ()),
    ],
)
def test_other_shapes_go_to_python(kernel, machine, asked, leading):
    given = arguments(kernel.dtype, *leading)
    assert outcome(machine.multiply_add, *given) == outcome(lambda *given: Results(*kernel(*given)), *given)
    assert len(asked) == 1


def test_large_results_of_several_leading_dimensions(kernel, machine):
    given = arguments(kernel.dtype, (40, 200), (40, 200), ())
    results = machine.multiply_add(*given)
    assert results[0].nbytes > LARGE
    assert_same(results, kernel(*given))


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
        lambda x: np.ones((2, 2, N - 1)),
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
