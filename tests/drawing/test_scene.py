"""What is drawn of a robot, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.drawing.test_mesh_files import OBJ
from tests.mechanisms import ALL

import catena
from catena import robots
from catena.drawing.arrows import arrows_of
from catena.drawing.marks import Marks, marked, side_by_side
from catena.drawing.scene import Places, Scene, scene_of
from catena.drawing.surfaces import ball, box, cylinder
from catena.model.readers.meshes import MeshReference
from catena.model.shapes import Primitive

URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>{shapes}</link>
<link name="tip"><visual><geometry><sphere radius="0.25"/></geometry></visual></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint>
<joint name="f" type="fixed"><parent link="a"/><child link="tip"/><origin xyz="0 2 0"/></joint></robot>"""
BOX = '<visual><geometry><box size="1 2 3"/></geometry>{more}</visual>'


def drawn(text: str) -> tuple[catena.Robot, Scene]:
    robot = catena.load(text)
    return robot, scene_of(robot.tree)


def extent(robot: catena.Robot, q: object) -> list[list[float]]:
    scene = scene_of(robot.tree)
    lower, upper = scene.extent(scene.places(robot, q))
    return [np.round(lower, 6).tolist(), np.round(upper, 6).tolist()]


@pytest.mark.parametrize("make", [box, ball, cylinder])
def test_surfaces_enclose_what_they_should_seen_from_outside(make: object) -> None:
    surface = make()  # type: ignore[operator]
    a, b, c = np.moveaxis(surface.vertices[surface.faces].astype(float), 1, 0)
    volume = np.sum(np.cross(a, b) * c) / 6
    expected = {box: 1.0, ball: np.pi / 6, cylinder: np.pi / 4}[make]  # type: ignore[index]
    assert volume == pytest.approx(expected, rel=0.05)
    assert np.einsum("ij,ij->i", surface.normals, surface.vertices).min() > 0
    assert np.abs(surface.vertices).max() == pytest.approx(0.5)


def test_shapes_move_with_their_links_and_frames() -> None:
    robot, scene = drawn(URDF.format(shapes=BOX.format(more='<origin xyz="0 0 5"/>')))
    assert [len(group.link) for group in scene.groups] == [1, 1]
    assert extent(robot, [0.0]) == [[0.5, -1.0, -0.25], [1.5, 2.25, 6.5]]
    turned = extent(robot, [np.pi / 2])
    assert turned == [[-1.25, -0.5, -0.25], [2.0, 0.5, 6.5]]


@pytest.mark.parametrize(
    ("more", "color"),
    [
        ("", None),
        ('<material name="red"/>', (1.0, 0.0, 0.0, 1.0)),
        ('<material name="own"><color rgba="0 1 2 0.5"/></material>', (0.0, 1.0, 1.0, 0.5)),
        ('<material name="unknown"/>', None),
        ('<material name="bad"><color rgba="0 1"/></material>', None),
    ],
)
def test_colours_of_urdf(more: str, color: object) -> None:
    robot, _ = drawn(URDF.format(shapes=BOX.format(more=more)))
    assert robot.tree.meshes["a"][0].color == color


@pytest.mark.parametrize(
    "shape", ['<box size="1 2"/>', '<sphere radius="-1"/>', "<cone/>", "<box/><sphere radius='1'/>"]
)
def test_shapes_that_cannot_be_drawn_are_a_warning(shape: str) -> None:
    with pytest.warns(catena.ModelWarning, match="cannot be drawn"):
        robot = catena.load(URDF.format(shapes=f"<visual><geometry>{shape}</geometry></visual>"))
    assert "a" not in robot.tree.meshes
    assert scene_of(robot.tree).groups


def test_collision_shapes_are_drawn_only_without_others() -> None:
    other = BOX.replace("visual", "collision").format(more="").replace("1 2 3", "9 9 9")
    assert extent(drawn(URDF.format(shapes=other))[0], [0.0])[1][2] == 4.5
    both = BOX.format(more="") + other
    assert extent(drawn(URDF.format(shapes=both))[0], [0.0])[1][2] == 1.5


def test_meshes_are_found_beside_the_file(tmp_path: Path) -> None:
    mesh = '<visual><geometry><mesh filename="{}" scale="1 1 -2"/></geometry></visual>'
    (tmp_path / "t.obj").write_text(OBJ)
    file = tmp_path / "r.urdf"
    file.write_text(URDF.format(shapes=mesh.format("t.obj")))
    robot = catena.load(file)
    assert not scene_of(robot.tree).notes
    assert extent(robot, [0.0])[0][2] == -8.0
    file.write_text(URDF.format(shapes=mesh.format("../../secret.obj")))
    scene = scene_of(catena.load(file).tree)
    assert "'a' is drawn without mesh" in scene.notes[0]


