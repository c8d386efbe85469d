"""Robots from DH tables against the products of the textbook's matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers import placements

import catena


def screw(axis: str, angle: float, slide: float) -> np.ndarray:
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    matrix = np.eye(4)
    matrix[j, j] = matrix[k, k] = np.cos(angle)
    matrix[k, j], matrix[j, k] = np.sin(angle), -np.sin(angle)
    matrix[i, 3] = slide
    return matrix


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_frames_are_those_of_the_textbook(convention: Any, rng: np.random.Generator) -> None:
    n = 6
    a, alpha, d, theta = rng.uniform(-1, 1, (4, n))
    types = ["revolute", "prismatic", "continuous"] * 2
    robot = catena.from_dh(a, alpha, d, theta, convention=convention, types=types, masses=rng.uniform(1, 2, n))
    q = robot.random_configuration(rng)
    poses, expected = placements(robot.tree, q), np.eye(4)
    for i in range(n):
        slides = types[i] == "prismatic"
        along_z = screw("z", theta[i] + (0 if slides else q[i]), d[i] + (q[i] if slides else 0))
        along_x = screw("x", alpha[i], a[i])
        expected = expected @ (along_z @ along_x if convention == "standard" else along_x @ along_z)
        turn, shift = poses[f"dh{i + 1}"]
        np.testing.assert_allclose(turn, expected[:3, :3], atol=1e-14)
        np.testing.assert_allclose(shift, expected[:3, 3], atol=1e-14)
        if convention == "modified":
            np.testing.assert_allclose(poses[f"link{i + 1}"][1], shift, atol=1e-14)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_inertias_are_in_the_dh_frame(convention: Any, rng: np.random.Generator) -> None:
    inertias = np.array([np.diag([1.0, 2.0, 2.5]), np.diag([0.1, 0.2, 0.25])])
    coms = rng.uniform(-1, 1, (2, 3))
    robot = catena.from_dh([0.4, 0.3], [0.5, np.pi / 2], 0.1, convention=convention, coms=coms, inertias=inertias)
    for i in range(2):
        frame, link = robot.frame(f"dh{i + 1}"), robot.links[i]
        np.testing.assert_allclose(frame.rotation @ coms[i] + frame.position, link.com, atol=1e-15)
        np.testing.assert_allclose(frame.rotation @ inertias[i] @ frame.rotation.T, link.inertia, atol=1e-15)


def test_right_angles_are_exact() -> None:
    robot = catena.from_dh([0, 0.4, 0], [np.pi / 2, np.pi, -np.pi / 2], [0.1, 0, 0.2], [0, np.pi / 2, np.pi])
    assert set(np.unique(robot.tree.placement_rotation)) <= {-1.0, 0.0, 1.0}


def test_limits() -> None:
    robot = catena.from_dh([1, 1], 0, 0, lower=[-1, None], upper=[1, None])
    assert [joint.limits for joint in robot.joints] == [(-1, 1), (-np.inf, np.inf)]


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"convention": "craig"}, "convention"),
        ({"types": ["revolute", "spherical"]}, "types"),
        ({"types": ["revolute"]}, "a"),
        ({"masses": [1, 2, 3]}, "masses"),
        ({"masses": [1, -2]}, "dh2"),
        ({"coms": [1, 2]}, "coms"),
        ({"inertias": np.zeros((3, 3, 3))}, "inertias"),
        ({"lower": [1]}, "lower"),
        ({"d": np.inf}, "d"),
    ],
)
def test_bad_tables(options: dict[str, Any], culprit: str) -> None:
    with pytest.raises(catena.ModelError, match=culprit):
        catena.from_dh(**{"a": [1, 1], "alpha": 0.0, "d": 0.0, **options})
