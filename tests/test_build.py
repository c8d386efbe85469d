"""Builder: what is said is what is built."""

from __future__ import annotations

import pickle
import pydoc
from inspect import signature
from typing import get_type_hints

import numpy as np
import pytest

import catena
from catena.model.joints import BY_NAME
from catena.model.lie import turn_about


def test_every_joint_type() -> None:
    builder = catena.Builder("all")
    above = "base"
    for joint_type in BY_NAME:
        builder.link(f"on_{joint_type}", 1.0, (0.1, 0.2, 0.3), (1, 1, 1))
        getattr(builder, joint_type)(joint_type, above, f"on_{joint_type}", position=(0, 0, 1))
        above = f"on_{joint_type}"
    robot = builder.build()
    assert [joint.type for joint in robot.joints] == [joint_type for joint_type in BY_NAME if joint_type != "fixed"]
    assert [joint.name for joint in robot.joints] == [joint.type for joint in robot.joints]
    assert robot.total_mass == len(BY_NAME)


def test_inertia_in_three_forms() -> None:
    full = np.array([[3, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 4]])
    for form in (full, (3, 2, 4, 0.1, 0.2, 0.3), full.tolist()):
        robot = catena.Builder().link("a", 1, inertia=form).revolute("j", "base", "a").build()
        np.testing.assert_array_equal(robot.links[0].inertia, full)
    robot = catena.Builder().link("a", 1, inertia=(1, 2, 3)).revolute("j", "base", "a").build()
    np.testing.assert_array_equal(robot.links[0].inertia, np.diag([1, 2, 3]))


def test_rotation_in_three_forms() -> None:
    roll, pitch, yaw = 0.3, -0.5, 2.0
    expected = turn_about("z", yaw) @ turn_about("y", pitch) @ turn_about("x", roll)
    from scipy.spatial.transform import Rotation

    quaternion = 3 * Rotation.from_euler("xyz", [roll, pitch, yaw]).as_quat()
    for form in (expected, (roll, pitch, yaw), quaternion):
        robot = catena.Builder().link("a", 1, (1, 0, 0)).revolute("j", "base", "a", rotation=form).build()
        np.testing.assert_allclose(robot.joints[0].rotation, expected, atol=1e-15)


@pytest.mark.parametrize(("axis", "unit"), [("x", (1, 0, 0)), ("-y", (0, -1, 0)), ((0, 0, 5), (0, 0, 1))])
def test_axes(axis: object, unit: tuple[float, ...]) -> None:
    robot = catena.Builder().link("a", 1, inertia=(1, 1, 1)).continuous("j", "base", "a", axis).build()
    np.testing.assert_array_equal(robot.joints[0].axis, unit)


def test_the_base_need_not_be_added() -> None:
    link = ("a", 1.0, (1, 0, 0))
    assert catena.Builder().link(*link).revolute("j", "base", "a").build().base_name == "base"
    assert catena.Builder(base="ground").link(*link).revolute("j", "ground", "a").build().base_name == "ground"
    own = catena.Builder().link("floor").link(*link).revolute("j", "floor", "a").build()
    assert own.base_name == "floor"
    heavy = catena.Builder().link("base", 7.0).link(*link).revolute("j", "base", "a").build()
    assert heavy.tree.base_mass == 7.0


def test_floating_and_gravity() -> None:
    builder = catena.Builder("drone", gravity=(0, 0, -3.7)).link("body", 1, inertia=(1, 1, 1))
    robot = builder.build(base="floating")
    assert (robot.nq, robot.nv, robot.joints[0].name, robot.gravity[2]) == (7, 6, "root_joint", -3.7)


def test_a_builder_can_go_on_after_building() -> None:
    builder = catena.Builder().link("a", 1, (1, 0, 0)).revolute("j", "base", "a")
    small = builder.build()
    large = builder.link("b", 1, (1, 0, 0)).revolute("k", "a", "b").build()
    assert (small.nv, large.nv) == (1, 2)


def test_faults_are_named() -> None:
    builder = catena.Builder().link("a", 1, (1, 0, 0))
    with pytest.raises(catena.ModelError, match=r"'j'.*elasticity"):
        builder.revolute("j", "base", "a", elasticity=3)
    with pytest.raises(catena.ModelError, match=r"'j'.*axis"):
        builder.revolute("j", "base", "a", axis="up")
    with pytest.raises(catena.ModelError, match=r"'j'.*quaternion"):
        builder.revolute("j", "base", "a", rotation=(0, 0, 0, 0))
    with pytest.raises(catena.ModelError, match=r"'b'.*inertia"):
        catena.Builder().link("b", 1, inertia=(1, 2)).revolute("j", "base", "b").build()
    with pytest.raises(catena.ModelError, match=r"'b'.*inertia"):
        catena.Builder().link("b", 1, inertia="round").revolute("j", "base", "b").build()
    with pytest.raises(catena.ModelError, match=r"'j'.*rotation"):
        catena.Builder().link("b", 1, (1, 0, 0)).revolute("j", "base", "b", rotation="none").build()
    with pytest.raises(catena.SingularError, match="'b'") as caught:
        builder.revolute("j", "base", "a").link("b").revolute("k", "a", "b").build()
    assert caught.value.link == "b"


MAKERS = ["planar_chain", "rod_chain", "point_mass_chain", "from_dh", "random_tree"]


@pytest.mark.parametrize("name", [*MAKERS, "load"])
def test_signatures_tell_the_truth(name: str) -> None:
    make = getattr(catena, name)
    assert get_type_hints(make)["return"] is catena.Robot
    assert str(signature(make)).endswith(("-> catena.robot.Robot", "-> 'Robot'"))
    shown = pydoc.plain(pydoc.render_doc(make))
    assert f"{name}(" in shown
    assert "Tree" not in shown
    assert pickle.loads(pickle.dumps(make)) is make
