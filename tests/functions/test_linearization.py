"""Linearised equations of motion and steps: against differences with 50 digits, and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.exact_slopes import DIGITS, apart, moved, run, slopes
from tests.mechanisms import relative

import catena
from catena.algorithms.kinematics import LINK_ACCELERATIONS, LINK_VELOCITIES, PLACEMENTS
from catena.functions.catalogue import FORWARD_DYNAMICS

DT = 0.3


def robot() -> catena.Robot:
    """A planar joint, and a universal and a spherical one on the link that it carries."""
    return catena.random_tree(0, 3, ["planar", "spherical", "universal"], 0.5)


def carried(robot: catena.Robot, q: Any, v: Any, a: Any, dt: Any) -> tuple[Any, Any]:
    """The end of a step of order 1, from what links do in the base's axes, by matrices in these."""
    tree = robot.tree
    (R, p), V = run(robot, PLACEMENTS, q), run(robot, LINK_VELOCITIES["mixed"], q, v)
    A = run(robot, LINK_ACCELERATIONS["mixed"], q, v, a)
    q1, v1 = moved(robot, q, dt * (v + dt * a)), v + dt * a
    for i, joint in enumerate(robot.joints):
        if joint.type == "universal":
            continue
        at, own = joint.q_slice, joint.v_slice
        if joint.type == "spherical":
            turning = np.array(v, dtype=object)
            turning[own] += dt * (a[own] + dt / 2 * np.cross(a[own], v[own]))
            q1[at] = moved(robot, q, dt * turning)[at]
        parent, Q = tree.parent[i], tree.joint_rotation[i]
        (R1, p1), V1 = run(robot, PLACEMENTS, q1), run(robot, LINK_VELOCITIES["mixed"], q1, v1)
        turn, origin, moves = (R1[parent], p1[parent], V1[parent]) if parent >= 0 else (np.eye(3), 0 * p[i], 0 * V[i])
        linear = V[i, 3:] + dt * A[i, 3:]
        placed = turn @ tree.placement_rotation[i] @ Q
        hung = origin + turn @ tree.placement_position[i]
        if joint.type == "planar":
            q1[at.start : at.start + 2] = (placed.T @ (p[i] + dt * linear - hung))[:2]
            (R1, p1) = run(robot, PLACEMENTS, q1)
        own_axes = (R1[i] @ Q).T
        angular = (R[i] @ Q).T @ V[i, :3], (R[i] @ Q).T @ A[i, :3]
        angular = angular[0] + dt * (angular[1] + dt / 2 * np.cross(angular[1], angular[0]))
        angular = angular - own_axes @ moves[:3]
        linear = own_axes @ (linear - moves[3:] - np.cross(moves[:3], p1[i] - origin))
        v1[own] = angular if joint.type == "spherical" else [*linear[:2], angular[2]]
    return q1, v1


def step(robot: catena.Robot, integrator: str, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
    """What the documentation says of each integrator, with 50 digits."""

    def a(q: Any, v: Any) -> Any:
        return run(robot, FORWARD_DYNAMICS["innovations"], q, v, tau)

    with mp.workdps(DIGITS):
        dt = mpf(DT)
        if integrator == "semi_implicit":
            return carried(robot, q, v, a(q, v), dt)
        if integrator == "explicit":
            return moved(robot, q, dt * v), v + dt * a(q, v)
        half = moved(robot, q, dt / 2 * v), v + dt / 2 * a(q, v)
        return moved(robot, q, dt * half[1]), v + dt * a(*half)


@pytest.mark.parametrize("integrator", ["semi_implicit", "explicit", "midpoint"])
def test_fifty_digits(integrator: str) -> None:
    arm = robot()
    rng = np.random.default_rng(4)
    q, (v, tau) = arm.random_configuration(rng), rng.standard_normal((2, arm.nv))
    reached, _ = step(arm, integrator, q, v, tau)

    def changed(x: Any) -> Any:
        at, speeds, torques = np.split(x, 3)
        q1, v1 = step(arm, integrator, moved(arm, q, at), v + speeds, tau + torques)
        return np.concatenate([apart(arm, reached, q1), v1])

    expected = slopes(changed, 3 * arm.nv)
    for kernel in ("unrolled", "rolled"):
        A, B = arm.linearize(q, v, tau, DT, integrator, kernel=kernel)
        assert A.shape == (2 * arm.nv, 2 * arm.nv)
        assert B.shape == (2 * arm.nv, arm.nv)
        assert relative(np.concatenate([A, B], axis=-1), expected) < 1e-10


def test_a_short_step_is_one_along_the_flow() -> None:
    arm = robot()
    rng = np.random.default_rng(4)
    q, (v, tau) = arm.random_configuration(rng, (2,)), rng.standard_normal((2, 2, arm.nv))
    f_ext = rng.standard_normal((arm.tree.n, 6))
    A, B = arm.linearize(q, v, tau, f_ext=f_ext)
    for dt in (1e-6, np.array([1e-6, 2e-6])):
        stepped = arm.linearize(q, v, tau, dt, f_ext=f_ext)
        by = np.broadcast_to(dt, 2)[:, None, None]
        assert relative((stepped.A - np.eye(2 * arm.nv)) / by, A) < 1e-4
        assert relative(stepped.B / by, B) < 1e-4
    rolled = arm.linearize(q, v, tau, f_ext=f_ext, kernel="rolled")
    assert relative(rolled.A, A) < 1e-12
    assert relative(rolled.B, B) < 1e-12


def test_blocks_of_an_arm() -> None:
    arm = catena.load(catena.robots.path("seven_dof_arm"))
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, (3, arm.nv))
    A, B = arm.linearize(q, v, tau, joint_losses=True)
    dq, dv, dtau = arm.forward_dynamics_derivatives(q, v, tau, joint_losses=True)
    zero, one = np.zeros((arm.nv, arm.nv)), np.eye(arm.nv)
    assert np.array_equal(A, np.block([[zero, one], [dq, dv]]))
    assert np.array_equal(B, np.vstack([zero, dtau]))


def test_unknown_integrators_are_named() -> None:
    arm = robot()
    with pytest.raises(catena.UnsupportedError, match="semi_implicit"):
        arm.linearize(arm.neutral(), np.zeros(arm.nv), np.zeros(arm.nv), 0.1, "semi-implicit")
