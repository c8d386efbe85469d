"""Polymers: Cartesian and internal coordinates, rods, and the distributions that the sampler draws from."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import catena
from catena.polymers import Polymer

KINDS = list(product((1, 2, 3, 6), ("torsions", "torsions+angles"), ("fixed", "floating")))


def polymer(n: int, coordinates: Any, base: Any, rng: np.random.Generator) -> Polymer:
    free = int(base == "floating")
    angles = rng.uniform(1.2, 2.2, n - free) if n > free else 2.0
    return Polymer(rng.uniform(1, 2, n), rng.uniform(1, 2, n + free), angles, 1.0, coordinates=coordinates, base=base)


@pytest.mark.parametrize(("n", "coordinates", "base"), KINDS)
def test_there_and_back(n, coordinates, base, rng) -> None:
    made = polymer(n, coordinates, base, rng)
    robot = made.robot
    q = robot.random_configuration(rng, (2, 3))
    x = made.positions(q)
    assert x.shape == (2, 3, len(made.masses), 3)
    again = made.configuration(x)
    assert np.abs(made.positions(again) - x).max() < 1e-13
    assert np.abs(made.configuration(made.positions(again)) - again).max() < 1e-11
    v, h = rng.standard_normal(robot.nv), 1e-5
    moved = [made.positions(robot.integrate(q, k * h * v)) for k in (-1, 1)]
    assert np.abs((moved[1] - moved[0]) / (2 * h) - made.velocities(q, v)).max() < 1e-7
    assert len(made.rods) == 3 * len(made.masses) - robot.nv  # hard and soft ones are all there are
    lengths = made.partition.coordinates(made.points(x)[0, 0])[1]
    assert made.partition.coordinates(made.points(x)[1, 2])[1] == pytest.approx(lengths, rel=1e-12)


def test_straight_chains_have_coordinates_too() -> None:
    made = Polymer(np.ones(4), 1.0, np.pi, coordinates="torsions+angles", base="floating")
    x = np.arange(5)[:, None] * np.array([0.6, 0.0, 0.8])
    assert np.abs(made.positions(made.configuration(x)) - x).max() < 1e-12


def angle_between(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v))


def test_branched_polymers(rng: np.random.Generator) -> None:
    """Isopentane, and bonds on the first atom: lengths and angles as asked for, whatever the torsions."""
    parents = np.array([-1, 0, 1, 2, 1, 0])
    bonds, angles = rng.uniform(1, 2, 5), rng.uniform(1.5, 2.2, 4)
    for coordinates in ("torsions", "torsions+angles"):
        made = Polymer(bonds, 1.5, angles, 0.3, parents=parents, coordinates=coordinates, base="floating")
        robot = made.robot
        q = robot.neutral()
        torsions = np.arange(7, robot.nq) if coordinates == "torsions" else np.arange(3, robot.nq, 2)
        q[torsions] = rng.uniform(-3, 3, len(torsions))
        x = made.positions(q)
        np.testing.assert_allclose(np.linalg.norm(x[1:] - x[parents[1:]], axis=1), bonds)
        before = [0, 1, 0, 1]  # the atom at the other end of the bond that each of the last four turns about
        found = [angle_between(x[before[i]] - x[parents[i + 2]], x[i + 2] - x[parents[i + 2]]) for i in range(4)]
        np.testing.assert_allclose(found, angles, atol=1e-12)
        assert np.abs(made.positions(made.configuration(x)) - x).max() < 1e-12


def cosine(x: np.ndarray, i: int = 1) -> np.ndarray:
    """Of the angle at atom i, for bonds of length 1."""
    return np.einsum("...k,...k->...", x[..., i - 1, :] - x[..., i, :], x[..., i + 1, :] - x[..., i, :])


@pytest.mark.parametrize(("fixman", "expected"), [(False, 0.32102), (True, 1 / 3)])
def test_rigid_and_stiff_trimers(fixman, expected, rng) -> None:
    """⟨cos²θ⟩ of p(θ) ∝ sin θ √(1 − cos²θ/4), and of ½ sin θ with Fixman's potential."""
    trimer = Polymer(np.ones(2), 1.0, coordinates="torsions+angles", base="floating")
    q = trimer.robot.random_configuration(rng, 4000)
    cos = rng.uniform(-1, 1, 4000)
    keep = rng.random(4000) < (1.0 if fixman else np.sqrt(1 - cos**2 / 4))  # start with the right distribution
    q[:, 6] = np.arccos(cos) - (np.pi - np.arccos(-1 / 3))
    run = trimer.sample(6, q[keep], fixman=fixman, step=0.25, steps=3, seed=2)
    values = cosine(run.positions) ** 2
    error = values.std() / np.sqrt(run.effective_sample_size(values))
    assert error < 5e-3
    assert abs(values.mean() - expected) < 4 * error
    assert 0.6 < run.acceptance < 0.95
    assert run.q.shape == (6, int(keep.sum()), 7)


