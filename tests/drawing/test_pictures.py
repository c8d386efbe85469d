"""Pictures and films, looked at by a program: what is where, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
from catena import later, robots
from catena.drawing import pictures
from catena.drawing.camera import Camera
from catena.drawing.raster import Raster

images = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load(robots.path("two_link_arm"))


@pytest.fixture(scope="module")
def run(arm: catena.Robot) -> catena.Run:
    return catena.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=0.4, dt=1e-3)


def ball_at(position: tuple[float, float, float], color: str) -> str:
    place = " ".join(map(str, position))
    return f"""<visual><origin xyz="{place}"/><geometry><sphere radius="0.2"/></geometry>
    <material name="{color}"><color rgba="{color}"/></material></visual>"""


def still(*balls: str) -> catena.Robot:
    text = f"""<robot name="r"><link name="base">{"".join(balls)}</link><link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1"/></inertial><visual><geometry><sphere radius="0.01"/></geometry></visual></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>"""
    return catena.load(text)


def pixels_like(picture: Any, channel: int) -> Any:
    """Rows and columns of the pixels in which one colour is by far the strongest."""
    light = np.asarray(picture).astype(int)
    others = np.delete(light, channel, axis=2).max(axis=2)
    return np.argwhere(light[..., channel] > others + 60)


def test_what_is_where() -> None:
    robot = still(ball_at((0, 0, 1), "1 0 0 1"), ball_at((0, 1, 0), "0 1 0 1"), ball_at((0, -1, 0), "0 0 1 1"))
    picture = catena.render(robot, view=(0.0, 0.0), size=(320, 240))
    assert picture.size == (320, 240)
    red, green, blue = (pixels_like(picture, k).mean(axis=0) for k in range(3))
    assert red[0] < min(green[0], blue[0]) - 40  # above
    assert blue[1] + 80 < red[1] < green[1] - 80  # seen from +x, y goes to the right


def test_what_is_nearer_hides_what_is_behind() -> None:
    robot = still(ball_at((1, 0, 0), "1 0 0 1"), ball_at((-1, 0, 0), "0 1 0 1"))
    assert not len(pixels_like(catena.render(robot, view=(0.0, 0.0)), 1))
    assert not len(pixels_like(catena.render(robot, view=(180.0, 0.0)), 0))


def test_marks_are_seen_through_links() -> None:
    """The centre of mass lies inside what has it: it could not be seen otherwise."""
    shape = '<visual><geometry><sphere radius="0.3"/></geometry></visual>'
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = f'<link name="a"/><link name="b">{inertia}{shape}</link>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    robot = catena.load(f'<robot name="r">{links}{joint}</robot>')
    plain, marked = (np.asarray(catena.render(robot, center_of_mass=on), int) for on in (False, True))
    assert (np.abs(marked - plain).max(axis=2) > 60).sum() > 50


def test_the_size_of_a_ball_is_that_of_perspective() -> None:
    """Against the formula for the outline of a ball: the tangent of the half angle is r / sqrt(d² − r²)."""
    camera = Camera(np.array([5.0, 0.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 1.0]))
    raster = Raster(camera, 400, 400)
    from catena.drawing.surfaces import ball

    surface = ball(96)
    points = raster.projected(2.0 * surface.vertices)
    pixel, _ = raster.visible(points, surface.faces.T, *np.zeros((2, len(surface.faces)), bool))
    radius = raster.focus / np.sqrt(5.0**2 - 1.0)
    assert len(pixel) == pytest.approx(np.pi * radius**2, rel=0.01)


def test_triangles_that_share_an_edge_leave_no_gap_and_do_not_overlap() -> None:
    from catena.drawing.raster import _pixels

    middle = [*np.random.default_rng(0).uniform(20, 44, 2), 0.2]
    ring = [[0, 0, 0.2], [64, 0, 0.2], [64, 64, 0.2], [0, 64, 0.2]]
    fan = np.array([[middle, ring[k], ring[(k + 1) % 4]] for k in range(4)])
    pixel, _, near = _pixels(fan.transpose(2, 1, 0), 64, 64)
    assert np.array_equal(np.sort(pixel), np.arange(64 * 64))
    assert np.allclose(near, 0.2)


@pytest.mark.parametrize("size", [0.3, 2.0, 30.0])
def test_triangles_of_all_sizes_as_if_each_pixel_were_asked_by_itself(size: float) -> None:
    rng = np.random.default_rng(1)
    corners = rng.uniform(-5, 69, (200, 1, 2)) + size * rng.standard_normal((200, 3, 2))
    points = np.concatenate([corners.reshape(-1, 2), rng.uniform(0.1, 0.3, (200, 1)).repeat(3, axis=0)], 1).T
    raster = Raster(Camera(np.array([5.0, 0, 0]), np.zeros(3), np.array([0.0, 0, 1.0])), 64, 64)
    pixel, triangle = raster.visible(points, np.arange(600).reshape(200, 3).T, np.ones(200, bool), np.zeros(200, bool))
    found, wanted = np.full((2, 64 * 64), -1)
    found[pixel] = triangle
    middle = np.stack(np.meshgrid(np.arange(64) + 0.5, np.arange(64) + 0.5), -1).reshape(-1, 1, 2)
    for number in np.argsort(points[2, ::3]):  # the nearest last
        x, y = (corners[number] - middle).T
        turn = x * np.roll(y, 1, axis=0) - y * np.roll(x, 1, axis=0)
        wanted[(turn > 0).all(axis=0) | (turn < 0).all(axis=0)] = number
    assert np.array_equal(found, wanted)
    assert (wanted >= 0).any()


