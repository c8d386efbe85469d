"""URDF, joint by joint and fault by fault. tests/peers compares whole robots with Pinocchio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers import about_x, about_z, placements

import catena
from catena import CatenaError, LoadError, robots
from catena.model.readers.urdf_places import rotation_from_rpy

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
ENDS = '<parent link="a"/><child link="b"/>'
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def two_links(joint: str, joint_type: str = "revolute", inside: str = INERTIAL) -> str:
    return robot(link("a"), link("b", inside), f'<joint name="j" type="{joint_type}">{ENDS}{joint}</joint>')


def load_one(joint: str, joint_type: str = "revolute") -> Any:
    return catena.load(two_links(joint, joint_type)).joint("j")


@pytest.mark.parametrize(
    ("written", "joint_type", "nq", "nv"),
    [
        ("revolute", "revolute", 1, 1),
        ("continuous", "continuous", 1, 1),
        ("prismatic", "prismatic", 1, 1),
        ("planar", "planar", 3, 3),
        ("floating", "free", 7, 6),
    ],
)
def test_joint_types(written: str, joint_type: str, nq: int, nv: int) -> None:
    loaded = catena.load(two_links(LIMIT, written))
    assert (loaded.joint("j").type, loaded.nq, loaded.nv) == (joint_type, nq, nv)


def test_fixed_joints_leave_a_frame() -> None:
    loaded = catena.load(two_links('<origin xyz="1 2 3"/>', "fixed"))
    assert (loaded.nv, list(loaded.frames)) == (0, ["b"])
    np.testing.assert_array_equal(loaded.frame("b").position, [1.0, 2.0, 3.0])


def test_axis_defaults_to_x_and_is_normalised() -> None:
    np.testing.assert_array_equal(load_one(LIMIT).axis, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(load_one(LIMIT + "<axis/>").axis, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(load_one(LIMIT + '<axis xyz="0 3 4"/>').axis, [0.0, 0.6, 0.8], rtol=0, atol=1e-16)


def test_limits_and_losses() -> None:
    joint = load_one(LIMIT + '<dynamics damping="0.5" friction="0.25"/>')
    assert (joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit) == (-1.0, 2.0, 3.0, 4.0)
    assert (joint.damping, joint.friction) == (0.5, 0.25)


def test_continuous_joints_have_no_range() -> None:
    joint = load_one(LIMIT, "continuous")
    assert (joint.lower, joint.upper, joint.effort_limit) == (-np.inf, np.inf, 3.0)


def test_missing_limits_are_said() -> None:
    with pytest.warns(catena.ModelWarning, match="XML text: .* without a <limit>"):
        loaded = catena.load(two_links(""))
    assert (loaded.joint("j").lower, loaded.joint("j").upper) == (-np.inf, np.inf)
    assert any("without a <limit>" in warning and "'j'" in warning for warning in loaded.warnings)
    with pytest.warns(catena.ModelWarning, match="no range"):
        loaded = catena.load(two_links('<limit effort="1" velocity="1"/>'))
    assert (loaded.joint("j").lower, loaded.joint("j").upper) == (0.0, 0.0)
    assert any("no range" in warning for warning in loaded.warnings)


def test_lower_above_upper_means_unlimited() -> None:
    """Bullet's way of saying so."""
    loaded = catena.load(two_links('<limit lower="1" upper="-1" effort="3" velocity="4"/>'))
    joint = loaded.joint("j")
    assert (joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit) == (-np.inf, np.inf, 3.0, 4.0)
    assert any("lower limit lies above the upper one" in warning and "'j'" in warning for warning in loaded.warnings)


def test_bullets_spherical_joints() -> None:
    loaded = catena.load(two_links('<origin xyz="0 0 1"/><axis xyz="0 0 0"/><dynamics damping="2"/>', "spherical"))
    joint = loaded.joint("j")
    assert (joint.type, loaded.nq, loaded.nv) == ("spherical", 4, 3)
    np.testing.assert_array_equal(joint.damping, [2.0, 2.0, 2.0])


def test_a_mesh_scale_of_four_numbers() -> None:
    mesh = '<visual><geometry><mesh filename="a.stl" scale="1 2 3 {}"/></geometry></visual>'
    loaded = catena.load(two_links(LIMIT, inside=INERTIAL + mesh.format("4")))
    assert loaded.tree.meshes["b"][0].scale == (1.0, 2.0, 3.0)
    assert any("scale of four numbers" in warning and "'b'" in warning for warning in loaded.warnings)
    with pytest.raises(LoadError, match=r"link 'b': <mesh> scale='1 2 nan 4': expected 3 finite numbers"):
        catena.load(two_links(LIMIT, inside=INERTIAL + mesh.format("4").replace("3 4", "nan 4")))


