"""Nothing drives free joints: robots under control fall, and a box is carried by the hands, not by the controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import run as command
from tests.mechanisms import relative

import catena
from catena import controllers

NAMES = ["hold", "gravity_compensation", "computed_torque"]


def made(name: str, target: Any, **options: Any) -> controllers.Controller:
    gains = {} if name == "gravity_compensation" else {"target": target, "kp": 90.0, "kd": 15.0}
    found: controllers.Controller = getattr(controllers, name)(**gains, **options)
    return found


@pytest.fixture(scope="module")
def hopper() -> catena.Robot:
    return catena.random_tree(5, 3, ["revolute", "spherical"], base="floating")


def start(robot: catena.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    q, target = robot.random_configuration(rng, (2, 3))
    q[:, :3] = 0, 0, 5
    return q, rng.normal(size=(3, robot.nv)), target


@pytest.mark.parametrize("name", NAMES)
def test_dropped_from_five_metres(hopper: catena.Robot, name: str) -> None:
    """The mass centre falls freely, whatever the joints do."""
    q, v, target = start(hopper)
    t, v = 0.25, 0.1 * v
    run = hopper.rollout(q, v, None, 1e-3, steps=250, control=made(name, target), integrator="rk4")
    flown = hopper.center_of_mass(q) + t * hopper.center_of_mass_velocity(q, v) - [0, 0, 9.81 * t * t / 2]
    assert np.allclose(hopper.center_of_mass(run.q[:, -1]), flown, rtol=0, atol=1e-6)
    assert run.tau is not None
    assert not run.tau[..., :6].any()


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_torques_of_joints(hopper: catena.Robot, kernel: str) -> None:
    """Those at joints are as they were; with computed torques joints accelerate as is wanted, in flight too."""
    q, v, target = start(hopper)
    wanted = 90 * hopper.difference(q, target) - 15 * v
    M, bias = hopper.mass_matrix(q).dense(), hopper.inverse_dynamics(q, v, np.zeros_like(v))
    pull = M[:, :6, 6:] @ wanted[:, 6:, None] + bias[:, :6, None]
    falling = -np.linalg.solve(M[:, :6, :6], pull)[..., 0]
    a = np.concatenate([falling, wanted[:, 6:]], axis=-1)
    still = hopper.gravity_torque(q)
    expected = {
        "hold": (wanted + still, wanted + still),
        "gravity_compensation": (still, still),
        "computed_torque": (hopper.inverse_dynamics(q, v, a), hopper.inverse_dynamics(q, v, wanted)),
    }
    for name, (of_joints, of_all) in expected.items():
        for driven, tau in ((False, np.where(np.arange(hopper.nv) < 6, 0.0, of_joints)), (True, of_all)):
            if kernel == "rolled" and (driven or name != "computed_torque"):
                continue  # each takes seconds to compile
            control = made(name, target, drive_free_joints=driven)
            run = hopper.rollout(q, v, None, 1e-3, steps=1, control=control, kernel=kernel)
            assert run.tau is not None
            assert relative(run.tau[:, 0], tau) < 1e-10


def test_free_joints_beyond_others() -> None:
    """A ball that flies beside a slider, its parent, with a hinge at it."""
    parts = catena.Builder("odd", base="ground").link("cart", mass=2.0).link("ball", mass=0.5, inertia=(1, 1, 1))
    parts.link("arm", mass=0.3, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    parts.prismatic("slide", "ground", "cart", axis="x").free("flight", "cart", "ball")
    robot = parts.revolute("hinge", "ball", "arm", axis="y").build()
    q, v = robot.random_configuration(1), np.linspace(-1, 1, robot.nv)
    run = robot.rollout(q, v, None, 1e-3, steps=1, control=controllers.computed_torque(robot.neutral(), 30.0, 4.0))
    assert run.tau is not None
    free = robot.joint("flight").v_slice
    assert not run.tau[0, free].any()
    a = robot.forward_dynamics(q, v, run.tau[0]) - (30 * robot.difference(q, robot.neutral()) - 4 * v)
    a[free] = 0
    assert np.abs(a).max() < 1e-10


def test_a_box_is_carried_by_the_hands() -> None:
    """Two lifts that hold a box compensate their own weights: all of it sinks, until springs at the lifts carry it."""
    lift = catena.Builder("lift").link("hand", mass=1.0).prismatic("up", "base", "hand", axis="z").build()
    box = catena.Builder("box").link("body", mass=3.0, inertia=(0.03, 0.04, 0.05)).build(base="floating")
    held = [catena.Weld(f"{side}/hand", "box", second_position=(x, 0, 0)) for side, x in (("l", -0.2), ("r", 0.2))]
    places = {"l": (-0.2, 0, 0), "r": (0.2, 0, 0)}
    system = catena.System({"l": lift, "r": lift}, objects=[box], constraints=held, placements=places)
    q, v = system.close(system.neutral()), np.zeros(system.nv)
    for name in NAMES:
        for steps, sunk in ((1, -9.81 * 3 / 5 * 1e-6), (3000, {"hold": -3 * 9.81 / (2 * 90)}.get(name))):
            run = system.rollout(q, v, None, 1e-3, steps=steps, every=steps, control=made(name, q))
            assert run.tau is not None
            assert not run.tau[:, 2:].any()
            assert sunk is None or np.allclose(run.q[-1, [0, 1, 4]] - q[[0, 1, 4]], sunk, rtol=1e-3, atol=1e-12)


def test_in_the_shell(tmp_path: Path) -> None:
    for words, height in (((), 5 - 9.81 * 0.02), (("--drive-free-joints",), 5.0)):
        out = tmp_path / "run.npz"
        q = "0,0,5,0,0,0,1," + ",".join(["0"] * 12)
        told = command(
            "simulate", "quadruped", "--base", "floating", "--control", "hold", "--target", q, "--q", q,
            "--duration", "0.2", "--out", out, "--json", *words,
        )  # fmt: skip
        assert not json.loads(told.stdout)["diverged"]
        run = catena.load_run(out)
        assert np.isclose(run.robot.center_of_mass(run.q[-1])[2] - run.robot.center_of_mass(run.q[0])[2], height - 5)
