"""Derivatives of forward and inverse dynamics: against 50-digit differences, and against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.exact_slopes import moved, run, slopes
from tests.mechanisms import MOVING, relative, with_rotors

import catena
from catena.algorithms.joint_losses import with_acting
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS
from catena.functions.function import Function


def lossy(robot: catena.Robot, seed: int) -> catena.Robot:
    """The robot with rotors, damping, friction and springs."""
    rng = np.random.default_rng(seed)
    names = "damping", "friction", "stiffness", "rest"
    numbers = dict(zip(names, rng.uniform(0.1, 1.0, (4, robot.nv)), strict=True))
    return catena.Robot(replace(with_rotors(robot, seed).tree, **numbers))


def parallel_axes() -> catena.Robot:
    """Joints about parallel axes, turned and shifted against each other, on which branches and other joints follow."""
    rng, robot = np.random.default_rng(9), catena.Builder("parallel")
    parents = {"a": "base", "b": "a", "c": "b", "d": "c", "e": "d", "f": "d", "g": "f"}
    tilted = {"a": (0.3, 0.4, 0.0), "b": (0.0, 0.0, 0.7), "e": (1.1, 0.0, 0.2)}
    for name, parent in parents.items():
        A, position = rng.standard_normal((3, 3)), rng.standard_normal(3)
        robot.link(name, mass=2.0, com=0.3 * rng.standard_normal(3), inertia=A @ A.T + 3 * np.eye(3))
        robot.revolute(f"joint {name}", parent, name, position=position, rotation=tilted.get(name, (0, 0, 0)))
    return robot.build()


ROBOTS = {
    "parallel axes": lambda: lossy(parallel_axes(), 4),
    "chain": lambda: lossy(catena.random_tree(21, 5, ["revolute", "universal", "spherical", "helical"], 0.0), 1),
    "tree": lambda: lossy(catena.random_tree(22, 6, MOVING, 0.5), 2),
    "floating": lambda: lossy(
        catena.random_tree(28, 4, ["planar", "cylindrical", "universal"], 0.5, base="floating"), 3
    ),
}


ACTING = {"joint_losses": True, "joint_springs": True}


def test_the_robots_have_all_joint_types() -> None:
    assert {joint.type for make in ROBOTS.values() for joint in make().joints} | {"continuous"} == set(MOVING)


def state(robot: catena.Robot, seed: int = 5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    v, x = rng.standard_normal((2, robot.nv))
    return robot.random_configuration(rng), v, x, rng.standard_normal((robot.tree.n, 6))


def differences(robot: catena.Robot, function: Function, *arrays: np.ndarray) -> list[np.ndarray]:
    """The derivatives of a function by q and by the vectors that follow; the last array is f_ext."""
    q, *vectors, f_ext = arrays
    found = [slopes(lambda x: run(robot, function, moved(robot, q, x), *vectors, f_ext), robot.nv)]
    for i in range(len(vectors)):
        changed = lambda x, i=i: [u + x if i == j else u for j, u in enumerate(vectors)]  # noqa: E731
        found.append(slopes(lambda x, c=changed: run(robot, function, q, *c(x), f_ext), robot.nv))
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_fifty_digits(name: str) -> None:
    """With wrenches, rotors, joint losses and springs. Friction's slope is zero, so its jump at v = 0 is not met."""
    robot = ROBOTS[name]()
    q, v, x, f_ext = state(robot)
    for function, answer in (
        (FORWARD_DYNAMICS["innovations"], robot.forward_dynamics_derivatives),
        (INVERSE_DYNAMICS, robot.inverse_dynamics_derivatives),
    ):
        expected = differences(robot, with_acting(function, losses=True, springs=True), q, v, x, f_ext)
        for found, exact in zip(answer(q, v, x, f_ext, **ACTING), expected, strict=True):
            assert relative(found, exact) < 1e-10
    at_zero = robot.inverse_dynamics_derivatives(q, v, 0 * x, f_ext)
    for found, expected in zip(robot.bias_derivatives(q, v, f_ext), at_zero[:2], strict=True):
        assert relative(found, expected) < 1e-14


@pytest.mark.parametrize("name", ROBOTS)
def test_rolled_kernels_agree(name: str) -> None:
    robot, batch = ROBOTS[name](), (2,)
    rng = np.random.default_rng(1)
    q, (v, x) = robot.random_configuration(rng, batch), rng.standard_normal((2, *batch, robot.nv))
    f_ext = rng.standard_normal((*batch, robot.tree.n, 6))
    for ask in (robot.forward_dynamics_derivatives, robot.inverse_dynamics_derivatives):
        straight, rolled = (ask(q, v, x, f_ext, **ACTING, kernel=k) for k in ("unrolled", "rolled"))
        assert max(relative(a, b) for a, b in zip(rolled, straight, strict=True)) < 1e-12