def test_mimic_is_eliminated_or_kept() -> None:
    second = '<joint name="k" type="revolute"><parent link="b"/><child link="c"/>' + LIMIT
    second += '<mimic joint="j" multiplier="-2" offset="0.5"/></joint>'
    first = f'<joint name="j" type="revolute">{ENDS}{LIMIT}</joint>'
    text = robot(link("a"), link("b"), link("c"), first, second)
    for mimic, nv in (("eliminated", 1), ("independent", 2)):
        loaded = catena.load(text, mimic=mimic)
        assert loaded.nv == nv
        assert loaded.tree.mimic["k"] == ("j", -2.0, 0.5)
        assert not any("mimic" in warning for warning in loaded.warnings)
    assert catena.load(text) == catena.load(text, mimic="eliminated")
    with pytest.raises(catena.UnsupportedError, match="mimic"):
        catena.load(text, mimic="eliminate")


def test_what_is_not_the_mechanism_is_passed_over() -> None:
    extra = "<gazebo/><transmission><joint name='x'/></transmission><material name='m'/><sensor/><ros2_control/>"
    inside = LIMIT + '<safety_controller k_velocity="bad"/><calibration rising="bad"/>'
    loaded = catena.load(two_links(inside).replace("</robot>", extra + "</robot>"))
    assert (loaded.nv, loaded.warnings) == (1, ())
    with pytest.warns(catena.ModelWarning, match="lnik"):
        loaded = catena.load(two_links(inside).replace("</robot>", "<lnik/></robot>"))
    assert any("'lnik'" in warning for warning in loaded.warnings)


def test_rpy_is_yaw_pitch_roll() -> None:
    roll, pitch, yaw = 0.3, -1.1, 2.5
    about_y = np.array([[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]])
    expected = about_z(yaw) @ about_y @ about_x(roll)
    np.testing.assert_allclose(rotation_from_rpy(roll, pitch, yaw), expected, rtol=0, atol=1e-15)


def test_rpy_is_never_rounded_to_right_angles() -> None:
    assert rotation_from_rpy(1.5708, 0.0, 0.0)[1][1] == np.cos(1.5708)


