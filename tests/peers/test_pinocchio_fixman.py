"""Fixman's partition beside Pinocchio: every robot of example-robot-data whose links have mass."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import mpmath
import numpy as np
import pytest
from tests.mechanisms import relative
from tests.peers.pinocchio_peer import Peer

import catena
from catena.algorithms import fixman, fixman_determinant
from catena.fixman.method import form_of
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS

pin = pytest.importorskip("pinocchio")

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for file in sorted(ROBOTS.rglob("*.urdf")) if file.name != "ur3.urdf"]
MASSLESS = {"human", "romeo", "romeo_laas_small"}


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_robot_agrees(file: Path, base: str) -> None:
    peer = Peer.load(file, base)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    if robot.nv == 0:
        return
    if file.stem in MASSLESS:
        with pytest.raises(catena.SingularError, match="mass"):
            form_of(robot)
        return
    rng = np.random.default_rng(11)
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    values = {"q": q, "v": v, "tau": tau}
    acceleration, wrench = (x.astype(float) for x in engine.evaluate(robot.tree, fixman.REACTIONS, values).values())
    expected = peer.ours(pin.aba(model, data, peer.q(q), peer.v(v), peer.v(tau)))
    assert relative(acceleration, expected) < 1e-10
    (own,) = engine.evaluate(robot.tree, FORWARD_DYNAMICS["innovations"], values).values()
    assert relative(acceleration, own.astype(float)) < 1e-10
    M = pin.crba(model, data, peer.q(q))
    found = float(engine.evaluate(robot.tree, fixman_determinant.LOG_DETERMINANT, {"q": q})["log_determinant"])
    assert found == pytest.approx(np.linalg.slogdet(np.triu(M) + np.triu(M, 1).T)[1], abs=1e-11 * robot.nv)
    pin.rnea(model, data, peer.q(q), peer.v(v), peer.v(acceleration))
    for name, own in zip(robot.tree.joint_names, wrench, strict=True):
        theirs = data.f[model.getJointId(name)]  # what the joint does to its link, in the joint's frame
        assert np.concatenate([theirs.angular, theirs.linear]) == pytest.approx(own, abs=1e-8 * np.abs(wrench).max())


@pytest.mark.parametrize(("base", "shape"), [("fixed", "unrolled"), ("floating", "rolled")])
def test_machine_code_for_links_without_inertia(base: str, shape: str) -> None:
    """iCub's legs have links that are points: they stay whole, the rest is cut."""
    peer = Peer.load(next(file for file in FILES if file.stem == "icub"), base)
    robot, rng = peer.robot, np.random.default_rng(3)
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    with mpmath.workdps(50):
        values = {"q": q, "v": v, "tau": tau}
        exact = engine.evaluate(robot.tree, FORWARD_DYNAMICS["fd4"], values, mpmath.mpf)["a"].astype(float)
    assert relative(robot.forward_dynamics(q, v, tau, method="fixman", kernel=shape), exact) < 1e-10
