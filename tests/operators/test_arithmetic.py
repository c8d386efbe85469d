"""Operators among numbers, arrays, complex vectors and SciPy's linear operators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator, cg
from tests.mechanisms import relative

import catena


@pytest.fixture(scope="module")
def o() -> catena.operators.Operators:
    robot = catena.random_tree(2, 4, ["revolute", "spherical"], 0.4)
    return robot.operators(robot.random_configuration(np.random.default_rng(1)))


def test_rows_times_an_operator(o: catena.operators.Operators, rng: np.random.Generator) -> None:
    J = o.J.dense()
    for x in (rng.standard_normal(len(J)), rng.standard_normal((3, len(J)))):
        assert relative(x @ o.J, x @ J) < 1e-13
        assert relative(x.tolist() @ o.J, x @ J) < 1e-13
    with pytest.raises(catena.ShapeError, match="takes vectors of tips"):
        _ = np.zeros(5) @ o.J


def test_rows_of_a_batch(rng: np.random.Generator) -> None:
    robot = catena.load("two_link_arm")
    o = robot.operators(robot.random_configuration(rng, 3))
    J = o.J.dense()
    x = rng.standard_normal((3, 6))
    assert relative(x @ o.J, np.einsum("bi,bij->bj", x, J)) < 1e-13
    rows = rng.standard_normal((3, 4, 6))
    assert relative(rows @ o.J, rows @ J) < 1e-13
    with pytest.raises(catena.ShapeError, match="not one; ask for"):
        aslinearoperator(o.mass).matvec(np.zeros(2))


def test_numbers(o: catena.operators.Operators, rng: np.random.Generator) -> None:
    x, M = rng.standard_normal(o.mass.shape[0]), o.mass.dense()
    for operator, expected in (
        (o.mass / 2, M / 2),
        (np.float64(2) * o.mass, 2 * M),
        (o.mass * np.array(3), 3 * M),
        (sum([o.mass, o.mass]), 2 * M),
        (sum([o.mass, o.D], start=o.mass), 2 * M + o.D.dense()),
        ((o.I + o.I) @ o.mass, 2 * M),
        (o.mass @ (o.I - 3 * o.I), -2 * M),
    ):
        assert operator.shape == M.shape
        assert relative(operator @ x, expected @ x) < 1e-13
    for wrong in (lambda: o.mass * None, lambda: 1j * o.mass, lambda: 2 / o.mass):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()
    for wrong in (lambda: o.mass * np.ones(3), lambda: [1.0, 2.0] * o.mass):
        with pytest.raises(catena.ShapeError, match="applied with @"):
            wrong()
    with pytest.raises(ZeroDivisionError):
        _ = o.mass / 0


def test_multiples_of_the_identity_have_inverses(o: catena.operators.Operators) -> None:
    x = np.arange(1.0, 4.0)
    assert np.array_equal((o.I + o.I).inv @ x, x / 2)
    assert np.array_equal(((o.I + o.I) @ (2 * o.I)).inv @ x, x / 4)
    assert np.array_equal((o.I + o.I).T @ x, 2 * x)


def test_complex_vectors(o: catena.operators.Operators, rng: np.random.Generator) -> None:
    x = rng.standard_normal(o.J.shape[1]) + 1j * rng.standard_normal(o.J.shape[1])
    y = rng.standard_normal((2, o.J.shape[0])) + 1j * rng.standard_normal((2, o.J.shape[0]))
    np.testing.assert_allclose(o.J @ x, o.J.dense() @ x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(y @ o.J, y @ o.J.dense(), rtol=0, atol=1e-12)


def test_as_an_array(o: catena.operators.Operators) -> None:
    assert np.array_equal(np.asarray(o.J), o.J.dense())
    assert np.asarray(o.J, dtype=np.float32).dtype == np.float32
    with pytest.raises(catena.ShapeError, match="fits any space"):
        np.asarray(o.I)


def test_as_a_linear_operator_of_scipy(o: catena.operators.Operators, rng: np.random.Generator) -> None:
    linear, J = aslinearoperator(o.J), o.J.dense()
    x, y = rng.standard_normal(J.shape[1]), rng.standard_normal(J.shape[0])
    assert linear.shape == J.shape
    assert linear.dtype == np.float64
    assert relative(linear @ x, J @ x) < 1e-13
    assert relative(linear.rmatvec(y), J.T @ y) < 1e-13
    assert relative(linear.matmat(np.eye(len(x))), J) < 1e-13
    assert relative(linear.rmatmat(np.eye(len(y))), J.T) < 1e-13
    b = rng.standard_normal(o.mass.shape[0])
    solution, info = cg(o.mass, b, rtol=1e-12)
    assert info == 0
    assert relative(solution, np.linalg.solve(o.mass.dense(), b)) < 1e-8
