"""Fixman's partition beside Pinocchio: every robot of example-robot-data whose links have mass and inertia."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
import pytest
from tests.peers.pinocchio_peer import Peer

from catena import engine
from catena.algorithms import fixman, fixman_determinant
from catena.fixman.point_mass_form import without_inertia

pin = pytest.importorskip("pinocchio")

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for file in sorted(ROBOTS.rglob("*.urdf")) if file.name != "ur3.urdf"]
HOLLOW = {"human", "icub", "icub_reduced", "romeo", "romeo_laas_small"}  # links without mass or without inertia


def relative(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / np.abs(y).max())


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_robot_agrees(file: Path, base: str) -> None:
    peer = Peer.load(file, base)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    if robot.nv == 0:
        return
    assert bool(len(without_inertia(robot.tree))) == (file.stem in HOLLOW)
    if file.stem in HOLLOW:
        return
    rng = np.random.default_rng(11)
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    values = {"q": q, "v": v, "tau": tau}
    acceleration, wrench = (x.astype(float) for x in engine.evaluate(robot.tree, fixman.REACTIONS, values).values())
    expected = peer.ours(pin.aba(model, data, peer.q(q), peer.v(v), peer.v(tau)))
    assert relative(acceleration, expected) < 1e-10
    M = pin.crba(model, data, peer.q(q))
    found = float(engine.evaluate(robot.tree, fixman_determinant.LOG_DETERMINANT, {"q": q})["log_determinant"])
    assert found == pytest.approx(np.linalg.slogdet(np.triu(M) + np.triu(M, 1).T)[1], abs=1e-11 * robot.nv)
    pin.rnea(model, data, peer.q(q), peer.v(v), peer.v(acceleration))
    for name, own in zip(robot.tree.joint_names, wrench, strict=True):
        theirs = data.f[model.getJointId(name)]  # what the joint does to its link, in the joint's frame
        assert np.concatenate([theirs.angular, theirs.linear]) == pytest.approx(own, abs=1e-8 * np.abs(wrench).max())
