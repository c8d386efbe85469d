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
        (lambda: catena.simulate(ROBOT, *STATE[:2], 0.01, 1e-3, progress=np.ones(3)), "progress must be True or False"),
        (lambda: catena.render(ROBOT, STATE[0], center_of_mass=np.ones(3)), "center_of_mass must be True or False"),
        (lambda: catena.render(ROBOT, STATE[0], frames=np.ones(3)), "a link is given by its name"),
        (lambda: ROBOT.rollout(*STATE, out=(None, None)), "out must be a tuple of two arrays"),
        (lambda: catena.System(None), "robots: expected a list or a mapping of Robots, found None"),
        (lambda: catena.System([ROBOT], objects=len), "objects: expected a list or a mapping of Robots"),
        (lambda: catena.System([ROBOT], constraints=None), "constraints: expected a list of them, found None"),
        (lambda: catena.load("seven_dof_arm", package_roots=[1]), "package_roots: expected one folder or a list"),
        (lambda: catena.load("seven_dof_arm", package_roots=None), "package_roots: expected one folder or a list"),
        (lambda: catena.random_tree(1, 2, branching=np.zeros(2)), "branching: expected a probability"),
        (lambda: catena.operators.verify(lambda o: (o.phi, o.phi), 1), "verify: expected a Robot first"),
        (
            lambda: catena.operators.verify(lambda o: (o.phi, o.phi), ROBOT, samples=0),
            "verify: samples must be a whole",
        ),
        (lambda: catena.operators.Operators(1, np.zeros(2), ()), "Operators: expected a Robot first, got an int"),
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


class Unprintable:
    """Neither text nor a number, and no help to those who want to say so."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


RUN = catena.simulate(ROBOT, np.zeros(2), np.zeros(2), duration=0.002, dt=1e-3)
STRANGERS = [3, None, "x", ROBOT.tree, ROBOT.parameters(), [ROBOT], ROBOT.mass_matrix(np.zeros(2)), catena.Robot]
OF_ROBOTS = {
    "evaluate": lambda x: catena.evaluate(x, "mass_matrix", np.zeros(2)),
    "count": catena.count,
    "simulate": lambda x: catena.simulate(x, np.zeros(2), np.zeros(2), duration=0.01, dt=1e-3),
    "render": lambda x: catena.render(x, np.zeros(2)),
    "view": catena.view,
    "randomize": catena.randomize,
    "mass_matrix": lambda x: catena.MassMatrix(x, np.zeros(2)),
    "rigid_blocks": lambda x: catena.fixman.rigid_blocks(x, np.zeros(2)),
    "base_parameters": catena.identification.base_parameters,
    "symbolic_base_parameters": catena.identification.symbolic_base_parameters,
    "excitation": lambda x: catena.identification.excitation(x, *np.zeros((3, 2, 2))),
    "exciting_trajectory": catena.identification.exciting_trajectory,
    "attach": lambda x: ROBOT.attach(x, "link1"),
    "to_mujoco": lambda x: ROBOT.to_mujoco(x, np.zeros(2)),
    "from_pinocchio": lambda x: ROBOT.from_pinocchio(x, np.zeros(2)),
    "Run": lambda x: catena.Run(x, RUN.t, RUN.q, RUN.v, RUN.diverged_step, RUN.diverged_joint),
}


@pytest.mark.parametrize("name", OF_ROBOTS)
def test_what_is_no_robot_is_named(name: str) -> None:
    for stranger in STRANGERS:
        with pytest.raises(
            catena.UnsupportedError, match=f"^{name}: expected .* got (None|an? {type(stranger).__name__})"
        ):
            OF_ROBOTS[name](stranger)


@pytest.mark.parametrize("odd", [10**400, 10**5000, Unprintable(), np.array("x"), [[1], [2, 3]], {}], ids=type)
def test_numbers_that_are_none(odd: Any) -> None:
    """Integers of thousands of digits, and objects that cannot be shown, among them."""
    builder = catena.Builder().link("a", mass=1.0)
    for ask in (
        lambda: catena.rod_chain(odd),
        lambda: catena.rod_chain(2, odd),
        lambda: catena.rod_chain(2, axes=odd),
        lambda: catena.rod_chain(2, gravity=odd),
        lambda: catena.rod_chain(2, name=odd),
        lambda: catena.cable(1.0, 2, odd, 1.0),
        lambda: catena.random_tree(0, 2, joint_types=odd),
        lambda: catena.from_dh([1], [1], [1], convention=odd),
        lambda: catena.from_dh([1], [1], [1], types=odd),
        lambda: catena.Builder().link("a", 1.0, inertia=odd).revolute("j", "base", "a").build(),
        lambda: builder.revolute("j", "base", "a", axis=odd),
        lambda: builder.revolute("j", odd, "a"),
        lambda: catena.Builder().link("a", 1.0).revolute("j", "base", "a", damping=odd or "x").build(),
        lambda: catena.Builder().link("a", 1.0).revolute("j", "base", "a", mimic=odd).build(),
        lambda: catena.Weld(odd, "b"),
        lambda: catena.Weld("a", "b", position=odd),
        lambda: catena.Distance("a", "b", odd),
        lambda: catena.System([ROBOT], placements=odd or [1]),
        lambda: catena.set_threads(-odd if isinstance(odd, int) else odd),
        lambda: catena.robots.path(odd),
        lambda: catena.symbolic(ROBOT, odd),
        lambda: catena.symbolic(ROBOT, form=odd),
        lambda: catena.rotations.hat(odd),
        lambda: catena.controllers.pd(odd, odd or "x"),
        lambda: ROBOT.frame(odd),
        lambda: ROBOT.rollout(*STATE[:2], None, 1e-3, steps=odd),
        lambda: RUN.resampled(odd),
        lambda: RUN.render(odd),
        lambda: catena.simulate(ROBOT, *STATE[:2], 0.01, 1e-3, integrator=odd),
        lambda: catena.simulate(ROBOT, *STATE[:2], 0.01, 1e-3, f_ext=odd or "x"),
    ):
        with pytest.raises(catena.CatenaError):
            ask()


def test_gains_of_another_size_are_named() -> None:
    for name in ("kp", "kd"):
        control = catena.controllers.pd(np.zeros(2), **{"kp": 1.0, "kd": 1.0, name: np.ones(3)})
        with pytest.raises(catena.ShapeError, match=rf"rollout: {name} must have shape \(..., 2\), got \(3,\)"):
            ROBOT.rollout(*STATE[:2], None, 1e-3, steps=2, control=control)


def test_a_watch_that_gives_no_numbers_is_named() -> None:
    with pytest.raises(catena.ShapeError, match="simulate: stop must give one number for each state"):
        catena.simulate(ROBOT, *STATE[:2], 0.01, 1e-3, stop=lambda t, q, v: None)


def test_a_rotation_that_is_not_finite_spoils_no_other() -> None:
    found = catena.rotations.log(np.stack([np.eye(3), np.full((3, 3), np.nan)]))
    assert np.array_equal(found, [[0.0] * 3, [np.nan] * 3], equal_nan=True)


def test_bodies_beyond_all_numbers_are_named() -> None:
    with pytest.raises(catena.ModelError, match="link 'link1'"):
        catena.from_dh([1e308], [0.0], [1e308], coms=(1e308, 1e308, 0.0))


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
