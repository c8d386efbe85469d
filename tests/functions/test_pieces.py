"""Forward dynamics of one long chain in pieces: what loops find, and no less exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import catena
from catena.functions.pieces import Chain, InPieces
from catena.functions.store import LONG
from catena.model.pattern import pattern_of


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def state(robot: catena.Robot, rng: np.random.Generator) -> list[np.ndarray]:
    return [robot.random_configuration(rng), *rng.uniform(-1, 1, (2, robot.nv))]


def rods(n: int, **options: object) -> catena.Robot:
    return catena.rod_chain(n, radius=0.1, gravity=(1.0, -2.0, -9.0), **options)  # type: ignore[arg-type]


def jointed(n: int, first: str = "", armature: float = 0.0) -> catena.Robot:
    """Joints of many sorts in turn, with inertias off their axes, perhaps behind another joint."""
    builder, parent = catena.Builder("jointed", gravity=(1.0, -2.0, -9.0)), "base"
    sorts = ["revolute", "spherical", "cylindrical"]
    if first:
        builder.link("first", mass=2.0, com=(0, 0.1, 0), inertia=np.diag([1.0, 1.5, 2.0]))
        getattr(builder, first)("j", parent, "first", position=(0.1, 0.2, 0.3))
        parent = "first"
    for i in range(n):
        sort, link = sorts[i % len(sorts)], f"link{i}"
        builder.link(link, mass=1.0 + i % 3, com=(0.1, 0.2, 0.3), inertia=np.diag([1.0, 2.0, 2.5]))
        axis = {} if sort == "spherical" else {"axis": (0.6, 0, 0.8)}
        getattr(builder, sort)(f"j{i}", parent, link, position=(0.5, -0.2, 0.1), armature=armature, **axis)
        parent = link
    return builder.build()


CHAINS: dict[str, tuple[Callable[[], catena.Robot], bool]] = {
    "hinges in turn": (lambda: rods(61), True),
    "a plane": (lambda: rods(61, axes="y"), False),
    "joints of many sorts, floating, with rotors": (lambda: jointed(14, "free", armature=0.3), False),
    "a floating polymer": (
        lambda: catena.point_mass_chain(np.ones(30), 1.0, coordinates="torsions+angles", base="floating"),
        False,
    ),
}
"""Chains, and whether wrenches act on their links."""


@pytest.mark.parametrize("name", CHAINS)
def test_pieces_move_as_the_whole_does(name: str, rng: np.random.Generator) -> None:
    make, pushed = CHAINS[name]
    robot = make()
    given = [*state(robot, rng), *[rng.standard_normal((robot.tree.n, 6))] * pushed]
    expected = robot.forward_dynamics(*given, kernel="rolled")
    chain = Chain.of(robot._compiled)
    for pieces in (1, 2, 3):
        assert relative(chain.forward(*given, pieces=pieces)[0], expected) < 1e-11  # type: ignore[arg-type]


def test_long_chains_are_cut_by_themselves(rng: np.random.Generator) -> None:
    robot = rods(LONG + 3)
    q, v, tau = state(robot, rng)
    found = robot.forward_dynamics(q, v, tau)
    assert isinstance(robot._compiled.kernel(catena.functions.catalogue.FORWARD_DYNAMICS["innovations"]), InPieces)
    assert np.array_equal(found, Chain.of(robot._compiled).forward(q, v, tau)[0])
    assert np.array_equal(robot.forward_dynamics(q[None], v, tau), found[None])
    out = tau.copy()
    assert robot.forward_dynamics(q, v, out, out=out) is out
    assert np.array_equal(out, found)
    loops = robot.forward_dynamics(q, v, tau, kernel="rolled")
    assert relative(found, loops) < 1e-11
    both = robot.forward_dynamics(np.stack([q, q]), v, tau)
    assert np.array_equal(both, np.stack([loops, loops]))
    assert robot.forward_dynamics(np.empty((0, robot.nq)), v, tau).shape == (0, robot.nv)
    assert robot.forward_dynamics(q, v, tau, dtype=np.float32).dtype == np.float32
    assert relative(robot.forward_dynamics(q, v, tau, joint_losses=True), loops) < 1e-11


def test_threads_do_not_matter(rng: np.random.Generator) -> None:
    robot = rods(2 * LONG)
    given = state(robot, rng)
    found = []
    try:
        for threads in (1, 2, 3):
            catena.set_threads(threads)
            found.append(robot.forward_dynamics(*given))
    finally:
        catena.set_threads(None)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("bent", [1.0, 1e-3])
def test_errors_are_at_most_three_times_those_of_loops(bent: float, rng: np.random.Generator) -> None:
    robot = catena.rod_chain(1500)
    q, v, tau = rng.uniform(-1, 1, (3, robot.nv))
    exact = catena.evaluate(robot, "forward_dynamics", bent * q, v, tau, scalar=np.longdouble)
    loops = np.abs(robot.forward_dynamics(bent * q, v, tau) - exact)
    pieces = np.abs(Chain.of(robot._compiled).forward(bent * q, v, tau, pieces=16)[0] - exact)
    assert pieces.max() <= 3 * loops.max()
    assert np.median(pieces) <= 3 * np.median(loops)


def test_residuals_are_those_of_loops(rng: np.random.Generator) -> None:
    """Rounding between two pieces is taken up by the links that follow, not by the whole chain."""
    robot = catena.rod_chain(2 * LONG)
    q, v, tau = rng.uniform(-1, 1, (3, robot.nv))
    found = [robot.forward_dynamics(q, v, tau, kernel=shape) for shape in (None, "rolled")]
    pieces, loops = [np.linalg.norm(robot.inverse_dynamics(q, v, a) - tau) for a in found]
    assert pieces < 5 * loops


def test_chains_that_are_not_cut(rng: np.random.Generator) -> None:
    """Where no piece repeats, or one by itself would be singular, loops answer."""
    uneven = catena.rod_chain(LONG, length=rng.uniform(1, 2, LONG), radius=0.1)
    given = rng.uniform(-1, 1, (3, LONG))
    found = uneven.forward_dynamics(*given)
    assert np.array_equal(found, uneven.forward_dynamics(*given, kernel="rolled"))
    massless = np.resize([1.0, 0.0], 21)
    hollow = catena.rod_chain(21, mass=massless, radius=0.1)
    with pytest.raises(catena.UnsupportedError, match="singular"):
        Chain.of(hollow._compiled)


def test_what_comes_before_a_pattern(rng: np.random.Generator) -> None:
    assert pattern_of(jointed(30, "free").tree) == (1, 3)
    with pytest.raises(catena.UnsupportedError, match="pattern"):
        pattern_of(catena.rod_chain(30, mass=rng.uniform(1, 2, 30)).tree)


def test_pieces_that_are_nearly_singular(rng: np.random.Generator) -> None:
    """Two thin rods in line before a cut do not hold the joint that turns them about that line; what follows does."""
    robot = catena.rod_chain(LONG + 1, axes="zxy")
    q, v, tau = rng.uniform(-1, 1, (3, robot.nv))
    for small in (0.0, 1e-9):
        q[2::3] = small
        found, loops = (robot.forward_dynamics(q, v, tau, kernel=shape) for shape in (None, "rolled"))
        assert relative(found, loops) < 1e-6


def test_what_is_made_of_forward_dynamics_is_left_to_loops(rng: np.random.Generator) -> None:
    """Losses, products with derivatives and parameters: one sample of a long chain gets what loops compute."""
    robot = rods(LONG).with_joints(damping=0.5, friction=0.1)
    q, v, tau, w = 0.1 * rng.standard_normal((4, robot.nv))
    for ask in (
        lambda **how: robot.forward_dynamics(q, v, tau, joint_losses=True, **how),
        lambda **how: robot.forward_dynamics_jvp(q, v, tau, w, w, w, **how),
        lambda **how: robot.forward_dynamics_vjp(q, v, tau, w, **how)[0],
        lambda **how: robot.forward_dynamics(q, v, tau, parameters=robot.parameters(), **how),
    ):
        np.testing.assert_array_equal(np.asarray(ask()), np.asarray(ask(kernel="rolled")))
