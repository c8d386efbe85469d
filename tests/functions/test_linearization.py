"""Linearised equations of motion and steps: against differences with 50 digits, and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.exact_slopes import DIGITS, apart, moved, run, slopes
from tests.mechanisms import relative

import catena
from catena.functions.catalogue import FORWARD_DYNAMICS

DT = 0.3


def robot() -> catena.Robot:
    """A planar joint, and a universal and a spherical one on the link that it carries."""
    return catena.random_tree(0, 3, ["planar", "spherical", "universal"], 0.5)


def transported(robot: catena.Robot, q: Any, v: Any, after: Any, dt: Any) -> tuple[Any, Any]:
    """The step's end where the planar joint's velocity changes in axes that stand still, by matrices in these axes."""
    (k,) = (joint for joint in robot.joints if joint.type == "planar")
    at, own = k.q_slice.start, k.v_slice.start
    q1, v1 = moved(robot, q, dt * after), after.copy()
    angle, (vx, vy, turning) = q[at + 2], v[own : own + 3]
    ends = angle + dt * after[own + 2]

    def seen(angle: Any, x: Any, y: Any) -> tuple[Any, Any]:
        return mp.cos(angle) * x + mp.sin(angle) * y, mp.cos(angle) * y - mp.sin(angle) * x

    rates = [(x - y) / dt for x, y in zip(after[own : own + 2], (vx, vy), strict=True)]
    before, change = seen(-angle, vx, vy), seen(-angle, rates[0] - turning * vy, rates[1] + turning * vx)
    x, y = (u + dt * w for u, w in zip(before, change, strict=True))
    q1[at : at + 3] = [q[at] + dt * x, q[at + 1] + dt * y, ends]
    v1[own : own + 2] = seen(ends, x, y)
    return q1, v1


def step(robot: catena.Robot, integrator: str, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
    """What the documentation says of each integrator, with 50 digits."""

    def a(q: Any, v: Any) -> Any:
        return run(robot, FORWARD_DYNAMICS["innovations"], q, v, tau)

    with mp.workdps(DIGITS):
        dt = mpf(DT)
        if integrator == "semi_implicit":
            after = v + dt * a(q, v)
            return transported(robot, q, v, after, dt)
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
