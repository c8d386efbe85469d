"""The regressor: torques linear in parameters, in both shapes of kernels, and derivatives by parameters."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms.joint_losses import with_joint_losses
from catena.algorithms.regressor import REGRESSOR, REGRESSOR_WITH_JOINTS
from catena.functions import engine
from catena.functions.catalogue import INVERSE_DYNAMICS


def losing(robot: catena.Robot) -> catena.Robot:
    return robot.with_joints(damping=0.3, friction=0.2, armature=0.1)


def state(robot: catena.Robot, seed: int = 0, shape: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    v, a = rng.standard_normal((2, *shape, robot.nv))
    return {"q": robot.random_configuration(rng, shape), "v": v, "a": a}


@pytest.mark.parametrize("name", ALL)
def test_torques_are_linear_in_parameters(name: str) -> None:
    robot = losing(ALL[name]())
    given, P = state(robot), robot.parameters()
    Y = engine.evaluate(robot.tree, REGRESSOR_WITH_JOINTS, given)["Y"].astype(float)
    tau = engine.evaluate(robot.tree, with_joint_losses(INVERSE_DYNAMICS), given)["tau"].astype(float)
    assert Y.shape == (robot.nv, 10 * robot.tree.n + 3 * robot.nv)
    assert relative(Y @ P.vector[: Y.shape[-1]], tau) < 1e-13
    plain = engine.evaluate(robot.tree, REGRESSOR, given)["Y"].astype(float)
    assert np.array_equal(plain, Y[:, : 10 * robot.tree.n])


@pytest.mark.parametrize("joints", [False, True])
def test_both_shapes_agree(joints: bool) -> None:
    robot = losing(catena.random_tree(5, 3, ["revolute", "spherical"], 0.5, base="floating"))
    given = state(robot, 1, (2, 3))
    unrolled, rolled = (robot.regressor(**given, joints=joints, kernel=kernel) for kernel in ("unrolled", "rolled"))
    assert unrolled.shape == (2, 3, robot.nv, 10 * robot.tree.n + 3 * robot.nv * joints)
    assert relative(rolled, unrolled) < 1e-13


def test_long_chains() -> None:
    robot = catena.rod_chain(80)
    given = state(robot, 2, (2,))
    Y, tau = robot.regressor(**given), robot.inverse_dynamics(**given)
    assert relative(Y @ robot.parameters().inertial.ravel(), tau) < 1e-12


def test_derivatives_by_parameters() -> None:
    """Of inverse dynamics it is Y, of forward dynamics −M⁻¹ Y at the acceleration that results; springs add to both."""
    robot = losing(catena.random_tree(4, 4, ["revolute", "spherical"], 0.4)).with_joints(stiffness=0.7, rest=0.2)
    P, x = robot.parameters(), state(robot, 3)
    tau = x.pop("a")
    a = robot.forward_dynamics(x["q"], x["v"], tau, joint_losses=True)
    slope = robot.forward_dynamics_parameter_derivatives(x["q"], x["v"], tau, joints=True)
    assert relative(-robot.mass_matrix(x["q"]).dense() @ slope, robot.regressor(**x, a=a, joints=True)) < 1e-12
    h = 1e-6
    steps = h * np.eye(len(P.vector))[: slope.shape[-1]]
    ahead, back = (
        robot.forward_dynamics(x["q"], x["v"], tau, joint_losses=True, parameters=P.vector + sign * steps)
        for sign in (1, -1)
    )
    assert relative((ahead - back).T / (2 * h), slope) < 1e-6
    other = catena.randomize(robot, 5, 0.2)
    steps = h * np.eye(len(P.vector))[: slope.shape[-1] + 2 * robot.nv]
    acting = {"joint_losses": True, "joint_springs": True}
    ahead, back = (
        robot.forward_dynamics(x["q"], x["v"], tau, **acting, parameters=other.vector + sign * steps)
        for sign in (1, -1)
    )
    slope = robot.forward_dynamics_parameter_derivatives(
        x["q"], x["v"], tau, joints=True, joint_springs=True, parameters=other
    )
    assert relative((ahead - back).T / (2 * h), slope) < 1e-6


def test_derivatives_in_batches_with_wrenches() -> None:
    robot = catena.random_tree(5, 3, ["revolute", "spherical"], 0.5)
    x = state(robot, 4, (2, 3))
    f_ext = np.random.default_rng(0).standard_normal((3, robot.tree.n, 6))
    given = x["q"], x["v"], x["a"], f_ext
    slope = robot.forward_dynamics_parameter_derivatives(*given)
    Y = robot.regressor(x["q"], x["v"], robot.forward_dynamics(*given))
    assert relative(-robot.mass_matrix(x["q"]).dense() @ slope, Y) < 1e-12
    assert relative(robot.forward_dynamics_parameter_derivatives(*given, kernel="rolled"), slope) < 1e-12


def test_loops_take_gravity_from_the_parameters_of_each_sample() -> None:
    """Straight-line code is compared with differences above; loops ask for the regressor by recipe."""
    robot = losing(catena.random_tree(4, 6, ["revolute", "spherical"], 0.4))
    x = state(robot, 5, (3,))
    parameters = np.array(catena.randomize(robot, 6, 0.2, 3).vector)
    parameters[:, -3:] = np.random.default_rng(7).standard_normal((3, 3))
    for joints in (False, True):
        straight, loops = (
            robot.forward_dynamics_parameter_derivatives(
                x["q"], x["v"], x["a"], joints=joints, parameters=parameters, kernel=kernel
            )
            for kernel in ("unrolled", "rolled")
        )
        assert relative(loops, straight) < 1e-11
