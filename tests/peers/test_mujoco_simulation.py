"""Runge-Kutta steps against MuJoCo's, at the same step over one second, without contacts."""

from __future__ import annotations

import numpy as np
import pytest

import catena

mujoco = pytest.importorskip("mujoco")

DT, STEPS = 2e-3, 500


def arm() -> str:
    """Seven hinges of changing direction, as heavy as a small industrial arm, with springs and damping."""
    bodies, ends = "", ""
    for i in range(7):
        axis = ("0 0 1", "0 1 0", "1 0 0")[i % 3]
        bodies += (
            f'<body name="b{i}" pos="0 0.02 {0.25 if i else 0.1}"><joint name="j{i}" axis="{axis}" armature="0.1" '
            f'stiffness="{i}" springref="0.1" damping="0.2"/><inertial pos="0.01 0 0.1" mass="{3 - 0.3 * i}" '
            'diaginertia="0.02 0.02 0.01"/>'
        )
        ends += "</body>"
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{DT}" integrator="RK4"/><worldbody>{bodies}{ends}'
        "</worldbody></mujoco>"
    )


def test_an_arm_over_a_second() -> None:
    text = arm()
    robot, model = catena.load(text), mujoco.MjModel.from_xml_string(text)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, (3, 7))
    data.qpos, data.qvel, data.qfrc_applied = q, v, tau
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    run = robot.rollout(q, v, np.tile(tau, (STEPS, 1)), DT, integrator="rk4", joint_losses=True, every=STEPS)
    assert np.abs(run.q[-1] - data.qpos).max() < 1e-8
    assert np.abs(run.v[-1] - data.qvel).max() < 1e-8
