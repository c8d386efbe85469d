"""Cables against the theory of beams: sag, natural frequencies, twist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import catena

IMPLICIT: dict[str, Any] = {"integrator": "linearly_implicit", "joint_losses": True, "kernel": "rolled"}


def frequencies(rod: catena.Robot, count: int) -> np.ndarray:
    """Natural frequencies of small vibrations, in rad/s, without gravity."""
    M = rod.mass_matrix(rod.neutral(), kernel="rolled").dense()
    return np.sqrt(scipy.linalg.eigh(np.diag(rod.stiffness), M, eigvals_only=True)[:count])


@pytest.mark.parametrize("GJ", [None, 1.0])
def test_modes_of_a_cantilever_in_both_planes(GJ: float | None) -> None:
    rod = catena.cable(2.0, 40, EI=(3.0, 12.0), density=0.5, GJ=GJ, radius=1e-3 if GJ else 0.0, gravity=(0, 0, 0))
    unit = np.sqrt(3.0 / (0.5 * 2.0**4))
    modes = np.array([3.5160, 22.0345, 61.6972])
    expected = np.sort(np.concatenate([modes * unit, 2 * modes * unit]))
    assert np.allclose(frequencies(rod, 6)[:5], expected[:5], rtol=0.01)


def test_sag_under_its_own_weight() -> None:
    EI, density, length, links = 2.5, 0.02, 1.0, 30
    rod = catena.cable(length, links, EI, density, damping=0.02)
    zero = np.zeros(rod.nv)
    run = rod.rollout(zero, zero, None, 2e-3, steps=1000, every=1000, **IMPLICIT)
    tip = rod.placements(run.q[-1], ["tip"]).position[0]
    assert tip[2] == pytest.approx(-density * 9.81 * length**4 / (8 * EI), rel=0.01)
    assert abs(tip[1]) < 1e-9


def test_twist_under_a_torque_at_the_end() -> None:
    rod = catena.cable(1.0, 20, 1.0, 0.1, GJ=0.5, radius=0.02, damping=0.05, gravity=(0, 0, 0))
    torque = {"tip": [0.1, 0, 0, 0, 0, 0]}
    run = rod.rollout(rod.neutral(), np.zeros(rod.nv), None, 2e-3, steps=1500, every=1500, f_ext=torque, **IMPLICIT)
    turn = rod.difference(rod.neutral(), run.q[-1]).reshape(-1, 3)[:, 0].sum()
    assert turn == pytest.approx(0.1 * (1.0 - 0.5 / 20) / 0.5, rel=1e-3)  # the last half piece carries no torque


def test_ends() -> None:
    assert catena.cable(1.0, 4, 1.0, 1.0).stiffness.tolist() == [8, 8, 4, 4, 4, 4, 4, 4]
    assert catena.cable(1.0, 4, 1.0, 1.0, start="pinned").stiffness.tolist() == [0, 0, 4, 4, 4, 4, 4, 4]
    free = catena.cable(1.0, 4, 1.0, 1.0, radius=0.01, start="free", damping=0.1)
    assert free.joints[0].type == "free"
    assert free.damping.tolist() == [0] * 6 + [0.4] * 6
    assert free.total_mass == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"length": 0}, "length"),
        ({"links": 0}, "at least 1"),
        ({"EI": -1}, "EI"),
        ({"EI": [1, 2, 3]}, "EI"),
        ({"density": np.nan}, "density"),
        ({"GJ": 1.0}, "radius"),
        ({"start": "free"}, "radius"),
        ({"damping": -1}, "damping"),
        ({"start": "glued"}, "'clamped'"),
    ],
)
def test_faults_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(catena.ModelError, match=message):
        catena.cable(**{"length": 1.0, "links": 3, "EI": 1.0, "density": 1.0, **wrong})
