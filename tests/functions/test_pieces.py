"""Forward dynamics of one long chain in pieces: what loops find, and no less exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

import catena
from catena.functions.pieces import InPieces, Pieces
from catena.functions.store import LONG, LONG_APART
from catena.model.pattern import Cut, Pattern, Run, cuts_of, pattern_of, runs_of, stretches_of


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


def uneven(n: int, rng: np.random.Generator) -> catena.Robot:
    """A chain in which no two links are alike."""
    tree = rods(n).tree
    turned = np.linalg.qr(rng.standard_normal((2, n, 3, 3)))[0]
    turned *= np.sign(np.linalg.det(turned))[..., None, None]
    moments = rng.uniform(0.1, 0.2, (n, 3, 1)) * np.swapaxes(turned[0], 1, 2)
    changes = {"mass": rng.uniform(0.5, 2, n), "com": rng.uniform(-0.5, 0.5, (n, 3)), "inertia": turned[0] @ moments}
    return catena.Robot(replace(tree, placement_rotation=turned[1], armature=rng.uniform(0, 0.1, n), **changes))


def screws(n: int, rng: np.random.Generator, others: Mapping[int, str] | None = None) -> catena.Robot:
    """Hinges, slides and screws in no order, about any axes, with other joints at some links."""
    builder, parent, others = catena.Builder("screws", gravity=(1.0, -2.0, -9.0)), "base", others or {}
    for i in range(n):
        link, sort = f"link{i}", others.get(i) or str(rng.choice(["revolute", "prismatic", "continuous", "helical"]))
        inertia = np.diag(rng.uniform(1, 1.5, 3))
        builder.link(link, mass=rng.uniform(1, 3), com=rng.uniform(-0.3, 0.3, 3), inertia=inertia)
        options = {"axis": rng.standard_normal(3)} if i not in others else {}
        options |= {"pitch": 0.1} if sort == "helical" else {}
        place = {"position": rng.uniform(-1, 1, 3), "rotation": rng.uniform(-1, 1, 3)}
        getattr(builder, sort)(f"j{i}", parent, link, armature=rng.uniform(0, 0.1), **place, **options)
        parent = link
    return builder.build()


def branched(lengths: Sequence[int], first: str = "", mass: Callable[[int], float] = lambda i: 1.0) -> catena.Robot:
    """Branches of so many links, of which the last hangs on the middle of the one before, perhaps on another link."""
    builder, root = catena.Builder("branched", gravity=(1.0, -2.0, -9.0)), "base"
    if first:
        root = "trunk"
        builder.link(root, mass=2.0, com=(0, 0.1, 0), inertia=np.diag([1.0, 1.5, 2.0]))
        getattr(builder, first)("first", "base", root, position=(0.1, 0.2, 0.3))
    for i, n in enumerate(lengths):
        parent = f"{i - 1}.{lengths[i - 1] // 2}" if i and i == len(lengths) - 1 else root
        for k in range(n):
            m, link = mass(k), f"{i}.{k}"
            builder.link(link, mass=m, com=(0.3, 0.1, 0.2), inertia=m * np.diag([0.1, 0.2, 0.25]))
            place = (0.7, 0.1, 0.05) if k else (1.0 + i, 0.1, 0)
            builder.revolute(f"j{link}", parent, link, axis="zyx"[k % 3], position=place)
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
    "no two links alike": (lambda: uneven(31, np.random.default_rng(1)), True),
    "hinges, slides and screws at random": (lambda: screws(31, np.random.default_rng(2)), True),
    "the same behind a free joint": (lambda: screws(31, np.random.default_rng(3), {0: "free"}), True),
    "ball joints here and there": (lambda: screws(40, np.random.default_rng(4), {12: "spherical", 25: "planar"}), True),
    "every other link without a mass": (lambda: rods(41, mass=np.resize([1.0, 0.0], 41)), False),
    "branches": (lambda: branched([20, 20, 10]), False),
    "branches of a floating link, all of them different": (
        lambda: branched([20, 14, 20], "free", lambda k: 1 + np.sin(k) ** 2),
        True,
    ),
}
"""Chains, and whether wrenches act on their links."""


@pytest.mark.parametrize("name", CHAINS)
def test_pieces_move_as_the_whole_does(name: str, rng: np.random.Generator) -> None:
    make, pushed = CHAINS[name]
    robot = make()
    q, v, tau = state(robot, rng)
    wrenches = [rng.standard_normal((robot.tree.n, 6))] * pushed
    expected = robot.forward_dynamics(q, v, tau, *wrenches, kernel="rolled")
    solution = robot.mass_matrix(q).solve(tau)
    cut = Pieces.of(robot._compiled)
    for pieces in (1, 2, 3):
        assert relative(cut.forward(q, v, tau, *wrenches, pieces=pieces)[0], expected) < 1e-11
        assert relative(cut.solve(q, tau, pieces), solution) < 1e-11


def test_long_chains_of_any_kind_are_cut_by_themselves(rng: np.random.Generator) -> None:
    n = LONG_APART
    planar = catena.rod_chain(n, axes="z", radius=0.1, mass=rng.uniform(0.5, 2, n), length=rng.uniform(0.5, 2, n))
    parent = np.arange(-1, n - 1)
    parent[n // 2] = 0
    fork = replace(rods(n).tree, parent=parent)
    for robot in (planar, catena.Robot(fork)):
        given = rng.uniform(-1, 1, (3, n))
        found = robot.forward_dynamics(*given)
        loops = robot.forward_dynamics(*given, kernel="rolled")
        assert not np.array_equal(found, loops)
        assert relative(found, loops) < 1e-10


def test_long_chains_are_cut_by_themselves(rng: np.random.Generator) -> None:
    robot = rods(LONG + 3)
    q, v, tau = state(robot, rng)
    found = robot.forward_dynamics(q, v, tau)
    assert isinstance(robot._compiled.kernel(catena.functions.catalogue.FORWARD_DYNAMICS["innovations"]), InPieces)
    assert np.array_equal(found, Pieces.of(robot._compiled).forward(q, v, tau)[0])
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
@pytest.mark.parametrize("name", ["rods", "uneven"])
def test_errors_are_at_most_three_times_those_of_loops(name: str, bent: float, rng: np.random.Generator) -> None:
    robot = catena.rod_chain(1500) if name == "rods" else uneven(500, rng)
    q, v, tau = rng.uniform(-1, 1, (3, robot.nv))
    exact = catena.evaluate(robot, "forward_dynamics", bent * q, v, tau, scalar=np.longdouble)
    loops = np.abs(robot.forward_dynamics(bent * q, v, tau, kernel="rolled") - exact)
    pieces = np.abs(Pieces.of(robot._compiled).forward(bent * q, v, tau, pieces=16)[0] - exact)
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
    """Where joints of many sorts are in no order, or pieces by themselves would be singular, loops answer."""
    with pytest.raises(catena.UnsupportedError, match="types of joints"):
        Pieces.of(catena.random_tree(1, 300, branching=0)._compiled)
    hollow = catena.rod_chain(33, axes="z", mass=np.arange(33) % 12 == 8)
    with pytest.raises(catena.UnsupportedError, match="singular"):
        Pieces.of(hollow._compiled)
    with pytest.raises(catena.UnsupportedError, match="64 runs"):
        Pieces.of(catena.random_tree(1, 300, branching=0.9)._compiled)


def test_patterns(rng: np.random.Generator) -> None:
    tree = jointed(30, "free").tree
    assert pattern_of(tree, Run(0, 31)) == (1, 3, True, False)
    tree = replace(tree, mass=rng.uniform(1, 2, 31))
    assert pattern_of(tree, Run(0, 31)) == (1, 3, False, False)
    others = {4: "free", 5: "planar"}
    mixed = screws(20, rng, others).tree
    assert pattern_of(screws(20, rng).tree, Run(0, 20)) == (0, 1, False, True)
    assert stretches_of(mixed, Run(0, 20)) == [(0, 4), (4, 6), (6, 20)]
    assert runs_of(branched([4, 6, 2], "free").tree) == [(0, 1), (1, 5), (5, 9), (9, 11), (11, 13)]
    head, rest = Run(0, 1), Run(1, 31)
    assert cuts_of(Run(0, 31), Pattern(1, 3, False), 2, 1) == [Cut(*head, 1, False, head), Cut(1, 31, 2, False, rest)]


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
