"""Robots identified from simulated measurements."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import catena
from catena.identification import Trajectory, excitation, exciting_trajectory

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def arm() -> catena.Robot:
    return catena.load(catena.robots.path("seven_dof_arm"))


@cache
def motion() -> Trajectory:
    return exciting_trajectory(arm(), evaluations=30)


@cache
def truth() -> catena.Parameters:
    return catena.randomize(arm(), 5, 0.2)


def measured(seed: int, samples: int = 250, noise: float = 0.1) -> Data:
    q, v, a = motion()(motion().times(samples))
    tau = arm().inverse_dynamics(q, v, a, joint_losses=True, parameters=truth())
    sizes = noise * np.array([1.0, 2.0, 0.5, 1.0, 0.2, 0.2, 0.05])
    return q, v, a, tau + sizes * np.random.default_rng(seed).standard_normal(tau.shape)


def test_intervals_hold_what_they_promise() -> None:
    inside = []
    for seed in range(20):
        found = catena.identify(arm(), *measured(seed))
        true = found.base.values(truth())
        inside.append((found.lower <= true) & (true <= found.upper))
        found.parameters.check()
        assert found.determined.all()
    assert 0.90 <= np.mean(inside) <= 0.99


def test_torques_are_predicted_as_well_as_noise_allows() -> None:
    q, v, a, tau = measured(3)
    found = catena.identify(arm(), q.reshape(50, 5, 7), v.reshape(50, 5, 7), a.reshape(50, 5, 7), tau.reshape(50, 5, 7))
    assert found.residuals.shape == (50, 5, 7)
    expected = 0.1 * np.array([1.0, 2.0, 0.5, 1.0, 0.2, 0.2, 0.05])
    assert np.allclose(found.noise, expected, rtol=0.2)
    assert np.allclose(found.residuals.std(axis=(0, 1)), expected, rtol=0.25)
    assert np.abs(found.prior_residuals).mean() > 3 * np.abs(found.residuals).mean()
    fresh = motion()(motion().times(77) + 0.01)
    wanted = arm().inverse_dynamics(*fresh, joint_losses=True, parameters=truth())
    errors = [np.abs(r.inverse_dynamics(*fresh, joint_losses=True) - wanted).mean() for r in (arm(), found.robot)]
    assert errors[1] < 0.1 * errors[0]
    assert "57 of 57 base parameters" in found.report()


def test_clean_data_give_the_truth() -> None:
    found = catena.identify(arm(), *measured(0, noise=0.0))
    true = found.base.values(truth())
    assert np.abs(found.fitted - true).max() < 1e-9 * np.abs(true).max()
    assert np.abs(found.residuals).max() < 1e-9


def test_noise_cannot_make_it_impossible() -> None:
    found = catena.identify(arm(), *measured(1, samples=40, noise=5.0))
    found.parameters.check()
    assert (found.parameters.damping > 0).all()


def test_deviations_of_parameters() -> None:
    """Small where data fix a parameter, as wide as the prior where they say nothing, zero where nobody looked."""
    found = catena.identify(arm(), *measured(2), joints=["damping"])
    std, names = found.parameters_std, found.parameters.names
    assert std.shape == found.parameters.vector.shape
    damping = names.index("elbow_pitch.damping")
    row = found.base.parameters.index("elbow_pitch.damping")
    assert np.isclose(std[damping], found.std[list(found.base.independent).index(row)], rtol=0.2)
    hidden = names.index("shoulder.m")
    assert std[hidden] > 0.5 * found.parameters.vector[hidden]
    assert std[names.index("elbow_pitch.friction")] == std[-1] == 0.0


def test_what_data_do_not_tell_keeps_the_prior() -> None:
    """At rest torques tell of gravity alone: 17 combinations at most, and nothing of inertias, damping and friction."""
    q = arm().random_configuration(0, 200)
    still = np.zeros_like(q)
    tau = arm().inverse_dynamics(q, still, still, parameters=truth())
    tau = tau + 0.01 * np.random.default_rng(0).standard_normal(tau.shape)
    found = catena.identify(arm(), q, still, still, tau)
    names = found.base.names
    assert 5 <= found.determined.sum() <= 17
    assert all(".Ixy" not in name or "m" in name for name, sure in zip(names, found.determined, strict=True) if sure)
    assert "shoulder_yaw.damping" in found.undetermined
    assert np.isinf(found.std[~found.determined]).all()
    assert np.allclose(found.parameters.damping, arm().damping)
    true = found.base.values(truth())
    inside = (found.lower <= true) & (true <= found.upper)
    assert inside.mean() > 0.9
    assert excitation(arm(), q, still, still).rank == found.determined.sum()


def test_what_is_not_looked_for_is_taken_from_the_model() -> None:
    q, v, a, _ = measured(0)
    known = truth().replace(damping=arm().damping, friction=arm().friction)
    tau = arm().inverse_dynamics(q, v, a, joint_losses=True, parameters=known)
    found = catena.identify(arm(), q, v, a, tau, joints=[])
    assert len(found.base) == 43
    assert np.array_equal(found.parameters.friction, arm().friction)
    assert np.abs(found.residuals).max() < 1e-8


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_other_robots(base: str) -> None:
    """Trees with several kinds of joints and a free base; links without extent have no prior of their own."""
    robot = catena.random_tree(3, 4, ["revolute", "prismatic", "spherical"], 0.5, base=base)  # type: ignore[arg-type]
    true = catena.randomize(robot, 2, 0.2)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, 200)
    v, a = rng.standard_normal((2, 200, robot.nv))
    tau = robot.inverse_dynamics(q, v, a, parameters=true) + 0.01 * rng.standard_normal((200, robot.nv))
    found = catena.identify(robot, q, v, a, tau)
    found.parameters.check()
    beta = found.base.values(true)
    assert ((found.lower <= beta) & (beta <= found.upper)).mean() > 0.85
    assert np.abs(found.residuals).std() < 0.02


def test_a_prior_without_extent() -> None:
    robot = catena.point_mass_chain([1.0] * 4, [1.0, 2.0, 1.5, 0.5], gravity=(0, 0, -9.81))
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, 100)
    v, a = rng.standard_normal((2, 100, robot.nv))
    tau = robot.inverse_dynamics(q, v, a) + 0.01 * rng.standard_normal((100, robot.nv))
    found = catena.identify(robot, q, v, a, tau)
    found.parameters.check()
    assert np.abs(found.residuals).std() < 0.02


def test_data_that_excite_nothing() -> None:
    robot = catena.random_tree(1, 3, ["revolute"], gravity=(0, 0, 0))
    still = np.zeros((100, 3))
    with pytest.raises(catena.DataError, match="excite nothing"):
        catena.identify(robot, still, still, still, still)
    assert excitation(robot, still, still, still).rank == 0


def test_bad_input_says_which() -> None:
    q, v, a, tau = measured(0)
    with pytest.raises(catena.ShapeError, match=r"v must have shape \(\.\.\., 7\)"):
        catena.identify(arm(), q, v[:, :6], a, tau)
    with pytest.raises(catena.ShapeError, match="do not broadcast"):
        catena.identify(arm(), q, v[:10], a, tau)
    spoilt = tau.copy()
    spoilt[17, 3] = np.nan
    with pytest.raises(catena.ShapeError, match=r"tau must be finite.*\[17\]"):
        catena.identify(arm(), q, v, a, spoilt)
    with pytest.raises(catena.ShapeError, match="no samples"):
        catena.identify(arm(), q[:0], v[:0], a[:0], tau[:0])
    with pytest.raises(catena.DataError, match="too few"):
        catena.identify(arm(), q[:5], v[:5], a[:5], tau[:5])
    with pytest.raises(catena.ShapeError, match="real numbers"):
        catena.identify(arm(), q, v, a, [["x"]])
    with pytest.raises(TypeError, match="tau"):
        catena.identify(arm(), q, v, a)  # type: ignore[call-arg]
    with pytest.raises(catena.CatenaError, match="confidence"):
        catena.identify(arm(), q, v, a, tau, confidence=95)
    for spread in (0, 5e-324, 1e300):
        with pytest.raises(catena.CatenaError, match="spread"):
            catena.identify(arm(), q, v, a, tau, spread=spread)


def test_exciting_trajectories() -> None:
    t = np.linspace(0, 10, 4000)
    q, v, a = motion()(t)
    assert (q >= arm().lower).all()
    assert (q <= arm().upper).all()
    assert (np.abs(v) <= arm().velocity_limit).all()
    step = t[1] - t[0]
    assert np.abs(np.gradient(q, step, axis=0) - v)[1:-1].max() < 1e-3 * np.abs(v).max()
    assert np.abs(np.gradient(v, step, axis=0) - a)[1:-1].max() < 1e-3 * np.abs(a).max()
    first = exciting_trajectory(arm(), evaluations=1)
    assert motion().score is not None
    assert first.score is not None
    assert motion().score.condition < first.score.condition
    assert motion().score.rank == motion().score.wanted == 57
    floating = catena.load(catena.robots.path("quadruped"), base="floating")
    with pytest.raises(catena.UnsupportedError, match="several coordinates"):
        exciting_trajectory(floating)
    with pytest.raises(catena.CatenaError, match="duration must be a number above 0"):
        exciting_trajectory(arm(), duration=-1.0)
