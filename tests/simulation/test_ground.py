"""The ground: depths, friction and bounces against theory, a quadruped that stands, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena
from catena.functions.derived import jvp
from catena.questions.stepping import stepping
from catena.simulation.forces.ground import Ground

G, MU, MASS = 9.81, 0.5, 2.0
CORNERS = np.array([[x, y, -0.05] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
STIFFNESS = MASS * G / 1e-3


def box() -> catena.Robot:
    builder = catena.Builder("box").link("box", mass=MASS, inertia=np.eye(3) * 0.02)
    return builder.free("free", "base", "box").build()


def ball() -> catena.Robot:
    """A ball that slides along a vertical rail."""
    return catena.Builder("ball").link("ball", mass=MASS).prismatic("rail", "base", "ball", axis="z").build()


def tilted(angle: float) -> tuple[catena.Robot, np.ndarray]:
    """A box at rest on level ground under gravity that is tilted, as deep as its weight presses it."""
    robot = box().with_gravity((-G * np.sin(angle), 0, -G * np.cos(angle)))
    deep = MASS * G * np.cos(angle) / (4 * STIFFNESS)
    return robot, np.array([0, 0, 0.05 - deep, 0, 0, 0, 1.0])


def test_a_weight_sinks_as_far_as_the_stiffness_says() -> None:
    for dt in (1e-4, 1e-3, 1e-2):
        run = ball().rollout(
            [0.03], [0.0], None, dt, steps=5000, every=5000, ground=Ground("ball", radius=0.03, stiffness=2e4)
        )
        assert np.isclose(run.q[-1, 0], 0.03 - MASS * G / 2e4, atol=1e-9)


def test_a_ball_bounces_as_hunt_and_crossley_say() -> None:
    """With little dissipation c, speeds come back by 1 - 2/3 c v; within a step, forces are linear in the speeds."""
    robot, v = ball().with_gravity((0, 0, 0)), 0.1
    for c, tolerance in ((0.0, 2e-3), (0.5, 2e-3)):
        ground = Ground("ball", stiffness=1e4, dissipation=c)
        run = robot.rollout([1e-3], [-v], None, 2e-6, steps=40_000, every=40_000, ground=ground)
        assert np.isclose(run.v[-1, 0], v * (1 - 2 / 3 * c * v), rtol=tolerance)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_feet_stick_below_the_cone_and_slide_above_it(dt: float) -> None:
    ground = Ground({"box": CORNERS}, friction=MU)
    robot, q = tilted(np.arctan(0.9 * MU))
    steps = round(60 / dt)
    run = robot.rollout(q, np.zeros(6), None, dt, steps=steps, every=steps // 10, ground=ground)
    assert np.abs(run.q[:, :2] - q[:2]).max() < 1e-4
    assert np.abs(run.q[1:, :3] - run.q[1, :3]).max() < 1e-9  # after some seconds, nothing moves at all
    angle = np.arctan(1.1 * MU)
    robot, q = tilted(angle)
    run = robot.rollout(q, np.zeros(6), None, dt, steps=round(2 / dt), every=round(0.5 / dt), ground=ground)
    expected = G * (np.sin(angle) - MU * np.cos(angle))
    assert np.allclose(-np.diff(run.v[1:, 3]) / 0.5, expected, rtol=1e-6)
    assert np.isclose(-run.v[-1, 3] / 2, expected, rtol=0.01 if dt < 2e-3 else 0.03)


@pytest.mark.parametrize(("sink", "dt"), [(1e-3, 1e-2), (1e-4, 5e-3)])
def test_boxes_that_land_aslant_slide_and_do_not_rock(sink: float, dt: float) -> None:
    """From starts at which corners come and go, and at which feet turn round while others slide."""
    angle, rng = np.arctan(1.1 * MU), np.random.default_rng(0)
    robot, q = tilted(angle)
    starts = robot.integrate(q, np.c_[rng.uniform(-0.02, 0.02, (32, 3)), np.zeros((32, 2)), rng.uniform(0, 1e-3, 32)])
    ground = Ground({"box": CORNERS}, friction=MU, stiffness=MASS * G / sink, dissipation=3.0)
    run = robot.rollout(starts, np.zeros((32, 6)), None, dt, steps=round(3 / dt), every=round(1 / dt), ground=ground)
    expected = G * (np.sin(angle) - MU * np.cos(angle))
    assert np.abs(run.v[:, -1, :3]).max() < 1e-3
    speeds = np.linalg.norm(run.v[..., 3:], axis=-1)
    assert np.allclose(speeds[:, 3] - speeds[:, 2], expected, rtol=0.01)


def test_steps_that_are_too_long_for_the_ground_are_warned_of() -> None:
    robot, q = tilted(0.0)
    options: dict[str, Any] = {"steps": 1, "ground": Ground({"box": CORNERS}, stiffness=[1e2, MASS * G / 1e-5])}
    with pytest.warns(catena.StepWarning, match=r"steps below 0.002 s"):
        robot.rollout(np.stack([q, q]), np.zeros((2, 6)), None, 5e-3, **options)
    robot.rollout(np.stack([q, q]), np.zeros((2, 6)), None, 1e-3, **options)


def test_a_slope_is_like_gravity_that_is_tilted() -> None:
    angle = np.arctan(1.1 * MU)
    slope = float(np.tan(angle))
    sloped = Ground({"box": CORNERS}, friction=MU, height=lambda x, y: slope * x)
    robot, q = tilted(angle)
    turned = np.array([0, -np.sin(angle / 2), 0, np.cos(angle / 2)])
    up = np.array([-np.sin(angle), 0, np.cos(angle)])
    options: dict[str, Any] = {"steps": 500, "every": 500}
    run = box().rollout(np.r_[q[2] * up, turned], np.zeros(6), None, 1e-3, ground=sloped, **options)
    other = robot.rollout(q, np.zeros(6), None, 1e-3, ground=Ground({"box": CORNERS}, friction=MU), **options)
    assert np.abs(run.v[-1] - other.v[-1]).max() < 1e-6
    assert np.isclose(np.linalg.norm(run.q[-1, :3] - run.q[0, :3]), abs(other.q[-1, 0]), rtol=1e-6)


def test_a_ball_rolls_to_and_fro_in_a_valley() -> None:
    marble = catena.Builder("marble").link("marble", mass=0.1, inertia=np.eye(3) * 1e-5).free("f", "base", "marble")
    valley = Ground("marble", radius=0.02, height=lambda x, y: 0.5 * (x - 0.1) ** 2 + 0.5 * y**2, dissipation=1.0)
    q = np.array([0.05, 0.0, 0.0215, 0, 0, 0, 1.0])
    run = marble.build().rollout(q, np.zeros(6), None, 1e-3, steps=2000, ground=valley)
    assert not run.diverged
    there = run.t[np.argmax(run.q[:, 0])]
    period = 2 * np.pi * np.sqrt((1 + 1e-5 / (0.1 * 0.02**2)) * (1 - 0.02) / G)  # it rolls, and does not slide
    assert np.isclose(there, period / 2, rtol=0.03)
    assert np.isclose(run.q[:, 0].max(), 0.15, atol=0.003)


def test_a_block_thrown_along_the_ground_stops_where_theory_says() -> None:
    robot, q = tilted(0.0)
    v = np.array([0, 0, 0, 0.6, 0.8, 0])
    run = robot.rollout(q, v, None, 1e-3, steps=1000, ground=Ground({"box": CORNERS}, friction=MU))
    way = run.q[-1, :3] - run.q[0, :3]
    assert np.isclose(np.linalg.norm(way[:2]), 1 / (2 * MU * G), rtol=0.01)
    assert np.allclose(way[:2] / np.linalg.norm(way[:2]), [0.6, 0.8], atol=1e-3)
    assert np.abs(run.v[-1]).max() < 1e-9


def stance() -> tuple[catena.Robot, np.ndarray, Any, Ground]:
    """The quadruped above its feet, with servos that hold it."""
    robot = catena.load(catena.robots.path("quadruped"), base="floating")
    legs = [name for name in robot.frames if "foot" in name] or [
        link.name for link in robot.links if "foot" in link.name
    ]
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.5, -1.0], 4)
    q[2] = -robot.placements(q, legs).position[:, 2].min()
    gains = np.r_[np.zeros(6), np.full(robot.nv - 6, 1.0)]
    return robot, q, catena.controllers.servo(q, 100 * gains, 3 * gains), Ground(legs)


def test_a_quadruped_stands() -> None:
    robot, q, servo, ground = stance()
    for dt in (1e-3, 4e-3):
        run = robot.rollout(
            q, np.zeros(robot.nv), None, dt, steps=round(12 / dt), every=50, control=servo, ground=ground
        )
        stood = run.t >= 2
        feet = robot.placements(run.q[stood], list(ground.points or ())).position
        assert -feet[..., 2].min() < 5e-3
        assert np.linalg.norm((feet - feet[0])[..., :2], axis=-1).max() < 1e-3
    fallen = robot.rollout(q, np.zeros(robot.nv), None, 1e-3, steps=1000, every=1000, ground=ground)
    assert fallen.q[-1, 2] < 0.8 * q[2]  # without servos it falls


def test_the_state_of_contacts_goes_on_bit_by_bit() -> None:
    robot, q, servo, ground = stance()
    v = np.r_[0, 0, 0, 0.3, 0, 0, np.zeros(robot.nv - 6)]
    whole = robot.rollout(q, v, None, 2e-3, steps=200, every=100, control=servo, ground=ground)
    half = robot.rollout(q, v, None, 2e-3, steps=100, every=100, control=servo, ground=ground)
    more = robot.rollout(
        half.q[-1],
        half.v[-1],
        None,
        2e-3,
        t0=0.2,
        steps=100,
        every=100,
        control=servo,
        ground=ground,
        memory=half.memory,
    )
    assert np.array_equal(more.q[-1], whole.q[-1])
    assert np.array_equal(more.memory["anchors"], whole.memory["anchors"])
    many = robot.rollout(np.tile(q, (37, 1)), v, None, 2e-3, steps=200, every=200, control=servo, ground=ground)
    assert np.array_equal(many.q[:, -1], np.tile(whole.q[-1], (37, 1)))


def test_a_step_on_the_ground_is_differentiable() -> None:
    robot, ground = box(), Ground({"box": CORNERS}, friction=MU)
    law = ground.on(robot)
    function = stepping(robot, "semi_implicit", "innovations", False, True, (law,))
    kernel = robot._compiled.kernel(function)
    _, q = tilted(0.1)
    v = np.array([0.1, 0.2, 0.05, 0.3, -0.1, -0.02])
    rest = np.zeros(6), 1e-3, *ground.numbers(robot).values()
    slope = robot._compiled.kernel(jvp(function, ("v",)))
    rng = np.random.default_rng(1)
    direction = rng.standard_normal(6)
    exact = slope(q, v, *rest, direction)
    ends = [kernel(q, v + s * 1e-6 * direction, *rest)[1] for s in (1, -1)]
    assert np.allclose(exact[1], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-6)


def test_bad_input_is_named() -> None:
    robot = box()
    state: tuple[Any, ...] = robot.neutral(), np.zeros(6), None, 1e-3
    for ground, words in (
        (Ground(), "found none"),
        (Ground("nowhere"), "nowhere"),
        (Ground("base"), "base"),
        (Ground({"box": [1.0, 2.0]}), "points of 'box'"),
        (Ground("box", radius=-1.0), "radius"),
        (Ground("box", friction=np.nan), "friction"),
        (Ground("box", stiffness="soft"), "stiffness"),
        (Ground("box", height=np.inf), "height"),
        (Ground("box", height=lambda x, y: float(x)), "traced"),
        (Ground({"box": np.zeros((100, 3))}), "100"),
    ):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=1, ground=ground)
    for options, words in (
        ({"kernel": "rolled"}, "unrolled"),
        ({"method": "fd4"}, "fd4"),
        ({"integrator": "rk4"}, "stage"),
    ):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=1, ground=Ground("box"), **options)


SHAPES = """<robot name="r"><link name="trunk"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><origin xyz="0 0 0.1"/><geometry><box size="0.2 0.4 0.6"/></geometry></collision>
<visual><geometry><sphere radius="9"/></geometry></visual></link>
<link name="foot"><collision><origin xyz="0 0 -0.1"/><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="ankle" type="fixed"><origin xyz="0 0 -0.5"/><parent link="trunk"/><child link="foot"/></joint></robot>"""


def test_shapes_of_the_model_touch() -> None:
    robot = catena.load(SHAPES, base="floating")
    spheres = Ground().spheres(robot)
    assert len(spheres) == 9
    assert (spheres[-1].centre, spheres[-1].radius) == ((0.0, 0.0, -0.6), 0.05)
    corners = np.array([s.centre for s in spheres[:-1]])
    assert np.allclose(np.abs(corners - [0, 0, 0.1]), [0.1, 0.2, 0.3])
    pytest.importorskip("mujoco")
    body = '<body><freejoint/><geom type="capsule" size="0.1 0.3"/></body>'
    ends = Ground().spheres(catena.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>"))
    assert sorted(s.centre[2] for s in ends) == [-0.3, 0.3]
    assert {s.radius for s in ends} == {0.1}
    run = robot.rollout(np.r_[0, 0, 0.66, 0, 0, 0, 1], np.zeros(6), None, 1e-3, steps=300, every=300, ground=Ground())
    assert abs(run.q[-1, 2] - 0.65) < 0.01  # it stands on its foot for a while


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
def test_a_ball_that_slides_rolls_on_with_five_sevenths_of_its_speed(dt: float) -> None:
    radius = 0.1
    robot = (
        catena.Builder("ball").link("ball", 1.0, inertia=(0.4 * radius**2,) * 3).free("free", "base", "ball").build()
    )
    q, v = robot.neutral(), np.zeros(6)
    q[2], v[3] = radius, 2.0
    ground = Ground("ball", radius=radius, friction=0.5)
    run = robot.rollout(q, v, None, dt, steps=round(3 / dt), ground=ground)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(2.0 * 5 / 7, rel=1e-6)
    assert robot.kinetic_energy(run.q, run.v).max() < 2.0 * 1.001  # it also sinks in a little
