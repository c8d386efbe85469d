"""UDUᵀ against the whole matrix: every action × mechanism × scalar × kernel shape."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms import denoc, innovations, udu
from catena.algorithms import reverse_gaussian_elimination as dense
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.functions.function import Function
from catena.questions.denoc import NaturalOrthogonalComplement

TOLERANCE = 1e-11
ACTIONS = {
    "U_times": innovations.U_TIMES,
    "U_solve": innovations.U_SOLVE,
    "Ut_times": innovations.UT_TIMES,
    "Ut_solve": innovations.UT_SOLVE,
}


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def run(robot: catena.Robot, function: Function, **values: np.ndarray) -> np.ndarray:
    return next(iter(engine.evaluate(robot.tree, function, values).values())).astype(float)


def both(robot: catena.Robot, function: Function, **values: np.ndarray) -> list[np.ndarray]:
    results = engine.evaluate(robot.tree, function, values).values()
    return [result.astype(float) for result in results]


def test_udu_is_the_mass_matrix(robot: catena.Robot, rng: np.random.Generator) -> None:
    q = robot.random_configuration(rng)
    U, D = both(robot, udu.ELEMENTS, q=q)
    assert relative(U @ D @ U.T, run(robot, MASS_MATRIX, q=q)) < TOLERANCE
    assert np.array_equal(U, np.triu(U))
    assert np.array_equal(np.diag(U), np.ones(robot.nv))


@pytest.mark.parametrize("name", ACTIONS)
def test_actions_of_u(robot: catena.Robot, rng: np.random.Generator, name: str) -> None:
    q, x = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    U, _ = both(robot, udu.ELEMENTS, q=q)
    psi, _ = both(robot, udu.FACTORS, q=q)
    matrix = U.T if name.startswith("Ut") else U
    expected = np.linalg.solve(matrix, x) if name.endswith("solve") else matrix @ x
    assert relative(run(robot, ACTIONS[name], q=q, G=psi, x=x), expected) < TOLERANCE


def test_solve(robot: catena.Robot, rng: np.random.Generator) -> None:
    q, x = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    expected = np.linalg.solve(run(robot, MASS_MATRIX, q=q), x)
    assert relative(run(robot, udu.SOLVE, q=q, x=x), expected) < TOLERANCE
    assert relative(run(robot, dense.SOLVE, q=q, x=x), expected) < TOLERANCE


@pytest.mark.parametrize("pushed", [False, True])
def test_forward_dynamics_undoes_inverse_dynamics(robot: catena.Robot, rng: np.random.Generator, pushed: bool) -> None:
    q, (v, a) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    wrenches = {"f_ext": rng.standard_normal((robot.tree.n, 6))} if pushed else {}
    tau = run(robot, INVERSE_DYNAMICS, q=q, v=v, a=a, **wrenches)
    assert relative(run(robot, denoc.INVERSE_DYNAMICS, q=q, v=v, a=a, **wrenches), tau) < TOLERANCE
    assert relative(run(robot, udu.FORWARD_DYNAMICS, q=q, v=v, tau=tau, **wrenches), a) < TOLERANCE
    assert relative(run(robot, dense.FORWARD_DYNAMICS, q=q, v=v, tau=tau, **wrenches), a) < TOLERANCE


def test_fifty_digits(rng: np.random.Generator) -> None:
    robot = ALL["tree of all joint types"]()
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    with mpmath.workdps(50):
        values = {"q": q, "v": v, "tau": tau}
        ours, theirs = (
            engine.evaluate(robot.tree, f, values, mpmath.mpf).values()
            for f in (udu.FORWARD_DYNAMICS, FORWARD_DYNAMICS["fd4"])
        )
        assert max(abs(x - y) for x, y in zip(*ours, *theirs, strict=True)) < mpmath.mpf(10) ** -44


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_kernels(shape: str, rng: np.random.Generator) -> None:
    robot = ALL["tree with rotors"]()
    q, (v, tau) = robot.random_configuration(rng, 5), rng.standard_normal((2, 5, robot.nv))
    kernel = engine.kernel(robot, udu.FORWARD_DYNAMICS, kernel=shape)
    expected = [run(robot, FORWARD_DYNAMICS["fd4"], q=q[i], v=v[i], tau=tau[i]) for i in range(5)]
    assert relative(kernel(q, v, tau), expected) < TOLERANCE


def test_bodies(robot: catena.Robot, rng: np.random.Generator) -> None:
    """A joint's pivot is its articulated body's inertia along its axes, and never more than the composite body's."""
    q = robot.random_configuration(rng)
    noc = NaturalOrthogonalComplement(robot, q)
    articulated, composite = noc.articulated_bodies, noc.composite_bodies
    assert np.linalg.eigvalsh(composite - articulated).min() > -1e-12 * np.abs(composite).max()
