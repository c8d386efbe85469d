"""Pins: a catenary between two supports and a pendulum against theory, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import catena

IMPLICIT: dict[str, Any] = {"integrator": "linearly_implicit", "joint_losses": True}
GRAVITY = 9.81


def body(**more: Any) -> catena.Robot:
    """A body of 2 kg that nothing holds."""
    builder = catena.Builder("body", **more).link("box", mass=2.0, inertia=np.diag([0.02, 0.03, 0.04]))
    builder.link("corner").free("joint", "base", "box")
    return builder.fixed("weld", "box", "corner", position=(0.0, 0.0, 0.5)).build()


def bent(links: int, share: float) -> np.ndarray:
    """A cable as a V whose ends are as far apart as a share of its length."""
    q = np.zeros((links, 2))
    q[0, 0] = np.arccos(share)
    q[links // 2, 0] = -2 * q[0, 0]
    return q.ravel()


def test_a_cable_between_two_supports_is_a_catenary() -> None:
    """Of 400 pieces, in steps of 1 ms: its sag and its shape to one percent."""
    links, span = 400, 0.8
    cable = catena.cable(1.0, links, EI=1e-5, density=0.1, damping=0.02, start="pinned")
    pins, water = catena.Pins({"tip": (span, 0.0, 0.0)}), catena.Drag(linear_normal=2e-3)
    q = bent(links, span)
    run = cable.rollout(q, np.zeros(cable.nv), None, 1e-3, steps=5000, every=5000, pins=pins, drag=water, **IMPLICIT)
    a = brentq(lambda a: 2 * a * np.sinh(span / (2 * a)) - 1.0, 0.05, 5.0)
    places = np.vstack([cable.placements(run.q[-1]).position, cable.placements(run.q[-1], ["tip"]).position])
    sag = a * (np.cosh(span / (2 * a)) - 1)
    assert np.abs(places[-1] - [span, 0.0, 0.0]).max() < 1e-4
    assert -places[:, 2].min() == pytest.approx(sag, rel=0.01)
    s = np.linspace(-0.5, 0.5, links + 1)  # along the cable, from its lowest point
    shape = np.stack([span / 2 + a * np.arcsinh(s / a), 0 * s, np.hypot(a, s) - a - sag], axis=-1)
    assert np.abs(places - shape).max() < 0.01 * sag


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_a_pinned_body_is_a_pendulum(kernel: str) -> None:
    """Held at a point 0.5 m from its centre, a body swings with √(m g l / (I + m l²)), and the point stays."""
    robot, q = body(), np.r_[0.3, -0.2, 0.1, 0.0, 0.0, 0.0, 1.0]
    pins = catena.Pins({"corner": np.array([0.3, -0.2, 0.6])})
    tilt = 0.02
    q[:3] = pins.places["corner"] - 0.5 * np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    q[3:] = 0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)
    run = robot.rollout(q, np.zeros(6), None, 2e-4, steps=12_000, every=10, pins=pins, kernel=kernel)
    held = robot.placements(run.q, ["corner"]).position[:, 0]
    assert np.abs(held - pins.places["corner"]).max() < 1e-4
    turned = run.q[:, 4]
    at = np.flatnonzero(turned[:-1] * turned[1:] < 0)
    crossings = run.t[at] + 2e-3 * turned[at] / (turned[at] - turned[at + 1])
    expected = np.sqrt(2.0 * GRAVITY * 0.5 / (0.03 + 2.0 * 0.25))
    assert np.pi / np.diff(crossings).mean() == pytest.approx(expected, rel=0.005)


def test_pins_give_way_as_springs_do_and_are_stable_however_stiff() -> None:
    robot, corners = body(), np.array([[0.2, 0.0, 0.0], [-0.1, 0.2, 0.0], [-0.1, -0.2, 0.0]])
    for stiffness, kernel in ((1e3, "unrolled"), (1e3, "rolled"), (1e9, "unrolled")):
        pins = catena.Pins({"box": corners}, {"box": corners}, stiffness=stiffness, damping=0.1 * stiffness)
        run = robot.rollout(robot.neutral(), np.zeros(6), None, 1e-2, steps=1000, every=1000, pins=pins, kernel=kernel)
        assert not run.diverged
        assert run.q[-1, 2] == pytest.approx(-2.0 * GRAVITY / (3 * stiffness), rel=1e-6)
        assert np.abs(run.v[-1]).max() < 1e-8


def test_goes_on_bit_for_bit_and_in_batches() -> None:
    robot, pins = body(), catena.Pins({"corner": (0.1, 0.0, 0.5)})
    q, v = robot.neutral(), np.full(6, 0.1)
    whole = robot.rollout(q, v, None, 1e-3, steps=20, pins=pins)
    half = robot.rollout(q, v, None, 1e-3, steps=10, pins=pins)
    rest = catena.simulate(robot, half.q[-1], half.v[-1], 0.01, 1e-3, t0=0.01, pins=pins, progress=False)
    assert np.array_equal(whole.q[10:], rest.q)
    many = robot.rollout(np.tile(q, (5, 1)), v, None, 1e-3, steps=20, pins=pins)
    assert np.allclose(many.q, whole.q, rtol=0, atol=1e-14)
    single = robot.rollout(q, v, None, 1e-3, steps=20, pins=pins, dtype=np.float32)
    assert np.allclose(single.q, whole.q, atol=1e-4)
    assert robot.rollout(np.zeros((0, 7)), np.zeros((0, 6)), None, 1e-3, steps=3, pins=pins).q.shape == (0, 4, 7)


def test_bad_input_is_named() -> None:
    robot = body()
    state: tuple[Any, ...] = robot.neutral(), np.zeros(6), None, 1e-3
    at = {"box": (0.0, 0.0, 0.0)}
    for pins, words in (
        (True, "catena.Pins"),
        (catena.Pins({}), "places"),
        (catena.Pins({"nowhere": (0, 0, 0)}), "nowhere"),
        (catena.Pins({"base": (0, 0, 0)}), "base"),
        (catena.Pins({"box": (0, 0)}), "places of 'box'"),
        (catena.Pins({"box": (0, 0, np.nan)}), "places of 'box'"),
        (catena.Pins(at, {"box": "here"}), "points of 'box'"),
        (catena.Pins(at, {"corner": (0, 0, 0)}), "corner"),
        (catena.Pins(at, {"box": np.zeros((2, 3))}), "2 points"),
        (catena.Pins({"box": np.zeros((100, 3))}), "100"),
        (catena.Pins(at, stiffness=-1.0), "stiffness"),
        (catena.Pins(at, damping="some"), "damping"),  # type: ignore[arg-type]
    ):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=1, pins=pins)
    for options, words in (({"method": "fd4"}, "pins= takes"), ({"integrator": "rk4"}, "pins")):
        with pytest.raises(catena.CatenaError, match=words):
            robot.rollout(*state, steps=1, pins=catena.Pins(at), **options)


def test_systems_are_pinned_as_their_robots_are() -> None:
    robot, off = body(), np.array([0.1, 0.0, -0.2])
    start = robot.neutral(), np.ones(6), 0.05, 1e-3
    alone = catena.simulate(robot, *start, pins=catena.Pins({"box": off}))
    together = catena.simulate(catena.System([robot]), *start, pins=catena.Pins({"body/box": off}))
    assert np.abs(together.q - alone.q).max() < 1e-12 < np.abs(alone.q[-1] - alone.q[0]).max()


def test_dask_and_checkpoints(tmp_path: Any) -> None:
    """Chunks of samples give the same bits, and another place is another simulation."""
    robot, pins, drag = body(), catena.Pins({"corner": (0.1, 0.0, 0.5)}), catena.Drag(1.0)
    q, v = np.tile(robot.neutral(), (4, 1)), np.linspace(-1, 1, 24).reshape(4, 6)
    run = robot.rollout(q, v, None, 1e-3, steps=10, pins=pins, drag=drag)
    file = tmp_path / "run.npz"
    more: dict[str, Any] = {"drag": drag, "checkpoint": file, "progress": False}
    catena.simulate(robot, q, v, 0.01, 1e-3, pins=pins, **more)
    with pytest.raises(catena.LoadError, match="another"):
        catena.simulate(robot, q, v, 0.01, 1e-3, pins=catena.Pins({"corner": (0.2, 0.0, 0.5)}), **more)
    da = pytest.importorskip("dask.array")
    chunks = [da.from_array(x, chunks=(2, -1)) for x in (q, v)]
    parts = robot.rollout(*chunks, None, 1e-3, steps=10, pins=pins, drag=drag)
    assert np.array_equal(run.q, np.asarray(parts.q))
