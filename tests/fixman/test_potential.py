"""Fixman's potential against its definition, ½ kT log(det M / det G), by dense determinants at 50 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from tests.algorithms.test_fixman import dense_blocks

import catena
from catena.fixman import Family, partition
from catena.fixman.internal_coordinates import angle, distance, torsion
from catena.polymers import Polymer

H = mpf(10) ** -20


def atoms(start, lengths, turning, torsions) -> list:
    """Positions of a chain's atoms: each bond turned about the one before it, and against it."""
    R, x, found = mpmath.eye(3), mpmath.matrix(start), []
    for length, bend, turn in zip(lengths, turning, torsions, strict=True):
        c, s, cb, sb = mpmath.cos(turn), mpmath.sin(turn), mpmath.cos(bend), mpmath.sin(bend)
        R = (
            R
            * mpmath.matrix([[1, 0, 0], [0, c, -s], [0, s, c]])
            * mpmath.matrix([[cb, -sb, 0], [sb, cb, 0], [0, 0, 1]])
        )
        x = x + length * R[:, 0]
        found.append(x)
    return [value for point in found for value in point]


def definition(masses, lengths, turning, torsions, hard_angles: bool, floating: bool):
    """½ log(det M / det G) of a chain, with bonds hard, or bonds and angles."""
    n = len(lengths)
    coordinates = [mpf(0)] * 3 * floating + [mpf(float(x)) for x in (*torsions, *turning, *lengths)]
    first = 3 * floating
    soft = list(range(first + n)) + list(range(first + n, first + n + (n if not hard_angles else floating)))

    def positions(c):
        start, (phi, theta, length) = c[:first] or [0, 0, 0], np.reshape(np.array(c[first:], dtype=object), (3, n))
        return (list(start) if floating else []) + atoms(start, length, theta, phi)

    weights = [mpf(float(m)) for m in masses for _ in range(3)]
    columns = []
    for i in range(len(coordinates)):
        above, below = ([x + (j == i) * sign * H for j, x in enumerate(coordinates)] for sign in (1, -1))
        columns.append([(a - b) / (2 * H) for a, b in zip(positions(above), positions(below), strict=True)])

    def logdet(chosen):
        rows = [
            [mpmath.fsum(w * x * y for w, x, y in zip(weights, columns[i], columns[j], strict=True)) for j in chosen]
            for i in chosen
        ]
        return mpmath.log(mpmath.det(mpmath.matrix(rows)))

    return (logdet(soft) - logdet(range(len(coordinates)))) / 2


def chain(n: int, hard_angles: bool, floating: bool, rng: np.random.Generator):
    """A robot, and what gives its lengths, turning angles and torsions at a configuration."""
    bonds, masses = rng.uniform(1, 1.5, n), rng.uniform(1, 2, n + floating)
    angles = rng.uniform(1.3, 2.0, n - floating) if n > floating else 2.0
    torsions = rng.uniform(-3, 3, n - 2 * floating) if n > 2 * floating else 0.0
    kind = "torsions" if hard_angles else "torsions+angles"
    robot = catena.point_mass_chain(
        bonds, masses, angles, torsions, coordinates=kind, base="floating" if floating else "fixed"
    )
    bend0 = np.pi - np.concatenate([[np.pi / 2] * floating, np.atleast_1d(angles)[: n - floating]])
    turn0 = np.concatenate([[0.0, np.pi / 2][: 2 * floating], np.atleast_1d(torsions)[: max(n - 2 * floating, 0)]])[:n]

    def internal(q):
        if hard_angles:
            own = q[7:] if floating else q
            return bonds, bend0, turn0 + np.concatenate([np.zeros(n - len(own)), own])
        turn, bend = q[3 * floating :].reshape(-1, 2).T
        return bonds, bend0 + bend, turn0 + turn

    return robot, masses, internal


