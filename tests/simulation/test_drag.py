"""Drag: falls and slowing against theory, energy that only falls, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena

IMPLICIT: dict[str, Any] = {"integrator": "linearly_implicit", "joint_losses": True}
GRAVITY, MASS = 9.81, 2.0


def body(gravity: Any = (0.0, 0.0, -GRAVITY), com: Any = (0.0, 0.0, 0.0)) -> catena.Robot:
    """A body that nothing holds."""
    builder = catena.Builder("body", gravity=gravity).link("box", mass=MASS, com=com, inertia=np.diag([0.2, 0.3, 0.4]))
    return builder.free("joint", "base", "box").build()


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_bodies_fall_as_theory_says(kernel: str) -> None:
    """v(t) of a fall through a medium that resists with b v, and with c v²; terminal speeds also in an updraught."""
    robot, state = body(), (np.r_[np.zeros(6), 1.0], np.zeros(6), None)
    b, c, dt = 4.0, 0.5, 1e-3
    slow = robot.rollout(
        *state, dt, steps=6000, every=500, drag=catena.Drag(linear_normal=b, linear_tangential=b), kernel=kernel
    )
    z = np.gradient(slow.q[:, 2], slow.t)  # only for the sign of speeds: they are seen from the body
    assert (z < 0).all()
    speed = np.linalg.norm(slow.v, axis=-1)
    assert np.allclose(speed, MASS * GRAVITY / b * (1 - np.exp(-b / MASS * slow.t)), rtol=0, atol=0.005)
    fast = robot.rollout(*state, dt, steps=6000, every=500, drag=catena.Drag(c, c), kernel=kernel)
    end = np.sqrt(MASS * GRAVITY / c)
    assert np.allclose(np.linalg.norm(fast.v, axis=-1), end * np.tanh(GRAVITY / end * fast.t), rtol=0, atol=0.005)
    up = robot.rollout(
        *state, 1e-2, steps=2000, every=2000, drag=catena.Drag(c, c, velocity=(1.0, 0.0, end)), kernel=kernel
    )
    carried = 1 - 1 / (1 + c / MASS * 20.0)  # along x, where the quadratic law is left to itself for 20 s
    assert np.linalg.norm(up.v[-1]) == pytest.approx(carried, rel=1e-9)  # and held up


def test_a_cable_falls_faster_along_than_across() -> None:
    """Terminal speeds of straight cables: ½ ρ C d v² balances the weight of a metre; the diameter is the model's."""
    density, radius = 0.1, 0.004
    ends = {}
    for name, down in (("across", (0.0, 0.0, -GRAVITY)), ("along", (GRAVITY, 0.0, 0.0))):
        cable = catena.cable(1.0, 12, 0.5, density, GJ=0.5, radius=radius, damping=0.01, start="free", gravity=down)
        air = catena.Drag.of_cylinders(cable, normal=1.0, tangential=0.02)
        run = cable.rollout(
            cable.neutral(),
            np.zeros(cable.nv),
            None,
            1e-2,
            steps=4000,
            every=4000,
            drag=air,
            kernel="rolled",
            **IMPLICIT,
        )
        ends[name] = np.linalg.norm(run.v[-1, :6])
    assert ends["across"] == pytest.approx(np.sqrt(density * GRAVITY / (0.5 * 1.2 * 1.0 * 2 * radius)), rel=0.01)
    assert ends["along"] == pytest.approx(
        np.sqrt(density * GRAVITY / (0.5 * 1.2 * 0.02 * np.pi * 2 * radius)), rel=0.01
    )


