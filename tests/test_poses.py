"""Poses as matrices, against SciPy's exponentials and rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import catena
from catena import poses


def matrix(twist: np.ndarray) -> np.ndarray:
    (x, y, z), v = twist[:3], twist[3:]
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 3.0])
def test_exponentials_and_logarithms(size: float) -> None:
    twists = np.random.default_rng(0).standard_normal((2, 3, 6))
    twists *= size / np.linalg.norm(twists[..., :3], axis=-1, keepdims=True)
    made = poses.exp(twists)
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(made[index], expm(matrix(twists[index])), atol=1e-14 * max(1, size))
    np.testing.assert_allclose(poses.log(made), twists, atol=1e-13)


def test_relative_poses_and_inverses() -> None:
    first, second = poses.exp(np.random.default_rng(1).standard_normal((2, 5, 6)))
    np.testing.assert_allclose(first @ poses.relative(first, second), second, atol=1e-14)
    np.testing.assert_allclose(poses.inverse(first) @ first, np.broadcast_to(np.eye(4), (5, 4, 4)), atol=1e-14)


def test_poses_are_made_of_their_parts() -> None:
    turn, place = Rotation.random(4, random_state=0), np.arange(12.0).reshape(4, 3)
    made = poses.pose(turn, place)
    np.testing.assert_allclose(made[:, :3, :3], turn.as_matrix())
    np.testing.assert_array_equal(made[:, :3, 3], place)
    np.testing.assert_array_equal(poses.pose(), np.eye(4))
    np.testing.assert_array_equal(poses.pose(position=(1, 2, 3))[:3, 3], (1, 2, 3))
    assert poses.pose(turn.as_matrix()[0], place).shape == (4, 4, 4)


def test_bad_poses() -> None:
    with pytest.raises(catena.ShapeError, match=r"log: pose must have shape \(\.\.\., 4, 4\), got \(3, 3\)"):
        poses.log(np.eye(3))
    with pytest.raises(catena.ShapeError, match=r"pose\[1\] must have a rotation matrix"):
        poses.inverse(np.stack([np.eye(4), 2 * np.eye(4)]))
    with pytest.raises(catena.ShapeError, match="twist"):
        poses.exp(np.zeros(5))