def state(robot, rng) -> np.ndarray:
    q = robot.random_configuration(rng)
    angular = slice(7, None) if robot.tree.joint_type[0] == 8 else slice(3 if robot.tree.mass[0] == 0 else 0, None)
    q[angular] = rng.uniform(-0.5, 0.5, len(q[angular]))
    return q


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("hard_angles", [False, True])
@pytest.mark.parametrize("floating", [False, True])
def test_differences_between_states(n, hard_angles, floating, rng) -> None:
    if hard_angles and floating and n < 3:
        pytest.skip("rigid: nothing to tell apart")
    robot, masses, internal = chain(n, hard_angles, floating, rng)
    states = [state(robot, rng) for _ in range(2)]
    with mpmath.workdps(50):
        one, two = (definition(masses, *internal(q), hard_angles, floating) for q in states)
    found = catena.fixman_potential(robot, states, kT=1.0).potential
    assert found[1] - found[0] == pytest.approx(float(two - one), abs=1e-9)


@pytest.mark.parametrize("hard_angles", [False, True])
def test_torques_against_differences_at_50_digits(hard_angles, rng) -> None:
    robot, masses, internal = chain(4 if hard_angles else 3, hard_angles, False, rng)
    q, h = state(robot, rng), 2.0**-20
    found = catena.fixman_potential(robot, q, kT=2.0)
    with mpmath.workdps(50):
        for i, unit in enumerate(np.eye(robot.nv)):
            U = [definition(masses, *internal(q + k * h * unit), hard_angles, False) for k in (-2, -1, 1, 2)]
            slope = 2 * (U[0] - 8 * U[1] + 8 * U[2] - U[3]) / (12 * mpf(h))
            assert found.torque[i] == pytest.approx(-float(slope), abs=1e-8)


@pytest.mark.parametrize("floating", [False, True])
def test_angles_may_be_straight(floating, rng) -> None:
    """log det M and log det G have no value there; their difference has, and log det Hᵇᵇ knows it at 50 digits."""
    robot, masses, internal = chain(4, False, floating, rng)
    first, h = 3 * floating, mpf(10) ** -15
    straight = state(robot, rng)
    straight[first + 5] -= internal(straight)[1][2]
    near = straight + 1e-4 * np.eye(robot.nq)[first + 5]
    found = catena.fixman_potential(robot, [straight, near, state(robot, rng)])
    with mpmath.workdps(50):

        def definition_by_bonds(turning):
            """½ log det Hᵇᵇ: bonds meet at atoms, at their turning angles."""
            inverse, n = [1 / mpf(float(m)) for m in ([] if floating else [mpmath.inf]) + list(masses)], len(turning)
            Hbb = mpmath.matrix(n, n)
            for i in range(n):
                Hbb[i, i] = inverse[i] + inverse[i + 1]
                if i:
                    Hbb[i, i - 1] = Hbb[i - 1, i] = -mpmath.cos(turning[i]) * inverse[i]
            return mpmath.log(mpmath.det(Hbb)) / 2

        for number, q in enumerate((straight, near)):
            bends = [mpf(float(x)) for x in internal(q)[1]]
            slopes = [
                (definition_by_bonds([x + h * (i == j) for j, x in enumerate(bends)]) - definition_by_bonds(bends)) / h
                for i in range(4)
            ]
            assert found.torque[number][first + 1 :: 2] == pytest.approx(-np.array(slopes, dtype=float), abs=1e-12)
            assert np.abs(found.torque[number][first::2]).max() < 1e-12
        other = definition_by_bonds([mpf(float(x)) for x in internal(straight)[1]])
        step = definition_by_bonds([mpf(float(x)) for x in internal(near)[1]]) - other
    assert found.potential[1] - found.potential[0] == pytest.approx(float(step), abs=1e-13)


