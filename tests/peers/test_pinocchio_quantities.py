"""Kinematics, momenta, energies, Coriolis, operational inertia: every robot of example-robot-data against Pinocchio.

All robots run link by link on floats; a few of various kinds run as machine code through the methods of Robot.
"""

from __future__ import annotations

import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
from catena.algorithms import coriolis, energy, inverse_matrix, kinematics
from catena.functions import engine
from catena.functions.frames import function_of
from catena.functions.function import Function
from catena.model.singular import unheld_leaves

pin = pytest.importorskip("pinocchio")
from tests.peers.pinocchio_peer import Peer  # noqa: E402, it needs Pinocchio

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for file in sorted(ROBOTS.rglob("*.urdf")) if file.name != "ur3.urdf"]
COMPILED = [
    ("ur5_robot.urdf", "fixed"),
    ("panda.urdf", "floating"),
    ("anymal.urdf", "floating"),
    ("double_pendulum_continuous.urdf", "fixed"),
]
REFERENCE = {"link": pin.LOCAL, "world": pin.WORLD, "mixed": pin.LOCAL_WORLD_ALIGNED}
TOLERANCE = 1e-10


def close(found: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


def angular_first(x: Any) -> np.ndarray:
    """Pinocchio's spatial vectors or rows, linear part first, in our order."""
    x = np.asarray(getattr(x, "vector", x))
    return np.concatenate([x[3:], x[:3]])


class Theirs:
    """What Pinocchio says of one state, in our order of joints and of spatial components."""

    def __init__(self, peer: Peer, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        self.peer, self.model, self.data = peer, peer.model, peer.model.createData()
        self.q, self.v, self.a = peer.q(q), peer.v(v), peer.v(a)
        self.state = (self.model, self.data, self.q, self.v)
        pin.computeAllTerms(*self.state)
        pin.forwardKinematics(*self.state, self.a)
        pin.computeJointJacobiansTimeVariation(*self.state)
        pin.updateFramePlacements(self.model, self.data)
        self.joints = [self.model.getJointId(joint.name) for joint in peer.robot.joints]

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.peer.ours(J)

    def velocities(self, frame: str) -> np.ndarray:
        ask = [pin.getVelocity(self.model, self.data, i, REFERENCE[frame]) for i in self.joints]
        return np.array([angular_first(V) for V in ask])

    def accelerations(self, frame: str) -> np.ndarray:
        get = pin.getClassicalAcceleration if frame == "mixed" else pin.getAcceleration
        return np.array([angular_first(get(self.model, self.data, i, REFERENCE[frame])) for i in self.joints])

    def frame(self, name: str) -> int:
        return int(self.model.getFrameId(name, pin.FrameType.BODY))

    def jacobian(self, name: str, frame: str) -> np.ndarray:
        J = pin.getFrameJacobian(self.model, self.data, self.frame(name), REFERENCE[frame])
        return self.columns(angular_first(J))

    def jacobian_rate(self, name: str, frame: str) -> np.ndarray:
        J = pin.getFrameJacobianTimeVariation(self.model, self.data, self.frame(name), REFERENCE[frame])
        return self.columns(angular_first(J))

    def inverse(self) -> np.ndarray:
        M = pin.computeMinverse(self.model, self.data, self.q)
        return self.peer.matrix(np.triu(M) + np.triu(M, 1).T)


@lru_cache(maxsize=1)
def case(file: Path, base: str) -> tuple[catena.Robot, Theirs, dict[str, np.ndarray]]:
    peer, rng = Peer.load(file, base), np.random.default_rng(5)
    robot = peer.robot
    state = {
        "q": robot.random_configuration(rng),
        "v": rng.standard_normal(robot.nv),
        "a": rng.standard_normal(robot.nv),
    }
    return robot, Theirs(peer, **state), state


def some_frames(robot: catena.Robot) -> list[str]:
    """The last link, and the last frame that is fixed to a moving link."""
    fixed = [name for name, frame in robot.frames.items() if frame.link >= 0]
    return [robot.links[-1].name, *fixed[-1:]]


def ask(robot: catena.Robot, function: Function, **values: np.ndarray) -> Any:
    """On floats, link by link."""
    found = [x.astype(float) for x in engine.evaluate(robot.tree, function, values).values()]
    return found[0] if len(found) == 1 else found


def about(robot: catena.Robot, question: str, link: str, frame: str, **values: np.ndarray) -> Any:
    """A question about one frame, on floats."""
    return ask(robot, function_of(robot, question, link, frame), **values)


every_robot = pytest.mark.parametrize(
    ("file", "base"),
    [pytest.param(file, base, id=f"{file.stem}-{base}") for file in FILES for base in ("fixed", "floating")],
    scope="module",  # all tests of one robot, then of the next: each is loaded once
)


@every_robot
def test_links(file: Path, base: str) -> None:
    robot, theirs, state = case(file, base)
    if robot.nv == 0:
        return
    q, v, a = state.values()
    R, p = ask(robot, kinematics.PLACEMENTS, q=q)
    close(R, [theirs.data.oMi[i].rotation for i in theirs.joints])
    close(p, [theirs.data.oMi[i].translation for i in theirs.joints])
    for frame in kinematics.FRAMES:
        close(ask(robot, kinematics.LINK_VELOCITIES[frame], q=q, v=v), theirs.velocities(frame))
        close(ask(robot, kinematics.LINK_ACCELERATIONS[frame], q=q, v=v, a=a), theirs.accelerations(frame))


@every_robot
def test_jacobians(file: Path, base: str) -> None:
    robot, theirs, state = case(file, base)
    if robot.nv == 0:
        return
    q, v = state["q"], state["v"]
    wrench = np.random.default_rng(1).standard_normal(6)
    for name in some_frames(robot):
        R, p = about(robot, "placement", name, "link", q=q)
        close(R, theirs.data.oMf[theirs.frame(name)].rotation)
        close(p, theirs.data.oMf[theirs.frame(name)].translation)
        for frame in kinematics.FRAMES:
            J = theirs.jacobian(name, frame)
            close(about(robot, "jacobian", name, frame, q=q), J)
            close(about(robot, "jacobian_times", name, frame, q=q, x=v), J @ v)
            close(about(robot, "jacobian_transpose_times", name, frame, q=q, f=wrench), J.T @ wrench)
            rate = theirs.jacobian_rate(name, frame) @ v
            close(about(robot, "jacobian_dot_times", name, frame, q=q, v=v), rate)


@every_robot
def test_energies_and_momenta(file: Path, base: str) -> None:
    robot, theirs, state = case(file, base)
    if robot.nv == 0 or robot.total_mass == 0:
        return
    q, v = state["q"], state["v"]
    model, data = theirs.model, theirs.data
    close(ask(robot, energy.KINETIC_ENERGY, q=q, v=v), pin.computeKineticEnergy(*theirs.state))
    close(ask(robot, energy.POTENTIAL_ENERGY, q=q), pin.computePotentialEnergy(model, data, theirs.q))
    close(ask(robot, energy.GRAVITY_TORQUE, q=q), theirs.columns(pin.computeGeneralizedGravity(model, data, theirs.q)))
    close(ask(robot, energy.CENTER_OF_MASS, q=q), pin.centerOfMass(model, data, theirs.q))
    pin.centerOfMass(*theirs.state)
    close(ask(robot, energy.CENTER_OF_MASS_VELOCITY, q=q, v=v), data.vcom[0])
    J = pin.jacobianCenterOfMass(model, data, theirs.q)
    close(ask(robot, energy.CENTER_OF_MASS_JACOBIAN, q=q), theirs.columns(J))
    pin.ccrba(*theirs.state)
    close(ask(robot, energy.CENTROIDAL_MOMENTUM, q=q, v=v), angular_first(data.hg))
    close(ask(robot, energy.CENTROIDAL_MOMENTUM_MATRIX, q=q), theirs.columns(angular_first(data.Ag)))


@every_robot
def test_coriolis(file: Path, base: str) -> None:
    robot, theirs, state = case(file, base)
    if robot.nv == 0:
        return
    q, v, a = state.values()
    C = theirs.peer.matrix(pin.computeCoriolisMatrix(*theirs.state))
    close(ask(robot, coriolis.CORIOLIS_MATRIX, q=q, v=v), C)
    close(ask(robot, coriolis.CORIOLIS_TIMES, q=q, v=v, x=a), C @ a)


@every_robot
def test_inverse_and_operational_inertia(file: Path, base: str) -> None:
    robot, theirs, state = case(file, base)
    if robot.nv == 0 or unheld_leaves(robot.tree):
        return
    q, inverse = state["q"], theirs.inverse()
    digits = np.linalg.cond(inverse) * 1e-14  # what Pinocchio's own recursion may have lost
    found = ask(robot, inverse_matrix.INVERSE_MASS_MATRIX, q=q)
    close(found, inverse, max(TOLERANCE, digits))
    names = some_frames(robot)
    J = np.concatenate([theirs.jacobian(name, "mixed") for name in names])
    function = function_of(robot, "operational_mobility", tuple(names), "mixed")
    close(ask(robot, function, q=q), J @ found @ J.T)


@pytest.mark.parametrize(("name", "base"), COMPILED)
def test_methods_of_robot(name: str, base: str) -> None:
    """The same through compiled kernels, on a batch."""
    robot, theirs, state = case(next(file for file in FILES if file.name == name), base)
    q, v, a = (np.stack([x, x]) for x in state.values())
    model, data, tip = theirs.model, theirs.data, some_frames(robot)[-1]
    both = [0, 1]
    for frame in kinematics.FRAMES:
        J, rate = theirs.jacobian(tip, frame), theirs.jacobian_rate(tip, frame)
        for i in both:
            close(robot.jacobian(q, tip, frame=frame)[i], J)
            close(robot.jacobian_times(q, tip, v, frame=frame)[i], J @ v[0])
            close(robot.jacobian_dot_times(q, tip, v, frame=frame)[i], rate @ v[0])
            close(robot.link_velocities(q, v, frame)[i], theirs.velocities(frame))
            close(robot.link_accelerations(q, v, a, frame)[i], theirs.accelerations(frame))
    M = robot.mass_matrix(q)
    pin.ccrba(*theirs.state)
    expected = {
        "kinetic": (robot.kinetic_energy(q, v), pin.computeKineticEnergy(*theirs.state)),
        "potential": (robot.potential_energy(q), pin.computePotentialEnergy(model, data, theirs.q)),
        "gravity": (robot.gravity_torque(q), theirs.columns(pin.computeGeneralizedGravity(model, data, theirs.q))),
        "center": (robot.center_of_mass(q), pin.centerOfMass(model, data, theirs.q)),
        "momentum": (robot.momentum(q, v), angular_first(data.hg)),
        "matrix": (robot.centroidal_momentum_matrix(q), theirs.columns(angular_first(data.Ag))),
        "coriolis": (robot.coriolis_matrix(q, v), theirs.peer.matrix(pin.computeCoriolisMatrix(*theirs.state))),
        "inverse": (M.inv(), theirs.inverse()),
        "logdet": (M.logdet(), -np.linalg.slogdet(theirs.inverse())[1]),
    }
    for found, reference in expected.values():
        for i in both:
            close(found[i], reference, 1e-9)
