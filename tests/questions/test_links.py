"""What single links feel and do, asked of a Robot."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena

BATCH = (3, 2)


@pytest.fixture(params=["floating tree", "sliding chain"])
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def state(robot: catena.Robot) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, BATCH)
    v, a = rng.standard_normal((2, *BATCH, robot.nv))
    return q, v, a, rng.standard_normal((robot.tree.n, 6))


@pytest.mark.parametrize("shape", [None, "rolled"])
def test_all_of_it_fits_together(robot: catena.Robot, shape: str | None) -> None:
    q, v, a, f_ext = state(robot)
    found = robot.spatial_dynamics(q, v, a, f_ext, kernel=shape)
    assert relative(found.torque, robot.inverse_dynamics(q, v, a, f_ext)) < 1e-12
    assert relative(found.velocity, robot.link_velocities(q, v)) < 1e-12
    spatial = robot.link_accelerations(q, v, a)
    spatial[..., 3:] += np.cross(found.velocity[..., :3], found.velocity[..., 3:])
    assert relative(found.acceleration, spatial) < 1e-12
    assert relative(robot.interlink_forces(q, v, a, f_ext, kernel=shape), found.force) < 1e-12
    moved = robot.forward_link_dynamics(q, v, found.torque, f_ext, kernel=shape)
    assert relative(moved.joints, a) < 1e-10
    assert relative(moved.links, found.acceleration) < 1e-10
    held = robot.reactions(q, v, found.torque, f_ext, kernel=shape)
    assert relative(held.acceleration, a) < 1e-10
    assert relative(held.wrench, found.force) < 1e-10


def test_wrenches_by_name(robot: catena.Robot) -> None:
    q, v, a, _ = state(robot)
    wrench = np.arange(6.0)
    everywhere = np.zeros((robot.tree.n, 6))
    everywhere[2] = wrench
    found = robot.interlink_forces(q, v, a, {robot.links[2].name: wrench})
    np.testing.assert_array_equal(found, robot.interlink_forces(q, v, a, everywhere))


def test_mobilities_of_all_links(robot: catena.Robot) -> None:
    q, *_ = state(robot)
    found = robot.link_mobilities(q)
    assert found.shape == (*BATCH, robot.tree.n, 6, 6)
    for k in (0, robot.tree.n - 1):
        assert relative(found[..., k, :, :], robot.operational_mobility(q, robot.links[k].name)) < 1e-11


def test_a_robot_at_rest_weighs_on_its_base() -> None:
    robot = catena.random_tree(3, 6, ["revolute", "prismatic"], 0.3)
    q = robot.random_configuration(1)
    force = robot.interlink_forces(q, np.zeros(robot.nv), np.zeros(robot.nv))
    R = robot.placements(q).rotation
    held = sum(R[k] @ force[k, 3:] for k in range(robot.tree.n) if robot.tree.parent[k] < 0)
    np.testing.assert_allclose(held, -robot.total_mass * robot.gravity, atol=1e-11)
