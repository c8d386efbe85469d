"""Known distributions of small molecules: what rigid and stiff bonds make of angles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from catena.fixman import Family, partition
from catena.fixman.internal_coordinates import angle, distance, torsion


def trimer(theta: float) -> np.ndarray:
    return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [np.cos(theta), np.sin(theta), 0.0]])


def free_coordinates(a, b, c):
    """Position, direction of the first bond, turn about it, angle: seven soft coordinates of a trimer."""
    from catena.scalars import arctan2, sqrt
    from catena.spatial import Vec3

    d = a - b
    up = Vec3(0, 0, 1)
    return [
        *(b.x, b.y, b.z),
        *(arctan2(sqrt(d.x * d.x + d.y * d.y), d.z), arctan2(d.y, d.x)),
        torsion(a + up, b, a, c),
        angle(a, b, c),
    ]


def test_trimer_distribution() -> None:
    parts = partition(free_coordinates, lambda a, b, c: [distance(a, b), distance(b, c)], np.ones(3))

    def weight(theta: float) -> float:
        return float(np.exp(parts.at(trimer(theta)).log_determinant() / 2))

    def known(theta: float) -> float:
        return np.sin(theta) * np.sqrt(1 - np.cos(theta) ** 2 / 4)

    scale = weight(1.0) / known(1.0)
    for theta in np.linspace(0.1, 3.0, 9):
        assert weight(theta) == pytest.approx(scale * known(theta), rel=1e-10)
    total = quad(weight, 1e-9, np.pi - 1e-9)[0]
    mean = quad(lambda t: weight(t) * np.cos(t) ** 2, 1e-9, np.pi - 1e-9)[0] / total
    assert mean == pytest.approx(0.32102, abs=5e-6)

    def corrected(theta: float) -> float:
        return weight(theta) * float(np.exp(-parts.at(trimer(theta)).log_determinant_of_hard() / 2))

    total = quad(corrected, 1e-9, np.pi - 1e-9)[0]
    for theta in (0.4, 1.3, 2.6):
        assert corrected(theta) / total == pytest.approx(np.sin(theta) / 2, rel=1e-10)
    mean = quad(lambda t: corrected(t) * np.cos(t) ** 2, 1e-9, np.pi - 1e-9)[0] / total
    assert mean == pytest.approx(1 / 3, abs=1e-10)


def test_tetramer_distribution(rng) -> None:
    """det Hᵇᵇ against sin θ₁ sin θ₂ √(4 − cos²θ₁ − cos²θ₂): the sines are det G, the root is √det Hᵇᵇ."""
    parts = partition([], [Family(distance, [[0, 1], [1, 2], [2, 3]])], np.ones(4))
    for first, second, turned in rng.uniform(0.3, 2.8, (6, 3)):
        x = np.zeros((4, 3))
        x[0], x[2] = [1, 0, 0], [np.cos(first), np.sin(first), 0]
        back, normal = -x[2], np.array([0.0, 0.0, 1.0])
        side = np.cross(normal, back)
        x[3] = x[2] + np.cos(second) * back + np.sin(second) * (np.cos(turned) * side + np.sin(turned) * normal)
        root = np.exp(parts.at(x).log_determinant_of_hard() / 2)
        assert root == pytest.approx(np.sqrt(2 * (4 - np.cos(first) ** 2 - np.cos(second) ** 2)), rel=1e-10)
