"""The factorization and what its factors do, on every kind of scalar and shape of kernel."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms import innovations
from catena.algorithms.operational_space import RESPONSE
from catena.functions import engine
from catena.functions.catalogue import MASS_MATRIX
from catena.functions.function import Function

ACTIONS = [
    innovations.U_TIMES,
    innovations.UT_TIMES,
    innovations.U_SOLVE,
    innovations.UT_SOLVE,
    innovations.SOLVE,
    innovations.TIMES,
    innovations.ROOT,
    innovations.INVERSE_ROOT,
    innovations.WHITENED,
]


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def factored(robot: catena.Robot, seed: int = 0) -> dict[str, np.ndarray]:
    q = robot.random_configuration(seed)
    found = engine.evaluate(robot.tree, innovations.FACTOR, {"q": q})
    return {"q": q, **{name: array.astype(float) for name, array in found.items()}}


def act(robot: catena.Robot, function: Function, given: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    inputs = {name: given[name] for name in function.inputs if name in given}
    return engine.evaluate(robot.tree, function, {**inputs, "x": x})["y"].astype(float)


def mass_matrix(robot: catena.Robot, q: np.ndarray) -> np.ndarray:
    return engine.evaluate(robot.tree, MASS_MATRIX, {"q": q})["M"].astype(float)


def test_the_actions_are_what_they_are_called(robot: catena.Robot) -> None:
    given = factored(robot)
    M = mass_matrix(robot, given["q"])
    x, y = np.random.default_rng(8).standard_normal((2, robot.nv))
    U_times, Ut_times, U_solve, Ut_solve, solve, times, root, inverse_root, whitened = (
        partial(act, robot, action, given) for action in ACTIONS
    )
    assert relative(U_solve(U_times(x)), x) < 1e-12
    assert relative(Ut_times(x) @ y, x @ U_times(y)) < 1e-12
    assert relative(Ut_solve(x) @ y, x @ U_solve(y)) < 1e-12
    assert relative(times(x), M @ x) < 1e-12
    assert relative(solve(M @ x), x) < 1e-10
    # A Aᵀ = M exactly when Aᵀ M⁻¹ A = I
    assert root(x) @ np.linalg.solve(M, root(y)) == pytest.approx(
        x @ y, abs=1e-10 * np.linalg.norm(x) * np.linalg.norm(y)
    )
    found = inverse_root(x) @ M @ inverse_root(y)
    assert found == pytest.approx(x @ y, abs=1e-10 * np.linalg.norm(x) * np.linalg.norm(y))
    assert relative(whitened(x) @ y, x @ inverse_root(y)) < 1e-12


@pytest.mark.parametrize("action", [innovations.U_TIMES, innovations.U_SOLVE], ids=["U_times", "U_solve"])
def test_factors_are_triangular_towards_the_base(action: Function) -> None:
    robot = ALL["floating tree"]()
    given = factored(robot)
    matrix = np.array([act(robot, action, given, e) for e in np.eye(robot.nv)]).T
    assert relative(np.tril(matrix), np.eye(robot.nv)) < 1e-15


def test_the_determinant_is_in_d(robot: catena.Robot) -> None:
    given = factored(robot, 1)
    D, starts = given["D"], robot.tree.v_start
    total = 0.0
    for first, last in pairwise(starts):
        lower = D[first:last, : last - first]
        assert not np.triu(lower, 1).any()
        total += np.linalg.slogdet(lower + np.tril(lower, -1).T)[1]
    assert total == pytest.approx(np.linalg.slogdet(mass_matrix(robot, given["q"]))[1], abs=1e-10)


def test_d_is_undone_joint_by_joint(robot: catena.Robot) -> None:
    given, x = factored(robot, 2), np.random.default_rng(3).standard_normal(robot.nv)
    assert relative(act(robot, innovations.D_SOLVE, given, act(robot, innovations.D_TIMES, given, x)), x) < 1e-12
    through = act(robot, innovations.U_TIMES, given, act(robot, innovations.D_TIMES, given, x))
    expected = act(robot, innovations.TIMES, given, act(robot, innovations.UT_SOLVE, given, x))
    assert relative(through, expected) < 1e-11


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_machine_code_agrees_with_many_digits(shape: str) -> None:
    robot = ALL["floating tree"]()
    given = factored(robot, 4)
    rng = np.random.default_rng(5)
    given["x"], given["f"] = rng.standard_normal(robot.nv), rng.standard_normal((robot.tree.n, 6))
    for function in (innovations.FACTOR, innovations.INERTIAS, RESPONSE, *ACTIONS[-4:]):
        inputs = {name: given[name] for name in function.inputs}
        exact = engine.evaluate(robot.tree, function, inputs, mpmath.mpf)
        found = engine.kernel(robot, function, kernel=shape)(*inputs.values())
        found = found if isinstance(found, tuple) else (found,)
        for one, other in zip(found, exact.values(), strict=True):
            assert relative(one, other) < 1e-11, function.name


def test_one_factorization_serves_many_right_hand_sides() -> None:
    robot = ALL["tree of all joint types"]()
    given = factored(robot, 6)
    x = np.random.default_rng(7).standard_normal((50, robot.nv))
    found = engine.kernel(robot, innovations.SOLVE)(given["q"], given["G"], given["D"], x)
    assert relative(found, np.linalg.solve(mass_matrix(robot, given["q"]), x.T).T) < 1e-10
