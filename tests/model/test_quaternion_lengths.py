"""Quaternions of any length in the dynamics: the same rotation, or NaN; never another one."""

from __future__ import annotations

import numpy as np
import pytest
from tests import asking

import catena

RANGES = {"float64": (1e-153, 1e153, 1e155), "float32": (1e-18, 1e18, 1e20)}


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("joint_type", ["spherical", "free"])
@pytest.mark.parametrize("dtype", RANGES)
def test_lengths(joint_type: str, dtype: str, kernel: str) -> None:
    robot = catena.random_tree(3, 2, [joint_type])
    q, v = robot.random_configuration(0), np.ones(robot.nv)
    end, (least, most, beyond) = robot.nq // 2, RANGES[dtype]
    lengths = np.array([1.0, least, most, beyond, 1 / beyond, 0.0, np.inf])
    rows = np.tile(q, (len(lengths), 1))
    rows[:, end - 4 : end] *= lengths[:, None]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = robot.inverse_dynamics(rows, v, v, dtype=dtype, kernel=kernel)
    scale = np.abs(found[0]).max()
    np.testing.assert_allclose(found[:3], np.tile(found[0], (3, 1)), atol=50 * np.finfo(dtype).eps * scale)
    assert np.isnan(found[3:]).any(axis=-1).all()


def test_the_longest_are_not_taken_for_no_turn() -> None:
    robot = catena.random_tree(3, 1, ["spherical"])
    rotation, _ = robot.placements([1e154, 0.0, 0.0, 1e154])
    assert np.isnan(rotation).any()
    rotation, _ = robot.placements(robot.normalize([1e154, 0.0, 0.0, 1e154]))
    np.testing.assert_allclose(rotation, robot.placements([1.0, 0.0, 0.0, 1.0])[0], atol=1e-15)


def test_every_question_takes_the_rotation_along_a_quaternion() -> None:
    robot = catena.random_tree(4, 2, ["spherical"], base="floating")
    rng, longer_by = np.random.default_rng(5), np.repeat([1.0, 0.3, 2.7], [3, 4, 4])
    for name, declared in asking.ROBOT.items():
        given = asking.arguments(robot, declared, rng)
        longer = {n: x * longer_by if n in asking.CONFIGURATIONS else x for n, x in given.items()}
        ask = getattr(robot, name)
        for found, expected in zip(*(asking.results(ask(**x)) for x in (longer, given)), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max(initial=1.0), err_msg=name)
    q = robot.random_configuration(rng)
    for method in ("innovations", "udu", "dense", "fixman"):
        found, expected = (robot.mass_matrix(x, method).dense() for x in (q * longer_by, q))
        np.testing.assert_allclose(found, expected, atol=1e-13)