def test_known_answers() -> None:
    robot = catena.point_mass_chain(np.ones(3), [1, 2, 1.5], np.pi / 2, coordinates="torsions+angles")
    q = np.array([0.3, 0.2, 0.7, -np.pi / 6, -0.4, -np.pi / 4])
    torque = catena.fixman_potential(robot, q, kT=1.0).torque
    assert torque[1::2] == pytest.approx([0, -0.37889, -0.09375], abs=1e-5)
    assert torque[::2] == pytest.approx(np.zeros(3), abs=1e-12)
    one = catena.point_mass_chain([1.5], 2.0, coordinates="torsions+angles")
    assert np.abs(catena.fixman_potential(one, [0.4, 0.9]).torque).max() < 1e-14


def euler_ball(free: bool) -> catena.Robot:
    """A body on hinges about z, x and z through links without mass; on sliders too if it is free."""
    builder, parent = catena.Builder("ball", gravity=(0, 0, 0)), "base"
    for name, axis in (("x", "x"), ("y", "y"), ("z", "z")) if free else ():
        builder.link(f"s{name}").prismatic(f"slide_{name}", parent, f"s{name}", axis=axis)
        parent = f"s{name}"
    builder.link("a").link("b").link("c", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    builder.revolute("alpha", parent, "a").revolute("beta", "a", "b", axis="x").revolute("gamma", "b", "c")
    return builder.build()


@pytest.mark.parametrize("free", [False, True])
def test_hinges_through_weightless_links_are_one_joint(free, rng) -> None:
    robot = euler_ball(free)
    q = rng.uniform(0.3, 1.2, (4, robot.nq))
    potential, torque = catena.fixman_potential(robot, q)
    assert np.ptp(potential) < 1e-12
    assert np.abs(torque).max() < 1e-12


def test_bodies_on_all_joints_by_the_printed_blocks(rng) -> None:
    """½ log det Hᵇᵇ with Hᵇᵇ = B Y Bᵀ of errata.md, from 6 x 6 matrices."""
    for seed in range(3):
        robot = catena.random_tree(seed, 6, base="floating" if seed == 2 else "fixed")
        states = robot.random_configuration(rng, 2)
        dense = []
        for q in states:
            Y, _, B, _ = dense_blocks(robot, q)
            dense.append(0.5 * np.linalg.slogdet(B @ Y @ B.T)[1])
        found = catena.fixman_potential(robot, states, kT=3.0).potential
        assert found[1] - found[0] == pytest.approx(3.0 * (dense[1] - dense[0]), abs=1e-10)


@pytest.mark.parametrize("aside", [0.0, 0.3])
def test_thin_rods_on_universal_joints(aside, rng) -> None:
    """det K of a rod is sin θ, the area that its direction sweeps: turning it about itself moves nothing of its own.

    A rod that is held aside of the one before it resists such a turn.
    """
    length = 1.4
    builder, parent = catena.Builder("rods", gravity=(0, 0, 0)), "base"
    for name in "ab":
        builder.link(name, mass=1.0, com=(length / 2, 0, 0), inertia=(0.0, length**2 / 12, length**2 / 12))
        place = (0, 0, 0) if parent == "base" else (length, aside, 0)
        builder.universal(f"to_{name}", parent, name, axis="x", axis2="z", position=place)
        parent = name
    robot, q = builder.build(), rng.uniform(0.4, 1.2, (5, 4))
    dense = np.linalg.slogdet(robot.mass_matrix(q).dense())[1]
    expected = dense / 2 - np.log(np.abs(np.sin(q[:, 1]) * np.sin(q[:, 3])))
    assert np.ptp(catena.fixman_potential(robot, q).potential - expected) < 1e-10


def test_batches_long_chains_and_shapes_of_kernels(rng) -> None:
    n = 100_000
    robot = catena.point_mass_chain(np.ones(n), rng.uniform(1, 2, n), np.pi / 2, coordinates="torsions+angles")
    q = rng.uniform(-0.5, 0.5, robot.nq)
    potential, torque = catena.fixman_potential(robot, q)
    turning = np.pi / 2 + q[3::2]
    m = robot.tree.mass
    pivots, pivot = 1 / m[0] + np.zeros(n), 1 / m[0]
    for i in range(1, n):
        pivot = pivots[i] = 1 / m[i] + 1 / m[i - 1] - (np.cos(turning[i - 1]) / m[i - 1]) ** 2 / pivot
    assert torque.shape == (robot.nv,)
    other = catena.fixman_potential(robot, 0 * q)[0]
    assert potential - other == pytest.approx(0.5 * (np.sum(np.log(pivots)) - straight_answer(m)), rel=1e-10)


def straight_answer(m: np.ndarray) -> float:
    """log det Hᵇᵇ of bonds at right angles: nothing couples."""
    return float(np.log(1 / m[0]) + np.sum(np.log(1 / m[1:] + 1 / m[:-1])))


def dense_hard(parts, x) -> float:
    """log det B W Bᵀ with slopes by differences of the coordinates."""
    h, rows = 1e-6, []
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = h
        rows.append(
            (parts.coordinates(x + e.reshape(x.shape))[1] - parts.coordinates(x - e.reshape(x.shape))[1]) / (2 * h)
        )
    B = np.array(rows).T
    return np.linalg.slogdet((B / np.repeat(parts.masses, 3)) @ B.T)[1]


CHOICES = {
    "bonds": [(distance, [[0, 1], [1, 2], [2, 3], [3, 4]])],
    "bonds and angles": [(distance, [[0, 1], [1, 2], [2, 3]]), (angle, [[0, 1, 2], [1, 2, 3]])],
    "a ring with a torsion": [(distance, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]), (torsion, [[0, 1, 2, 3]])],
    "a star": [(distance, [[0, i] for i in range(1, 5)])],
    "a wide band": [(distance, [[i, j] for i in range(4) for j in range(i)] + [[4, 0], [4, 1], [4, 2]])],
}


