"""Mass matrix, bias, Jacobians, energies and momenta against MuJoCo, on every MJCF model in mujoco and dm_control."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
from catena.algorithms import energy
from catena.functions import engine
from catena.functions.catalogue import BIAS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.functions.frames import function_of
from catena.functions.function import Function

mujoco = pytest.importorskip("mujoco")
from tests.peers.test_mujoco_kinematics import FILES, FREE, compiled, random_qpos  # noqa: E402, it needs MuJoCo

TOLERANCE = 1e-9


def close(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * max(1.0, np.abs(expected).max(initial=0.0)))


def ask(robot: catena.Robot, function: Function, **values: Any) -> Any:
    """On floats, link by link."""
    found = [x.astype(float) for x in engine.evaluate(robot.tree, function, values).values()]
    return found[0] if len(found) == 1 else found


class State:
    """One state of a model, here and in MuJoCo, whose velocity is T v for ours, v."""

    def __init__(self, file: Path) -> None:
        self.model, self.robot = compiled(file), catena.load(file)
        self.data, rng = mujoco.MjData(self.model), np.random.default_rng(3)
        self.data.qpos, self.q = random_qpos(self.model, rng)
        self.v, self.a = rng.standard_normal((2, self.robot.nv))
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        self.T, self.drift = self._velocities()
        self.data.qvel = self.T @ self.v
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_comVel(self.model, self.data)
        self.M = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(self.M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, row, unit)

    def _velocities(self) -> tuple[np.ndarray, np.ndarray]:
        """T, and Ṫ v: a free joint's linear velocity is in the world's axes there and in the body's own here."""
        T, drift = np.eye(self.robot.nv), np.zeros(self.robot.nv)
        for joint in np.flatnonzero(self.model.jnt_type == FREE):
            start = self.model.jnt_dofadr[joint]
            R = self.data.xmat[self.model.jnt_bodyid[joint]].reshape(3, 3)
            T[start : start + 6, start : start + 6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
            drift[start : start + 3] = R @ np.cross(self.v[start : start + 3], self.v[start + 3 : start + 6])
        return T, drift

    def bias(self) -> np.ndarray:
        """The bias torques of MuJoCo, along our velocities."""
        torques = np.zeros(self.model.nv)
        mujoco.mj_rne(self.model, self.data, 0, torques)
        return np.asarray(self.T.T @ (torques + self.M @ self.drift))

    def name(self, body: int) -> str:
        return self.model.body(body).name or f"body{body}"

    def momentum(self) -> np.ndarray:
        """Of all that moves, about its centre of mass, from the subtrees that hang on the world."""
        mujoco.mj_subtreeVel(self.model, self.data)
        moving = np.flatnonzero(self.model.body_treeid >= 0)
        roots = [b for b in moving if self.model.body_treeid[self.model.body_parentid[b]] < 0]
        masses = self.model.body_subtreemass[roots]
        linear = masses[:, None] * self.data.subtree_linvel[roots]
        arms = self.data.subtree_com[roots] - self.center()
        angular = self.data.subtree_angmom[roots] + np.cross(arms, linear)
        return np.concatenate([angular.sum(axis=0), linear.sum(axis=0)])

    def center(self) -> np.ndarray:
        moving = np.flatnonzero(self.model.body_treeid >= 0)
        mass = self.model.body_mass[moving]
        return np.asarray(mass @ self.data.xipos[moving] / mass.sum())


@lru_cache(maxsize=1)
def state_of(file: Path) -> State | None:
    try:
        state = State(file)
    except ValueError:
        return None
    return state if state.robot.nv and state.robot.total_mass > 0 else None


every_model = pytest.mark.parametrize(
    "file",
    FILES,
    ids=lambda file: "/".join(file.parts[-3:]),
    scope="module",  # all tests of one model, then of the next: each is loaded once
)


@every_model
def test_dynamics(file: Path) -> None:
    state = state_of(file)
    if state is None:
        pytest.skip("MuJoCo does not compile it, or nothing moves")
    M = state.T.T @ state.M @ state.T
    if getattr(state.model, "tendon_armature", np.zeros(1)).any():
        pytest.skip("inertia of tendons is not part of a mechanism of links")
    close(ask(state.robot, MASS_MATRIX, q=state.q), M)
    close(ask(state.robot, BIAS, q=state.q, v=state.v), state.bias())
    close(ask(state.robot, INVERSE_DYNAMICS, q=state.q, v=state.v, a=state.a), M @ state.a + state.bias())
    close(ask(state.robot, energy.KINETIC_ENERGY, q=state.q, v=state.v), 0.5 * state.v @ M @ state.v)


@every_model
def test_energies_and_momenta(file: Path) -> None:
    state = state_of(file)
    if state is None:
        pytest.skip("MuJoCo does not compile it, or nothing moves")
    robot, q, v = state.robot, state.q, state.v
    close(ask(robot, energy.CENTER_OF_MASS, q=q), state.center())
    close(ask(robot, energy.POTENTIAL_ENERGY, q=q), -robot.total_mass * robot.gravity @ state.center())
    close(ask(robot, energy.CENTROIDAL_MOMENTUM, q=q, v=v), state.momentum())
    close(ask(robot, energy.CENTROIDAL_MOMENTUM_MATRIX, q=q) @ v, state.momentum())
    close(ask(robot, energy.CENTER_OF_MASS_VELOCITY, q=q, v=v), state.momentum()[3:] / robot.total_mass)


@every_model
def test_jacobians(file: Path) -> None:
    state = state_of(file)
    if state is None:
        pytest.skip("MuJoCo does not compile it, or nothing moves")
    model, data, robot = state.model, state.data, state.robot
    body = int(np.flatnonzero(model.body_treeid >= 0)[-1])
    rows, rates = np.zeros((2, 2, 3, model.nv))
    mujoco.mj_jacBody(model, data, rows[1], rows[0], body)
    J = np.concatenate(rows) @ state.T
    function = function_of(robot, "jacobian", state.name(body), "mixed")
    close(ask(robot, function, q=state.q), J)
    function = function_of(robot, "jacobian_times", state.name(body), "mixed")
    close(ask(robot, function, q=state.q, x=state.v), J @ state.v)
    mujoco.mj_jacDot(model, data, rates[1], rates[0], data.xpos[body], body)
    expected = np.concatenate(rates) @ data.qvel + np.concatenate(rows) @ state.drift
    function = function_of(robot, "jacobian_dot_times", state.name(body), "mixed")
    close(ask(robot, function, q=state.q, v=state.v), expected)


def test_methods_of_robot() -> None:
    """The same through compiled kernels, on our own model with rotors, damping and friction."""
    state = state_of(catena_model())
    assert state is not None
    robot, q, v, a = state.robot, state.q, state.v, state.a
    M = state.T.T @ state.M @ state.T
    close(robot.mass_matrix(q).dense(), M)
    close(robot.mass_matrix(q).logdet(), np.linalg.slogdet(M)[1])
    losses = robot.damping * v + robot.friction * np.sign(v)
    close(robot.inverse_dynamics(q, v, a, joint_losses=True), M @ a + state.bias() + losses)
    close(robot.forward_dynamics(q, v, M @ a + state.bias()), a)
    close(robot.momentum(q, v), state.momentum())


def catena_model() -> Path:
    from catena import robots

    return robots.path("crane")
