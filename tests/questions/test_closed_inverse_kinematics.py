"""Inverse kinematics of closed systems: batches, restarts, limits, and what cannot be reached."""

import numpy as np
import pytest
from tests.closed_systems import CLOSED_MODELS, closed_model

import catena


def test_a_delta_robot_goes_where_it_is_sent() -> None:
    delta = closed_model("delta_robot")
    q = delta.close(CLOSED_MODELS["delta_robot"](delta))
    platform = delta.links[-1].name
    here = delta.placement(q, platform).position
    aims = here + 0.05 * np.random.default_rng(0).uniform(-1, 1, (2, 3, 3))
    found, reached, error = delta.inverse_kinematics({platform: aims}, q)
    assert found.shape == (2, 3, delta.nq)
    assert reached.all()
    assert error.max() <= 1e-9
    assert np.allclose(delta.placement(found, platform).position, aims, atol=1e-8)
    assert np.abs(delta.closure_residual(found)).max() <= 1e-9


def test_what_cannot_be_reached_says_so_and_harms_no_other() -> None:
    bar = closed_model("four_bar")
    q = bar.close(CLOSED_MODELS["four_bar"](bar))
    tip = bar.links[1].name
    pose = bar.placement(q, tip)
    aims = np.stack([pose.position, pose.position + 50.0, np.full(3, np.nan)])
    found, reached, error = bar.inverse_kinematics({tip: aims}, restarts=40, rng=1)
    assert reached.tolist() == [True, False, False]
    assert error[1] > 1.0
    assert np.isnan(error[2])
    assert np.abs(bar.closure_residual(found[0])).max() < 1e-9


def test_joints_stay_in_their_ranges() -> None:
    builder, bar = catena.Builder("arm"), {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.1, 0.1, 0.1)}
    builder.link("upper", **bar).revolute("shoulder", "base", "upper", "z")
    builder.link("lower", **bar).revolute("elbow", "upper", "lower", "z", position=(1, 0, 0), lower=0.1, upper=2.5)
    builder.link("tool").fixed("flange", "lower", "tool", position=(1, 0, 0))
    disc = catena.Builder("disc").link("disc", **bar).revolute("turn", "base", "disc", "z").build()
    gear = catena.Coupling({"arm/shoulder": 1.0, "disc/turn": -2.0})
    system = catena.System([builder.build(), disc], [], [gear])
    aim = np.array([1.2, 0.6, 0.0])
    for elbow in (-1.0, 1.0):  # on either side of the arm there is a solution, and one has the elbow in its range
        q, reached, _ = system.inverse_kinematics({"arm/tool": aim}, [0.3, elbow, 0.1], rng=0)
        assert reached
        assert 0.1 <= q[1] <= 2.5
        assert abs(q[0] - 2 * q[2]) < 1e-9
        assert np.allclose(system.placement(q, "arm/tool").position, aim, atol=1e-8)


def test_targets_are_checked() -> None:
    bar = closed_model("four_bar")
    with pytest.raises(catena.ShapeError, match="mapping"):
        bar.inverse_kinematics({})
    with pytest.raises(catena.UnknownNameError):
        bar.inverse_kinematics({"nowhere": np.zeros(3)})
