"""Runge-Kutta steps against MuJoCo's, at the same step over one second, without contacts."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers.urdf_in_mujoco import bare

import catena

mujoco = pytest.importorskip("mujoco")
ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
XARM7, GO2 = ROBOTS / "xarm_description/urdf/xarm7.urdf", ROBOTS / "go2_description/urdf/go2.urdf"

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


def turned(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A vector turned by a quaternion x, y, z, w."""
    found: np.ndarray = x + 2 * np.cross(q[:3], np.cross(q[:3], x) + q[3] * x)
    return found


def theirs(robot: catena.Robot, model: Any, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A state as MuJoCo has it: quaternions w first, the base's velocity linear first and that in the world."""
    qpos, qvel = np.zeros(model.nq), np.zeros(model.nv)
    for joint in robot.joints:
        if joint.v_slice.stop - joint.v_slice.start == 6:
            place, speed = q[joint.q_slice], v[joint.v_slice]
            qpos[:7] = *place[:3], place[6], *place[3:6]
            qvel[:6] = *turned(place[3:], speed[3:]), *speed[:3]
        else:
            at = model.joint(joint.name)
            qpos[at.qposadr], qvel[at.dofadr] = q[joint.q_slice], v[joint.v_slice]
    return qpos, qvel


def stepped(model: Any, qpos: np.ndarray, qvel: np.ndarray, steps: int) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos, data.qvel = qpos, qvel
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return np.concatenate([data.qpos, data.qvel])


@pytest.mark.skipif(not XARM7.exists(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(("path", "base", "dt"), [(XARM7, "fixed", 1e-3), (GO2, "floating", 2e-4)])
def test_real_robots_over_a_second(path: Path, base: Any, dt: float) -> None:
    robot, model, steps = catena.load(path, base=base), bare(path, base == "floating", dt), round(1 / dt)
    rng = np.random.default_rng(1)
    q, v = robot.random_configuration(rng), rng.uniform(-1, 1, robot.nv)
    run = robot.rollout(q, v, None, dt, steps=steps, every=steps, integrator="rk4")
    ours = np.concatenate(theirs(robot, model, run.q[-1], run.v[-1]))
    start = theirs(robot, model, q, v)
    found = stepped(model, *start, steps)
    moved = stepped(model, start[0], start[1] + 1e-14, steps)
    if base == "floating" and ours[3] * found[3] < 0:
        ours[3:7] *= -1
    assert np.abs(ours - found).max() < max(1e-8, 100 * np.abs(moved - found).max())
