"""States go to other engines and back, and mean the same there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.mechanisms import relative

import catena
from catena import robots
from catena.errors import CatenaError, ShapeError, UnsupportedError

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")
SHARE = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
JACO = SHARE / "kinova_description" / "robots" / "kinova.urdf"  # has joints that turn without limits
PANDA = SHARE / "panda_description" / "urdf" / "panda.urdf"  # has a finger that follows the other
FILES = [robots.path("seven_dof_arm"), robots.path("quadruped"), JACO]
MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body name="base"><freejoint name="floats"/><inertial pos="0.1 0 0.2" mass="2" diaginertia="0.1 0.2 0.15"/>
  <body name="upper" pos="0 0 0.3"><joint name="ball" type="ball"/>
    <inertial pos="0 0 0.2" mass="1" diaginertia="0.02 0.02 0.01"/>
    <body name="lower" pos="0 0 0.4"><joint name="knee" type="hinge" axis="0 1 0" ref="0.3"/>
      <joint name="slider" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0.1" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></body>
</worldbody></mujoco>"""


def state(robot: catena.Robot, batch: tuple[int, ...] = (3,)) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [robot.random_configuration(rng, batch), *rng.standard_normal((2, *batch, robot.nv))]


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(
    "path", [robots.path("seven_dof_arm"), robots.path("quadruped"), JACO], ids=lambda p: Path(p).stem
)
def test_pinocchio_has_the_same_dynamics(path: Path, base: str) -> None:
    robot = catena.load(path, base=base)
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    model = pin.buildModelFromUrdf(str(path), *root)
    q, v, tau = state(robot)
    a = robot.forward_dynamics(q, v, tau)
    theirs = robot.to_pinocchio(model, q, v, a, tau)
    data = model.createData()
    found = np.array([pin.aba(model, data, *row) for row in zip(theirs.q, theirs.v, theirs.tau, strict=True)])
    assert relative(found, theirs.a) < 1e-9
    back = robot.from_pinocchio(model, *theirs)
    assert np.abs(np.sin(robot.difference(q, back.q) / 2)).max() < 1e-13  # whole turns are lost in cosines and sines
    for mine, returned in zip((v, a, tau), back[1:], strict=True):
        np.testing.assert_array_equal(mine, returned)


def test_joints_that_follow_others_need_nothing() -> None:
    robot, model = catena.load(PANDA), pin.buildModelFromUrdf(str(PANDA), mimic=True)
    q, v, a = state(robot)
    theirs = robot.to_pinocchio(model, q, v, a, robot.inverse_dynamics(q, v, a))
    data = model.createData()
    found = np.array([pin.rnea(model, data, *row) for row in zip(theirs.q, theirs.v, theirs.a, strict=True)])
    assert relative(found, theirs.tau) < 1e-9
    for mine, returned in zip((q, v, a), robot.from_pinocchio(model, *theirs), strict=False):
        assert relative(returned, mine) < 1e-13
    with pytest.raises(UnsupportedError, match=r"'panda_finger_joint2'.*mimic=True, or load .* mimic='independent'"):
        robot.to_pinocchio(pin.buildModelFromUrdf(str(PANDA)), q)


def test_mujoco_has_the_same_dynamics() -> None:
    robot, model = catena.load(MJCF), mujoco.MjModel.from_xml_string(MJCF)
    q, v, tau = state(robot)
    a = robot.forward_dynamics(q, v, tau)
    theirs, data = robot.to_mujoco(model, q, v, a, tau), mujoco.MjData(model)
    for row in range(len(q)):
        data.qpos, data.qvel, data.qfrc_applied = theirs.q[row], theirs.v[row], theirs.tau[row]
        mujoco.mj_forward(model, data)
        assert relative(data.qacc, theirs.a[row]) < 1e-9
    back = robot.from_mujoco(model, *theirs)
    for mine, returned in zip((q, v, a, tau), back, strict=True):
        assert relative(returned, mine) < 1e-13


def test_a_compiled_model_is_loaded_as_its_file_is() -> None:
    model = mujoco.MjModel.from_xml_string(MJCF)
    assert catena.load(model) == catena.load(MJCF)
    model.body_mass[1] *= 2.0  # as it is now
    assert catena.load(model).links[0].mass == 2.0 * catena.load(MJCF).links[0].mass
    with pytest.raises(CatenaError, match="base: expected 'fixed' or 'floating', found"):
        catena.load(model, base="loose")


def test_one_state_and_what_is_left_out() -> None:
    robot = catena.load(MJCF)
    model = mujoco.MjModel.from_xml_string(MJCF)
    q = robot.neutral()
    assert robot.to_mujoco(model, q)[1:] == (None, None, None)
    np.testing.assert_array_equal(robot.to_mujoco(model, q).q, model.qpos0 - [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.3, 0])


def test_what_does_not_fit_is_named() -> None:
    robot, other = catena.load(MJCF), catena.load(robots.path("seven_dof_arm"))
    model = mujoco.MjModel.from_xml_string(MJCF)
    q = robot.neutral()
    with pytest.raises(ShapeError, match=r"to_mujoco: v must have shape \(\.\.\., 11\), got \(3,\)"):
        robot.to_mujoco(model, q, np.zeros(3))
    with pytest.raises(ShapeError, match=r"to_mujoco: q must hold real numbers"):
        robot.to_mujoco(model, "q")
    with pytest.raises(ShapeError, match="do not broadcast"):
        robot.to_mujoco(model, np.tile(q, (2, 1)), np.zeros((3, robot.nv)))
    with pytest.raises(UnsupportedError, match="give v along with a"):
        robot.to_mujoco(model, q, a=np.zeros(robot.nv))
    with pytest.raises(UnsupportedError, match=r"'floats'.*'seven_dof_arm'"):
        other.to_mujoco(model, other.neutral())
    with pytest.raises(CatenaError, match="joints that it lacks"):
        other.to_pinocchio(pin.buildSampleModelManipulator(), other.neutral())
