"""One chain in pieces: the same accelerations as in one piece."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import catena
from catena.algorithms.pieces import functions, solved_for
from catena.fixman import solve_in_pieces
from catena.functions.on_scalars import evaluate
from catena.functions.piece_kernels import ports_of
from catena.model.pattern import Pattern, Run, part_of, pattern_of


def agrees(robot: catena.Robot, q, b, pieces: int | None = None) -> bool:
    """Whether M⁻¹ b in pieces is what the sequential recursion finds."""
    expected = robot.mass_matrix(q).solve(b)
    return bool(np.abs(solve_in_pieces(robot, q, b, pieces) - expected).max() < 1e-12 * np.abs(expected).max())


def state(robot: catena.Robot, rng) -> tuple[np.ndarray, np.ndarray]:
    return robot.random_configuration(rng), rng.standard_normal(robot.nv)


def mixed(n: int) -> catena.Robot:
    """Hinges, sliding joints and ball joints in turn, with inertias off their axes."""
    builder, parent = catena.Builder("mixed"), "base"
    for i in range(n):
        mass, link = 1.0 + i % 3, f"link{i}"
        builder.link(link, mass=mass, com=(0.1, 0.2, 0.3), inertia=np.diag([1.0, 2.0, 2.5]))
        place = {"position": (0.5, -0.2, 0.1)}
        if i % 3 == 0:
            builder.revolute(f"j{i}", parent, link, axis=(0.6, 0, 0.8), **place)
        elif i % 3 == 1:
            builder.prismatic(f"j{i}", parent, link, axis="y", **place)
        else:
            builder.spherical(f"j{i}", parent, link, **place)
        parent = link
    return builder.build()


@pytest.mark.parametrize("pieces", [1, 2, 5, 16, 33, None])
@pytest.mark.parametrize("axes", ["z", "zy", "xyz"])
def test_pieces_give_what_the_whole_gives(axes, pieces, rng) -> None:
    robot = catena.rod_chain(203, axes=axes, radius=0.1)
    assert pattern_of(robot.tree, Run(0, 203)) == (0, len(axes), True, False)
    assert agrees(robot, *state(robot, rng), pieces)


@pytest.mark.parametrize("n", [4_000, 40_001])
def test_long_chains(n, rng) -> None:
    for robot in (catena.rod_chain(n, radius=0.1), catena.planar_chain(np.ones(n), np.ones(n))):
        q, b = rng.uniform(-1, 1, n), rng.standard_normal(n)
        assert agrees(robot, q, b)
        assert agrees(robot, np.zeros(n), b)


def test_results_do_not_depend_on_threads(rng) -> None:
    robot = catena.rod_chain(20_000, radius=0.1)
    q, b = rng.uniform(-1, 1, robot.nq), rng.standard_normal(robot.nv)
    found = []
    try:
        for threads in (1, 2, 3):
            catena.set_threads(threads)
            found.append(solve_in_pieces(robot, q, b))
    finally:
        catena.set_threads(None)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_rotors_and_straight_chains(rng) -> None:
    robot = catena.rod_chain(100, radius=0.1)
    robot = catena.Robot(dataclasses.replace(robot.tree, armature=np.tile([0.1, 0.3], 50)))
    b = rng.standard_normal(100)
    for q in (np.zeros(100), rng.uniform(-1, 1, 100)):
        assert agrees(robot, q, b, 7)


@pytest.mark.parametrize("pieces", [1, 3, 8])
def test_joints_of_all_sorts(pieces, rng) -> None:
    robot = mixed(26)
    assert pattern_of(robot.tree, Run(0, 26)) == (0, 3, True, False)
    assert agrees(robot, *state(robot, rng), pieces)


def test_cuts_pass_on_what_joints_feel() -> None:
    """About parallel axes: the moment about them, and forces across them."""
    chains = {axes: catena.rod_chain(6, axes=axes, radius=0.1).tree for axes in ("z", "y", "zy")}
    ports = {axes: ports_of(part_of(tree, Pattern(0, len(axes), True), 2)) for axes, tree in chains.items()}
    assert ports == {"z": (2, 3, 4), "y": (2, 3, 4), "zy": (0, 1, 2, 3, 4, 5)}


def test_kernels_agree_with_the_readable_reference(rng) -> None:
    robot = catena.rod_chain(8, radius=0.1)
    gather = functions(tuple(range(6)))["gather"]
    tree = part_of(robot.tree, Pattern(0, 2, True), 4)
    q, b, last = rng.uniform(-1, 1, 4), rng.standard_normal(4), np.eye(4)[3]
    expected = evaluate(tree, gather, {"q": q, "b": b, "last": last})
    found = catena.functions.engine.kernel(catena.Robot(tree), gather, kernel="rolled")(q, b, last)
    for x, y in zip(found, expected.values(), strict=True):
        assert np.allclose(x, y.astype(float), rtol=1e-12, atol=1e-12)


def test_linear_systems_without_pivots(rng) -> None:
    X, Y = rng.standard_normal((6, 6)), rng.standard_normal((6, 2))
    X[0, 0] = 0.0
    assert np.allclose(solved_for(X.tolist(), Y.tolist()), np.linalg.solve(X, Y), rtol=1e-10)


def test_refusals(rng) -> None:
    several = catena.random_tree(1, 300, branching=0)
    with pytest.raises(catena.UnsupportedError, match="types of joints"):
        solve_in_pieces(several, several.neutral(), np.zeros(several.nv))
    for pieces, words in ((16, "1 to 15"), (0, "at least 1"), (-1, "at least 1"), ([2], "whole"), (True, "whole")):
        with pytest.raises(catena.ShapeError, match=words):
            solve_in_pieces(catena.rod_chain(30, radius=0.1), np.zeros(30), np.zeros(30), pieces)
    with pytest.raises(catena.UnsupportedError, match="a Robot"):
        solve_in_pieces(None, np.zeros(30), np.zeros(30))
    with pytest.raises(catena.ShapeError, match="30"):
        solve_in_pieces(catena.rod_chain(30, radius=0.1), np.zeros(29), np.zeros(30))
