"""Ready-made chains: geometry by independent formulas, and a million links without a million objects."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.helpers import placements

import catena


def masses_at(robot: catena.Robot, q: np.ndarray) -> np.ndarray:
    """Where each link's centre of mass is, in the base's frame."""
    poses = placements(robot.tree, q)
    return np.array([poses[link.name][1] + poses[link.name][0] @ link.com for link in robot.links])


def test_planar_chain() -> None:
    """Point masses at the ends of links laid end to end, each turned by the sum of the angles before it."""
    lengths, masses, q = np.array([1.0, 0.5, 2.0]), [1.0, 2.0, 0.25], np.array([0.3, -1.1, 2.2])
    robot = catena.planar_chain(lengths, masses)
    angle = np.cumsum(q)
    ends = np.cumsum(lengths[:, None] * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1), axis=0)
    np.testing.assert_allclose(masses_at(robot, q), ends, atol=1e-15)
    assert [link.mass for link in robot.links] == masses
    assert not robot.tree.inertia.any()
    assert [joint.type for joint in robot.joints] == ["revolute"] * 3
    assert robot.link("link3").parent == "link2"


def test_rod_chain() -> None:
    robot = catena.rod_chain(4, 2.0, 3.0, radius=0.1)
    assert [joint.axis.tolist() for joint in robot.joints] == [[0, 0, 1], [0, 1, 0]] * 2
    np.testing.assert_allclose(robot.links[1].inertia, np.diag([0.015, 1.0075, 1.0075]))
    np.testing.assert_allclose(masses_at(robot, np.zeros(4)), [[1, 0, 0], [3, 0, 0], [5, 0, 0], [7, 0, 0]])
    thin = catena.rod_chain(3, [1, 2, 3], [3, 2, 1], axes=["y", (1, 0, 1), "-z"])
    np.testing.assert_allclose(thin.links[2].inertia, np.diag([0, 0.75, 0.75]))
    np.testing.assert_allclose(thin.joints[1].axis, [np.sqrt(0.5), 0, np.sqrt(0.5)])
    assert catena.rod_chain(3, axes="zy") == catena.rod_chain(3)
    with pytest.raises(catena.SingularError, match="link2"):
        catena.rod_chain(2, axes=["z", "x"])


def angle_between(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v))


def torsion(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """The torsion of three successive bonds (IUPAC: cis is 0, positive clockwise seen along the middle one)."""
    m, n = np.cross(a, b), np.cross(b, c)
    return float(np.arctan2(np.linalg.norm(b) * (a @ n), m @ n))


@pytest.mark.parametrize("coordinates", ["torsions", "torsions+angles"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_point_mass_chain(coordinates: Any, base: Any, rng: np.random.Generator) -> None:
    """Lengths, angles and torsions measured on the atoms are those asked for plus the coordinates."""
    n, free = 9, int(base == "floating")
    bonds, masses = rng.uniform(1, 2, n), rng.uniform(1, 2, n + free)
    angles, torsions = rng.uniform(1.5, 2.2, n - free), rng.uniform(-3, 3, n - 2 * free)
    robot = catena.point_mass_chain(bonds, masses, angles, torsions, coordinates=coordinates, base=base)
    q = robot.random_configuration(rng)
    body = free and coordinates == "torsions"
    first, per_joint = 7 if body else 3 * free, 1 if coordinates == "torsions" else 2
    moves = q[first:].reshape(-1, per_joint)
    moves = np.column_stack([moves[:, 0], 0.1 * moves[:, 1] if per_joint == 2 else 0 * moves[:, 0]])
    q = np.concatenate([q[:first], moves[:, :per_joint].ravel()])
    if body:
        turn, shift = placements(robot.tree, q)["atom2"]
        start = np.array([[0, 0, 0], [bonds[0], 0, 0]]) @ turn.T + shift
        second = start[1] + bonds[1] * turn @ [-np.cos(angles[0]), np.sin(angles[0]), 0]
        atoms = np.concatenate([start, [second], masses_at(robot, q)[1:]])
        own = robot.links[0]
        np.testing.assert_allclose(turn @ own.com + shift, masses[:3] @ atoms[:3] / masses[:3].sum())
    else:
        atoms = masses_at(robot, q)[2:] if free else np.concatenate([[[-1, 0, 0], [0, 0, 0]], masses_at(robot, q)])
    bond = np.diff(atoms, axis=0)
    np.testing.assert_allclose(np.linalg.norm(bond, axis=1)[1 - free :], bonds)
    bent = np.concatenate([[0], moves[:, 1]]) if body else moves[free:, 1]
    found = [np.pi - angle_between(a, b) for a, b in pairwise(bond)]
    np.testing.assert_allclose(found, angles - bent, atol=1e-13)
    turned = torsions + (moves[2:, 0] if free and not body else moves[:, 0])
    found = [torsion(*three) for three in zip(bond, bond[1:], bond[2:], strict=False)]
    difference = np.array(found) - (turned if free else turned[1:])
    np.testing.assert_allclose(np.sin(difference / 2), 0, atol=1e-13)


def test_polymers_are_massive_enough() -> None:
    with pytest.raises(catena.SingularError, match="atom3"):
        catena.point_mass_chain(np.ones(3), [1, 1, 0])
    with pytest.raises(catena.SingularError, match="atom3"):
        catena.point_mass_chain(np.ones(3), 1.0, angles=np.pi)


@pytest.mark.parametrize("coordinates", ["torsions", "torsions+angles"])
def test_small_floating_polymers(coordinates: Any) -> None:
    """Every degree of freedom of 2, 3 and 4 atoms, none twice: M has an inverse."""
    freedom = {"torsions": (5, 6, 7), "torsions+angles": (5, 7, 9)}[coordinates]
    for n, nv in zip((1, 2, 3), freedom, strict=True):
        robot = catena.point_mass_chain(np.ones(n), 2.0, coordinates=coordinates, base="floating")
        assert robot.nv == nv
        atoms = masses_at(robot, robot.neutral())[-n:] if nv != 6 else np.zeros((1, 3))
        assert np.isfinite(atoms).all()
        assert np.linalg.eigvalsh(robot.mass_matrix(robot.neutral()).dense()).min() > 0.1


@pytest.mark.parametrize("parents", [[-1, 0], [-1, 2, 1, 0], [-1, 0, -2, 1], [-1, 0, 0.5, 1], [-1, 0, 0, 1]])
def test_parents_are_checked(parents: Any) -> None:
    with pytest.raises(catena.ModelError, match="parents"):
        catena.point_mass_chain(np.ones(3), 1.0, parents=parents, base="floating")


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: catena.planar_chain([1, -1], 1), "lengths"),
        (lambda: catena.planar_chain([1, 1], [1, 1, 1]), "lengths"),
        (lambda: catena.planar_chain([1, np.nan], 1), "lengths"),
        (lambda: catena.planar_chain([], []), "at least one"),
        (lambda: catena.planar_chain([1, 1], [1, -1]), "masses"),
        (lambda: catena.planar_chain([[1, 1]], 1), "lengths"),
        (lambda: catena.planar_chain("long", 1), "lengths"),
        (lambda: catena.planar_chain([1, 1], [1, 0]), "link2"),
        (lambda: catena.planar_chain(1, 1, gravity=9.81), "gravity"),
        (lambda: catena.rod_chain(0), "n:"),
        (lambda: catena.rod_chain(2.5), "n:"),
        (lambda: catena.rod_chain(3, length=[1, 2]), "length"),
        (lambda: catena.rod_chain(3, radius=-1), "radius"),
        (lambda: catena.rod_chain(3, axes=["w"]), "axis"),
        (lambda: catena.rod_chain(3, axes=[(0, 0, 0)]), "axis"),
        (lambda: catena.rod_chain(3, axes=[]), "axes"),
        (lambda: catena.point_mass_chain([1, 1], 1, coordinates="all"), "coordinates"),
        (lambda: catena.point_mass_chain([1, 1], 1, base="none"), "base"),
        (lambda: catena.point_mass_chain([1, 1], 1, angles=[1, 2, 3]), "angles"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], culprit: str) -> None:
    with pytest.raises(catena.ModelError, match=culprit):
        make()


MILLION = 1_000_000


@pytest.mark.parametrize(
    "make",
    [
        lambda: catena.planar_chain(np.linspace(1, 2, MILLION), np.linspace(1, 2, MILLION)),
        lambda: catena.rod_chain(MILLION, 0.01, 0.1),
    ],
    ids=["planar_chain", "rod_chain"],
)
def test_a_million_links_fit(make: Callable[[], catena.Robot]) -> None:
    tracemalloc.start()
    robot = make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6
    assert robot.nv == MILLION
    assert robot.link(f"link{MILLION}").parent == f"link{MILLION - 1}"
    assert len(str(robot)) < 10_000
    assert robot.integrate(robot.neutral(), np.ones(robot.nv)).sum() == MILLION
    assert pickle.loads(pickle.dumps(robot)) == robot
