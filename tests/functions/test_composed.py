"""Functions that are answered by a recipe on long chains are called as kernels are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.mechanisms import MOVING, relative

import catena
from catena.errors import ShapeError, UnsupportedError
from catena.functions import engine, store
from catena.functions.catalogue import MASS_MATRIX
from catena.functions.composed import Composed
from catena.functions.function import Function


@pytest.fixture(scope="module")
def robot() -> catena.Robot:
    return catena.random_tree(3, 8, MOVING, 0.4)


def twice_and_sum(ask: Any, q: Any, x: Any) -> tuple[Any, Any]:
    """Results with fewer leading dimensions than the call."""
    return 2 * x[:, None], q.sum(axis=-1)


DOUBLED = Function(
    "doubled",
    lambda links, q, x: ([[2 * x[0]], [2 * x[1]]], sum(y for k in links for y in q[k])),
    {"q": "q", "x": "robot:2"},
    {"twice": "dense:2,1", "sum": "dense:"},
    recipe=twice_and_sum,
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_looks_like_a_kernel(robot: catena.Robot, dtype: Any) -> None:
    composed, kernel = (engine.kernel(robot, DOUBLED, kernel=shape, dtype=dtype) for shape in ("rolled", "unrolled"))
    assert isinstance(composed, Composed)
    assert composed.signature == kernel.signature
    assert (composed.name, composed.inputs, composed.outputs) == (kernel.name, kernel.inputs, kernel.outputs)
    q, x = robot.random_configuration(0, (3, 4)), np.array([1.0, 2.0])
    for found, expected in zip(composed(q, x), kernel(q, x), strict=True):
        assert found.dtype == expected.dtype == dtype
        assert relative(found, expected) < 1e-6
        assert found.flags.c_contiguous
        assert found.flags.writeable
    assert np.ndim(composed(q[0, 0], x)[1]) == 0
    assert composed(q[:, :0], x)[0].shape == (3, 0, 2, 1)
    outs = np.empty((3, 4, 2, 1), dtype), None
    assert composed(q, x, out=outs)[0] is outs[0]


def test_it_checks_its_arguments(robot: catena.Robot) -> None:
    composed = engine.kernel(robot, DOUBLED, kernel="rolled")
    q = robot.neutral()
    with pytest.raises(ShapeError, match=r"doubled: x must have shape \(\.\.\., 2\), got \(3,\)"):
        composed(q, np.zeros(3))
    with pytest.raises(ShapeError, match="out must be a tuple of arrays"):
        composed(q, np.zeros(2), out=np.zeros(2))
    with pytest.raises(TypeError, match="doubled takes 2 arrays"):
        composed(q)


def test_a_result_may_lie_where_an_argument_does(robot: catena.Robot) -> None:
    memory = np.zeros((robot.nv, robot.nv))
    q = memory.reshape(-1)[: robot.nq]
    q[:] = robot.random_configuration(0)
    expected = engine.kernel(robot, MASS_MATRIX)(q)
    engine.kernel(robot, MASS_MATRIX, kernel="rolled")(q, out=memory)
    assert relative(memory, expected) < 1e-12


def test_long_chains_get_the_recipe_unless_told_otherwise() -> None:
    chain = catena.rod_chain(store.UNROLLED + 1)
    assert isinstance(engine.kernel(chain, MASS_MATRIX), Composed)
    assert not isinstance(engine.kernel(catena.rod_chain(3), MASS_MATRIX), Composed)
    long = catena.rod_chain(store.UNROLLABLE + 1)
    with pytest.raises(UnsupportedError, match="use kernel='rolled'"):
        engine.kernel(long, MASS_MATRIX, kernel="unrolled")


@pytest.mark.parametrize("method", ["innovations", "udu"])
def test_many_right_hand_sides_of_one_configuration(method: str) -> None:
    robot = catena.random_tree(5, 70, ["revolute", "prismatic"], 0.0)
    M = robot.mass_matrix(robot.random_configuration(0), method)
    b = np.random.default_rng(1).standard_normal((2, 5, robot.nv))
    out = np.empty_like(b)
    assert M.solve(b, out=out) is out
    np.testing.assert_array_equal(M.solve(b), out)
    np.testing.assert_array_equal(np.stack([M.solve(x) for x in b[1]]), out[1])
    assert relative(M.times(out), b) < 1e-8
