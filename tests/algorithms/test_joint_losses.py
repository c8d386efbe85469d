"""Damping and dry friction: alone, taken from the torques of forward dynamics, added to those of inverse dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.mechanisms import MOVING, relative

import catena
from catena.algorithms.joint_losses import JOINT_LOSSES, with_joint_losses
from catena.errors import UnsupportedError
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX_TIMES

each_shape = pytest.mark.parametrize("shape", ["unrolled", "rolled"])
each_real = pytest.mark.parametrize("real", [np.float64, np.float32])


def with_losses(robot: catena.Robot) -> catena.Robot:
    rng = np.random.default_rng(5)
    damping, friction = rng.uniform(0.1, 2.0, (2, robot.nv))
    friction[::3] = 0.0
    return catena.Robot(replace(robot.tree, damping=damping, friction=friction))


ROBOTS = {
    "chain": lambda: with_losses(catena.random_tree(1, 7, ["revolute", "prismatic"], 0.0)),
    "tree": lambda: with_losses(catena.random_tree(4, 12, MOVING, 0.5)),
    "floating": lambda: with_losses(catena.random_tree(5, 8, ["revolute", "spherical"], 0.5, base="floating")),
    "alike": lambda: catena.Robot(replace(catena.rod_chain(5).tree, damping=np.full(5, 0.3), friction=np.full(5, 0.2))),
}
each_robot = pytest.mark.parametrize("name", ROBOTS)


def state(robot: catena.Robot, count: int = 19) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(6)
    v, tau = rng.uniform(-1, 1, (2, count, robot.nv))
    v[:3, ::2] = 0.0
    return robot.random_configuration(rng, (count,)), v, tau


def losses(robot: catena.Robot, v: np.ndarray) -> np.ndarray:
    return robot.tree.damping * v + robot.tree.friction * np.sign(v)


@each_robot
@each_real
@each_shape
def test_losses(name, real, shape) -> None:
    robot = ROBOTS[name]()
    _, v, _ = state(robot)
    found = engine.kernel(robot, JOINT_LOSSES, kernel=shape, dtype=real)(v.astype(real))
    np.testing.assert_allclose(found, losses(robot, v.astype(real)), rtol=2 * np.finfo(real).eps)


PAIRS = [*[("chain", method) for method in FORWARD_DYNAMICS], *[(name, "innovations") for name in ROBOTS]]


@each_shape
@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_forward_dynamics_with_losses(name, shape, method) -> None:
    robot, function = ROBOTS[name](), FORWARD_DYNAMICS[method]
    q, v, tau = state(robot)
    if function.dense and shape == "rolled":
        pytest.skip("a whole matrix")
    plain = engine.kernel(robot, function, kernel=shape)(q, v, tau - losses(robot, v))
    found = engine.kernel(robot, with_joint_losses(function), kernel=shape)(q, v, tau)
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, plain)], strict=True):
        assert relative(a, b) < 1e-11


@pytest.mark.parametrize(("name", "real"), [*((name, np.float64) for name in ROBOTS), ("tree", np.float32)])
@each_shape
def test_inverse_dynamics_undoes_it(name, shape, real) -> None:
    robot = ROBOTS[name]()
    q, v, a = (x.astype(real) for x in state(robot))
    f_ext = np.random.default_rng(1).uniform(-1, 1, (robot.tree.n, 6)).astype(real)
    inverse, forward = (with_joint_losses(f) for f in (INVERSE_DYNAMICS, FORWARD_DYNAMICS["innovations"]))
    kernels = [engine.kernel(robot, f, present=("f_ext",), kernel=shape, dtype=real) for f in (inverse, forward)]
    plain = engine.kernel(robot, INVERSE_DYNAMICS, present=("f_ext",), kernel=shape, dtype=real)
    tau = kernels[0](q, v, a, f_ext)
    assert relative(tau, plain(q, v, a, f_ext) + losses(robot, v)) < 4 * np.finfo(real).eps
    assert relative(kernels[1](q, v, tau, f_ext), a) < (1e-8 if real is np.float64 else 0.05)


def sprung(robot: catena.Robot) -> catena.Robot:
    rng = np.random.default_rng(7)
    return robot.with_joints(stiffness=rng.uniform(0.5, 5.0, robot.nv), rest=rng.uniform(-0.3, 0.3, robot.nv))


@each_robot
@each_shape
def test_springs_pull_to_where_they_are_slack(name, shape) -> None:
    robot = sprung(ROBOTS[name]())
    q, v, tau = state(robot, 5)
    moved = [robot.integrate(q[:, None], sign * 1e-5 * np.eye(robot.nv)) for sign in (1, -1)]
    springs = (robot.spring_energy(moved[0]) - robot.spring_energy(moved[1])) / 2e-5
    found = robot.forward_dynamics(q, v, tau, joint_springs=True, joint_losses=True, kernel=shape)
    assert relative(found, robot.forward_dynamics(q, v, tau - springs - losses(robot, v), kernel=shape)) < 1e-7
    needed = robot.inverse_dynamics(q, v, found, joint_springs=True, joint_losses=True, kernel=shape)
    assert relative(needed, tau) < 1e-8
    step = robot.step(q, v, tau, 1e-3, kernel=shape)
    assert relative(step.v, robot.step(q, v, tau - springs, 1e-3, joint_springs=False, kernel=shape).v) < 1e-8


def test_springs_are_parameters_with_derivatives() -> None:
    """By q too, along every kind of joint: of the springs themselves, by differences."""
    robot = sprung(catena.random_tree(60, 10, MOVING, 0.6))
    rng, h = np.random.default_rng(8), 1e-6
    q, (v, x, dq) = robot.random_configuration(rng), rng.standard_normal((3, robot.nv))
    P = robot.parameters().replace(rest=rng.uniform(-0.2, 0.2, robot.nv)).vector
    dP = rng.standard_normal(P.shape) * (P != 0)
    zero = np.zeros(robot.nv)
    for jvp, question in (("forward_dynamics_jvp", "forward_dynamics"), ("inverse_dynamics_jvp", "inverse_dynamics")):
        ahead, behind = (
            getattr(robot, question)(robot.integrate(q, s * dq), v, x, joint_springs=True, parameters=P + s * dP)
            for s in (h, -h)
        )
        found = getattr(robot, jvp)(q, v, x, dq, zero, zero, joint_springs=True, parameters=P, dparameters=dP)
        assert relative(found, (ahead - behind) / (2 * h)) < 1e-6


def test_functions_without_velocities_or_torques_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="mass_matrix_times"):
        with_joint_losses(MASS_MATRIX_TIMES)
