"""Derivatives of forward and inverse dynamics beside Pinocchio's, on robots of example-robot-data."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from tests.mechanisms import relative
from tests.peers.pinocchio_peer import Peer

from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS_DERIVATIVES, INVERSE_DYNAMICS_DERIVATIVES
from catena.functions.function import Function
from catena.model.singular import unheld_leaves

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for file in sorted(ROBOTS.rglob("*.urdf")) if file.name != "ur3.urdf"]
CHOSEN = ["ur5_robot", "xarm7", "panda", "kinova", "tiago_no_hand", "solo12", "hyq_no_sensors", "double_pendulum"]


def compared(file: Path, base: str) -> dict[str, float]:
    """How far derivatives are from Pinocchio's, relative to the largest entry; run by Python, nothing is compiled."""
    peer = Peer.load(file, base)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    if robot.nv == 0 or unheld_leaves(robot.tree):
        return {}
    rng = np.random.default_rng(len(file.stem))
    q, (v, x) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))

    def run(function: Function, **values: np.ndarray) -> list[np.ndarray]:
        return [result.astype(float) for result in engine.evaluate(robot.tree, function, values).values()]

    theirs = peer.q(q), peer.v(v), peer.v(x)
    pin.computeRNEADerivatives(model, data, *theirs)
    M = data.M.copy()
    inverse = [data.dtau_dq.copy(), data.dtau_dv.copy(), np.triu(M) + np.triu(M, 1).T]
    pin.computeABADerivatives(model, data, *theirs)
    Minv = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    forward = [data.ddq_dq.copy(), data.ddq_dv.copy(), Minv]
    found = run(INVERSE_DYNAMICS_DERIVATIVES[False, False], q=q, v=v, a=x)
    errors = {f"ID {i}": relative(a, peer.matrix(b)) for i, (a, b) in enumerate(zip(found, inverse, strict=True))}
    found = run(FORWARD_DYNAMICS_DERIVATIVES[False, False], q=q, v=v, tau=x)
    errors |= {f"FD {i}": relative(a, peer.matrix(b)) for i, (a, b) in enumerate(zip(found, forward, strict=True))}
    return errors | {"condition": float(np.linalg.cond(inverse[2]))}


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", CHOSEN)
def test_derivatives_agree(name: str, base: str) -> None:
    (file,) = [file for file in FILES if file.stem == name][:1]
    errors = compared(file, base)
    assert errors
    condition = errors.pop("condition")
    for what, error in errors.items():
        assert error < (1e-10 if what.startswith("ID") else max(1e-8, 1e-13 * condition)), what
