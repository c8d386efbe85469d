"""The robots that the bridges are tried on."""

from __future__ import annotations

import pytest

import catena


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load("seven_dof_arm")


@pytest.fixture(scope="module")
def floating() -> catena.Robot:
    """Few links, all kinds of coordinates."""
    robot = catena.random_tree(7, 4, ["spherical", "planar", "revolute"], 0.5, base="floating")
    assert {joint.type for joint in robot.joints} == {"free", "spherical", "planar", "revolute"}
    return robot
