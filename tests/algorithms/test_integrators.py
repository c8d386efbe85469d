"""Steps in time: orders, agreement of both shapes of kernels, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.mechanisms import ALL, MOVING, relative

import catena

ORDERS = {"semi_implicit": 1, "midpoint": 2, "rk4": 4, "linearly_implicit": 1}


def sprung(robot: catena.Robot) -> catena.Robot:
    rng = np.random.default_rng(7)
    stiffness, rest, damping = rng.uniform(0.1, 1.0, (3, robot.nv))
    stiffness[::4] = 0.0
    return catena.Robot(replace(robot.tree, stiffness=stiffness, rest=rest, damping=damping))


SOME = {
    "sliding chain": ALL["sliding chain"],
    "all joint types": lambda: sprung(catena.random_tree(3, 6, MOVING, 0.3)),
    "floating tree": lambda: catena.random_tree(5, 3, ["revolute", "spherical"], 0.5, base="floating"),
}
each_integrator = pytest.mark.parametrize("integrator", ORDERS)


def distance(robot: catena.Robot, a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> float:
    return float(np.abs(robot.difference(a[0], b[0])).max() + np.abs(a[1] - b[1]).max())


def after(robot: catena.Robot, steps: int, integrator: str, start: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    q, v, tau = start
    for _ in range(steps):
        q, v = robot.step(q, v, tau, 0.1 / steps, integrator=integrator, joint_losses=True)
    return q, v


@each_integrator
@pytest.mark.parametrize("joints", [["revolute", "prismatic"], MOVING], ids=["flat", "all joint types"])
def test_errors_shrink_with_the_order(integrator: str, joints: list[str]) -> None:
    robot = sprung(catena.random_tree(3, 5, joints, 0.3, base="floating" if joints is MOVING else "fixed"))
    rng = np.random.default_rng(0)
    start = robot.random_configuration(rng), rng.uniform(-1, 1, robot.nv), rng.uniform(-0.1, 0.1, robot.nv)
    exact = after(robot, 256, "rk4", start)
    errors = [distance(robot, exact, after(robot, steps, integrator, start)) for steps in (16, 32)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[integrator], abs=0.25)


@each_integrator
@pytest.mark.parametrize("make", SOME.values(), ids=SOME)
def test_both_shapes_agree(integrator: str, make: Callable[[], catena.Robot]) -> None:
    robot, rng = make(), np.random.default_rng(1)
    q = robot.random_configuration(rng, 5)
    v, tau = rng.uniform(-1, 1, (2, 5, robot.nv))
    results = [robot.step(q, v, tau, 1e-3, integrator=integrator, kernel=kernel) for kernel in ("unrolled", "rolled")]
    assert relative(results[0].q, results[1].q) < 1e-12
    assert relative(results[0].v, results[1].v) < 1e-9


def test_the_default_step_is_forward_dynamics_and_integrate() -> None:
    joints = ["revolute", "prismatic", "spherical", "universal"]
    robot, rng = catena.random_tree(3, 6, joints, 0.3), np.random.default_rng(2)
    q, (v, tau) = robot.random_configuration(rng, 7), rng.uniform(-1, 1, (2, 7, robot.nv))
    f_ext, dt = rng.standard_normal((7, len(robot.links), 6)), 0.01
    found = robot.step(q, v, tau, dt, f_ext)
    v1 = v + dt * robot.forward_dynamics(q, v, tau, f_ext)
    assert relative(found.v, v1) < 1e-13
    assert relative(found.q, robot.integrate(q, dt * v1)) < 1e-13


def test_losses_act_in_every_stage() -> None:
    robot = (
        catena.Builder("pendulum")
        .link("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        .revolute("hinge", "base", "bob", axis="y", damping=0.7)
        .build()
        .with_gravity((0, 0, 0))
    )
    q, v, decay = np.zeros(1), np.ones(1), 0.7 / (0.1 + 2.0 * 0.25)
    for _ in range(50):
        q, v = robot.step(q, v, [0.0], 0.02, integrator="rk4", joint_losses=True)
    assert v[0] == pytest.approx(np.exp(-decay), rel=1e-8)


def test_springs_pull_to_their_rest() -> None:
    robot, rng = sprung(catena.random_tree(2, 4, ["revolute", "prismatic"], 0.3)), np.random.default_rng(0)
    q, (v, tau) = robot.random_configuration(rng, 3), rng.uniform(-1, 1, (2, 3, robot.nv))
    stretch = robot.difference(robot.neutral(), q) - robot.rest
    found = robot.step(q, v, tau, 1e-3)
    assert relative(found.v, robot.step(q, v, tau - robot.stiffness * stretch, 1e-3, joint_springs=False).v) < 1e-13


def test_a_linearly_implicit_step_solves_for_the_end_of_the_step() -> None:
    k, d, rest, dt, inertia = 1e6, 1e3, 0.3, 1e-2, 0.6
    robot = (
        catena.Builder("pendulum", gravity=(0, 0, 0))
        .link("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        .revolute("hinge", "base", "bob", axis="y", damping=d, stiffness=k, rest=rest)
        .build()
    )
    q, v = robot.step([0.1], [2.0], [5.0], dt, integrator="linearly_implicit", joint_losses=True)
    assert q[0] == pytest.approx(0.1 + dt * v[0])
    assert inertia * (v[0] - 2.0) / dt == pytest.approx(5.0 - k * (q[0] - rest) - d * v[0])
    for _ in range(200):
        q, v = robot.step(q, v, [0.0], dt, integrator="linearly_implicit", joint_losses=True)
    assert q[0] == pytest.approx(rest)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_a_stiff_cantilever_bends_as_a_beam(kernel: str) -> None:
    links, length, radius, rho, youngs = 20, 1.0, 0.002, 7850.0, 200e9
    piece, EI = length / links, youngs * np.pi * radius**4 / 4
    m, k = rho * np.pi * radius**2 * piece, EI / piece
    builder = catena.Builder("rod")
    for i in range(links):
        builder.link(f"l{i}", m, (piece / 2, 0, 0), (0.5 * m * radius**2, m * piece**2 / 12, m * piece**2 / 12))
        before, at = (f"l{i - 1}", piece) if i else ("base", 0.0)
        stiffness = k if i else 2 * k
        builder.revolute(f"j{i}", before, f"l{i}", axis="y", position=(at, 0, 0), stiffness=stiffness, damping=0.02 * k)
    rod = builder.build()
    zero = np.zeros(links)
    options = {"integrator": "linearly_implicit", "joint_losses": True, "kernel": kernel}
    run = rod.rollout(zero, zero, None, 2e-3, steps=1500, every=1500, **options)
    tip = -piece * np.sin(np.cumsum(run.q[-1])).sum()
    assert tip == pytest.approx(-rho * np.pi * radius**2 * 9.81 * length**4 / (8 * EI), rel=0.02)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dt", [0, 0.0, -1e-3, np.nan, np.inf, [1e-3, 0.0], np.array([1e-3, -1.0])])
def test_steps_that_are_not_above_zero_are_refused(dt: object, dtype: type) -> None:
    robot, zero = catena.rod_chain(2), np.zeros(2)
    robot.step(zero, zero, zero, 1e-3, dtype=dtype)  # from now on in the emitted call
    for _ in range(2):
        with pytest.raises(catena.ShapeError, match="dt must be finite and above zero"):
            robot.step(zero, zero, zero, dt, dtype=dtype)


def test_numbers_alone_are_arguments_of_the_emitted_call() -> None:
    robot, zero = catena.rod_chain(2), np.zeros(2)
    expected = robot.step(zero, zero, zero, np.array(0.5))
    for dt in (0.5, np.float64(0.5), np.float32(0.5)):
        assert np.array_equal(robot.step(zero, zero, zero, dt).v, expected.v)
    assert robot.step(zero, zero, zero, 1).q.shape == (2,)


def test_words_that_are_not_known_are_refused_with_a_hint() -> None:
    robot, zero = catena.rod_chain(2), np.zeros(2)
    with pytest.raises(catena.UnsupportedError, match="'semi_implicit'"):
        robot.step(zero, zero, zero, 1e-3, integrator="euler")
    with pytest.raises(catena.UnsupportedError, match="method"):
        robot.step(zero, zero, zero, 1e-3, method="dense")


BODY = {"free": [0.0, 12.0, 16.0, 0.6, 0.0, 0.8], "planar": [0.6, 0.8, 20.0]}
"""A body that turns at 20 rad/s and flies at 1 m/s."""


@pytest.mark.parametrize("joint", BODY)
@pytest.mark.parametrize(("integrator", "kernel"), [("semi_implicit", "unrolled"), ("linearly_implicit", "rolled")])
def test_bodies_fly_straight_on_while_they_turn(joint: str, integrator: str, kernel: str) -> None:
    builder = catena.Builder("body", gravity=(0, 0, 0)).link("b", 2.0, inertia=(0.1, 0.1, 0.1))
    robot = getattr(builder, joint)("f", "base", "b").build()
    start = np.array(BODY[joint])
    speeds, turns = (slice(3, 6), slice(0, 3)) if joint == "free" else (slice(0, 2), slice(2, 3))
    for dt in (1e-3, 4e-3):
        run = robot.rollout(
            robot.neutral(), start, None, dt, steps=round(3 / dt), every=50, integrator=integrator, kernel=kernel
        )
        assert np.abs(np.linalg.norm(run.v[:, speeds], axis=-1) - 1).max() < 1e-12
        assert np.abs(run.v[:, turns] - start[turns]).max() < 1e-11
        width = speeds.stop - speeds.start
        assert np.abs(run.q[:, :width] - np.outer(run.t, start[speeds])).max() < 1e-11


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_bodies_of_systems_fly_straight_on_while_they_turn(kernel: str) -> None:
    """The step of a System, in both of its shapes, beside a body that is held."""
    body = catena.Builder("body").link("b", 2.0, inertia=(0.1, 0.1, 0.1)).free("f", "base", "b").build()
    system = catena.System({}, {"flies": body, "held": body}, [catena.Weld("held", "world")], gravity=(0, 0, 0))
    q, v = system.neutral(), np.array([*BODY["free"], *np.zeros(6)])
    for _ in range(100):
        q, v = system.step(q, v, np.zeros(12), 4e-3, kernel=kernel)
    assert np.linalg.norm(v[3:6]) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(q[:3] - 0.4 * np.array(BODY["free"][3:])).max() < 1e-12


def hung(joint: str, centred: bool, turns: float = 10.0) -> tuple[catena.Robot, np.ndarray]:
    """A body of three unlike moments behind a joint of a link that turns itself; all speeds, without forces."""
    com = (0.0, 0.0, 0.0) if centred else (0.05, 0.1, 0.02)
    builder = catena.Builder("hung", gravity=(0, 0, 0)).link("arm", 1.0, inertia=(0.2, 0.2, 0.2))
    builder = builder.link("body", 2.0, com=com, inertia=(0.1, 0.2, 0.27)).revolute("turn", "base", "arm", axis="z")
    robot = getattr(builder, joint)("joint", "arm", "body", position=(0.3, 0.1, 0.2)).build()
    v = np.r_[2.0, np.random.default_rng(1).uniform(-1, 1, robot.nv - 1)]
    return robot, v * (turns / np.linalg.norm(v))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("joint", ["free", "planar", "spherical"])
@pytest.mark.parametrize("integrator", ["semi_implicit", "linearly_implicit"])
def test_joints_in_space_behind_others_keep_their_energy(joint: str, centred: bool, integrator: str) -> None:
    """It was up to eleven times as much after these 3 s at 1 ms, and 1.4 % more for spherical joints."""
    robot, v = hung(joint, centred)
    gained = []
    for dt in (1e-3, 2e-3):
        run = robot.rollout(robot.neutral(), v, None, dt, steps=round(3 / dt), every=10, integrator=integrator)
        energy = run.energy()
        gained.append(np.abs(energy / energy[0] - 1).max())
        assert np.abs(energy[-10:] / energy[0] - 1).max() < 3 * dt
    assert gained[0] < 5e-3
    assert gained[1] < 1e-2


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_a_body_let_go_by_what_turns_flies_straight_on(kernel: str) -> None:
    robot, v = hung("free", centred=True)
    run = robot.rollout(robot.neutral(), v, None, 4e-3, steps=500, kernel=kernel)
    at = robot.placements(run.q, ["body"]).position[:, 0]
    way = at - at[0]
    speed = way[-1] / run.t[-1]
    assert np.abs(way - run.t[:, None] * speed).max() < 1e-11 * np.linalg.norm(way[-1])


@pytest.mark.parametrize("joint", ["free", "spherical"])
def test_bodies_of_unlike_moments_tumble_without_gain(joint: str) -> None:
    """Of 2 % in 3 s, at 10 rad/s and 1 ms, none is left; nothing else than rounding and terms of order dt² are."""
    builder = catena.Builder("body", gravity=(0, 0, 0)).link("b", 2.0, inertia=(0.1, 0.2, 0.27))
    robot = getattr(builder, joint)("j", "base", "b").build()
    v = np.zeros(robot.nv)
    v[:3] = 6.0, 0.3, 7.0
    for dt, bound in ((1e-3, 4e-5), (4e-3, 6e-4)):
        energy = robot.rollout(robot.neutral(), v, None, dt, steps=round(10 / dt), every=50).energy()
        assert np.abs(energy / energy[0] - 1).max() < bound


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_steps_in_space_are_linearised_as_they_are_made(kernel: str) -> None:
    builder = catena.Builder("mixed")
    parent = "base"
    for i, joint in enumerate(("spherical", "free", "planar", "universal")):
        builder = builder.link(f"l{i}", 1.0 + i, com=(0.1, 0.02, 0.03), inertia=(0.1, 0.2, 0.27))
        builder = getattr(builder, joint)(joint, parent, f"l{i}", position=(0.1, 0.2, 0.1 * i))
        parent = f"l{i}"
    robot, rng, dt, h = builder.build(), np.random.default_rng(5), 0.01, 1e-6
    q, (v, tau) = robot.random_configuration(rng), 2 * rng.standard_normal((2, robot.nv))
    A, B = robot.linearize(q, v, tau, dt, kernel=kernel)
    x = np.eye(3 * robot.nv)[:, None] * np.array([h, -h])[:, None]
    dq, dv, dtau = np.split(x, 3, axis=-1)
    q1, v1 = robot.step(robot.integrate(q, dq), v + dv, tau + dtau, dt, kernel=kernel)
    differences = np.concatenate([robot.difference(q1[:, 1], q1[:, 0]), v1[:, 0] - v1[:, 1]], axis=-1).T / (2 * h)
    assert np.abs(np.concatenate([A, B], axis=-1) - differences).max() < 1e-7