def test_turning_is_held_back_by_the_drag_along_the_length() -> None:
    """ω of a rod about its middle: I ω̇ = −b ℓ²/12 ω with drag b v, and −c ℓ³/32 ω² with c v²."""
    wheel = catena.Builder("wheel").link("rod", mass=1.0, inertia=np.diag([0.2, 0.3, 0.4]))
    robot, w, I, length = wheel.revolute("axle", "base", "rod", axis="z").build(), 3.0, 0.4, 1.5
    state = np.zeros(1), np.array([w]), None
    for drag, expected in (
        (catena.Drag(linear_normal=0.8, length=length), w * np.exp(-0.8 * length**2 / 12 / I * 2.0)),
        (catena.Drag(normal=0.8, length=length), w / (1 + 0.8 * length**3 / 32 / I * w * 2.0)),
    ):
        run = robot.rollout(*state, 1e-3, steps=2000, every=2000, drag=drag)
        assert run.v[-1, 0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_drag_never_adds_energy(kernel: str) -> None:
    """However strong it is, however long the step; for bodies and chains that move in any way."""
    rng = np.random.default_rng(3)
    chain = catena.rod_chain(4, 0.3, 0.5, radius=0.02, gravity=(0, 0, 0))
    for factor in (0.1, 100.0, 1e7):
        drag = catena.Drag(factor, 0.3 * factor, 0.5 * factor, 2 * factor)
        q, v = rng.normal(size=(2, 8, 4))
        run = chain.rollout(q, v, None, 1e-4, steps=50, drag=drag, kernel=kernel)
        energy = chain.kinetic_energy(run.q, run.v)
        assert (np.diff(energy, axis=-1) <= 1e-9 * energy[:, :1]).all()
    lost = chain.rollout(q, v, None, 0.1, steps=3, drag=drag, kernel=kernel)
    assert np.abs(lost.v[:, -1]).max() < 1e-3


def test_loops_of_machine_code_agree() -> None:
    """Unrolled and rolled, with pins and drag together, on a branched robot that nothing holds."""
    robot = catena.load(catena.robots.path("quadruped"), base="floating")
    foot = next(name for name in robot.frames if "foot" in name)
    rng = np.random.default_rng(5)
    q, v = robot.neutral(), rng.normal(size=robot.nv)
    more: dict[str, Any] = {
        "drag": catena.Drag(rng.uniform(0, 3, robot.tree.n), 0.2, 0.5, 0.1, velocity=(1.0, 2.0, 3.0)),
        "pins": catena.Pins({foot: robot.placements(q, [foot]).position[0]}),
    }
    runs = [robot.rollout(q, v, None, 1e-3, steps=20, kernel=kernel, **more) for kernel in ("unrolled", "rolled")]
    assert np.allclose(runs[0].v, runs[1].v, rtol=1e-9, atol=1e-9)
    free = robot.rollout(q, v, None, 1e-3, steps=20)
    assert not np.allclose(free.v, runs[0].v, atol=0.1)


def test_bad_input_is_named() -> None:
    robot = body()
    state: tuple[Any, ...] = robot.neutral(), np.zeros(6), None, 1e-3
    for drag, words in (
        (0.3, "catena.Drag"),
        (catena.Drag(-1.0), "normal"),
        (catena.Drag(tangential=[1.0, 2.0]), "tangential"),
        (catena.Drag(linear_normal=np.nan), "linear_normal"),
        (catena.Drag(linear_tangential="much"), "linear_tangential"),  # type: ignore[arg-type]
        (catena.Drag(1.0, velocity=2.0), "velocity"),
        (catena.Drag(1.0, axis=(0, 0, 0)), "axis"),
        (catena.Drag(1.0, axis=(0, 1)), "axis"),
        (catena.Drag(1.0, length=-1.0), "length"),
    ):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=1, drag=drag)
    for options, words in (({"method": "fd4"}, "drag= takes"), ({"integrator": "rk4"}, "drag")):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=1, drag=catena.Drag(1.0), **options)
    thin = catena.cable(1.0, 3, 1.0, 0.1)
    with pytest.raises(catena.ModelError, match="link1"):
        catena.Drag.of_cylinders(thin)
    with pytest.raises(catena.ShapeError, match="diameter"):
        catena.Drag.of_cylinders(thin, -1.0)
