"""Robots: immutable, hashable, picklable, readable."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import catena

MAKERS: dict[str, Callable[[], catena.Robot]] = {
    "planar_chain": lambda: catena.planar_chain([1, 2, 3], [3, 2, 1]),
    "rod_chain": lambda: catena.rod_chain(5, 0.5, 2.0, radius=0.1),
    "point_mass_chain": lambda: catena.point_mass_chain(np.ones(4), 1.0),
    "floating polymer": lambda: catena.point_mass_chain(
        np.ones(4), 1.0, coordinates="torsions+angles", base="floating"
    ),
    "from_dh": lambda: catena.from_dh([0.4, 0.3], [0, np.pi / 2], 0.1),
    "random_tree": lambda: catena.random_tree(4, 12),
    "floating tree": lambda: catena.random_tree(4, 12, base="floating"),
    "Builder": lambda: arm(),
    "edited": lambda: arm().attach(catena.rod_chain(2), "tool", prefix="snake_").locked({"elbow": 0.3}),
}
each_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def arm() -> catena.Robot:
    return (
        catena.Builder("arm")
        .link("upper", 2.0, (0, 0, 0.2), (0.02, 0.02, 0.002))
        .link("lower", 1.0, (0, 0, 0.15), (0.01, 0.01, 0.001), meshes=["lower.stl"])
        .link("tool")
        .universal("shoulder", "base", "upper", "y", "x", lower=-1, upper=(1, 2), damping=0.1)
        .revolute("elbow", "upper", "lower", (0, 1, 1), position=(0, 0, 0.4), lower=-2, effort_limit=50, armature=0.1)
        .fixed("flange", "lower", "tool", position=(0, 0, 0.3))
        .build()
    )


@each_maker
def test_equal_robots_have_equal_hashes(make: Callable[[], catena.Robot]) -> None:
    one, two = make(), make()
    assert one is not two
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two, one.with_gravity((0, 0, 0.5))}) == 2


@each_maker
def test_pickle_round_trip(make: Callable[[], catena.Robot]) -> None:
    robot = make()
    robot.neutral()
    for again in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert again == robot
        assert hash(again) == hash(robot)
        assert again.warnings == robot.warnings
        assert str(again) == str(robot)
        np.testing.assert_array_equal(again.random_configuration(0), robot.random_configuration(0))


def test_robots_cannot_be_changed() -> None:
    robot = arm()
    with pytest.raises(AttributeError, match="cannot be changed"):
        robot.nq = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be changed"):
        del robot.tree
    with pytest.raises(ValueError, match="read-only"):
        robot.gravity[2] = 0
    with pytest.raises(ValueError, match="read-only"):
        robot.link("upper").inertia[0] = 0
    with pytest.raises(TypeError):
        robot.frames["tool"] = None  # type: ignore[index]


PER_COORDINATE = ("lower", "upper")
PER_SPEED = ("velocity_limit", "effort_limit", "damping", "friction", "armature")


@each_maker
@pytest.mark.parametrize("field", [*PER_COORDINATE, *PER_SPEED])
def test_joint_data_are_arrays(make: Callable[[], catena.Robot], field: str) -> None:
    """In the order of q or v, the numbers that the single joints have, and not to be written to."""
    robot, place = make(), "q_slice" if field in PER_COORDINATE else "v_slice"
    found = getattr(robot, field)
    assert found.shape == (robot.nq if field in PER_COORDINATE else robot.nv,)
    for joint in robot.joints:
        np.testing.assert_array_equal(found[getattr(joint, place)], np.atleast_1d(getattr(joint, field)))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 0


def test_random_configurations_keep_the_limits() -> None:
    robot = arm()
    assert (robot.lower[:3].tolist(), robot.upper[:2].tolist()) == ([-1, -1, -2], [1, 2])
    q = robot.random_configuration(0, 100)
    assert ((q >= robot.lower) & (q <= robot.upper)).all()


def test_links_and_joints() -> None:
    robot = arm()
    upper, elbow, shoulder = robot.link("upper"), robot.joint("elbow"), robot.joint("shoulder")
    assert (robot.name, robot.nq, robot.nv, robot.total_mass, robot.base_name) == ("arm", 3, 3, 3.0, "base")
    assert [link.name for link in robot.links] == ["upper", "lower"]
    assert (upper.parent, upper.index, upper.mass, upper.joint) == ("base", 0, 2.0, shoulder)
    np.testing.assert_array_equal(upper.com, [0, 0, 0.2])
    assert (elbow.type, elbow.parent, elbow.child) == ("revolute", "upper", "lower")
    assert (elbow.q_slice, elbow.v_slice) == (slice(2, 3), slice(2, 3))
    np.testing.assert_allclose(elbow.axis, [0, np.sqrt(0.5), np.sqrt(0.5)])
    assert elbow.limits == (-2, np.inf)
    assert (elbow.effort_limit, elbow.velocity_limit, elbow.damping, elbow.armature) == (50, np.inf, 0, 0.1)
    assert elbow.friction == 0
    np.testing.assert_array_equal(elbow.position, [0, 0, 0.4])
    np.testing.assert_array_equal(elbow.rotation, np.eye(3))
    assert elbow.axis2 is None
    np.testing.assert_array_equal(shoulder.axis2, [1, 0, 0])
    np.testing.assert_array_equal(shoulder.upper, [1, 2])
    np.testing.assert_array_equal(shoulder.damping, [0.1, 0.1])
    assert robot.links[-1] == robot.link("lower") != robot.links[0]
    assert len({*robot.joints, *robot.joints}) == 2
    assert robot.joints[1:] == [elbow]
    with pytest.raises(IndexError):
        robot.links[2]
    assert "elbow" in repr(robot.joints)
    assert "upper" in repr(robot.links)


def test_frames() -> None:
    robot = arm()
    assert robot.frame("tool").link == 1
    np.testing.assert_array_equal(robot.frame("tool").position, [0, 0, 0.3])
    assert robot.frame("base").link == -1
    assert robot.frame("lower").link == 1
    assert set(robot.frames) == {"tool"}


def test_unknown_names_suggest_others() -> None:
    robot = arm()
    with pytest.raises(catena.UnknownNameError, match="did you mean 'elbow'"):
        robot.joint("elbo")
    with pytest.raises(catena.UnknownNameError, match="did you mean 'upper'"):
        robot.link("uper")
    with pytest.raises(catena.UnknownNameError, match="fixed to 'lower'"):
        robot.link("tool")
    with pytest.raises(catena.UnknownNameError, match="did you mean 'tool'"):
        robot.frame("tol")
    with pytest.raises(catena.UnknownNameError):
        robot.link(3)  # type: ignore[arg-type]
    with pytest.raises(catena.UnknownNameError, match="link10"):
        catena.rod_chain(10).link("link11")


def test_printed_as_a_tree() -> None:
    assert str(arm()) == (
        "arm: 2 joints, nq = 3, nv = 3, 3 kg moving\n"
        "base\n"
        "└─ shoulder: universal y [(-1, -1), (1, 2)] → upper, 2 kg\n"
        "   elbow: revolute (0, 0.707, 0.707) [-2, inf] → lower, 1 kg"
    )
    branched = arm().attach(catena.rod_chain(2), "upper", prefix="s_")
    assert str(branched).splitlines()[2:] == [
        "└─ shoulder: universal y [(-1, -1), (1, 2)] → upper, 2 kg",
        "   ├─ elbow: revolute (0, 0.707, 0.707) [-2, inf] → lower, 1 kg",
        "   └─ s_joint1: revolute z → s_link1, 1 kg",
        "      s_joint2: revolute y → s_link2, 1 kg",
    ]
    assert repr(arm()) == "<Robot arm: 2 joints, nq = 3, nv = 3, 3 kg moving>"


@pytest.mark.parametrize("n", [60, 61, 5000])
def test_long_robots_are_abbreviated(n: int) -> None:
    lines = str(catena.random_tree(0, n)).splitlines()
    assert len(lines) == (62 if n == 60 else 63)
    assert (lines[-1] == f"… and {n - 60:,} more") == (n > 60)


def test_a_robot_is_made_from_a_tree() -> None:
    with pytest.raises(catena.ModelError, match="Tree"):
        catena.Robot("panda.urdf")  # type: ignore[arg-type]
