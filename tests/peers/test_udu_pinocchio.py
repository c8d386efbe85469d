"""U D Uᵀ beside Pinocchio's composite-rigid-body algorithm, on every robot of example-robot-data."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from tests.peers.pinocchio_peer import Peer

from catena.algorithms import udu
from catena.functions import engine
from catena.model.singular import unheld_leaves

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for file in sorted(ROBOTS.rglob("*.urdf")) if file.name != "ur3.urdf"]


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_udu_is_the_mass_matrix(file: Path, base: str) -> None:
    peer = Peer.load(file, base)
    robot, model = peer.robot, peer.model
    if robot.nv == 0 or unheld_leaves(robot.tree):
        pytest.skip("nothing moves, or a leaf without inertia makes the mass matrix singular")
    q = robot.random_configuration(np.random.default_rng(len(file.stem)))
    U, D = (x.astype(float) for x in engine.evaluate(robot.tree, udu.ELEMENTS, {"q": q}).values())
    upper = np.triu(pin.crba(model, model.createData(), peer.q(q)))
    M = peer.matrix(upper + np.triu(upper, 1).T)
    assert np.abs(U @ D @ U.T - M).max() < 1e-11 * np.abs(M).max()