def test_derivatives_undo_each_other() -> None:
    """With a = FD(q, v, tau): ∂FD/∂q = −M⁻¹ ∂ID/∂q, ∂FD/∂v = −M⁻¹ ∂ID/∂v, and ∂FD/∂τ ∂ID/∂a = 1."""
    robot = ROBOTS["tree"]()
    q, v, tau, f_ext = state(robot)
    a = robot.forward_dynamics(q, v, tau, f_ext)
    forward = robot.forward_dynamics_derivatives(q, v, tau, f_ext)
    inverse = robot.inverse_dynamics_derivatives(q, v, a, f_ext)
    assert relative(forward.dtau @ inverse.da, np.eye(robot.nv)) < 1e-12
    assert relative(-forward.dtau @ inverse.dq, forward.dq) < 1e-10
    assert relative(-forward.dtau @ inverse.dv, forward.dv) < 1e-10
    assert relative(inverse.da, robot.mass_matrix(q).dense()) < 1e-13


def test_the_slope_of_losses_is_damping_at_rest_too() -> None:
    robot = ROBOTS["chain"]()
    q, _, a, _ = state(robot)
    at_rest = np.zeros(robot.nv)
    plain = robot.inverse_dynamics_derivatives(q, at_rest, a)
    lost = robot.inverse_dynamics_derivatives(q, at_rest, a, joint_losses=True)
    assert relative(lost.dv - plain.dv, np.diag(robot.tree.damping)) < 1e-14
    assert np.array_equal(lost.dq, plain.dq)
    assert np.array_equal(lost.da, plain.da)


def test_wrenches() -> None:
    """Torques and accelerations are linear in wrenches, so that differences of whole ones are exact."""
    robot = ROBOTS["floating"]()
    q, v, x, f_ext = state(robot)
    for ask, derivative in (
        (robot.forward_dynamics, robot.forward_dynamics_wrench_derivative),
        (robot.inverse_dynamics, robot.inverse_dynamics_wrench_derivative),
    ):
        expected = ask(q, v, x, f_ext) - ask(q, v, x)
        for kernel in ("unrolled", "rolled"):
            found = derivative(q, kernel=kernel)
            assert found.shape == (robot.nv, robot.tree.n, 6)
            assert relative(np.einsum("ikc,kc->i", found, f_ext), expected) < 1e-11


def test_long_chains_are_answered_by_loops() -> None:
    """Without being asked to: 80 links are too many to unroll. Differences of floats give six digits."""
    robot = catena.rod_chain(80)
    with pytest.raises(catena.UnsupportedError, match="rolled"):
        robot.forward_dynamics_derivatives(robot.neutral(), robot.neutral(), robot.neutral(), kernel="unrolled")
    rng = np.random.default_rng(3)
    q, (v, tau) = rng.uniform(-1, 1, robot.nq), rng.standard_normal((2, robot.nv))
    x = rng.standard_normal(robot.nv)
    dq, dv, dtau = robot.forward_dynamics_derivatives(q, v, tau)
    h = 1e-6
    for matrix, there, back in (
        (dq, (q + h * x, v, tau), (q - h * x, v, tau)),
        (dv, (q, v + h * x, tau), (q, v - h * x, tau)),
        (dtau, (q, v, tau + h * x), (q, v, tau - h * x)),
    ):
        difference = (robot.forward_dynamics(*there) - robot.forward_dynamics(*back)) / (2 * h)
        assert relative(matrix @ x, difference) < 1e-5


def test_results_by_name_in_arrays_of_the_callers() -> None:
    robot = ROBOTS["chain"]()
    rng = np.random.default_rng(2)
    q, (v, tau) = robot.random_configuration(rng, (3,)), rng.standard_normal((2, 3, robot.nv))
    plain = robot.forward_dynamics_derivatives(q, v, tau)
    out = tuple(np.empty((3, robot.nv, robot.nv)) for _ in range(3))
    found = robot.forward_dynamics_derivatives(q, v, tau, out=out)
    assert all(x is y for x, y in zip(found, out, strict=True))
    assert np.array_equal(found.dtau, plain.dtau)
    single = robot.forward_dynamics_derivatives(q, v, tau, dtype=np.float32)
    assert single.dq.dtype == np.float32
    assert relative(single.dq, plain.dq) < 1e-3
    assert robot.forward_dynamics_derivatives(q[:0], v[:0], tau[:0]).dv.shape == (0, robot.nv, robot.nv)
