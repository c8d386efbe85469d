"""Questions of closed systems take the way of a robot's: no Python once they are known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_systems import closed_model

import catena
from catena.functions.question import Declared


def test_closed_systems_are_asked_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    system = closed_model("four_bar")
    q = system.close([0.4, 0.3, 0.2])
    v, tau = system.project_velocity(q, np.ones(system.nv)), np.ones(system.nv)
    expected = system.forward_dynamics(q, v, tau)
    calls: list[str] = []
    usual = Declared.answer
    monkeypatch.setattr(Declared, "answer", lambda *given: calls.append(given[0].name) or usual(*given))
    again = system.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(again.a, expected.a)
    np.testing.assert_array_equal(again.forces, expected.forces)
    found = system.forward_dynamics(np.stack([q, np.full_like(q, np.nan), q]), v, tau)
    np.testing.assert_array_equal(found.a[::2], [expected.a, expected.a])
    assert np.isnan(found.a[1]).all()
    assert calls == []


def test_samples_whose_constraints_depend_on_each_other_are_mended_alone() -> None:
    """A rod that is there twice changes nothing: each of the two bears half."""
    parts = catena.Builder("bars").link("a", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    parts = parts.link("b", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)).revolute("one", "base", "a", axis="z")
    bars = parts.revolute("two", "a", "b", axis="z", position=(1, 0, 0)).build()
    rods = [catena.Distance("world", "bars/b", 1.0, second_position=(1.0, 0, 0), name=name) for name in "xy"]
    twice, once = (catena.System({"bars": bars}, constraints=rods[:count]) for count in (2, 1))
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(0.5, 1.5, (3, 2)), rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    for given in ((q, v, tau), (q[0], v[0], tau[0])):
        found, expected = twice.forward_dynamics(*given), once.forward_dynamics(*given)
        np.testing.assert_allclose(found.a, expected.a, rtol=1e-9)
        np.testing.assert_allclose(found.forces.sum(axis=-2), expected.forces.sum(axis=-2), rtol=1e-9, atol=1e-12)
