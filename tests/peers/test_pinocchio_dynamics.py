"""Forward and inverse dynamics and the mass matrix beside Pinocchio, on every robot of example-robot-data."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import mpmath
import numpy as np
import pinocchio as pin
import pytest
from tests.mechanisms import relative, state
from tests.peers.pinocchio_peer import Peer

import catena
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.model.singular import unheld_leaves

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for file in sorted(ROBOTS.rglob("*.urdf")) if file.name != "ur3.urdf"]
COMPILED = ["ur5_robot.urdf", "xarm7.urdf", "panda.urdf", "anymal.urdf", "kinova.urdf", "hyq_no_sensors.urdf"]
FD4 = FORWARD_DYNAMICS["fd4"]


def run(robot: catena.Robot, function, **values) -> np.ndarray:
    return next(iter(engine.evaluate(robot.tree, function, values).values())).astype(float)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_robot_agrees(file: Path, base: str) -> None:
    peer = Peer.load(file, base)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    if robot.nv == 0:
        assert model.nv == 0
        return
    q, v, a = state(robot, len(file.stem))
    theirs = peer.q(q), peer.v(v), peer.v(a)
    tau = peer.ours(pin.rnea(model, data, *theirs))
    assert relative(run(robot, INVERSE_DYNAMICS, q=q, v=v, a=a), tau) < 1e-10
    M = pin.crba(model, data, theirs[0])
    M = peer.matrix(np.triu(M) + np.triu(M, 1).T)
    assert relative(run(robot, MASS_MATRIX, q=q), M) < 1e-10
    if unheld_leaves(robot.tree):
        with pytest.raises(catena.SingularError):
            robot.forward_dynamics(q, v, a)
        return
    expected = peer.ours(pin.aba(model, data, *theirs))
    found = run(robot, FD4, q=q, v=v, tau=a)
    if relative(found, expected) > 1e-10:  # so ill-conditioned that 50 digits must decide who is closer
        with mpmath.workdps(50):
            exact = engine.evaluate(robot.tree, FD4, {"q": q, "v": v, "tau": a}, mpmath.mpf)
        exact = next(iter(exact.values())).astype(float)
        assert relative(found, exact) < relative(expected, exact)


@pytest.mark.parametrize("name", COMPILED)
def test_machine_code_agrees(name: str) -> None:
    file = next((file for file in FILES if file.name == name), None)
    assert file is not None, f"example-robot-data has no {name}"
    peer = Peer.load(file)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    states = [np.stack(x) for x in zip(*[state(robot, seed) for seed in range(5)], strict=True)]
    q, v, a = states
    for i in range(5):
        theirs = peer.q(q[i]), peer.v(v[i]), peer.v(a[i])
        assert relative(robot.forward_dynamics(q, v, a)[i], peer.ours(pin.aba(model, data, *theirs))) < 1e-10
        assert relative(robot.inverse_dynamics(q, v, a)[i], peer.ours(pin.rnea(model, data, *theirs))) < 1e-10
        bias = peer.ours(pin.nonLinearEffects(model, data, *theirs[:2]))
        assert relative(robot.bias(q, v)[i], bias) < 1e-10


def test_wrenches_mean_the_same() -> None:
    file = next(file for file in FILES if file.name == "ur5_robot.urdf")
    peer = Peer.load(file)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    q, v, a = state(robot, 3)
    f_ext = np.random.default_rng(4).standard_normal((robot.tree.n, 6))
    forces = [pin.Force.Zero() for _ in range(model.njoints)]
    for link, joint, wrench in zip(robot.links, robot.joints, f_ext, strict=True):
        assert link.name == joint.child
        forces[model.getJointId(joint.name)] = pin.Force(wrench[3:], wrench[:3])
    theirs = peer.q(q), peer.v(v), peer.v(a)
    expected = peer.ours(pin.aba(model, data, *theirs, forces))
    assert relative(robot.forward_dynamics(q, v, a, f_ext), expected) < 1e-10
    expected = peer.ours(pin.rnea(model, data, *theirs, forces))
    assert relative(robot.inverse_dynamics(q, v, a, f_ext), expected) < 1e-10
