"""Armature on free and ball joints, as the models of Brax have it, against MuJoCo's accelerations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena

mujoco = pytest.importorskip("mujoco")
from tests.peers.test_mujoco_quantities import State  # noqa: E402, it needs MuJoCo

METHODS = ("innovations", "fd1", "fd2", "fd4", "two_sweep", "udu", "dense", "fixman")
LEG = """
<body pos="{x} {y} 0">
  <joint name="hip{n}" type="{kind}" axis="0 0 1" armature="1"/>
  <geom type="capsule" fromto="0 0 0 {x} {y} 0" size="0.08" mass="0.4"/>
  <body pos="{x} {y} 0">
    <joint name="ankle{n}" type="hinge" axis="{y} {x} 0.1" armature="0.5"/>
    <geom type="capsule" fromto="0 0 0 {x} {y} -0.3" size="0.08" mass="0.7"/>
  </body>
</body>"""
FLYING = """<mujoco><option gravity="0 0 0"/><worldbody><body>
  <joint type="free" armature="1"/><geom type="sphere" size="0.1" mass="1"/>
</body></worldbody></mujoco>"""


def ant(armature: float, kind: str) -> str:
    """A torso of a free joint with armature, on four legs of two joints each."""
    legs = [LEG.format(x=x, y=y, n=n, kind=kind) for n, (x, y) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)])]
    return f"""<mujoco><option><flag contact="disable"/></option><worldbody><body name="torso" pos="0 0 1">
      <joint type="free" armature="{armature}"/><geom type="box" size="0.3 0.2 0.1" pos="0.1 0 0" mass="2"/>
      {"".join(legs)}</body></worldbody></mujoco>"""


def state_of(text: str, folder: Path) -> Any:
    file = folder / "model.xml"
    file.write_text(text)
    return State(file)


@pytest.mark.parametrize("kind", ["hinge", "ball"])
@pytest.mark.parametrize("armature", [0.0, 20.0])
def test_accelerations(tmp_path: Path, armature: float, kind: str) -> None:
    state = state_of(ant(armature, kind), tmp_path)
    robot, q, v, data = state.robot, state.q, 3 * state.v, state.data
    tau = np.random.default_rng(5).standard_normal(robot.nv)
    T, drift = state.T, 9 * state.drift
    data.qvel, data.qfrc_applied = T @ v, np.linalg.solve(T.T, tau)
    mujoco.mj_forward(state.model, data)
    expected = np.linalg.solve(T, data.qacc - drift)
    atol = 1e-10 * np.abs(expected).max()
    for method in METHODS:
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau, method=method), expected, rtol=0, atol=atol)
    rolled = robot.forward_dynamics(q, v, tau, kernel="rolled")
    np.testing.assert_allclose(rolled, expected, rtol=0, atol=atol)
    for kernel in ("unrolled", "rolled"):
        found = robot.inverse_dynamics(q, v, expected, kernel=kernel)
        np.testing.assert_allclose(found, tau, rtol=0, atol=1e-10 * (1 + np.abs(robot.bias(q, v)).max()))
    np.testing.assert_allclose(robot.coriolis_matrix(q, v) @ v + robot.gravity_torque(q), robot.bias(q, v), atol=1e-8)


def test_a_body_without_forces_flies_straight(tmp_path: Path) -> None:
    robot: catena.Robot = state_of(FLYING, tmp_path).robot
    v = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    a = robot.forward_dynamics(robot.neutral(), v, np.zeros(6))
    np.testing.assert_allclose(a, [0, 0, 0, 0, -1, 0], atol=1e-15)
