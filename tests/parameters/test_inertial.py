"""The ten numbers of a body: possible or not, and without constraints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.parameters import inertial


def random_bodies(count: int, seed: int = 0) -> np.ndarray:
    """Bodies of a few random point masses each, by their definition as sums."""
    rng = np.random.default_rng(seed)
    m, r = rng.uniform(0.1, 1.0, (count, 6)), rng.standard_normal((count, 6, 3))
    moments = [
        np.einsum("bp,bp->b", m, x)
        for x in (
            r[..., 1] ** 2 + r[..., 2] ** 2,
            -r[..., 0] * r[..., 1],
            r[..., 0] ** 2 + r[..., 2] ** 2,
            -r[..., 0] * r[..., 2],
            -r[..., 1] * r[..., 2],
            r[..., 0] ** 2 + r[..., 1] ** 2,
        )
    ]
    return np.column_stack([m.sum(axis=1), np.einsum("bp,bpi->bi", m, r), *moments])


def test_pseudo_inertia_is_the_sum_over_points() -> None:
    bodies = random_bodies(20)
    assert relative(inertial.from_pseudo_inertia(inertial.pseudo_inertia(bodies)), bodies) < 1e-15
    assert np.linalg.eigvalsh(inertial.pseudo_inertia(bodies)).min() > 0
    assert all(inertial.fault(body) is None for body in bodies)
    assert relative(inertial.ten(*inertial.body(bodies)), bodies) < 1e-14


def test_many_bodies_are_judged_as_one_by_one() -> None:
    """Possible ones, impossible ones, flat ones, massless ones and numbers that are none."""
    rng = np.random.default_rng(2)
    wild = random_bodies(300) + rng.standard_normal((300, 10)) * rng.uniform(0, 3, (300, 1))
    flat = catena.point_mass_chain([1.0] * 3, [1.0] * 3).parameters().inertial
    odd = np.stack([np.zeros(10), np.eye(10)[0], np.eye(10)[4], np.full(10, np.nan), np.full(10, np.inf)])
    bodies = np.concatenate([wild, flat, odd])
    expected = [inertial.fault(body) is not None for body in bodies]
    assert 20 < sum(expected) < 280
    assert np.array_equal(inertial.impossible(bodies), expected)
    assert inertial.impossible(bodies[:6].reshape(2, 3, 10)).shape == (2, 3)


def test_log_cholesky_leads_there_and_back() -> None:
    bodies = random_bodies(20)
    theta = inertial.log_cholesky(bodies)
    assert relative(inertial.from_log_cholesky(theta), bodies) < 1e-14
    wild = np.random.default_rng(1).standard_normal((200, 10)) * 2
    found = inertial.from_log_cholesky(wild)
    assert all(inertial.fault(body) is None for body in found)
    h, slopes = 1e-6, inertial.log_cholesky_slopes(theta)
    steps = h * np.eye(10)
    ahead, back = (inertial.from_log_cholesky(theta[:, None] + sign * steps) for sign in (1, -1))
    assert relative(np.swapaxes(ahead - back, 1, 2) / (2 * h), slopes) < 1e-8


def test_records_in_log_cholesky_numbers() -> None:
    robot = ALL["tree of all joint types"]()
    P = catena.randomize(robot, 0, 0.2, 5)
    theta = P.log_cholesky()
    assert theta.shape == P.inertial.shape
    assert relative(P.with_log_cholesky(theta).vector, P.vector) < 1e-14
    P.with_log_cholesky(theta + 3.0).check()
    with pytest.raises(catena.ShapeError, match="log-Cholesky"):
        P.with_log_cholesky(np.zeros((3, 10)))
    with pytest.raises(catena.ModelError, match="in a plane, on a line or in a point"):
        catena.point_mass_chain([1.0] * 3, [1.0] * 3).parameters().log_cholesky()
