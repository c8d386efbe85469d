"""Recursive spatial dynamics: velocities, accelerations and interlink forces against differences and Newton's laws."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import placements
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms.newton_euler import RECURSIVE_SPATIAL_DYNAMICS
from catena.functions import engine
from catena.functions.catalogue import INVERSE_DYNAMICS

STEP = 1e-4


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def run(robot: catena.Robot, **given: np.ndarray) -> dict[str, np.ndarray]:
    found = engine.evaluate(robot.tree, RECURSIVE_SPATIAL_DYNAMICS, given)
    return {name: array.astype(float) for name, array in found.items()}


def motion(robot: catena.Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    v, a = rng.standard_normal((2, robot.nv))
    return robot.random_configuration(rng), v, a


def poses(robot: catena.Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = placements(robot.tree, q)
    return tuple(np.array([found[name][i] for name in robot.tree.link_names]) for i in (0, 1))


def test_velocities_are_those_of_the_placements(robot: catena.Robot) -> None:
    q, v, a = motion(robot, 0)
    velocity = run(robot, q=q, v=v, a=a)["velocity"]
    R, _ = poses(robot, q)
    (R1, p1), (R2, p2) = (poses(robot, robot.integrate(q, sign * STEP * v)) for sign in (-1, 1))
    turning = np.einsum("nji,njk->nik", R, R2 - R1) / (2 * STEP)
    assert relative(np.einsum("nji,nj->ni", R, p2 - p1) / (2 * STEP), velocity[:, 3:]) < 1e-6
    assert relative(turning[:, [2, 0, 1], [1, 2, 0]], velocity[:, :3]) < 1e-6


def test_accelerations_are_the_rates_of_velocities(robot: catena.Robot) -> None:
    """(ω̇, v̇) of each frame's origin in the frame's axes: the derivative of the velocity in axes that do not turn."""
    q, v, a = motion(robot, 1)
    found = run(robot, q=q, v=v, a=a)
    sides = []
    for sign in (-1, 1):
        moved = robot.integrate(q, sign * STEP * v + 0.5 * STEP**2 * a)
        R, _ = poses(robot, moved)
        V = run(robot, q=moved, v=v + sign * STEP * a, a=a)["velocity"]
        sides.append(np.concatenate([np.einsum("nij,nj->ni", R, part) for part in np.split(V, 2, axis=1)], axis=1))
    R, _ = poses(robot, q)
    rate = (sides[1] - sides[0]) / (2 * STEP)
    rate = np.concatenate([np.einsum("nji,nj->ni", R, part) for part in np.split(rate, 2, axis=1)], axis=1)
    assert relative(rate, found["acceleration"]) < 1e-5


def test_interlink_forces_move_the_bodies(robot: catena.Robot) -> None:
    """Newton and Euler for each link by itself, in the world's axes: what goes in less what goes on is m a and İ."""
    q, v, a = motion(robot, 2)
    f_ext = np.random.default_rng(3).standard_normal((robot.tree.n, 6))
    found = run(robot, q=q, v=v, a=a, f_ext=f_ext)
    R, p = poses(robot, q)
    tree = robot.tree
    force = np.einsum("nij,nj->ni", R, found["force"][:, 3:])
    moment = np.einsum("nij,nj->ni", R, found["force"][:, :3])
    net_force, net_moment = force + np.einsum("nij,nj->ni", R, f_ext[:, 3:]), np.zeros((tree.n, 3))
    net_moment += moment + np.cross(p, force)
    net_moment += np.einsum("nij,nj->ni", R, f_ext[:, :3]) + np.cross(p, np.einsum("nij,nj->ni", R, f_ext[:, 3:]))
    for k in range(tree.n):  # reactions on the parents, moments about the world's origin
        if tree.parent[k] >= 0:
            net_force[tree.parent[k]] -= force[k]
            net_moment[tree.parent[k]] -= moment[k] + np.cross(p[k], force[k])
    w = np.einsum("nij,nj->ni", R, found["velocity"][:, :3])
    dw = np.einsum("nij,nj->ni", R, found["acceleration"][:, :3])
    dv = np.einsum("nij,nj->ni", R, found["acceleration"][:, 3:])
    c = np.einsum("nij,nj->ni", R, tree.com)
    inertia = R @ tree.inertia @ np.swapaxes(R, 1, 2)
    pull = dv + np.cross(dw, c) + np.cross(w, np.cross(w, c)) - tree.gravity
    spin = np.einsum("nij,nj->ni", inertia, dw) + np.cross(w, np.einsum("nij,nj->ni", inertia, w))
    assert relative(net_force, tree.mass[:, None] * pull) < 1e-11
    assert relative(net_moment, spin + np.cross(p + c, tree.mass[:, None] * pull)) < 1e-11


def test_torques_are_those_of_inverse_dynamics(robot: catena.Robot) -> None:
    q, v, a = motion(robot, 4)
    given = {"q": q, "v": v, "a": a, "f_ext": np.random.default_rng(5).standard_normal((robot.tree.n, 6))}
    expected = engine.evaluate(robot.tree, INVERSE_DYNAMICS, given)["tau"]
    assert relative(run(robot, **given)["tau"], expected) < 1e-12