def test_a_potential_of_the_positions(rng) -> None:
    """With an energy −k cos θ, stiff trimers have p(cos θ) ∝ exp(k cos θ / kT), and ⟨cos θ⟩ is Langevin's function."""
    trimer = Polymer(np.ones(2), [1.0, 2.0, 1.0], coordinates="torsions+angles", base="floating")

    def energy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = x[..., 0, :] - x[..., 1, :], x[..., 2, :] - x[..., 1, :]
        return -2.0 * cosine(x), -2.0 * np.stack([b, -(a + b), a], axis=-2)

    q = trimer.robot.random_configuration(rng, 800)
    run = trimer.sample(16, q, energy=energy, kT=1.5, step=0.2, steps=4, seed=3)
    values, ratio = cosine(run.positions[6:]), 2.0 / 1.5
    error = values.std(axis=1).mean() / np.sqrt(values.size / 6)
    assert abs(values.mean() - (1 / np.tanh(ratio) - 1 / ratio)) < 4 * error


def test_what_cannot_be_solved_is_rejected(rng) -> None:
    made = polymer(3, "torsions", "fixed", rng)
    q = made.robot.random_configuration(rng, (2, 5))
    run = made.sample(2, q, step=50.0, steps=1, seed=0)
    assert run.acceptance == 0.0
    assert run.unsolved == 1.0
    assert np.array_equal(run.positions[-1], made.positions(q))
    assert run.positions.shape == (2, 2, 5, 3, 3)


def test_rods_keep_their_lengths(rng) -> None:
    made = polymer(5, "torsions", "floating", rng)
    q = made.robot.random_configuration(rng, 20)
    run = made.sample(5, q, step=0.1, steps=5, seed=0)
    assert run.acceptance > 0.8
    before = made.partition.hard_coordinates.evaluate(made.points(made.positions(q)))
    after = made.partition.hard_coordinates.evaluate(made.points(run.positions[-1]))
    assert np.abs(after - before).max() < 1e-10
    assert 1 < run.effective_sample_size() <= 1000


def test_independent_samples_count_fully(rng) -> None:
    made = polymer(2, "torsions+angles", "floating", rng)
    run = made.sample(1, made.robot.neutral()[None], seed=0)
    noise = catena.polymers.Samples(made, np.broadcast_to(run.positions[:1], (400, 50, 3, 3)), 1.0, 0.0)
    white = rng.standard_normal((400, 50))
    assert noise.effective_sample_size(white) == pytest.approx(20_000, rel=0.1)
    slow = np.repeat(rng.standard_normal((40, 50)), 10, axis=0)
    assert noise.effective_sample_size(slow) == pytest.approx(2_000, rel=0.3)
    assert noise.effective_sample_size(white[100:]) == pytest.approx(15_000, rel=0.1)  # the first were dropped
    for wrong in (white[:0], white[:, :7], np.concatenate([white, white])):
        with pytest.raises(catena.ShapeError, match="values"):
            noise.effective_sample_size(wrong)
    with pytest.raises(catena.ShapeError, match="values"):
        run.effective_sample_size([1.0, 2.0])


@pytest.mark.parametrize(
    "wrong", [{"kT": 0}, {"step": -1.0}, {"steps": 0}, {"samples": 0}, {"energy": 3.0}, {"energy": lambda x: 0.0}]
)
def test_senseless_numbers_are_refused(wrong, rng) -> None:
    made = polymer(2, "torsions+angles", "floating", rng)
    with pytest.raises(catena.CatenaError, match=r"sample|energy"):
        made.sample(**{"samples": 1, "q": made.robot.neutral()[None], **wrong})
    straight = Polymer(np.ones(3), 1.0, [2.0, np.pi, 2.0])
    with pytest.raises(catena.SingularError, match="atom 1"):
        straight.sample(1, straight.robot.neutral()[None])
    with pytest.raises(catena.ShapeError, match="positions"):
        made.configuration(np.zeros((2, 3)))
    with pytest.raises(catena.ShapeError, match="positions must have at most 30 dimensions, got 32; reshape it"):
        made.configuration(np.zeros((*[1] * 30, 3, 3)))
    assert made.configuration(made.positions(made.robot.neutral()).reshape(*[1] * 28, 3, 3)).ndim == 29


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_atoms_on_each_other_have_no_coordinates(base: Any) -> None:
    """Nor those at no place, or too far away to measure; other samples are untouched."""
    chain = Polymer(np.ones(5 if base == "fixed" else 4), np.ones(5), base=base)
    q = chain.robot.random_configuration(0)
    x = chain.positions(q)
    far = np.full((5, 3), 1e300) * np.arange(5)[:, None]
    found = chain.configuration(np.array([x, np.zeros((5, 3)), np.full((5, 3), np.nan), far]))
    assert np.allclose(chain.positions(found[0]), x)
    assert np.isnan(found[1:]).any(axis=-1).all()
