"""One chain in pieces: the same accelerations as in one piece."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import catena
from catena.fixman.parallel_chain import pattern_of, solve_in_pieces


def reference(robot: catena.Robot, q, b) -> np.ndarray:
    return robot.mass_matrix(q).solve(b)


@pytest.mark.parametrize("pieces", [1, 5, None])
@pytest.mark.parametrize("axes", ["z", "xyz"])
def test_pieces_give_what_the_whole_gives(axes, pieces, rng) -> None:
    robot = catena.rod_chain(203, axes=axes, radius=0.1)
    assert pattern_of(robot.tree) == len(axes)
    q, b = rng.uniform(-1, 1, robot.nq), rng.standard_normal(robot.nv)
    expected = reference(robot, q, b)
    found = solve_in_pieces(robot, q, b, pieces)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def test_rotors_and_straight_chains(rng) -> None:
    robot = catena.rod_chain(100, radius=0.1)
    robot = catena.Robot(dataclasses.replace(robot.tree, armature=np.tile([0.1, 0.3], 50)))
    b = rng.standard_normal(100)
    for q in (np.zeros(100), rng.uniform(-1, 1, 100)):
        expected = reference(robot, q, b)
        assert np.abs(solve_in_pieces(robot, q, b, 7) - expected).max() < 1e-12 * np.abs(expected).max()


def test_refusals(rng) -> None:
    uneven = catena.rod_chain(30, length=rng.uniform(1, 2, 30), radius=0.1)
    with pytest.raises(catena.UnsupportedError, match="pattern"):
        solve_in_pieces(uneven, np.zeros(30), np.zeros(30))
    fork = catena.random_tree(1, 6, branching=1.0)
    with pytest.raises(catena.UnsupportedError, match="serial"):
        solve_in_pieces(fork, np.zeros(fork.nq), np.zeros(fork.nv))
    with pytest.raises(catena.ShapeError, match="at most 15"):
        solve_in_pieces(catena.rod_chain(30, radius=0.1), np.zeros(30), np.zeros(30), 16)
    with pytest.raises(catena.ShapeError, match="30"):
        solve_in_pieces(catena.rod_chain(30, radius=0.1), np.zeros(29), np.zeros(30))
