"""Rollouts: the same bits as single steps, whatever the shape of kernels, samples, threads and what is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import ALL, MOVING

import catena

ROBOTS = {
    "revolute chain": ALL["revolute chain"],
    "tree": lambda: catena.random_tree(4, 6, MOVING, 0.5),
    "floating tree": lambda: catena.random_tree(5, 3, ["revolute", "spherical"], 0.5, base="floating"),
}
each_robot = pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
DT = 1e-3


def start(robot: catena.Robot, samples: int, steps: int, dtype: type = np.float64) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    q, v = robot.random_configuration(rng, samples), rng.uniform(-1, 1, (samples, robot.nv))
    return tuple(x.astype(dtype) for x in (q, v, rng.uniform(-0.1, 0.1, (samples, steps, robot.nv))))


@each_robot
@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize(("dtype", "integrator"), [(np.float64, "rk4"), (np.float32, "semi_implicit")])
def test_the_bits_of_single_steps(make: Callable[[], catena.Robot], kernel: str, dtype: type, integrator: str) -> None:
    robot = make()
    q, v, tau = start(robot, 37, 6, dtype)
    options: dict[str, Any] = {"kernel": kernel, "dtype": dtype, "integrator": integrator}
    run = robot.rollout(q, v, tau, DT, **options)
    assert run.q.dtype == run.v.dtype == dtype
    assert run.q.shape == (37, 7, robot.nq)
    for i in range(7):
        assert np.array_equal(run.q[:, i], q)
        assert np.array_equal(run.v[:, i], v)
        if i < 6:
            q, v = robot.step(q, v, tau[:, i], DT, **options)
    alone = robot.rollout(run.q[5, 0], run.v[5, 0], tau[5], DT, **options)
    assert np.array_equal(alone.q, run.q[5])
    few = robot.rollout(run.q[:, 0], run.v[:, 0], tau, DT, every=3, **options)
    assert np.array_equal(few.q, run.q[:, ::3])
    assert np.array_equal(few.t, run.t[::3])
    assert np.array_equal(few.tau, tau[:, ::3])


def test_threads_do_not_change_bits() -> None:
    robot = ROBOTS["revolute chain"]()
    q, v, tau = start(robot, 300, 20)
    runs = []
    for threads in (1, 2):
        catena.set_threads(threads)
        runs.append(robot.rollout(q, v, tau, DT, integrator="rk4"))
    catena.set_threads(None)
    assert np.array_equal(runs[0].q, runs[1].q)


def test_leading_dimensions_broadcast_and_out_is_filled() -> None:
    robot = ROBOTS["floating tree"]()
    q, v, tau = start(robot, 3, 4)
    run = robot.rollout(q[:, None], v[0], tau[:2], DT)
    assert run.q.shape == (3, 2, 5, robot.nq)
    out = np.empty_like(run.q), np.empty_like(run.v)
    again = robot.rollout(q[:, None], v[0], tau[:2], DT, out=out)
    assert again.q is out[0]
    assert again.v is out[1]
    assert np.array_equal(out[0], run.q)
    held = robot.rollout(q, v, np.broadcast_to(tau[0, 0], (4, robot.nv)), DT)
    assert np.array_equal(held.q[0], robot.rollout(q[0], v[0], np.tile(tau[0, 0], (4, 1)), DT).q)


def test_without_samples_without_steps_and_without_joints() -> None:
    robot = ROBOTS["revolute chain"]()
    q, v, tau = start(robot, 2, 3)
    assert robot.rollout(q[:0], v[:0], tau[:0], DT).q.shape == (0, 4, robot.nq)
    assert np.array_equal(robot.rollout(q, v, None, DT, steps=0).q, q[:, None])
    bolted = robot.locked(dict.fromkeys(range(robot.nv), 0.0))
    assert bolted.rollout(np.zeros(0), np.zeros(0), None, DT, steps=2).q.shape == (3, 0)


def test_wrenches_are_held() -> None:
    robot = ROBOTS["tree"]()
    q, v, tau = start(robot, 4, 2)
    f_ext = np.random.default_rng(0).standard_normal((4, len(robot.links), 6))
    run = robot.rollout(q, v, tau, DT, f_ext=f_ext)
    for i in range(2):
        q, v = robot.step(q, v, tau[:, i], DT, f_ext)
    assert np.array_equal(run.q[:, -1], q)
    tip = robot.links[-1].name
    named = robot.rollout(q, v, tau, DT, f_ext={tip: f_ext[0, -1]})
    only = np.zeros((len(robot.links), 6))
    only[-1] = f_ext[0, -1]
    assert np.allclose(named.q, robot.rollout(q, v, tau, DT, f_ext=only).q, rtol=0, atol=1e-14)


@pytest.mark.parametrize("every", [1, 5, 10])
@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_a_bad_sample_is_flagged_and_touches_no_other(every: int, kernel: str) -> None:
    robot = ROBOTS["revolute chain"]()
    q, v, tau = start(robot, 9, 10)
    good = robot.rollout(q, v, tau, DT, every=every, kernel=kernel)
    assert not good.diverged.any()
    q[2, 3], tau[6, 4, 1] = np.nan, np.inf
    with pytest.warns(catena.DivergenceWarning, match=r"2 of 9 samples .* sample \(2,\): after step 0"):
        run = robot.rollout(q, v, tau, DT, every=every, kernel=kernel)
    assert np.flatnonzero(run.diverged).tolist() == [2, 6]
    assert run.diverged_step[[2, 6]].tolist() == [0, 5]
    assert run.diverged_joint[2] == 3
    assert np.array_equal(run.q[~run.diverged], good.q[~run.diverged])


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_speeds_above_a_bound_count_as_diverged(every: int, kernel: str) -> None:
    robot = ROBOTS["tree"]()
    q, v, tau = start(robot, 4, 10)
    tau[1, 3, 2] = 1e9
    with pytest.warns(catena.DivergenceWarning, match="sample"):
        run = robot.rollout(q, v, tau, DT, every=every, bound=1e3, kernel=kernel)
    assert run.diverged_step.tolist() == [-1, 4, -1, -1]
    with pytest.warns(catena.DivergenceWarning, match="the run diverged"):
        assert robot.rollout(q[1], v[1], tau[1], DT, every=every, bound=1e3, kernel=kernel).diverged_step == 4


def test_bad_input_is_refused() -> None:
    robot = ROBOTS["revolute chain"]()
    q, v, tau = start(robot, 2, 4)
    cases: list[tuple[dict[str, object], str]] = [
        ({"dt": 0}, "dt must be finite and above zero"),
        ({"dt": -1e-3}, "dt must be finite and above zero"),
        ({"dt": [1e-3, 1e-3]}, "dt must be one number"),
        ({"tau": tau[..., :-1]}, "tau must have shape"),
        ({"tau": tau[0, 0]}, "steps"),
        ({"tau": tau[:, :, None]}, "broadcast|tau"),
        ({"tau": np.concatenate([tau, tau[:1]])}, "do not broadcast"),
        ({"tau": None}, "how many steps"),
        ({"steps": 3}, "steps says 3"),
        ({"tau": None, "steps": -1}, "whole number"),
        ({"every": 3}, "divide"),
        ({"every": 0}, "every must be a whole number of at least 1"),
        ({"bound": 0.0}, "bound must be finite and above zero"),
        ({"out": 3}, "out must be a tuple"),
        ({"out": (np.empty((2, 5, 7)), np.empty((2, 4, 7)))}, "out"),
        ({"control": 3, "tau": None, "steps": 1}, "control must be a function"),
        ({"control": lambda t, q, v: v}, "not both"),
    ]
    for wrong, message in cases:
        with pytest.raises(catena.CatenaError, match=message):
            robot.rollout(**{"q": q, "v": v, "tau": tau, "dt": DT, **wrong})  # type: ignore[arg-type]


def test_long_chains_are_rolled() -> None:
    robot = catena.rod_chain(300, length=0.1)
    q, v = np.zeros(300), np.full(300, 1e-3)
    run = robot.rollout(q, v, None, DT, steps=3, integrator="rk4")
    for _ in range(3):
        q, v = robot.step(q, v, np.zeros(300), DT, integrator="rk4")
    assert np.array_equal(run.q[-1], q)


@pytest.fixture(autouse=True)
def _no_other_warnings() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
