"""MJCF, feature by feature. tests/peers compares whole models with MuJoCo."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.helpers import placements

import catena
from catena import LoadError, UnsupportedError, robots
from catena.model.readers.meshes import MeshReference

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom size="0.1" mass="1"/>'


def model(world: str, outside: str = "") -> str:
    return f'<mujoco model="m">{outside}<worldbody>{world}</worldbody></mujoco>'


def body(inside: str, name: str = "b", attributes: str = "") -> str:
    return f'<body name="{name}" {attributes}>{inside}{GEOM}</body>'


def test_joint_types_and_order() -> None:
    loaded = catena.load(robots.path("crane"))
    assert loaded.name == "crane"
    assert [joint.type for joint in loaded.joints] == ["prismatic", "revolute", "revolute", "spherical", "free"]
    assert [link.name for link in loaded.links] == ["trolley", "boom:sway_x", "boom", "load:hook", "crate"]
    assert list(loaded.frames) == ["load"]
    assert (loaded.nq, loaded.nv) == (14, 12)


def test_numbers_of_joints() -> None:
    losses = 'armature="0.5" damping="2" frictionloss="3"'
    inside = f'<joint name="j" range="-30 60" {losses} actuatorfrcrange="-4 5"/>'
    joint = catena.load(model(body(inside))).joint("j")
    assert joint.lower == pytest.approx(-np.pi / 6)
    assert joint.upper == pytest.approx(np.pi / 3)
    assert (joint.armature, joint.damping, joint.friction, joint.effort_limit) == (0.5, 2.0, 3.0, 5.0)


def test_free_joints_put_angular_numbers_first() -> None:
    joint = catena.load(model(body('<freejoint name="f"/>'))).joint("f")
    np.testing.assert_array_equal(joint.armature, np.zeros(6))
    assert (joint.q_slice, joint.v_slice) == (slice(0, 7), slice(0, 6))


@pytest.mark.parametrize("joint_type", ["hinge", "slide"])
def test_ref_is_where_the_file_draws_the_body(joint_type: str) -> None:
    inside = f'<joint type="{joint_type}" ref="0.7" axis="1 2 3"/>'
    text = model(body(inside, attributes='pos="1 2 3" euler="0.1 0.2 0.3"'), '<compiler angle="radian"/>')
    compiled = mujoco.MjModel.from_xml_string(text)
    rotation, position = placements(catena.load(text).tree, np.array([0.7]))["b"]
    np.testing.assert_allclose(position, compiled.body_pos[1], rtol=0, atol=1e-15)
    data = mujoco.MjData(compiled)
    mujoco.mj_kinematics(compiled, data)
    np.testing.assert_allclose(rotation, data.xmat[1].reshape(3, 3), rtol=0, atol=1e-15)


def test_a_joint_off_the_origin_keeps_the_bodys_name_as_a_frame() -> None:
    loaded = catena.load(model(body('<joint name="j" axis="0 0 1" pos="1 0 0"/>')))
    assert [link.name for link in loaded.links] == ["b:j"]
    _, position = placements(loaded.tree, np.array([np.pi / 2]))["b"]
    np.testing.assert_allclose(position, [1.0, -1.0, 0.0], rtol=0, atol=1e-15)


def test_names_are_made_where_there_are_none_and_never_twice() -> None:
    inner = f'<body><joint/>{GEOM}<body name="body1"><joint name="joint0"/>{GEOM}</body></body>'
    loaded = catena.load(model(inner))
    assert len({link.name for link in loaded.links}) == 2
    assert len({joint.name for joint in loaded.joints}) == 2
    assert "body1" in [link.name for link in loaded.links]


def test_static_and_mocap_bodies_belong_to_the_base() -> None:
    world = body("", "table", 'pos="1 0 0"') + body("", "hand", 'mocap="true"') + body("<joint/>")
    loaded = catena.load(model(world))
    assert loaded.base_name == "world"
    assert {name: frame.link for name, frame in loaded.frames.items()} == {"table": -1, "hand": -1}
    assert (loaded.total_mass, loaded.tree.base_mass) == (1.0, 2.0)


def test_gravity() -> None:
    text = model(body("<joint/>"), '<option gravity="1 2 3"/>')
    np.testing.assert_array_equal(catena.load(text).gravity, [1.0, 2.0, 3.0])
    text = model(body("<joint/>"), '<option gravity="1 2 3"><flag gravity="disable"/></option>')
    np.testing.assert_array_equal(catena.load(text).gravity, np.zeros(3))


def test_what_is_left_out_is_said() -> None:
    outside = '<option density="1"/><equality><joint joint1="j"/></equality>'
    with pytest.warns(catena.ModelWarning, match="left out"):
        (warning,) = catena.load(model(body('<joint name="j" stiffness="1"/>'), outside)).warnings
    for what in ("1 equality constraints", "fluid"):
        assert what in warning
    free = body('<joint type="free" stiffness="1"/>')
    with pytest.warns(catena.ModelWarning, match="1 springs of free joints"):
        catena.load(model(free))


def test_springs_of_joints() -> None:
    inner = body('<joint name="j" stiffness="2" springref="0.5"/>', "a") + body(
        '<joint type="ball" stiffness="3"/>', "b"
    )
    loaded = catena.load(model(inner, '<compiler angle="radian"/>'))
    np.testing.assert_array_equal(loaded.stiffness, [2, 3, 3, 3])
    np.testing.assert_array_equal(loaded.rest, [0.5, 0, 0, 0])
    assert (loaded.joints[0].stiffness, loaded.joints[0].rest) == (2.0, 0.5)


def test_the_file_decides_about_a_free_base() -> None:
    text = model(body('<freejoint name="f"/>'))
    assert catena.load(text) == catena.load(text, base="floating")


def test_a_jointless_root_body_is_set_free() -> None:
    text = model(body(body('<joint name="j"/>', "c"), attributes='pos="1 2 3"'))
    fixed, floating = catena.load(text), catena.load(text, base="floating")
    assert [joint.name for joint in fixed.joints] == ["j"]
    assert [joint.name for joint in floating.joints] == ["root_joint", "j"]
    assert floating.joint("root_joint").child == "b"
    _, position = placements(floating.tree, np.array([4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 1.0, 0.0]))["b"]
    np.testing.assert_array_equal(position, [4.0, 5.0, 6.0])


def test_otherwise_the_world_floats() -> None:
    text = model(body('<joint name="j"/>'))
    floating = catena.load(text, base="floating")
    assert [joint.name for joint in floating.joints] == ["root_joint", "j"]
    assert floating.joint("root_joint").child == "world"


def test_includes_and_files(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(f"<mujocoinclude>{body('<joint/>')}</mujocoinclude>")
    main = tmp_path / "main.xml"
    main.write_text(model('<include file="arm.xml"/>'))
    assert catena.load(main).nv == 1
    assert catena.load(str(main)) == catena.load(main)


def test_meshes_keep_the_pose_of_the_file(tmp_path: Path) -> None:
    """MuJoCo moves a mesh to its centre and principal axes; the reference undoes that."""
    corners = [(x, y, z) for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)]
    (tmp_path / "box.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + _box_faces())
    geom = '<geom type="mesh" mesh="box" pos="0.1 0.2 0.3" euler="0 0 90"/>'
    file = tmp_path / "m.xml"
    file.write_text(model(body(geom), '<asset><mesh name="box" file="box.obj"/></asset>'))
    mesh = next(shape for shape in catena.load(file).tree.meshes["b"] if isinstance(shape, MeshReference))
    np.testing.assert_allclose(mesh.position, [0.1, 0.2, 0.3], rtol=0, atol=1e-6)
    np.testing.assert_allclose(mesh.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], rtol=0, atol=1e-6)
    assert mesh.resolve() == (tmp_path / "box.obj").resolve()


@pytest.mark.parametrize("place", [".", "folder"])
def test_meshes_of_relative_paths_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = tmp_path / "folder"
    (folder / "meshes").mkdir(parents=True)
    corners = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 2) for z in (0, 3))
    (folder / "meshes" / "box.obj").write_text(corners + _box_faces())
    asset = '<compiler meshdir="meshes"/><asset><mesh name="box" file="box.obj"/></asset>'
    (folder / "model.xml").write_text(model(body('<geom type="mesh" mesh="box"/>'), asset))
    monkeypatch.chdir(tmp_path / place if place == "folder" else tmp_path)
    robot = catena.load("model.xml" if place == "folder" else "folder/model.xml")
    monkeypatch.chdir("/")
    mesh = next(shape for shape in robot.tree.meshes["b"] if isinstance(shape, MeshReference))
    assert mesh.resolve() == (folder / "meshes" / "box.obj").resolve()


def _box_faces() -> str:
    quads = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    return "".join(f"f {a} {b} {c}\nf {a} {c} {d}\n" for a, b, c, d in quads)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody><bdy/></worldbody></mujoco>", "MuJoCo cannot compile it: .*bdy"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "MuJoCo cannot compile it: .*mass"),
        ("<mujoco><worldbody></mujoco>", "line 1: is not well-formed XML"),
        ('<mujoco><include file="no such file.xml"/></mujoco>', "line 1: <include> .*opens no files"),
        (model("<body>" * 1000), "nested more than 500 deep"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><mujoco/>', "DOCTYPE"),
        (model(body("<joint/>")).encode("utf-16"), "UTF-8"),
    ],
)
def test_faults(text: str | bytes, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        catena.load(text)


def test_no_body_at_all() -> None:
    with pytest.warns(catena.ModelWarning, match="no <body>"):
        loaded = catena.load("<mujoco/>")
    assert loaded.nv == 0
    assert any("no <body>" in warning for warning in loaded.warnings)


def test_without_mujoco_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'catena-dynamics\[mjcf\]'"):
        catena.load("<mujoco/>")


def test_a_compiled_model_loads_as_its_file_does() -> None:
    compiled = mujoco.MjModel.from_xml_path(str(robots.path("crane")))
    assert catena.load(compiled) == catena.load("crane")
    closed = mujoco.MjModel.from_xml_path(str(robots.path("four_bar")))
    names = catena.System.load("four_bar").constraint_names
    assert catena.System.load(closed).constraint_names == names
    with pytest.raises(LoadError, match="base: expected 'fixed' or 'floating', found"):
        catena.load(compiled, base="afloat")  # type: ignore[arg-type]
    compiled.body_mass[1] = np.nan
    with pytest.raises(LoadError, match=r"model of MuJoCo.*body_mass"):
        catena.load(compiled)
