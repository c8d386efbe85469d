"""Controllers and costs: compiled or called, they give the same; ready-made ones do what they say."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative

import catena
from catena import controllers

DT, STEPS = 1e-3, 12


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    tree = catena.random_tree(1, 4, ["revolute"], 0.0).tree
    return catena.Robot(replace(tree, armature=np.ones(4)))


def start(robot: catena.Robot, samples: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return robot.random_configuration(rng, samples), rng.uniform(-1, 1, (samples, robot.nv))


def saturated(t: Any, q: Any, v: Any, p: Any) -> Any:
    return np.clip(p[..., :1] * (np.sin(3 * t) - q) - 0.2 * v, -0.5, 0.5)


def choosy(t: Any, q: Any, v: Any, p: Any) -> Any:
    far = np.where(q > 0.1, -np.tanh(q), np.maximum(v, 0.0) ** 2)
    return far + np.exp(-np.abs(q)) + np.sqrt(1 + q * q) + 0.1 * np.arctan2(v, 2.0) + 0 * p[..., :1]


def summing(t: Any, q: Any, v: Any, p: Any) -> Any:
    return -0.1 * v + (q @ np.ones((4, 4))) * 0.01 + 0.1 * q.sum(axis=-1, keepdims=True) + np.cos(q) - np.sign(v)


def weighed(t: Any, q: Any, v: Any, p: Any, tau: Any) -> Any:
    return (q * q).sum(axis=-1) + 0.1 * v[..., 0] ** 2 + p[..., 1] * (tau**2).sum(axis=-1) + t


@pytest.mark.parametrize("control", [saturated, choosy, summing])
def test_compiled_and_called_give_the_same(arm: catena.Robot, control: Callable[..., Any]) -> None:
    q, v = start(arm)
    p = np.random.default_rng(0).uniform(0.1, 1, (5, 2))

    def opaque(*arguments: Any) -> Any:
        return np.array(control(*arguments), float)

    options: dict[str, Any] = {"steps": STEPS, "parameters": p, "cost": weighed, "every": 4}
    compiled = arm.rollout(q, v, None, DT, control=control, **options)
    called = arm.rollout(q, v, None, DT, control=opaque, **options)
    assert compiled.how == "control: compiled; cost: compiled"
    assert called.how.startswith("control: called from Python at each step, as it could not be traced")
    assert relative(compiled.q, called.q) < 1e-12
    assert compiled.cost is not None
    assert called.cost is not None
    assert relative(compiled.cost, called.cost) < 1e-12
    assert compiled.tau is not None
    assert called.tau is not None
    assert compiled.tau.shape == (5, 3, 4)
    assert relative(compiled.tau, called.tau) < 1e-12


def test_a_cost_is_the_sum_over_steps(arm: catena.Robot) -> None:
    q, v = start(arm)
    tau = np.random.default_rng(1).uniform(-1, 1, (5, STEPS, 4))
    run = arm.rollout(q, v, tau, DT, cost=lambda t, q, v: t + (v * v).sum(-1))
    expected = DT * ((run.v[:, :-1] ** 2).sum(axis=(1, 2)) + run.t[:-1].sum())
    assert run.cost is not None
    assert relative(run.cost, expected) < 1e-13
    assert np.array_equal(run.q, arm.rollout(q, v, tau, DT).q)


def test_parameters_of_other_widths_are_other_kernels(arm: catena.Robot) -> None:
    q, v = start(arm)
    runs = [
        arm.rollout(q, v, None, DT, steps=2, control=lambda t, q, v, p: -p[..., :1] * v, parameters=np.ones((5, width)))
        for width in (1, 2)
    ]
    assert np.array_equal(runs[0].q, runs[1].q)


def test_what_changes_in_a_function_is_seen(arm: catena.Robot) -> None:
    q, v = start(arm)
    gain = 1.0
    first = arm.rollout(q, v, None, DT, steps=2, control=lambda t, q, v: -gain * q)
    gain = 2.0
    second = arm.rollout(q, v, None, DT, steps=2, control=lambda t, q, v: -gain * q)
    assert not np.array_equal(first.q, second.q)


@pytest.mark.parametrize("every", [1, 4])
def test_divergence_is_seen_in_both_ways(arm: catena.Robot, every: int) -> None:
    q, v = start(arm, 3)
    v[2, 1] = np.nan

    def kick(t: Any, q: Any, v: Any, p: Any) -> Any:
        return 0 * q + np.where(t > 0.0055, p[..., :1], 0.0)

    def opaque(*arguments: Any) -> Any:
        return np.array(kick(*arguments), float)

    for control in (kick, opaque):
        with pytest.warns(catena.DivergenceWarning, match="2 of 3"):
            run = arm.rollout(
                q, v, None, DT, steps=STEPS, every=every, control=control, parameters=[[0], [1e9], [0]], bound=1e3
            )
        assert run.diverged_step.tolist() == [-1, 7, 0]
        assert run.diverged_joint[2] == 1


def test_runs_can_be_pickled(arm: catena.Robot) -> None:
    q, v = start(arm)
    run = arm.rollout(q, v, None, DT, steps=2, control=lambda t, q, v: -v)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.tau, run.tau)
    assert again.robot == arm


def test_wrong_results_are_refused(arm: catena.Robot) -> None:
    q, v = start(arm)
    with pytest.raises(catena.ShapeError, match="control must give"):
        arm.rollout(q, v, None, DT, steps=1, control=lambda t, q, v: v[..., :3])
    with pytest.raises(catena.ShapeError, match="control must give real numbers, got None"):
        arm.rollout(q, v, None, DT, steps=1, control=lambda t, q, v: None)
    with pytest.raises(catena.UnsupportedError, match=r"wants 5 arguments, there are 4"):
        arm.rollout(q, v, None, DT, steps=1, control=lambda t, q, v, p, more: v)
    with pytest.raises(ZeroDivisionError):
        arm.rollout(q, v, None, DT, steps=1, control=lambda t, q, v: 1 / 0)


def test_a_base_that_nothing_drives_needs_no_target() -> None:
    robot = catena.random_tree(5, 3, ["revolute", "spherical"], base="floating")
    q, v = start(robot)
    on, target = np.where(np.arange(robot.nv) < 6, 0.0, 3.0), q[::-1].copy()
    gap = robot.difference(q, target)
    target[:, 3:7] = 0.0  # no rotation
    run = robot.rollout(q, v, None, DT, steps=1, control=controllers.pd(target, on, 0.1 * on))
    first = robot.rollout(q, v, (on * gap - 0.1 * on * v)[:, None], DT)
    assert relative(run.v, first.v) < 1e-12
    with pytest.warns(catena.DivergenceWarning):
        robot.rollout(q, v, None, DT, steps=1, control=controllers.pd(target, 3.0))


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_ready_made_controllers(arm: catena.Robot, kernel: str) -> None:
    q, v = start(arm)
    target = q[::-1]
    gap = arm.difference(q, target)
    kd = np.array([0.1, 0.2, 0.3, 0.4])
    laws = [
        (controllers.pd(target, 2.0, kd), 2 * gap - kd * v),
        (controllers.gravity_compensation(), arm.gravity_torque(q)),
        (controllers.hold(target, 2.0, 0.1), 2 * gap - 0.1 * v + arm.gravity_torque(q)),
        (controllers.computed_torque(target, 3.0, 0.5), arm.inverse_dynamics(q, v, 3 * gap - 0.5 * v)),
    ]
    for control, expected in laws:
        run = arm.rollout(q, v, None, DT, steps=2, control=control, kernel=kernel)
        assert run.how == "control: compiled"
        assert run.tau is not None
        assert relative(run.tau[:, 0], expected) < 1e-12
        q1, v1 = arm.step(q, v, expected, DT, kernel=kernel)
        assert relative(run.q[:, 1], q1) < 1e-12
        assert relative(run.v[:, 1], v1) < 1e-12


def test_computed_torque_comes_to_its_target() -> None:
    robot = catena.random_tree(5, 3, ["revolute", "spherical"], 0.5)
    q, v = robot.random_configuration(0), np.zeros(robot.nv)
    control = controllers.computed_torque(robot.neutral(), 100.0, 20.0)
    run = robot.rollout(q, v, None, 2e-3, steps=1000, every=1000, control=control)
    assert np.abs(robot.difference(run.q[-1], robot.neutral())).max() < 1e-6


def test_functions_of_whole_states_are_called_for_long_chains() -> None:
    chain = catena.rod_chain(70, length=0.1)
    run = chain.rollout(np.zeros(70), np.full(70, 0.1), None, DT, steps=2, control=lambda t, q, v: -0.01 * v)
    assert "loops over many links" in run.how
    held = controllers.pd(np.zeros(70), 0.0, 0.01)
    assert np.allclose(run.q, chain.rollout(run.q[0], run.v[0], None, DT, steps=2, control=held).q, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_feed_forward_follows_its_spline(arm: catena.Robot, kernel: str) -> None:
    t, q = np.array([0.1, 0.3, 0.6]), np.array([[0.1, 0.2, -0.3, 0.0], [0.6, -0.2, 0.1, 0.3], [0.2, 0.4, 0.5, -0.1]])
    way = catena.controllers.feed_forward(arm, t, q, kp=[20.0, 20.0, 5.0, 5.0], kd=2.0)
    start = np.stack([q[0], q[0] + 0.01])
    options: dict[str, Any] = {"control": way, "integrator": "rk4", "kernel": kernel}
    run = arm.rollout(start, np.zeros(4), None, 1e-3, steps=700, **options)
    assert run.how == "control: compiled"
    finer = arm.rollout(start, np.zeros(4), None, 2.5e-4, steps=2800, every=4, **options)
    off = [np.abs(x.q[0] - way.along(x.t)["target"]).max() for x in (run, finer) if way.along is not None]
    assert off[0] < 0.02
    assert off[0] / off[1] == pytest.approx(4, rel=0.1)  # torques are held during a step
    assert np.abs(run.q[1, -1] - q[-1]).max() < 0.02
    spline = way.along
    assert spline is not None
    wanted = spline(run.t[:-1])
    pulled = np.array([20.0, 20.0, 5.0, 5.0]) * (wanted["target"] - run.q[0, :-1])
    expected = wanted["ahead"] + pulled + 2.0 * (wanted["speed"] - run.v[0, :-1])
    assert run.tau is not None
    assert np.abs(run.tau[0] - expected).max() < 1e-12 * np.abs(expected).max()
    every = arm.rollout(start, np.zeros(4), None, 1e-3, steps=700, every=7, **options)
    assert np.array_equal(every.q, run.q[:, ::7])
    half = arm.rollout(start, np.zeros(4), None, 1e-3, steps=350, **options)
    rest = arm.rollout(half.q[:, -1], half.v[:, -1], None, 1e-3, steps=350, t0=half.t[-1], **options)
    assert np.array_equal(rest.q, run.q[:, 350:])


def test_feed_forward_in_simulations_and_its_faults(arm: catena.Robot) -> None:
    t, q = np.array([0.0, 0.2]), np.array([[0.1, 0.2, -0.3, 0.0], [0.6, -0.2, 0.1, 0.3]])
    way = catena.controllers.feed_forward(arm, t, q)
    run = catena.simulate(arm, q[0], np.zeros(4), 0.2, 0.1, control=way, integrator="adaptive", tolerance=1e-10)
    assert np.abs(run.q[-1] - q[1]).max() < 1e-8
    called = arm.rollout(q[0], np.zeros(4), None, 1e-3, steps=20, control=way, cost=lambda t, q, v: float(q[0]))
    assert np.allclose(
        called.q, arm.rollout(q[0], np.zeros(4), None, 1e-3, steps=20, control=way).q, rtol=0, atol=1e-12
    )
    with pytest.raises(catena.UnsupportedError, match="along a spline"):
        catena.simulate(arm, q[0], np.zeros(4), 0.2, 0.1, control=way, integrator="variational")
    for times, places, words in ((t[::-1], q, "rising"), (t, q[:, :2], r"\(2, 4\)"), (t[:1], q[:1], "two rising")):
        with pytest.raises(catena.ShapeError, match=words):
            catena.controllers.feed_forward(arm, times, places)
    ball = catena.Builder("ball").link("a", mass=1.0, inertia=(1, 1, 1)).free("j", "base", "a").build()
    with pytest.raises(catena.UnsupportedError, match="turn or slide"):
        catena.controllers.feed_forward(ball, t, np.zeros((2, 7)))