def test_a_broken_mesh_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "t.stl").write_text("nothing")
    file = tmp_path / "r.urdf"
    file.write_text(URDF.format(shapes='<visual><geometry><mesh filename="t.stl"/></geometry></visual>'))
    scene = scene_of(catena.load(file).tree)
    assert "expected an STL file" in scene.notes[0]
    assert scene.groups


def test_mjcf_shapes() -> None:
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b"><freejoint/>
    <geom type="capsule" size="0.1" fromto="0 0 0 0 0 1" rgba="1 0 0 1"/><geom type="sphere" size="0.2"/>
    <geom type="ellipsoid" size="1 2 3"/><geom type="cylinder" size="1 2"/><geom type="box" size="1 2 3" group="3"/>
    </body></worldbody></mujoco>"""
    found = catena.load(text).tree.meshes["b"]
    assert [(x.kind, tuple(np.round(x.size, 9)), x.role) for x in found] == [
        ("capsule", (0.2, 0.2, 1.0), "visual"),
        ("ellipsoid", (0.4, 0.4, 0.4), "visual"),
        ("ellipsoid", (2.0, 4.0, 6.0), "visual"),
        ("cylinder", (2.0, 2.0, 4.0), "visual"),
        ("box", (2.0, 4.0, 6.0), "collision"),
    ]
    assert found[0].color == (1.0, 0.0, 0.0, 1.0)
    assert found[1].color is None


@pytest.mark.parametrize("name", ALL)
def test_links_without_shapes_are_drawn_from_joints_and_inertias(name: str) -> None:
    robot = ALL[name]()
    scene = scene_of(robot.tree)
    heavy = {i for i in range(robot.tree.n) if robot.tree.mass[i] > 0}
    assert heavy <= {int(link) for group in scene.groups for link in group.link}
    for group in scene.groups:
        assert np.isfinite(group.scale).all()
        assert (group.scale > 0).all()
        assert np.allclose(group.rotation @ np.swapaxes(group.rotation, 1, 2), np.eye(3))
        assert np.allclose(np.linalg.det(group.rotation), 1.0)


def test_a_long_chain_is_few_groups() -> None:
    chain = catena.rod_chain(5000, length=0.01)
    (bars,) = scene_of(chain.tree).groups
    assert len(bars.link) == 5000
    far = scene_of(chain.tree, 50.0)  # bars are wider than long: some are drawn for all
    assert 200 < len(far.groups[0].link) < 300
    lower, upper = far.extent(far.places(chain, chain.neutral()))
    assert np.allclose(np.sort((upper - lower).round())[-1], 50.0)
    links = catena.planar_chain([1.0] * 3, 1.0)
    assert extent(links, [0.0, 0.0, 0.0])[1][0] == pytest.approx(3.0, abs=0.2)


def test_a_system_is_drawn_with_all_its_robots() -> None:
    arm = catena.load(robots.path("seven_dof_arm"))
    two = catena.System({"left": arm, "right": arm}, placements={"right": ((5.0, 0.0, 0.0))})
    lower, upper = extent(two, two.neutral())  # type: ignore[arg-type]
    assert lower[0] < 0.1
    assert upper[0] > 5.0


def test_marks_and_samples_side_by_side() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    plain = scene_of(robot.tree)
    scene = marked(plain, robot.tree, Marks(["tool", "base"], True), 1.0)
    assert len(scene.groups) == len(plain.groups) + 4
    q = robot.random_configuration(0, shape=4)
    places = scene.places(robot, q)
    assert places.position.shape == (4, 1 + 7 + 1, 3)
    assert np.allclose(places.position[:, -1], robot.center_of_mass(q))
    apart = side_by_side(scene, places)
    assert len(np.unique(np.round(apart, 6), axis=0)) == 4
    with pytest.raises(catena.UnknownNameError, match="hand"):
        marked(plain, robot.tree, Marks(["hand"]), 1.0)


def test_shapes_survive_saving_a_run(tmp_path: Path) -> None:
    robot = catena.load(robots.path("two_link_arm"))
    run = robot.rollout(robot.neutral(), np.zeros(2), None, 1e-3, steps=2)
    run.save(tmp_path / "r.npz")
    again = catena.load_run(tmp_path / "r.npz").robot
    assert again == robot
    shapes = [shape for some in again.tree.meshes.values() for shape in some]
    assert shapes
    assert all(isinstance(shape, Primitive | MeshReference) for shape in shapes)


def arrows(robot: catena.Robot, forces: Any, q: Any, run: catena.Run | None = None) -> Places:
    found = arrows_of(robot, forces, np.asarray(q), run)
    assert found is not None
    scene = marked(scene_of(robot.tree), robot.tree, Marks(arrows=found), 3.0)
    states = np.asarray(q).reshape(*found.acting.shape[:2], -1)
    return scene.places(robot, states, found.acting)


def test_forces_are_arrows_on_links_and_frames() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    q = robot.random_configuration(0)
    forces = {"tool": [0, 0, 0, 0, 3.0, 0], "elbow": [0, 0, -1.5], "flange": np.zeros(3)}
    places = arrows(robot, forces, q)
    assert np.allclose(places.size[0, 0, -3:], [1.0, 0.5, 0.0])  # no force, no arrow
    (turn,), (at,) = robot.placements(q, "tool")
    assert np.allclose(places.rotation[0, 0, -3, :, 2], turn[:, 1])
    assert np.allclose(places.position[0, 0, -3], at)
    assert np.allclose(places.rotation[0, 0, -2, :, 2], -robot.placements(q, "elbow")[0][0, :, 2])
    assert arrows_of(robot, {}, q) is None
    assert (arrows(robot, {"elbow": np.zeros(6)}, q).size[..., -1] == 0).all()
    for wrong in ([1.0, 2.0], [[1.0, 0, 0], [0, 1.0, 0]], 3.0, "up"):
        with pytest.raises(catena.ShapeError, match="elbow"):
            arrows_of(robot, {"elbow": wrong}, q)
    with pytest.raises(catena.UnknownNameError, match="hand"):
        arrows_of(robot, {"hand": [1.0, 0, 0]}, q)
    with pytest.raises(catena.ShapeError, match="bearings"):
        arrows_of(robot, "upwards", q)
    with pytest.raises(catena.UnsupportedError, match="for runs"):
        arrows_of(robot, "contacts", q)


def test_arrows_of_a_run_follow_it() -> None:
    """The first bearing carries all: by Newton the mass times the acceleration of its centre, without gravity's."""
    robot = catena.load("two_link_arm")
    run = catena.simulate(robot, [1.0, 0.5], [0.5, 0.0], duration=1.0, dt=1e-3)
    found = arrows_of(robot, "bearings", run.q, run)
    assert found is not None
    centre = robot.center_of_mass(run.q)
    expected = robot.total_mass * (np.gradient(np.gradient(centre, run.t, axis=0), run.t, axis=0) - robot.gravity)
    force = (robot.placements(run.q)[0][:, 0] @ found.acting[0, :, 0, 3:, None])[..., 0]
    assert np.allclose(force[5:-5], expected[5:-5], atol=0.01 * np.abs(expected).max())
    between = found.resampled(run.t, np.array([0.25, 0.5005]))
    assert np.allclose(between.acting[0, 0], found.acting[0, 250])
    assert np.allclose(between.acting[0, 1], found.acting[0, 500:502].mean(axis=0))
    places = arrows(robot, "bearings", run.q, run)
    assert places.size.shape == (1, len(run.t), 1 + 2 + 2)
    assert np.quantile(places.size[..., -2:].max(axis=-1), 0.9, method="higher") == pytest.approx(1.0)