def test_inertia_origin_with_rotation() -> None:
    inside = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 -1.1 2.5"/><mass value="2"/>
    <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="-0.1" izz="2"/></inertial>"""
    tree = catena.load(two_links(LIMIT, inside=inside)).tree
    rotation = np.array(rotation_from_rpy(0.3, -1.1, 2.5))
    expected = rotation @ np.array([[1.0, 0.1, 0.2], [0.1, 1.5, -0.1], [0.2, -0.1, 2.0]]) @ rotation.T
    np.testing.assert_allclose(tree.inertia[0], expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(tree.inertia[0], tree.inertia[0].T)
    np.testing.assert_array_equal(tree.com[0], [0.1, 0.2, 0.3])


def test_planar_joints_move_perpendicular_to_their_axis() -> None:
    tree = catena.load(two_links('<axis xyz="0 0.6 0.8"/>', "planar")).tree
    moved = placements(tree, np.array([0.4, -0.7, 0.3]))["b"][1]
    assert np.linalg.norm(moved) == pytest.approx(np.hypot(0.4, 0.7), abs=1e-15)
    assert moved @ [0.0, 0.6, 0.8] == pytest.approx(0.0, abs=1e-16)


def test_point_masses_are_said() -> None:
    inside = '<inertial><origin xyz="0 1 0"/><mass value="1"/></inertial>'
    with pytest.warns(catena.ModelWarning, match="point mass"):
        loaded = catena.load(two_links('<origin xyz="0 0 0"/>' + LIMIT, inside=inside))
    assert any("point mass" in warning and "'b'" in warning for warning in loaded.warnings)


def test_floating_base() -> None:
    loaded = catena.load(robots.path("quadruped"), base="floating")
    assert (loaded.joints[0].name, loaded.joints[0].type, loaded.nq, loaded.nv) == ("root_joint", "free", 19, 18)
    assert loaded.joints[0].child == "trunk"


def test_text_bytes_and_paths_give_the_same_robot(tmp_path: Path) -> None:
    text = robots.path("seven_dof_arm").read_text()
    file = tmp_path / "arm"
    file.write_text(text)
    made = {catena.load(source) for source in (text, text.encode(), text.encode("utf-16"), file, str(file))}
    assert len(made) == 1


@pytest.mark.parametrize("name", robots.names())
def test_own_robots_are_flawless(name: str) -> None:
    if robots.path(name).suffix == ".xml":
        pytest.importorskip("mujoco")
    assert catena.System.load(robots.path(name)).warnings == ()


def test_unknown_own_robot() -> None:
    with pytest.raises(catena.UnknownNameError, match="quadruped"):
        robots.path("quadrupde")


FAULTS = {
    "no links": (robot(), r"line 1: the <robot> has no links"),
    "link without name": (robot("<link/>"), r"link '': <link> needs a non-empty attribute 'name'"),
    "joint without name": (robot(link("a"), "<joint/>"), r"needs a non-empty attribute 'name'"),
    "joint without type": (robot(link("a"), '<joint name="j"/>'), r"joint 'j': <joint> needs .* 'type'"),
    "unknown type": (two_links("", "hinge"), r"joint 'j'.* type 'hinge' is unknown; expected one of revolute"),
    "no parent": (robot(link("a"), '<joint name="j" type="fixed"><child link="a"/></joint>'), r"joint 'j': .*<parent"),
    "two axes": (two_links('<axis xyz="1 0 0"/>\n<axis xyz="0 1 0"/>'), r"line 2: joint 'j': <axis> appears twice"),
    "bad axis": (two_links('<axis xyz="1 0"/>'), r"joint 'j': <axis> xyz='1 0': expected 3 finite numbers"),
    "zero axis": (two_links('<axis xyz="0 0 0"/>' + LIMIT), r"joint 'j'.*axis"),
    "bad origin": (two_links('<origin xyz="0 nan 0"/>'), r"joint 'j': <origin> xyz='0 nan 0'"),
    "bad limit": (two_links('<limit lower="low" upper="1"/>'), r"joint 'j': <limit> lower='low'"),
    "no mass": (robot(link("a", "<inertial/>")), r"link 'a': <inertial> needs a <mass>"),
    "mass without value": (
        robot(link("a", "<inertial><mass/></inertial>")),
        r"link 'a': <mass> needs a number 'value'",
    ),
    "negative mass": (two_links(LIMIT, inside=INERTIAL.replace('value="1"', 'value="-1"')), r"link 'b'.*mass"),
    "inertia without izz": (
        robot(link("a", INERTIAL.replace("izz", "i"))),
        r"link 'a': <inertia> needs a number 'izz'",
    ),
    "negative inertia": (two_links(LIMIT, inside=INERTIAL.replace('ixx="1"', 'ixx="-1"')), r"link 'b'"),
    "infinite mass": (robot(link("a", INERTIAL.replace('value="1"', 'value="inf"'))), r"link 'a': <mass> value='inf'"),
    "two roots": (robot(link("a"), link("b")), r"'a'.*'b'|'b'.*'a'"),
    "unknown parent": (robot(link("b"), f'<joint name="j" type="fixed">{ENDS}</joint>'), r"'a'"),
    "duplicated link": (robot(link("a"), link("a")), r"'a'"),
    "loop": (
        two_links(LIMIT).replace(
            "</robot>", '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>'
        ),
        r"loop|root",
    ),
    "xacro": (
        '<robot name="r" xmlns:xacro="x"><xacro:macro/></robot>',
        r"line 1: <xacro:macro>: expand the file with xacro",
    ),
    "xacro expression": (robot(link("a", INERTIAL.replace('value="1"', 'value="${m}"'))), r"with xacro first"),
    "other XML": ("<html/>", r"expected <robot> \(URDF\) or <mujoco> \(MJCF\), found <html>"),
    "SDF": ("<sdf version='1.6'/>", r"convert SDF"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_faults_are_named(text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        catena.load(text)


def test_faults_carry_the_culprit_and_the_file(tmp_path: Path) -> None:
    file = tmp_path / "bad.urdf"
    file.write_text(two_links('\n<axis xyz="x"/>'))
    with pytest.raises(LoadError, match=r"bad\.urdf, line 2: joint 'j'") as caught:
        catena.load(file)
    assert caught.value.joint == "j"
    file.write_text(two_links(LIMIT, inside=INERTIAL.replace('value="1"', 'value="-1"')))
    with pytest.raises(LoadError, match=r"bad\.urdf: link 'b'") as caught:
        catena.load(file)
    assert caught.value.link == "b"


def test_bad_base() -> None:
    with pytest.raises(CatenaError, match="'fixed' or 'floating'"):
        catena.load(two_links(LIMIT), base="flying")  # type: ignore[arg-type]


def test_a_long_chain_loads() -> None:
    """Depth of the mechanism is not depth of the XML, and nothing recurses."""
    n = 5_000
    parts = [link("l0")]
    for i in range(1, n + 1):
        ends = f'<parent link="l{i - 1}"/><child link="l{i}"/>'
        parts += [link(f"l{i}"), f'<joint name="j{i}" type="continuous">{ends}<origin xyz="0 0 1"/></joint>']
    loaded = catena.load(robot(*reversed(parts)))
    assert loaded.nv == n
    np.testing.assert_array_equal(loaded.tree.parent, np.arange(-1, n - 1))
