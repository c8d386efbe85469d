"""The regressor and the ten inertial numbers beside Pinocchio, on every robot of example-robot-data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from tests.mechanisms import relative
from tests.peers.pinocchio_peer import Peer
from tests.peers.test_pinocchio_dynamics import FILES, ROBOTS, run, state

from catena.algorithms.regressor import REGRESSOR


def columns(peer: Peer) -> np.ndarray:
    """Where Pinocchio has the ten columns of each of our links."""
    joints = [peer.model.getJointId(joint.name) - 1 for joint in peer.robot.joints]
    return (10 * np.array(joints)[:, None] + np.arange(10)).ravel()


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_regressor_of_every_robot(file: Path, base: str) -> None:
    peer = Peer.load(file, base)
    robot, model = peer.robot, peer.model
    if robot.nv == 0:
        return
    q, v, a = state(robot, len(file.stem))
    theirs = pin.computeJointTorqueRegressor(model, model.createData(), peer.q(q), peer.v(v), peer.v(a))
    expected = peer.ours(theirs[:, columns(peer)].T).T
    assert relative(run(robot, REGRESSOR, q=q, v=v, a=a), expected) < 1e-12
    for joint, ten in zip(robot.joints, robot.parameters().inertial, strict=True):
        own = model.inertias[model.getJointId(joint.name)].toDynamicParameters()
        assert np.abs(ten - own).max() < 1e-12 * max(np.abs(own).max(), 1.0)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_regressor_in_machine_code(base: str, kernel: str) -> None:
    peer = Peer.load(ROBOTS / "ur_description" / "urdf" / "ur5_robot.urdf", base)
    q, v, a = state(peer.robot, 3)
    theirs = pin.computeJointTorqueRegressor(peer.model, peer.model.createData(), peer.q(q), peer.v(v), peer.v(a))
    expected = peer.ours(theirs[:, columns(peer)].T).T
    assert relative(peer.robot.regressor(q, v, a, kernel=kernel), expected) < 1e-12