def test_vertices_of_sharp_edges_are_moved_once() -> None:
    from catena.drawing.surfaces import box

    points, faces = box().welded
    assert len(points) == 8
    assert np.array_equal(points[faces], box().vertices[box().faces])


def test_several_samples_stand_side_by_side(arm: catena.Robot) -> None:
    one, four = (catena.render(arm, arm.random_configuration(1, shape=shape), size=(160, 120)) for shape in ((), (4,)))
    assert not np.array_equal(np.asarray(one), np.asarray(four))


def test_samples_that_are_not_finite_are_left_out(arm: catena.Robot) -> None:
    good = arm.random_configuration(1)
    catena.render(arm, [good, [np.nan, 0.0]], size=(64, 48))
    catena.render(arm, [[np.nan, 0.0]], size=(64, 48))


@pytest.mark.parametrize(
    "robot",
    [
        catena.planar_chain([1.0, 1.0], 1.0),
        catena.rod_chain(300, length=0.01),
        catena.point_mass_chain([1.5] * 5, 12.0),
        catena.random_tree(seed=5, n=9),
        catena.Builder("nothing").link("base").build(),
    ],
    ids=lambda robot: robot.name,
)
def test_every_robot_can_be_drawn(robot: catena.Robot) -> None:
    picture = catena.render(robot, size=(64, 48), frames=True, center_of_mass=robot.total_mass > 0)
    assert np.asarray(picture).shape == (48, 64, 3)


def test_files_by_their_endings(arm: catena.Robot, run: catena.Run, tmp_path: Path) -> None:
    for name in ("a.png", "a.jpg", "a.webp"):
        catena.render(arm, [0.1, 0.2], tmp_path / name, size=(64, 48))
        with images.open(tmp_path / name) as picture:
            assert picture.size == (64, 48)
    run.render(tmp_path / "last.png", size=(64, 48), forces="bearings")
    run.render(tmp_path / "run.gif", size=(64, 48), rate=20, speed=0.5)
    with images.open(tmp_path / "run.gif") as film:
        assert (film.n_frames, film.size, film.info["duration"]) == (17, (64, 48), 50)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_mp4(run: catena.Run, tmp_path: Path) -> None:
    run.render(tmp_path / "run.mp4", size=(65, 49))
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"
    with pytest.raises(catena.CatenaError, match="make it first"):
        run.render(tmp_path / "nowhere" / "run.mp4", size=(64, 48))


def test_refusals(arm: catena.Robot, run: catena.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(catena.UnsupportedError, match=r"\.png"):
        catena.render(arm, None, tmp_path / "a.bmp")
    with pytest.raises(catena.UnsupportedError, match=r"\.gif"):
        run.render(tmp_path / "a.avi")
    with pytest.raises(catena.ShapeError, match="size"):
        catena.render(arm, size=(0, 10))
    with pytest.raises(catena.ShapeError, match="view"):
        catena.render(arm, view=(0.0, np.nan))
    with pytest.raises(catena.ShapeError, match=r"\(\.\.\., 2\)"):
        catena.render(arm, [0.0])
    with pytest.raises(catena.ShapeError, match="side by side"):
        catena.render(arm, np.zeros((100, 2)))
    with pytest.raises(catena.CatenaError, match="cannot be written"):
        catena.render(arm, None, tmp_path / "none" / "a.png", size=(64, 48))
    with pytest.raises(catena.ShapeError, match="speed"):
        run.render(tmp_path / "a.gif", speed=0.0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(catena.UnsupportedError, match="ffmpeg"):
        run.render(tmp_path / "a.mp4")


def test_a_missing_extra_names_the_command_that_installs_it(arm: catena.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(later, "import_module", missing)
    with pytest.raises(catena.UnsupportedError, match=r"pip install 'catena-dynamics\[view\]'"):
        pictures.render(arm)


@pytest.mark.parametrize(
    "odd",
    [
        {"size": ("a", 2)},
        {"size": ("64", "48")},
        {"size": [[64], [48, 1]]},
        {"size": None},
        {"size": (np.nan, 64)},
        {"size": (10**400, 64)},
        {"view": ("a", 2)},
        {"view": [[1], [2, 3]]},
        {"rate": 1e-9},
        {"rate": "a"},
        {"rate": np.nan},
        {"speed": None},
        {"speed": 0},
    ],
    ids=str,
)
def test_odd_options_are_refused_by_name(run: catena.Run, odd: dict[str, Any], tmp_path: Path) -> None:
    (name,) = odd
    with pytest.raises(catena.ShapeError, match=name):
        run.render(tmp_path / "y.gif", **{"size": (16, 16), **odd})
    if name in ("size", "view"):
        with pytest.raises(catena.ShapeError, match=name):
            catena.render(run.robot, **odd)
