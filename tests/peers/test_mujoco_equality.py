"""Closed mechanisms of MJCF files against dense equations made of MuJoCo's mass matrix, bias and equality Jacobian.

MuJoCo's own accelerations are those of soft constraints, so they are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.closed_systems import near

import catena
from catena import robots

mujoco = pytest.importorskip("mujoco")
from tests.peers.test_mujoco_kinematics import BALL, FILES, FREE, compiled  # noqa: E402, it needs MuJoCo

CLOSED = [robots.path(name) for name in ("four_bar", "stewart_platform", "delta_robot", "two_arms_with_box")]
CLOSED += [file for file in FILES if "<equality" in file.read_text(encoding="utf-8", errors="replace")]
HELD = (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD, mujoco.mjtEq.mjEQ_JOINT)


MIXED = """<mujoco><default><geom type="capsule" size="0.05 0.1"/></default><worldbody>
  <body name="a" pos="0 0 1"><joint type="ball"/><geom pos="0.1 0 0"/>
    <body name="b" pos="0.3 0 0"><joint axis="0 1 0" pos="0.02 0 0.01" ref="20"/><geom pos="0 0 0.1"/></body></body>
  <body name="c" pos="0.5 0.2 1"><freejoint/><geom pos="0 0.05 0"/></body>
  <body name="d" pos="0 1 0"><joint name="slide" type="slide" axis="0 0 1" ref="0.1"/><geom/></body>
  <body name="e" pos="1 1 0"><joint name="turn" axis="1 0 0" ref="-30"/><geom pos="0 0.1 0"/></body>
  <body name="f" pos="0 1.3 0"><freejoint/><geom/></body></worldbody>
  <tendon><fixed name="cord"><joint joint="slide" coef="1"/></fixed></tendon>
  <equality>
    <weld body1="b" body2="c" relpose="0.1 0.2 0.3 1 0.2 0.1 -0.3" anchor="0.05 0 0.1"/>
    <joint joint1="slide" joint2="turn" polycoef="0.1 0.5 0.2 0.05 0"/>
    <connect body1="d" body2="f" anchor="0.1 0.1 0"/>
    <connect body1="f" body2="e" anchor="0 0 0" active="false"/>
    <tendon tendon1="cord"/>
  </equality></mujoco>"""


class Twin:
    """A closed mechanism here and in MuJoCo."""

    def __init__(self, file: Path, roots: Sequence[Path] = ()) -> None:
        self.model, self.system = compiled(file), catena.System.load(file, package_roots=roots)
        self.model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        self.model.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.model)

    def set(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Put MuJoCo into a state; the matrix T from our velocities to its own."""
        qpos, T = np.array(q), np.eye(self.model.nv)
        for joint in np.flatnonzero(self.model.jnt_type <= BALL):
            free = self.model.jnt_type[joint] == FREE
            start = self.model.jnt_qposadr[joint] + (3 if free else 0)
            qpos[start : start + 4] = np.roll(q[start : start + 4], 1)
        self.data.qpos = qpos
        mujoco.mj_kinematics(self.model, self.data)
        for joint in np.flatnonzero(self.model.jnt_type == FREE):
            start, R = self.model.jnt_dofadr[joint], self.data.xmat[self.model.jnt_bodyid[joint]].reshape(3, 3)
            T[start : start + 6, start : start + 6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
        self.data.qvel = T @ v
        mujoco.mj_forward(self.model, self.data)
        return T

    def jacobian(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Its equality Jacobian, for our velocities."""
        T = self.set(q, v)
        kinds = self.model.eq_type[self.data.efc_id[: self.data.ne]]
        J = self.data.efc_J.reshape(-1, self.model.nv)[: self.data.ne]
        return np.asarray(J[np.isin(kinds, [int(k) for k in HELD])] @ T)

    def dynamics(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Its mass matrix and bias, for our velocities."""
        T, drift = self.set(q, v), np.zeros(self.model.nv)
        for joint in np.flatnonzero(self.model.jnt_type == FREE):
            start, R = self.model.jnt_dofadr[joint], self.data.xmat[self.model.jnt_bodyid[joint]].reshape(3, 3)
            drift[start : start + 3] = R @ np.cross(v[start : start + 3], v[start + 3 : start + 6])
        M = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, row, unit)
        torques = np.zeros(self.model.nv)
        mujoco.mj_rne(self.model, self.data, 0, torques)
        return T.T @ M @ T, T.T @ (torques + M @ drift)


def closed(system: catena.System, model: Any, rng: np.random.Generator) -> np.ndarray:
    """A closed configuration near the one that the file gives."""
    start = np.array(model.qpos0)
    for joint in np.flatnonzero(model.jnt_type <= BALL):
        at = model.jnt_qposadr[joint] + (3 if model.jnt_type[joint] == FREE else 0)
        start[at : at + 4] = np.roll(start[at : at + 4], -1)
    return near(system, start, 0.3, rng)


def errors(twin: Twin, rng: np.random.Generator) -> tuple[float, float]:
    """How far rates of the constraints are from zero, and accelerations from those of the dense equations, relative."""
    system = twin.system
    q = closed(system, twin.model, rng)
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    M, b = twin.dynamics(q, v)
    J, h = twin.jacobian(q, v), 3e-4
    rates = [twin.jacobian(system.integrate(q, s * h * v), v) @ v for s in (-2, -1, 1, 2)]
    drift = (rates[0] - 8 * rates[1] + 8 * rates[2] - rates[3]) / (12 * h)
    free = np.linalg.solve(M, tau - b)
    push = np.linalg.solve(M, J.T)
    lam = np.linalg.pinv(J @ push, rcond=1e-12, hermitian=True) @ (-drift - J @ free)
    expected = free + push @ lam
    a = system.forward_dynamics(q, v, tau).a
    kept, off = np.abs(J @ v).max(), np.abs(a - expected).max()
    return float(kept / max(1.0, np.abs(v).max())), float(off / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("file", CLOSED, ids=lambda file: file.stem)
def test_every_closed_mechanism_agrees(file: Path, rng: np.random.Generator) -> None:
    twin = Twin(file)
    if not twin.system.constraints:
        pytest.skip("its equalities are on tendons")
    assert max(errors(twin, rng)) < 1e-9


def test_every_kind_of_equality(tmp_path: Path, rng: np.random.Generator) -> None:
    file = tmp_path / "mixed.xml"
    file.write_text(MIXED)
    with pytest.warns(catena.ModelWarning) as caught:
        system = catena.System.load(file)
    said = " ".join(str(warning.message) for warning in caught)
    assert "1 equalities that are not active" in said
    assert "1 equalities of tendons" in said
    assert "equality constraints" not in said
    assert [type(c).__name__ for c in system.constraints] == ["Weld", "Coupling", "Ball"]
    with pytest.warns(catena.ModelWarning, match="5 equality constraints"):
        catena.load(file)
    test_every_closed_mechanism_agrees(file, rng)
