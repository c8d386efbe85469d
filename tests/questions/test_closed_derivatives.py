"""Derivatives of closed systems beside differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_systems import closed_model, ladder, looped
from tests.mechanisms import relative

import catena


def differences(system: catena.System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float = 1e-5) -> np.ndarray:
    def at(dq: np.ndarray, dv: np.ndarray, dtau: np.ndarray) -> np.ndarray:
        return system.forward_dynamics(system.integrate(q, dq), v + dv, tau + dtau).a

    parts = np.split(h * np.eye(3 * system.nv), 3, axis=1)
    return ((at(*parts) - at(*[-x for x in parts])) / (2 * h)).T


@pytest.mark.parametrize("case", ["four-bar", "loops"])
def test_derivatives_are_those_of_differences(case: str, rng: np.random.Generator) -> None:
    if case == "four-bar":
        pytest.importorskip("mujoco")
        system = closed_model("four_bar")
        q = system.close([-1.0, 0.3, -1.2])
    else:
        system, q = looped(1, 4, ["Distance", "PointOnPlane"])
        assert system.redundancy(q).rank == system.closures.rows  # elsewhere the rank jumps off the constraints
    v, tau = rng.standard_normal((2, system.nv))
    expected = differences(system, q, v, tau)
    assert relative(np.hstack(system.forward_dynamics_derivatives(q, v, tau)), expected) < 1e-6
    dq, dv, dtau = rng.standard_normal((3, 2, system.nv))
    along = system.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)
    assert relative(along, np.hstack([dq, dv, dtau]) @ expected.T) < 1e-6


def test_large_systems_say_that_they_have_none() -> None:
    system, q = ladder(21)
    with pytest.raises(catena.UnsupportedError, match="up to 60 links"):
        system.forward_dynamics_derivatives(q, np.zeros(system.nv), np.zeros(system.nv))
