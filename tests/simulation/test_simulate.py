"""Simulations: the bits of rollouts, events, interruption, steps that adapt themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena
from catena.simulation import parts
from catena.simulation.events import Event


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.rod_chain(3, length=0.5)


def test_the_bits_of_one_rollout(arm: catena.Robot) -> None:
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1, 1, (2, 5, 3))
    control = catena.controllers.pd(np.zeros(3), 0.1, 0.01)
    run = catena.simulate(arm, q, v, 0.2, 1e-3, control=control, every=2)
    once = arm.rollout(q, v, None, 1e-3, steps=200, control=control, every=2)
    assert np.array_equal(run.q, once.q)
    assert np.array_equal(run.t, once.t)
    assert run.tau is not None
    assert once.tau is not None
    assert np.allclose(run.tau, once.tau, rtol=0, atol=1e-15)
    wave = catena.simulate(arm, q, v, 0.1, 1e-3, control=lambda t, q, v: 0 * q + np.sin(50 * t))
    assert np.array_equal(
        wave.q, arm.rollout(q, v, None, 1e-3, steps=100, control=lambda t, q, v: 0 * q + np.sin(50 * t)).q
    )


@pytest.mark.parametrize("integrator", ["rk4", "variational", "adaptive"])
def test_a_run_goes_on_where_it_stopped(arm: catena.Robot, integrator: str) -> None:
    def wave(t: Any, q: Any, v: Any) -> Any:
        return 0 * q + np.sin(20 * t) - 0.1 * v

    q, v = np.array([0.1, 0.2, 0.3]), np.zeros(3)
    options: dict[str, Any] = {"control": wave, "integrator": integrator}
    whole = catena.simulate(arm, q, v, 0.2, 1e-3, **options)
    half = catena.simulate(arm, q, v, 0.1, 1e-3, **options)
    rest = catena.simulate(arm, half.q[-1], half.v[-1], 0.1, 1e-3, t0=half.t[-1], **options)
    assert np.array_equal(rest.t, whole.t[100:])
    if integrator == "rk4":
        assert np.array_equal(rest.q, whole.q[100:])
    assert np.allclose(rest.q, whole.q[100:], rtol=0, atol=1e-5)
    for t0 in (-1.0, 0.0005, np.nan, [0.0, 0.1]):
        with pytest.raises(catena.ShapeError, match="t0 must be a multiple"):
            arm.rollout(q, v, None, 1e-3, steps=1, t0=t0)


def test_free_fall_and_its_events() -> None:
    ball = catena.Builder("ball").link("ball", mass=1.0, inertia=(1, 1, 1)).free("joint", "base", "ball").build()
    q, v = np.tile(ball.neutral(), (2, 1)), np.zeros((2, 6))
    q[:, 2] = 1.0, 2.0
    falls = np.sqrt(2 * q[:, 2] / 9.81)
    run = catena.simulate(
        ball,
        q,
        v,
        2.0,
        1e-3,
        integrator="midpoint",
        events={"ground": lambda t, q, v: -q[..., 2]},
        stop=lambda t, q, v: q[..., 2] < 0,
    )
    ground = [event for event in run.events if event.name == "ground"]
    assert [event.sample for event in ground] == [(0,), (1,)]
    assert np.allclose([event.t for event in ground], falls, rtol=0, atol=1e-6)
    assert run.t[-1] == pytest.approx(np.ceil(falls[1] * 1000) / 1000)
    assert [event.name for event in run.events].count("stop") == 2


def test_energy_stays_with_small_tolerances(arm: catena.Robot) -> None:
    q, v = np.array([0.5, -1.0, 2.0]), np.zeros(3)
    run = catena.simulate(arm, q, v, 2.0, 0.05, integrator="adaptive", tolerance=1e-12)
    energy = run.energy()
    assert np.abs(energy - energy[0]).max() < 1e-10 * arm.kinetic_energy(run.q, run.v).max()
    fixed = catena.simulate(arm, q, v, 0.5, 1e-3, integrator="rk4", every=50)
    assert np.abs(run.q[:11] - fixed.q).max() < 1e-6


def test_momentum_stays_in_free_flight() -> None:
    tree = catena.random_tree(5, 4, ["revolute", "spherical", "planar"], 0.5, base="floating", gravity=(0, 0, 0))
    v = np.random.default_rng(0).uniform(-1, 1, tree.nv)
    run = catena.simulate(tree, tree.random_configuration(1), v, 1.0, 0.1, integrator="adaptive", tolerance=1e-12)
    momentum = run.momentum()
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum).max()
    assert np.allclose(run.q, tree.normalize(run.q), rtol=0, atol=1e-15)


def test_variational_steps_are_of_order_two_and_keep_energy(arm: catena.Robot) -> None:
    q, v = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, -1.0])
    exact = catena.simulate(arm, q, v, 0.2, 0.2, integrator="adaptive", tolerance=1e-12).q[-1]
    errors = [
        np.abs(catena.simulate(arm, q, v, 0.2, dt, integrator="variational").q[-1] - exact).max() for dt in (4e-3, 2e-3)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    many = catena.simulate(arm, np.stack([q, -q]), v, 10.0, 1e-2, integrator="variational", every=10)
    energy = many.energy()
    error = np.abs(energy - energy[:, :1]).max(axis=0) / np.ptp(arm.kinetic_energy(many.q, many.v))
    assert error.max() < 0.02
    assert error[-10:].max() < 2 * error[:50].max()
    assert np.array_equal(many.q[0], catena.simulate(arm, q, v, 10.0, 1e-2, integrator="variational", every=10).q)


def test_variational_steps_know_springs_losses_and_torques() -> None:
    hinge = (
        catena.Builder("hinge", gravity=(0, 0, 0))
        .link("bob", mass=1.0, com=(0, 0, -1), inertia=(0, 0, 0))
        .revolute("j", "base", "bob", axis="y", stiffness=9.0, damping=0.5, rest=0.2)
        .build()
    )
    run = catena.simulate(
        hinge, [0.2], [1.0], 1.0, 1e-3, integrator="variational", joint_losses=True, control=lambda t, q, v: 0 * q + 0.9
    )
    rate, w = 0.25, np.sqrt(9.0 - 0.0625)
    wave = np.exp(-rate * run.t) * ((1.0 - 0.025) / w * np.sin(w * run.t) - 0.1 * np.cos(w * run.t))
    assert np.allclose(run.q[:, 0], 0.3 + wave, rtol=0, atol=1e-5)


def test_variational_steps_refuse_what_they_cannot_do() -> None:
    ball = catena.Builder("ball").link("ball", mass=1.0, inertia=(1, 1, 1)).free("joint", "base", "ball").build()
    with pytest.raises(catena.UnsupportedError, match="free"):
        catena.simulate(ball, ball.neutral(), np.zeros(6), 0.01, 1e-3, integrator="variational")
    with pytest.raises(catena.UnsupportedError, match="20 degrees of freedom"):
        catena.simulate(catena.rod_chain(20), np.zeros(20), np.zeros(20), 0.01, 1e-3, integrator="variational")


def test_adaptive_steps_know_controllers_springs_and_losses() -> None:
    hinge = (
        catena.Builder("hinge", gravity=(0, 0, 0))
        .link("bob", mass=1.0, com=(0, 0, -1), inertia=(0, 0, 0))
        .revolute("j", "base", "bob", axis="y", stiffness=2.0, damping=0.5, rest=0.2)
        .build()
    )
    run = catena.simulate(
        hinge,
        [0.2],
        [1.0],
        1.0,
        0.1,
        integrator="adaptive",
        joint_losses=True,
        control=lambda t, q, v: -7.0 * (q - 0.2),
    )
    rate, w = 0.25, np.sqrt(9.0 - 0.0625)
    assert np.allclose(run.q[:, 0], 0.2 + np.exp(-rate * run.t) * np.sin(w * run.t) / w, rtol=0, atol=1e-7)


def test_interruption_returns_what_was_done(arm: catena.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, calls = parts.run_of, []

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(parts, "run_of", interrupted)
    monkeypatch.setattr(parts, "PACE", 0.0)
    run = catena.simulate(arm, np.zeros(3), np.ones(3), 1.0, 1e-3)
    assert len(run.t) == 2 * parts.FIRST + 1
    assert run.how == "interrupted at 0.032 s"
    assert np.array_equal(run.q, arm.rollout(np.zeros(3), np.ones(3), None, 1e-3, steps=2 * parts.FIRST).q)
    calls[:] = [1, 1]  # before anything is done
    run = catena.simulate(arm, np.zeros(3), np.ones(3), 1.0, 1e-3, control=lambda t, q, v: np.array(-v, float))
    assert run.how.endswith("interrupted at 0 s")
    assert run.tau is not None
    assert run.tau.shape == (0, 3)


def test_divergence_is_counted_from_the_start(arm: catena.Robot) -> None:
    q, v = np.zeros((2, 3)), np.zeros((2, 3))

    def kick(t: Any, q: Any, v: Any, p: Any) -> Any:
        return 0 * q + np.where(t > 0.05, p[..., :1], 0.0)

    with pytest.warns(catena.DivergenceWarning, match="simulate: 1 of 2"):
        run = catena.simulate(arm, q, v, 0.2, 1e-3, control=kick, parameters=[[0.0], [np.inf]], bound=1e3)
    assert run.diverged.tolist() == [False, True]
    assert run.diverged_step[1] in (51, 52)


def test_the_progress_bar_is_shown_when_asked_for(arm: catena.Robot, capsys: pytest.CaptureFixture[str]) -> None:
    catena.simulate(arm, np.zeros(3), np.ones(3), 0.1, 1e-3, progress=True)
    catena.simulate(arm, np.zeros(3), np.ones(3), 0.1, 1e-3)
    assert capsys.readouterr().out == ""


def test_bad_input_is_refused(arm: catena.Robot) -> None:
    zero = np.zeros(3)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"dt": 0}, "dt must be"),
        ({"dt": -1e-3}, "dt must be"),
        ({"duration": np.nan}, "duration must be"),
        ({"duration": 1e-4}, "no longer than the duration"),
        ({"q": np.zeros(4)}, "q must have shape"),
        ({"every": 3}, "divide"),
        ({"robot": 3}, "expected a Robot"),
        ({"events": [1]}, "events must map"),
        ({"events": {"stop": len}}, "stop="),
        ({"stop": 1}, "stop must be"),
        ({"stop": lambda t, q, v: q[..., :2]}, "one number for each state"),
        ({"integrator": "leapfrog"}, "no integrator"),
        ({"integrator": "adaptive", "tolerance": 0.0}, "tolerance"),
        ({"integrator": "adaptive", "q": np.zeros((2, 3))}, "one sample"),
        ({"integrator": "adaptive", "q": np.full(3, np.nan)}, "finite"),
    ]
    for wrong, message in cases:
        with pytest.raises(catena.CatenaError, match=message):
            catena.simulate(**{"robot": arm, "q": zero, "v": zero, "duration": 0.01, "dt": 1e-3, **wrong})


def test_an_event_is_a_plain_tuple() -> None:
    assert Event("ground", 0.5, (1,)) == ("ground", 0.5, (1,))
