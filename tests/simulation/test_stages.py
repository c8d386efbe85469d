"""Forces that depend on time and state in steps of several stages: asked at each of them, or warned of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import catena

K, DT, STEPS = 100.0, 0.01, 1000  # 10 rad/s, for 10 s: held over the stages of rk4, 50 J become 7,508 J


@pytest.fixture(scope="module")
def slider() -> catena.Robot:
    """A mass of 1 kg on a rail, whose frame is turned."""
    builder = catena.Builder("slider").link("mass", mass=1.0, inertia=(0.1, 0.1, 0.1))
    return builder.prismatic("rail", "base", "mass", axis=(0.6, 0.8, 0.0), position=(0.1, 0.2, 0.3)).build()


def spring(t: Any, q: Any, v: Any) -> Any:
    x = q[..., 0]
    return {"mass": np.stack([0 * x, 0 * x, 0 * x, -K * 0.6 * x, -K * 0.8 * x, 0 * x], axis=-1)}


def called(t: Any, q: Any, v: Any) -> Any:
    return spring(float(t), q, v)


def energy(run: catena.Run) -> Any:
    return 0.5 * run.v[..., 0] ** 2 + 0.5 * K * run.q[..., 0] ** 2


def test_a_spring_keeps_its_energy(slider: catena.Robot) -> None:
    how: dict[str, Any] = {"f_ext": spring, "integrator": "rk4"}
    run = slider.rollout([1.0], [0.0], None, DT, steps=STEPS, **how)
    assert run.how == "f_ext: compiled"
    assert np.abs(energy(run) - 50.0).max() < 0.5
    assert np.abs(run.q[:, 0] - np.cos(10 * run.t)).max() < 1e-3
    assert np.array_equal(catena.simulate(slider, [1.0], [0.0], STEPS * DT, DT, **how).q, run.q)
    kept: list[float] = []

    def noted(t: Any, q: Any, v: Any) -> Any:
        kept.append(1.0)
        return 0.0 * v

    with pytest.warns(catena.StepWarning, match="control is asked once a step"):
        beside = slider.rollout([1.0], [0.0], None, DT, steps=STEPS, control=noted, **how)
    assert "control: called from Python" in beside.how
    assert np.allclose(beside.q, run.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("integrator", "order"), [("midpoint", 2), ("rk4", 4)])
def test_wrenches_of_time_and_state_keep_the_order(slider: catena.Robot, integrator: str, order: int) -> None:
    def push(t: Any, q: Any, v: Any) -> Any:
        x = np.sin(3 * t) - 9.0 * np.sin(q[..., 0]) - 0.5 * v[..., 0]
        return {"mass": np.stack([0 * x, 0 * x, 0 * x, 0.6 * x, 0.8 * x, 0 * x], axis=-1)}

    start: tuple[Any, ...] = ([0.5], [0.0], 1.0)
    exact = catena.simulate(slider, *start, 0.5, f_ext=push, integrator="adaptive", tolerance=1e-12).q[-1, 0]
    steps = (0.025, 0.0125)
    off = [abs(catena.simulate(slider, *start, dt, f_ext=push, integrator=integrator).q[-1, 0] - exact) for dt in steps]
    assert np.log2(off[0] / off[1]) == pytest.approx(order, abs=0.4)


def test_closed_systems_ask_wrenches_at_every_stage(slider: catena.Robot) -> None:
    system = catena.System([slider])

    def pulled(t: Any, q: Any, v: Any) -> Any:
        return {"slider/mass": spring(t, q, v)["mass"]}

    run = system.rollout([1.0], [0.0], None, DT, steps=STEPS, f_ext=pulled, integrator="rk4")
    assert np.abs(energy(run) - 50.0).max() < 0.5


def test_servos_act_at_every_stage() -> None:
    pytest.importorskip("mujoco")
    cart = catena.load(
        '<mujoco><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom size="1" mass="1"/>'
        '</body></worldbody><actuator><position name="aim" joint="slide" kp="100"/></actuator></mujoco>'
    )
    run = cart.rollout([1.0], [0.0], np.zeros((STEPS, 1)), DT, actuators=True, integrator="rk4")
    assert np.abs(energy(run) - 50.0).max() < 0.5
    assert run.tau is not None
    assert np.allclose(run.tau[:, 0], -K * run.q[:-1, 0])


def held(robot: catena.Robot, integrator: str, **given: Any) -> catena.Run:
    return catena.simulate(robot, [1.0], [0.0], STEPS * DT, DT, integrator=integrator, **given)


@pytest.mark.parametrize("integrator", ["midpoint", "rk4", "variational"])
def test_what_is_held_is_warned_of(slider: catena.Robot, integrator: str) -> None:
    laws: list[dict[str, Any]] = [{"control": lambda t, q, v: -K * q}]
    laws.append({"control": catena.controllers.pd([0.0], K, 0.0)})
    laws += [{"f_ext": called}] if integrator != "variational" else []
    for law in laws:
        with pytest.warns(catena.StepWarning, match=f"{next(iter(law))} is asked once a step .* {integrator!r}"):
            assert energy(held(slider, integrator, **law))[-1] > 5000


def test_what_gains_nothing_is_not_warned_of(slider: catena.Robot) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for law in ({"control": lambda t, q, v: -K * q}, {"f_ext": called}):
            assert np.abs(energy(held(slider, "semi_implicit", **law)) - 50.0).max() < 5
        damped = catena.controllers.pd([0.0], K, 0.51 * K * DT)  # a little more than half a step takes
        assert energy(held(slider, "rk4", control=damped))[-1] < 50.0
        held(slider, "rk4", control=lambda t, q, v: np.sin(t) - v)
        assert np.abs(energy(held(slider, "adaptive", control=lambda t, q, v: -K * q)) - 50.0).max() < 1e-3
