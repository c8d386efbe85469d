"""FD1 to FD4 and the two-sweep algorithm agree with each other, with a dense solve and with 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms.forward_dynamics import FD2, FD3, FD4, FORWARD_LINK_DYNAMICS, METHODS
from catena.algorithms.newton_euler import RECURSIVE_SPATIAL_DYNAMICS
from catena.algorithms.two_sweep import TWO_SWEEP
from catena.functions import engine
from catena.functions.catalogue import BIAS, MASS_MATRIX
from catena.functions.function import Function

EVERY = {**METHODS, "two_sweep": TWO_SWEEP}


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def values(robot: catena.Robot, seed: int = 0, wrenches: bool = True) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    f_ext = {"f_ext": rng.standard_normal((robot.tree.n, 6))} if wrenches else {}
    return {"q": q, "v": v, "tau": tau, **f_ext}


def run(robot: catena.Robot, function: Function, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    inputs = {name: given[name] for name in function.inputs if name in given}
    return [array.astype(float) for array in engine.evaluate(robot.tree, function, inputs).values()]


@pytest.mark.parametrize("wrenches", [True, False])
@pytest.mark.parametrize("method", EVERY)
def test_agrees_with_the_dense_solve(robot: catena.Robot, method: str, wrenches: bool) -> None:
    given = values(robot, 1, wrenches)
    (M,), (bias,) = run(robot, MASS_MATRIX, given), run(robot, BIAS, given)
    assert relative(run(robot, EVERY[method], given)[0], np.linalg.solve(M, given["tau"] - bias)) < 1e-10


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_two_sweeps_as_machine_code(shape: str) -> None:
    robot = ALL["tree of all joint types"]()
    given = values(robot, 2)
    kernel = engine.kernel(robot, TWO_SWEEP, present=("f_ext",), kernel=shape)
    assert relative(kernel(*given.values()), run(robot, FD4, given)[0]) < 1e-11


@pytest.mark.parametrize("function", [FD2, FORWARD_LINK_DYNAMICS], ids=lambda function: function.name)
def test_accelerations_of_the_links_come_along(robot: catena.Robot, function: Function) -> None:
    given = values(robot, 3)
    vdot, alpha = run(robot, function, given)
    _, _, acceleration, _ = run(robot, RECURSIVE_SPATIAL_DYNAMICS, {**given, "a": vdot})
    assert relative(alpha, acceleration) < 1e-11


@pytest.mark.parametrize("function", [FD3, FD4, TWO_SWEEP], ids=lambda function: function.name)
def test_long_chains_lose_no_digits(function: Function) -> None:
    """Without a bias torque to take away first, the error stays near rounding however long the chain."""
    robot = catena.random_tree(1, 150, ["revolute"], 0.0)
    given = values(robot, 4, wrenches=False)
    with mpmath.workdps(40):
        exact = engine.evaluate(robot.tree, FD3, given, mpmath.mpf)["a"].astype(float)
    assert relative(run(robot, function, given)[0], exact) < 1e-13


def test_accelerations_of_links_of_long_chains_lose_no_digits() -> None:
    """The question's answer, joints and links, against forty digits."""
    robot = catena.random_tree(1, 150, ["revolute"], 0.0)
    given = values(robot, 4, wrenches=False)
    with mpmath.workdps(40):
        exact = engine.evaluate(robot.tree, FD2, given, mpmath.mpf)
    found = robot.forward_link_dynamics(*given.values())
    assert relative(found.joints, exact["a"].astype(float)) < 1e-13
    assert relative(found.links, exact["alpha"].astype(float)) < 1e-13
