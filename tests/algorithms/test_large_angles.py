"""Angles of many turns: what is added to them by a joint's placement must not be rounded with them."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import catena
from catena import robots

TURNING = ["revolute", "helical", "cylindrical", "universal"]
ROBOTS: dict[str, Callable[[], catena.Robot]] = {
    "arm": lambda: catena.load(robots.path("seven_dof_arm")),
    "chain": lambda: catena.random_tree(2, 6, ["revolute"], 0.0),
    "tree": lambda: catena.random_tree(9, 8, TURNING, 0.4),
}


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("size", [1.0, 7e5, 1e10])
@pytest.mark.parametrize("name", ROBOTS)
def test_large_angles_keep_their_digits(name: str, size: float, kernel: str) -> None:
    robot = ROBOTS[name]()
    rng = np.random.default_rng(1)
    q, (v, a) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    turns = np.concatenate([joint.q_slice.start + np.flatnonzero(ANGLES[joint.type]) for joint in robot.joints])
    q[turns] *= size
    found = robot.inverse_dynamics(q, v, a, kernel=kernel)
    with mpmath.workdps(40):
        exact = catena.evaluate(robot, "inverse_dynamics", q, v, a, scalar=mpmath.mpf).astype(float)
    assert np.abs(found - exact).max() < 1e-14 * np.abs(exact).max()


ANGLES = {"revolute": [1], "continuous": [1], "helical": [0], "cylindrical": [1, 0], "universal": [1, 1]}
"""Which coordinates turn, and nothing else: a screw's also slides."""
