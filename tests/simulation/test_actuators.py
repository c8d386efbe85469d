"""Actuators: gears, gains and limits as MuJoCo has them, joints by name, and controls in rollouts."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena

MODEL = """<mujoco><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
<geom size="0.1" mass="1"/><body name="pole"><joint name="hinge" axis="0 1 0"/>
<geom size="0.05" pos="0 0 -0.5" mass="0.5"/><body name="tip" pos="0 0 -1"><joint name="wrist" axis="0 1 0"
actuatorfrcrange="-0.4 0.4"/><geom size="0.05" pos="0 0 -0.2" mass="0.2"/></body></body></body></worldbody>
<actuator><motor name="push" joint="slide" gear="3" ctrlrange="-1 1" ctrllimited="true"/>
<position name="aim" joint="hinge" kp="20" kv="1" forcerange="-2 2"/>
<velocity name="turn" joint="wrist" kv="0.5" gear="2"/></actuator></mujoco>"""


def loaded() -> catena.Robot:
    pytest.importorskip("mujoco")
    return catena.load(MODEL)


def states(robot: catena.Robot, n: int = 20) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.uniform(-2, 2, (n, size)) for size in (robot.nq, robot.nv, len(robot.actuators)))


def test_torques_are_those_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    robot, model = loaded(), mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    assert robot.actuators.names == ("push", "aim", "turn")
    for q, v, u in zip(*states(robot), strict=True):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
        mujoco.mj_forward(model, data)
        assert np.allclose(robot.actuators.torques(u, q, v), data.qfrc_actuator, atol=1e-12)
        run = robot.rollout(q, v, u[None], 1e-3, actuators=True)
        assert np.allclose(run.tau[0], data.qfrc_actuator, atol=1e-12)
        assert np.allclose((run.v[1] - v) / 1e-3, data.qacc, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_controls_in_rollouts_are_torques_step_by_step(kernel: str) -> None:
    robot = loaded()
    q, v, u = states(robot, 3)
    run = robot.rollout(q, v, np.stack([u] * 4, axis=1), 1e-3, actuators=True, kernel=kernel)
    for _ in range(4):
        q, v = robot.step(q, v, robot.actuators.torques(u, q, v), 1e-3, kernel=kernel)
    assert np.allclose(run.q[:, -1], q, rtol=1e-12, atol=1e-12)
    assert np.allclose(run.v[:, -1], v, rtol=1e-12, atol=1e-12)


def test_some_actuators_by_name() -> None:
    robot = loaded()
    chosen = robot.actuators["turn", "push"]
    assert chosen.dofs.tolist() == [2, 0]
    u = np.array([0.1, 0.5])
    assert np.allclose(chosen.torques(u, np.zeros(3), np.zeros(3)), [1.5, 0.0, 0.1])
    run = robot.rollout(np.zeros(3), np.zeros(3), np.tile(u, (5, 1)), 1e-3, actuators=["turn", "push"])
    assert run.tau.shape == (5, 3)
    assert np.allclose(run.tau[0], [1.5, 0.0, 0.1])


def test_controllers_give_controls() -> None:
    robot = loaded()
    q, v, _ = states(robot, 2)

    def law(t: Any, q: Any, v: Any) -> Any:
        return -0.3 * v[..., :2] + 0.1

    def called(t: float, q: Any, v: Any) -> Any:
        return law(t, np.asarray(q, float), np.asarray(v, float))

    options: dict[str, Any] = {"steps": 20, "actuators": ["push", "turn"]}
    run = robot.rollout(q, v, None, 1e-3, control=law, **options)
    again = robot.rollout(q, v, None, 1e-3, control=called, **options)
    assert run.how == "control: compiled"
    assert "called" in again.how
    assert np.allclose(run.q, again.q, rtol=1e-12, atol=1e-12)
    assert np.allclose(run.tau, again.tau, rtol=1e-12, atol=1e-12)
    other = robot.rollout(q, v, None, 1e-3, control=law, steps=20, actuators=["turn", "push"])
    assert not np.allclose(run.q, other.q)
    adaptive = catena.simulate(
        robot, q[0], v[0], 0.02, 1e-3, control=law, actuators=["push", "turn"], integrator="adaptive"
    )
    assert np.abs(adaptive.q[-1] - run.q[0, -1]).max() < 0.01


def test_without_actuators_of_its_own_a_robot_has_one_for_each_joint() -> None:
    robot = catena.load(catena.robots.path("quadruped"), base="floating")
    assert robot.actuators.names == tuple(joint.name for joint in robot.joints)[1:]
    assert robot.actuators.dofs.tolist() == list(range(6, robot.nv))
    torques = robot.actuators.torques(np.full(12, 1e9), robot.neutral(), np.zeros(robot.nv))
    assert np.array_equal(torques[6:], np.minimum(robot.effort_limit[6:], 1e9))
    run = robot.rollout(robot.neutral(), np.zeros(robot.nv), np.full((3, 12), 0.5), 1e-3, actuators=True)
    plain = np.r_[np.zeros(6), np.full(12, 0.5)]
    assert np.array_equal(run.q, robot.rollout(robot.neutral(), np.zeros(robot.nv), np.tile(plain, (3, 1)), 1e-3).q)


def test_actuators_stay_with_their_joints(tmp_path: Path) -> None:
    robot = loaded()
    assert pickle.loads(pickle.dumps(robot)).actuators.names == robot.actuators.names
    locked = robot.locked({"hinge": 0.0})
    assert locked.actuators.names == ("push", "turn")
    two = robot.attach(robot, "tip", prefix="second_")
    assert two.actuators.names[3:] == ("second_push", "second_aim", "second_turn")
    robot.rollout(np.zeros(3), np.zeros(3), None, 1e-3, steps=2).save(tmp_path / "run.npz")
    assert catena.load_run(tmp_path / "run.npz").robot == robot


def test_what_is_left_out_is_said() -> None:
    pytest.importorskip("mujoco")
    text = MODEL.replace('<velocity name="turn" joint="wrist" kv="0.5" gear="2"/>', '<motor site="s"/>')
    text = text.replace('<geom size="0.1" mass="1"/>', '<geom size="0.1" mass="1"/><site name="s"/>')
    with pytest.warns(catena.ModelWarning, match="1 actuators that drive no hinge"):
        assert catena.load(text).actuators.names == ("push", "aim")


def test_bad_input_is_named() -> None:
    robot = loaded()
    state: tuple[Any, ...] = np.zeros(3), np.zeros(3)
    for controls, options, words in (
        (np.zeros((4, 2)), {"actuators": True}, r"\(\.\.\., 3\)"),
        (np.zeros((4, 3)), {"actuators": ["nothing"]}, "nothing"),
        (np.zeros((4, 3)), {"actuators": 3.0}, "actuators"),
        (None, {"actuators": True, "steps": 1, "control": catena.controllers.servo(np.zeros(3), 1.0)}, "servo"),
    ):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, controls, 1e-3, **options)
    with pytest.raises(catena.CatenaError, match="one for each actuator"):
        robot.actuators.torques(np.zeros(2), *state)
    twice = MODEL.replace("</actuator>", '<motor name="more" joint="slide"/></actuator>')
    with pytest.raises(catena.CatenaError, match="slide"):
        catena.load(twice).rollout(*state, None, 1e-3, steps=1, actuators=True)
    assert len(catena.load(twice).actuators.names) == 4


@pytest.mark.parametrize("samples", [(), (3,)])
def test_actuators_with_all_other_forces(samples: tuple[int, ...]) -> None:
    """Torques that are within the limits of motors do as they do without actuators, whatever else acts."""
    parts = catena.Builder("leg").link("thigh", mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.01))
    parts.link("shank", mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01))
    parts.revolute("hip", "base", "thigh", axis="y", lower=-1.0, upper=1.0, damping=0.1, friction=0.2)
    parts.revolute("knee", "thigh", "shank", axis="y", position=(0, 0, -0.4), lower=-1.0, upper=1.0)
    leg = parts.build()
    q, v = np.broadcast_to([0.9, -0.5], (*samples, 2)), np.broadcast_to([3.0, -2.0], (*samples, 2))
    tau = np.full((*samples, 60, 2), 0.3)
    ground = catena.Ground({"shank": (0, 0, -0.4)}, height=-0.75)
    options = {"ground": ground, "joint_limits": True, "joint_losses": True}
    driven = leg.rollout(q, v, tau, 2e-3, actuators=True, **options)
    assert np.allclose(driven.q, leg.rollout(q, v, tau, 2e-3, **options).q, rtol=0, atol=1e-12)
    assert np.abs(driven.q - leg.rollout(q, v, tau, 2e-3, actuators=True).q).max() > 1e-3