def free_body(name: str, mass: float) -> catena.Robot:
    return catena.Builder(name).link(name, mass=mass, inertia=0.1 * np.eye(3)).free("joint", "base", name).build()


def test_contacts_of_a_run_are_arrows_where_it_touches() -> None:
    """A ball at rest on the ground: its weight, upwards, from its lowest point."""
    ball = free_body("ball", 2.0)
    start = np.array([0.3, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0])
    run = ball.rollout(start, np.zeros(6), None, 1e-3, steps=600, ground=catena.Ground("ball", radius=0.2))
    places = arrows(ball, "contacts", run.q, run)
    assert np.allclose(places.position[0, -1, -1], [0.3, 0.0, 0.0], atol=2e-3)
    assert np.allclose(places.rotation[0, -1, -1, :, 2], [0.0, 0.0, 1.0], atol=1e-6)
    carried = arrows_of(ball, "bearings", run.q, run)
    assert carried is not None
    assert np.abs(carried.acting[..., 3:]).max() < 1e-6 * 2.0 * 9.81  # nothing but the ground holds it
    still = ball.rollout(start, np.zeros(6), None, 1e-3, steps=2)
    assert arrows_of(ball, "contacts", still.q, still) is None


def test_bearings_of_a_system_are_what_its_constraints_carry() -> None:
    box = free_body("box", 3.0)
    held = catena.System({"it": box}, constraints=[catena.Weld("world", "it/box", (0.0, 0.0, 1.0))])
    q = held.close(held.neutral())
    found = arrows_of(held, "bearings", q)
    assert found is not None
    assert np.allclose(found.acting[0, 0, 0, 3:], [0.0, 0.0, 3.0 * 9.81])
    assert np.allclose(found.position[0], 0.0)