@pytest.mark.parametrize("choice", CHOICES)
def test_hard_coordinates_of_any_choice(choice, rng) -> None:
    parts = partition([], [Family(f, points) for f, points in CHOICES[choice]], rng.uniform(1, 2, 5))
    x = rng.standard_normal((2, 3, 5, 3))
    potential, force = parts.potential(x, kT=[[1.0], [2.0]])
    assert potential.shape == (2, 3)
    assert force.shape == x.shape
    assert potential[1, 2] == pytest.approx(dense_hard(parts, x[1, 2]), abs=1e-8)
    h = 1e-3
    step = h * rng.standard_normal((5, 3))
    a, b, c, d = (parts.potential(x + k * step, kT=[[1.0], [2.0]]).potential for k in (-2, -1, 1, 2))
    slope = (a - 8 * b + 8 * c - d) / 12
    assert -np.einsum("...ai,ai->...", force, step) == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_no_hard_coordinates_and_wrong_shapes() -> None:
    parts = partition([], [], np.ones(2))
    potential, force = parts.potential(np.zeros((4, 2, 3)))
    assert not potential.any()
    assert not force.any()
    with pytest.raises(catena.ShapeError, match="positions"):
        parts.potential(np.zeros((3, 3)))


def test_both_forms_agree(rng) -> None:
    """The potentials of a branched robot and of its atoms' rods differ by a constant, with angles hard or soft."""
    bonds, masses, parents = rng.uniform(1, 2, 7), rng.uniform(1, 2, 8), [-1, 0, 1, 2, 1, 0, 5, 3]
    for coordinates in ("torsions", "torsions+angles"):
        polymer = Polymer(bonds, masses, 1.9, parents=parents, coordinates=coordinates, base="floating")
        q = np.stack([state(polymer.robot, rng) for _ in range(3)])
        ours = polymer.fixman_potential(q).potential
        others = polymer.partition.potential(polymer.points(polymer.positions(q))).potential
        assert np.ptp(ours - others) < 1e-9
