"""Forces besides torques: dry friction that sticks, the ends of ranges, servos, and what runs remember of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena

F, INERTIA = 0.7, 0.5


def wheel(friction: float = F, **details: Any) -> catena.Robot:
    """A wheel on a vertical axle, which gravity does not turn."""
    builder = catena.Builder("wheel").link("rim", mass=1, inertia=np.eye(3) * INERTIA)
    return builder.revolute("axle", "base", "rim", axis="z", friction=friction, **details).build()


def arm() -> catena.Robot:
    """Two light links with friction in both joints, in a plane without gravity."""
    builder = catena.Builder("arm", gravity=(0, 0, 0))
    for i, parent in enumerate(("base", "link0")):
        builder.link(f"link{i}", mass=0.1, com=(0.1, 0, 0), inertia=np.eye(3) * 1e-4)
        builder.revolute(f"joint{i}", parent, f"link{i}", axis="z", position=(0.2 * i, 0, 0), friction=0.05)
    return builder.build()


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("integrator", ["semi_implicit", "linearly_implicit"])
def test_friction_sticks_below_its_threshold_and_slides_above_it(dt: float, kernel: str, integrator: str) -> None:
    robot, steps = wheel(), round(60 / dt)
    share = np.array([0.9, -0.9, 1.1, 2.0])[:, None]
    tau = np.broadcast_to(F * share[:, None], (4, steps, 1))
    run = robot.rollout(
        np.zeros(1), np.zeros(1), tau, dt, every=steps // 60, joint_losses=True, kernel=kernel, integrator=integrator
    )
    assert np.abs(run.q[:2]).max() < 1e-6
    acceleration = (run.v[2:, 31] - run.v[2:, 30]) / (run.t[31] - run.t[30])
    assert np.allclose(acceleration, (np.abs(share[2:]) - 1) * F / INERTIA, rtol=1e-6)
    mean = run.v[2:, 1] / run.t[1]  # of the first second, from rest: joints break away within a few steps
    assert np.allclose(mean, (np.abs(share[2:]) - 1) * F / INERTIA, rtol=5 * dt)


def test_a_joint_comes_to_rest_where_theory_says() -> None:
    run = wheel().rollout([0.0], [1.0], None, 1e-3, steps=1500, joint_losses=True)
    assert np.isclose(run.q[-1, 0], 0.5 * INERTIA / F, rtol=0.005)  # ½ I v² = F q
    assert np.abs(run.v[-1]).max() < 1e-9
    assert run.v.min() > -2e-4  # no more than the bristle gives way


def test_light_joints_that_slide_lose_energy_and_come_to_rest() -> None:
    robot = arm()
    run = robot.rollout([0.3, -0.5], [2.0, -3.0], None, 5e-3, steps=400, joint_losses=True)
    energy = run.energy()
    assert (np.diff(energy) < 1e-9 + 1e-6 * energy[0]).all()
    assert np.abs(run.v[-1]).max() < 1e-6


def test_sliding_friction_is_that_of_joint_losses() -> None:
    robot = arm()
    tau = np.tile([0.4, -0.3], (300, 1))
    v = np.array([1.0, -1.0])
    run = robot.rollout([0.3, -0.5], v, tau, 1e-4, joint_losses=True)
    exact = catena.simulate(
        robot,
        [0.3, -0.5],
        v,
        0.03,
        1e-4,
        integrator="adaptive",
        joint_losses=True,
        control=lambda t, q, v: np.array([0.4, -0.3]),
    )
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 0.005 * np.abs(exact.q[-1] - exact.q[0]).max()
    assert np.abs(run.v[-1] - exact.v[-1]).max() < 0.005 * np.abs(exact.v[-1] - exact.v[0]).max()


def test_without_friction_nothing_changes() -> None:
    robot = wheel(friction=0.0, damping=0.1)
    tau = np.ones((10, 1))
    run = robot.rollout([0.0], [1.0], tau, 1e-3, joint_losses=True)
    assert not run.memory
    q, v = np.zeros(1), np.ones(1)
    for i in range(10):
        q, v = robot.step(q, v, tau[i], 1e-3, joint_losses=True)
    assert np.array_equal(run.q[-1], q)


def test_steps_of_several_stages_have_friction_without_memory() -> None:
    robot, tau = wheel(), np.ones((5, 1))
    run = robot.rollout([0.0], [1.0], tau, 1e-3, joint_losses=True, integrator="rk4")
    _, v = robot.step([0.0], [1.0], tau[0], 1e-3, joint_losses=True, integrator="rk4")
    assert np.array_equal(run.v[1], v)
    assert not run.memory


def test_a_run_that_goes_on_has_the_bits_of_one_that_never_stopped(tmp_path: Path) -> None:
    robot = arm()
    q, v, options = np.array([[0.3, -0.5], [0.0, 0.1]]), np.array([[0.5, -1.0], [0.1, 0.0]]), {"joint_losses": True}
    control = catena.controllers.servo([0.0, 0.0], 0.2, 0.01)
    whole = catena.simulate(robot, q, v, 1.0, 2e-3, control=control, **options)
    half = catena.simulate(robot, q, v, 0.5, 2e-3, control=control, **options)
    half.save(tmp_path / "run.npz")
    half = catena.load_run(tmp_path / "run.npz")
    more = catena.simulate(
        robot, half.q[:, -1], half.v[:, -1], 0.5, 2e-3, t0=0.5, control=control, memory=half.memory, **options
    )
    assert np.array_equal(more.q[:, -1], whole.q[:, -1])
    assert np.array_equal(more.memory["bristles"], whole.memory["bristles"])
    stopped = catena.simulate(robot, q, v, 1.0, 2e-3, control=control, stop=lambda t, q, v: t >= 0.5, **options)
    assert stopped.t[-1] == 0.5
    assert all(np.array_equal(stopped.memory[name], half.memory[name]) for name in half.memory)


def test_controllers_in_python_take_the_same_steps() -> None:
    robot = arm()
    tau = np.tile([0.06, -0.04], (200, 1))

    def called(t: float, q: Any, v: Any) -> Any:
        return np.asarray(q, float) * 0 + [0.06, -0.04]  # NumPy's own arrays only

    run = robot.rollout([0.0, 0.0], [0.0, 0.0], tau, 1e-3, joint_losses=True)
    again = robot.rollout([0.0, 0.0], [0.0, 0.0], None, 1e-3, steps=200, control=called, joint_losses=True)
    assert "called from Python" in again.how
    assert np.array_equal(run.q, again.q)
    assert np.array_equal(run.memory["bristles"], again.memory["bristles"])


def test_limits_hold_against_a_load() -> None:
    robot = wheel(friction=0.0, lower=-0.5, upper=1.0)
    limits = catena.JointLimits(stiffness=1e3, damping=20.0)
    tau = np.broadcast_to(np.array([5.0, -5.0])[:, None, None], (2, 4000, 1))
    for dt in (1e-3, 1e-2):
        run = robot.rollout([0.0], [0.0], tau, dt, every=4000, joint_limits=limits)
        assert np.allclose(run.q[:, -1, 0], [1.0 + 5e-3, -0.5 - 5e-3], atol=1e-6)  # tau / stiffness beyond
    stiff = robot.rollout([0.0], [0.0], tau, 1e-3, every=4000, joint_limits=True)
    assert np.abs(stiff.q[:, -1, 0] - [1.0, -0.5]).max() < 1e-3


def test_a_joint_bounces_off_its_limit_as_theory_says() -> None:
    robot = wheel(friction=0.0, lower=-1.0, upper=0.0)
    k, zeta = 1e3, 0.1
    damping = 2 * zeta * np.sqrt(k * INERTIA)
    run = robot.rollout([-0.1], [1.0], None, 1e-5, steps=30_000, joint_limits=catena.JointLimits(k, damping))
    back = run.v[-1, 0]
    # pushed back by k e + d v until that would pull
    w, root = np.sqrt(k / INERTIA), np.sqrt(1 - zeta**2)
    t = np.arctan2(2 * zeta * root, 2 * zeta**2 - 1) / (w * root)
    expected = np.exp(-zeta * w * t) * (np.cos(w * root * t) - zeta / root * np.sin(w * root * t))
    assert np.isclose(back, expected, rtol=0.01)


def test_within_its_range_a_joint_is_free() -> None:
    robot = wheel(friction=0.0, lower=-10.0, upper=10.0)
    tau = np.ones((20, 1))
    free = robot.rollout([0.0], [0.3], tau, 1e-2)
    assert np.array_equal(robot.rollout([0.0], [0.3], tau, 1e-2, joint_limits=True).q, free.q)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_limits_of_many_joints(kernel: str) -> None:
    robot = catena.load(catena.robots.path("seven_dof_arm"))
    run = robot.rollout(robot.neutral(), np.full(7, 3.0), None, 1e-3, steps=2000, joint_limits=True, kernel=kernel)
    assert not run.diverged
    beyond = np.maximum(run.q - robot.upper, robot.lower - run.q)
    assert 0 < beyond.max() < 0.15


def test_servos_are_stable_however_stiff_and_end_where_springs_do() -> None:
    robot = catena.load(catena.robots.path("two_link_arm"))
    target, gains = np.array([0.3, -0.4]), np.array([1e5, 1e5])
    run = robot.rollout(
        target, [0.0, 0.0], None, 1e-2, steps=500, control=catena.controllers.servo(target, gains, 100.0)
    )
    assert not run.diverged
    sag = robot.gravity_torque(run.q[-1]) / gains
    assert np.allclose(target - run.q[-1], sag, atol=1e-9)


def test_bad_input_is_named() -> None:
    robot = wheel(lower=-1.0, upper=1.0)
    state: tuple[Any, ...] = [0.0], [0.0], None, 1e-3
    for options, words in (
        ({"joint_limits": catena.JointLimits(stiffness=-1.0)}, "stiffness"),
        ({"joint_limits": catena.JointLimits(damping=[1.0, 2.0])}, "damping"),
        ({"joint_limits": "yes"}, "joint_limits"),
        ({"joint_limits": True, "integrator": "rk4"}, "one stage"),
        ({"memory": [1.0]}, "memory"),
        ({"memory": {"bristles": [0.0]}}, "bristles"),
        ({"memory": {"bristles": [0.0, 0.0]}, "joint_losses": True}, "bristles"),
        ({"ground": True}, "ground"),
    ):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=2, **options)


def test_bad_states_spoil_no_others() -> None:
    robot = arm()
    q = np.zeros((3, 2))
    q[1] = np.nan
    with pytest.warns(catena.DivergenceWarning):
        run = robot.rollout(q, np.ones((3, 2)), None, 1e-3, steps=5, joint_losses=True, joint_limits=True)
    alone = robot.rollout(q[0], np.ones(2), None, 1e-3, steps=5, joint_losses=True, joint_limits=True)
    assert run.diverged.tolist() == [False, True, False]
    assert np.array_equal(run.q[2], alone.q)
    empty = robot.rollout(np.zeros((0, 2)), np.zeros((0, 2)), None, 1e-3, steps=3, joint_losses=True)
    assert empty.q.shape == (0, 4, 2)
    assert empty.memory["bristles"].shape == (0, 2)


def test_in_single_precision_friction_sticks_too() -> None:
    run = wheel().rollout(
        [0.5], [0.0], np.full((5000, 1), 0.9 * F), 1e-3, every=5000, joint_losses=True, dtype=np.float32
    )
    assert run.q.dtype == np.float32
    assert abs(run.q[-1, 0] - 0.5) < 1e-6


def test_steps_that_are_too_long_for_a_spring_are_warned_of() -> None:
    """A wheel on a spring swings with √(k / I); semi-implicit steps are stable below 2 / √(k / I)."""
    robot = wheel(friction=0.0, stiffness=1e4)
    limit = 2 / np.sqrt(1e4 / INERTIA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.abs(robot.rollout([0.1], [0.0], None, 0.98 * limit, steps=300).q).max() < 2
        robot.rollout([0.1], [0.0], None, 1.02 * limit, steps=300, integrator="linearly_implicit")
    with pytest.warns(catena.StepWarning, match=f"{limit:.2g} s"):
        assert np.abs(robot.rollout([0.1], [0.0], None, 1.02 * limit, steps=300).q).max() > 2
    stiff = catena.controllers.pd([0.0], kp=0.0, kd=1000.0)
    with pytest.warns(catena.StepWarning, match="damper"):
        robot.rollout([0.1], [0.0], None, 1e-3 * 1.1, steps=1, control=stiff)


def test_wrenches_are_functions_of_time_and_state() -> None:
    robot = catena.load(catena.robots.path("two_link_arm"))
    frame = next(iter(robot.frames), robot.links[-1].name)
    q, v = np.array([[0.3, -0.4], [0.1, 0.2]]), np.array([[0.0, 1.0], [0.5, 0.0]])

    def push(t: Any, q: Any, v: Any) -> Any:
        return {frame: np.stack([0 * t, 0 * t, 0.1 * np.sin(20 * t), 3.0 - v[..., 0], 0 * t, np.cos(9 * t)], axis=-1)}

    def called(t: float, q: Any, v: Any) -> Any:
        zero = np.zeros(len(q)) + 0 * float(t)
        return {frame: np.stack([zero, zero, zero + 0.1 * np.sin(20 * t), 3 - v[:, 0], zero, zero + np.cos(9 * t)], -1)}

    run = robot.rollout(q, v, None, 1e-3, steps=30, f_ext=push)
    again = robot.rollout(q, v, None, 1e-3, steps=30, f_ext=called)
    assert run.how == "f_ext: compiled"
    assert "called from Python" in again.how
    assert np.allclose(run.q, again.q, rtol=1e-12, atol=1e-13)
    for i in range(3):  # as single steps with what acts at their start
        q, v = robot.step(q, v, np.zeros(2), 1e-3, called(1e-3 * i, q, v))
        assert np.allclose(run.v[:, i + 1], v, rtol=1e-12, atol=1e-13)
    with pytest.raises(catena.CatenaError, match="nowhere"):
        robot.rollout(q, v, None, 1e-3, steps=1, f_ext=lambda t: {"nowhere": np.zeros(6)})
