"""Cables of 400 pieces at steps of 1 ms against theory, to one percent: catenary, cantilever, vibration, buckling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena

LINKS, DT, GRAVITY = 400, 1e-3, 9.81
IMPLICIT: dict[str, Any] = {"integrator": "linearly_implicit", "joint_losses": True}
WEIGHTLESS = (0.0, 0.0, 0.0)

pytestmark = pytest.mark.long


def pulled(cable: catena.Robot, force: list[float]) -> Any:
    """Torques of a force at the tip that keeps its direction in the world."""
    wrench = np.array([0.0, 0.0, 0.0, *force])
    return lambda t, q, v: cable.jacobian_transpose_times(q, "tip", wrench, frame="mixed")


def tip(cable: catena.Robot, q: np.ndarray) -> np.ndarray:
    found: np.ndarray = cable.placements(q, ["tip"]).position[..., 0, :]
    return found


def test_a_catenary() -> None:
    """Pinned at one end and pulled sideways at the other, its lowest point, a cable is half a catenary."""
    density, a = 0.1, 0.3
    cable = catena.cable(1.0, LINKS, EI=1e-5, density=density, damping=0.02, start="pinned")
    control = pulled(cable, [a * density * GRAVITY, 0.0, 0.0])
    q, v, before = np.zeros(cable.nq), np.zeros(cable.nv), 0.0
    q[0] = np.arctan2(np.hypot(a, 1.0) - a, a * np.arcsinh(1 / a))  # from a straight line
    for _ in range(400):  # it comes to rest as it is stopped whenever it is fastest
        run = cable.rollout(q, v, None, DT, steps=10, every=10, control=control, **IMPLICIT)
        q, v = run.q[-1], run.v[-1]
        energy = cable.kinetic_energy(q, v)
        v, before = (v, energy) if energy >= before else (np.zeros_like(v), 0.0)
    expected = [a * np.arcsinh(1 / a), 0.0, a - np.hypot(a, 1.0)]
    assert np.abs(tip(cable, q) - expected).max() < 0.01 * abs(expected[2])
    s = np.arange(1, LINKS + 1) / LINKS  # and all along: of the piece that ends at s, measured from the support
    place = cable.placements(q).position
    x = a * (np.arcsinh(1 / a) - np.arcsinh((1 - s + 1 / LINKS) / a))
    assert np.abs(place[:, 0] - x).max() < 0.01 * expected[0]


def test_the_tip_of_a_cantilever() -> None:
    radius, rho, youngs = 0.002, 7850.0, 200e9  # steel, 1 m long, 4 mm thick
    EI, density = youngs * np.pi * radius**4 / 4, rho * np.pi * radius**2
    rod = catena.cable(1.0, LINKS, EI, density, radius=radius, damping=0.03)
    zero = np.zeros(rod.nv)
    run = rod.rollout(zero, zero, None, DT, steps=2000, every=2000, **IMPLICIT)
    assert tip(rod, run.q[-1])[2] == pytest.approx(-density * GRAVITY / (8 * EI), rel=0.01)


@pytest.mark.parametrize(("number", "root"), [(0, 1.8751041), (1, 4.6940911), (2, 7.8547574)])
def test_how_a_cantilever_vibrates(number: int, root: float) -> None:
    """Started in the shape of a mode, it swings with the frequency of that mode."""
    EI, density = 0.01, 0.1
    rod = catena.cable(1.0, LINKS, EI, density, gravity=WEIGHTLESS)
    frequency = root**2 * np.sqrt(EI / density)
    share = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
    x = (np.arange(LINKS + 1) / LINKS)[:-1]
    slope = np.sinh(root * x) + np.sin(root * x) - share * (np.cosh(root * x) - np.cos(root * x))
    angles = np.diff(np.append(0.0, 1e-4 * (slope + np.append(slope[1:], slope[-1])) / 2))
    q = np.zeros((LINKS, 2))
    q[:, 0] = angles
    steps = round(2.2 * 2 * np.pi / frequency / DT)
    run = rod.rollout(q.ravel(), np.zeros(rod.nv), None, DT, steps=steps, **IMPLICIT)
    z = tip(rod, run.q)[:, 2]
    at = np.flatnonzero(z[:-1] * z[1:] < 0)
    crossings = run.t[at] + DT * z[at] / (z[at] - z[at + 1])
    assert np.pi / np.diff(crossings).mean() == pytest.approx(frequency, rel=0.01)


@pytest.mark.parametrize(("share", "falls"), [(0.99, False), (1.01, True)])
def test_a_column_buckles_under_eulers_load(share: float, falls: bool) -> None:
    EI, density = 0.1, 0.05
    load = share * np.pi**2 * EI / 4
    column = catena.cable(1.0, LINKS, EI, density, damping=1e-3, gravity=WEIGHTLESS)
    q, v = np.zeros((LINKS, 2)), np.zeros(column.nv)
    q[:, 0] = 1e-6 * np.cos(np.pi / 2 * np.arange(LINKS) / LINKS)  # bent as it would buckle, by a little
    run = column.rollout(
        q.ravel(), v, None, DT, steps=6000, every=100, control=pulled(column, [-load, 0, 0]), **IMPLICIT
    )
    away = np.abs(tip(column, run.q)[:, 2])
    assert (away.max() > 2 * away[0]) == falls
