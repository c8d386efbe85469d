"""Configurations of whole robots: joint by joint what the joint types say, for any batch."""

from __future__ import annotations

import numpy as np
import pytest

import catena
from catena.model.configuration import on_arrays
from catena.model.joints import BY_NAME


@pytest.fixture(scope="module")
def robot() -> catena.Robot:
    return catena.random_tree(3, 40, base="floating")


def test_every_joint_goes_by_its_type(robot: catena.Robot, rng: np.random.Generator) -> None:
    q, dv = robot.random_configuration(rng), rng.uniform(-1, 1, robot.nv)
    q1, neutral = robot.integrate(q, dv), robot.neutral()
    back = robot.difference(q, q1)
    assert {joint.type for joint in robot.joints} == set(BY_NAME) - {"fixed"}
    for joint in robot.joints:
        joint_type, at, speed = BY_NAME[joint.type], joint.q_slice, joint.v_slice
        np.testing.assert_allclose(q1[at], on_arrays(joint_type.integrate, q[at], dv[speed]), rtol=1e-14)
        np.testing.assert_allclose(back[speed], on_arrays(joint_type.difference, q[at], q1[at]), atol=1e-14)
        np.testing.assert_array_equal(neutral[at], joint_type.neutral())


def test_leading_dimensions_broadcast(robot: catena.Robot, rng: np.random.Generator) -> None:
    q, dv = robot.random_configuration(rng, (3, 1)), rng.uniform(-1, 1, (4, robot.nv))
    moved = robot.integrate(q, dv)
    assert moved.shape == (3, 4, robot.nq)
    np.testing.assert_array_equal(moved[1, 2], robot.integrate(q[1, 0], dv[2]))
    np.testing.assert_allclose(robot.difference(q, moved), np.broadcast_to(dv, (3, 4, robot.nv)), atol=1e-13)
    assert robot.random_configuration(0, 5).shape == (5, robot.nq)
    assert robot.random_configuration(0, ()).shape == (robot.nq,)
    assert robot.integrate(np.empty((0, robot.nq)), dv[0]).shape == (0, robot.nq)


def test_seeds_and_generators() -> None:
    robot = catena.rod_chain(5)
    np.testing.assert_array_equal(robot.random_configuration(7, (2,)), robot.random_configuration(7, (2,)))
    generator = np.random.default_rng(7)
    np.testing.assert_array_equal(robot.random_configuration(7), robot.random_configuration(generator))
    assert (robot.random_configuration(generator) != robot.random_configuration(generator)).any()


def test_limits_are_kept() -> None:
    robot = (
        catena.Builder()
        .link("a", 1, (1, 0, 0))
        .link("b", 1, (1, 0, 0))
        .revolute("j", "base", "a", lower=-0.2, upper=0.1)
        .prismatic("k", "a", "b", axis="x", lower=3)
        .build()
    )
    q = robot.random_configuration(0, 1000)
    assert (q >= robot.lower).all()
    assert (q <= robot.upper).all()
    np.testing.assert_allclose(q.min(axis=0), [-0.2, 3], atol=0.01)


def test_float32_on_request(robot: catena.Robot, rng: np.random.Generator) -> None:
    q, dv = robot.random_configuration(rng).astype("f4"), rng.uniform(-1, 1, robot.nv).astype("f4")
    assert robot.integrate(q, dv).dtype == np.float64
    found = robot.integrate(q, dv, dtype=np.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, robot.integrate(q.astype(float), dv), atol=1e-5)


def test_any_array_like_is_accepted() -> None:
    robot = catena.planar_chain([1, 1], 1)
    np.testing.assert_array_equal(robot.integrate([1, 2], (True, 0.5)), [2, 2.5])


def test_normalize(robot: catena.Robot) -> None:
    q = robot.random_configuration(1, (2,))
    quaternions = [joint.q_slice for joint in robot.joints if joint.type == "spherical"]
    stretched = q.copy()
    for at in quaternions:
        stretched[:, at] *= 5
    np.testing.assert_allclose(robot.normalize(stretched), q, atol=1e-15)


@pytest.mark.parametrize("q", [1.0, [1.0], [[1.0, 2.0, 3.0]], ["a", "b"], [1j, 2], None, [[1.0, 2.0], [1.0]]])
def test_bad_arrays_are_refused(q: object) -> None:
    robot = catena.planar_chain([1, 1], 1)
    with pytest.raises(catena.ShapeError, match="integrate: q must"):
        robot.integrate(q, [0, 0])
    with pytest.raises(catena.ShapeError, match="integrate: dv must"):
        robot.integrate([0, 0], q)


def test_batches_that_do_not_fit_are_refused() -> None:
    robot = catena.planar_chain([1, 1], 1)
    with pytest.raises(catena.ShapeError, match="broadcast"):
        robot.integrate(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(catena.ShapeError, match="shape"):
        robot.random_configuration(0, (-1,))
