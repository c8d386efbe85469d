"""Arguments of what is no question: rollouts, systems, loading. What they cannot be is said by a CatenaError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.odd_values import RaisingWord

import catena

ROBOT = catena.rod_chain(2)
STATE = np.zeros(2), np.zeros(2), np.zeros((3, 2)), 1e-3


def _endless() -> np.ndarray:
    """Lengths of steps that no memory holds, nor anything that is computed of each of them."""
    return np.broadcast_to(1e-3, (2**20, 2**20, 11))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ROBOT.rollout(*STATE, integrator=np.zeros(2)), r"no integrator array\(\[0., 0.\]\); expected"),
        (lambda: ROBOT.step(np.zeros((0, 2)), [0, 0], [0, 0], _endless()), "dt .* broadcast"),
        (lambda: catena.identify(ROBOT, *np.ones((4, 9, 2)), joints=2.5), "a list of words for joints.*a float"),
        (lambda: ROBOT.rollout(*STATE, out=(None, None)), "out must be a tuple of two arrays"),
        (lambda: catena.System(None), "robots: expected a list or a mapping of Robots, found a NoneType"),
        (lambda: catena.System([ROBOT], objects=len), "objects: expected a list or a mapping of Robots"),
        (lambda: catena.System([ROBOT], constraints=None), "constraints: expected a list of them, found a NoneType"),
        (lambda: catena.load("seven_dof_arm", package_roots=[1]), "package_roots: expected one folder or a list"),
        (lambda: catena.load("seven_dof_arm", package_roots=None), "package_roots: expected one folder or a list"),
        (lambda: catena.random_tree(1, 2, branching=np.zeros(2)), "branching: expected a probability"),
        (lambda: catena.operators.verify(lambda o: (o.phi, o.phi), 1), "verify: expected a Robot first"),
        (
            lambda: catena.operators.verify(lambda o: (o.phi, o.phi), ROBOT, samples=0),
            "verify: samples must be a whole",
        ),
        (lambda: catena.operators.Operators(1, np.zeros(2), ()), "Operators: expected a Robot first, got a int"),
        (lambda: catena.fixman.solve_with_error(1, [0.0], [0.0]), "solve_with_error: expected a Robot first"),
        (lambda: catena.fixman.solve_in_pieces(1, [0.0], [0.0]), "solve_in_pieces: expected a Robot first"),
        (lambda: catena.plots.sparsity(1), "sparsity: expected a Robot first"),
        (lambda: catena.plots.motion(ROBOT), "plot: expected a Run first, got a Robot"),
        (lambda: catena.plots.prediction(ROBOT), "prediction: expected what catena.identify gives first"),
        (lambda: catena.plots.scaling([1.0]), "scaling: expected a mapping from names to sizes and times first"),
        (lambda: catena.plots.scaling({"a": 1}), "scaling: 'a': expected two or more sizes"),
        (lambda: catena.controllers.feed_forward(1, [0, 1], [[0], [1]]), "feed_forward: expected a Robot first"),
        (lambda: catena.rotations.hat("z"), "v must hold real numbers, got 'z'"),
        (lambda: catena.rotations.exp([1.0, 2.0]), "v: expected 3 or 6 numbers along the last axis"),
        (lambda: catena.rotations.log(np.eye(2)), "matrix: expected 3 x 3 or 4 x 4 matrices"),
    ],
)
def test_what_cannot_be_is_named(ask: Any, message: str) -> None:
    with pytest.raises(catena.CatenaError, match=message):
        ask()


def test_words_that_cannot_be_compared() -> None:
    """They mean what they spell."""
    word = RaisingWord("udu")
    run = ROBOT.rollout(*STATE, method=word, ground=None)
    assert np.array_equal(run.q, ROBOT.rollout(*STATE, method="udu").q)
    run = catena.simulate(ROBOT, *STATE[:2], 0.01, 1e-3, method=word, integrator=RaisingWord("adaptive"))
    assert run.q.shape == (11, 2)
    assert catena.load("two_link_arm", mimic=RaisingWord("eliminated")).nv == 2


MATRIX = np.ones((1, 2), dtype=int).view(np.matrix)  # NumPy would read it row by row for ever, until the stack ends


@pytest.mark.parametrize("seed", [MATRIX, "x", [None], -1, np.array(2.5)], ids=str)
def test_seeds_that_are_none(seed: Any) -> None:
    with pytest.raises(catena.CatenaError, match="seed"):
        catena.random_tree(seed, 2)
    if seed is MATRIX:  # as good as a list of numbers
        assert ROBOT.random_configuration(seed).shape == (2,)
    else:
        with pytest.raises(catena.CatenaError, match="seed"):
            ROBOT.random_configuration(seed)
