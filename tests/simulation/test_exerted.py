"""What acted on the links of a run: with it, inverse dynamics give back the torques of every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena

DT = 1e-3
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]


@pytest.fixture(scope="module")
def dog() -> catena.Robot:
    return catena.load("quadruped", base="floating")


def falling(dog: catena.Robot, **more: Any) -> catena.Run:
    q = dog.neutral()
    q[2], q[7:] = 0.38, np.tile([0.0, 0.5, -1.0], 4)
    v = np.r_[np.zeros(3), 0.4, 0.1, -1.0, np.zeros(12)]
    tau = np.random.default_rng(0).normal(size=(150, dog.nv)) * np.r_[np.zeros(6), np.ones(12)]
    return dog.rollout(q, v, tau, DT, ground=catena.Ground(FEET, radius=0.02), **more)


def accelerations(run: catena.Run) -> np.ndarray:
    """Of joints, and of the base from its velocity in axes that stand still, less what turning axes make of it.

    Its angular velocity changes by (ω̇ + ½ dt ω̇ × ω) dt.
    """
    a = np.diff(run.v, axis=-2) / run.dt
    if run.robot.joints[0].type == "free":
        w = run.v[..., :-1, :3]
        skew = np.cross(w[..., None, :], np.eye(3))  # its rows are ω × e: its transpose is ω×
        a[..., :3] = np.linalg.solve(np.eye(3) - run.dt / 2 * np.swapaxes(skew, -1, -2), a[..., :3, None])[..., 0]
        v, turn = run.v[..., :6], Rotation.from_quat(run.q[..., 3:7].reshape(-1, 4)).as_matrix()
        world = np.einsum("...ij,...j->...i", turn.reshape(*v.shape[:-1], 3, 3), v[..., 3:])
        change = np.diff(world, axis=-2) / run.dt
        back = np.einsum("...ji,...j->...i", turn.reshape(*v.shape[:-1], 3, 3)[..., :-1, :, :], change)
        a[..., 3:6] = back - np.cross(v[..., :-1, :3], v[..., :-1, 3:])
    return a


def missing(run: catena.Run) -> float:
    """By how much the torques of inverse dynamics differ from those that acted, beside the largest wrench."""
    a = accelerations(run)
    tau = run.robot.inverse_dynamics(run.q[..., :-1, :], run.v[..., :-1, :], a, run.wrenches)
    acted = 0.0 if run.tau is None else run.tau
    assert run.wrenches is not None
    return float(np.abs(tau - acted).max() / np.abs(run.wrenches).max())


@pytest.mark.parametrize("dt", [5e-4, 1e-3, 4e-3])
def test_drops_gain_no_energy_and_the_ground_pushes_within_the_cone(dog: catena.Robot, dt: float) -> None:
    """Feet that others throw up within a step are not pulled, and what is told is what acted."""
    rng, friction = np.random.default_rng(0), 0.5
    q = dog.random_configuration(rng, 32)
    q[:, :3] = 0, 0, 0.9
    v = rng.standard_normal((32, dog.nv)) - 3 * np.eye(dog.nv)[5]
    ground = catena.Ground(FEET, radius=0.02, friction=friction)
    run = dog.rollout(q, v, None, dt, steps=round(0.5 / dt), ground=ground)
    assert missing(run) < 1e-10
    forces = run.contact_forces()[1]
    up, along = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    assert up.max() > 10 * 9.81 * dog.total_mass
    assert up.min() > -1e-12 * up.max()
    assert (along <= friction * up * (1 + 1e-9) + 1e-9).all()
    energy = run.energy()
    assert (energy - energy[:, :1] < 1e-3 * np.abs(energy[:, :1])).all()


def test_the_ground_pushes_systems_within_the_cone() -> None:
    """Two sticks with a ball joint between them fall onto their ends."""
    ends = np.array([[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0]])
    builder = catena.Builder("stick").link("stick", mass=1.0, inertia=(0.03, 0.03, 0.001))
    stick = builder.free("free", "base", "stick").build()
    joint = catena.Ball("a", "b", ends[1], second_position=ends[0])
    system = catena.System({}, {"a": stick, "b": stick}, [joint])
    rng, q = np.random.default_rng(1), np.tile(system.neutral(), (8, 1))
    q[:, 2], q[:, 7], q[:, 9] = 0.4, 0.6, 0.4
    spin = 3 * rng.standard_normal((2, 8))
    v = np.zeros((8, 12))
    v[:, 5], v[:, 1], v[:, 7] = -3.0, *spin
    v[:, 11] = -3.0 - 0.3 * spin.sum(axis=0)  # the points that are held together move together
    ground = catena.Ground({"a": ends, "b": ends}, friction=0.5)
    run = system.rollout(q, v, None, 2e-3, steps=250, ground=ground)
    forces = run.contact_forces()[1]
    up, along = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    assert up.max() > 10 * 9.81
    assert up.min() > -1e-12 * up.max()
    assert (along <= 0.5 * up * (1 + 1e-9) + 1e-9).all()
    energy = run.energy()
    assert (energy - energy[:, :1] < 5e-3 * energy[:, :1]).all()


def test_the_ground_exerts_what_inverse_dynamics_miss(dog: catena.Robot) -> None:
    run = falling(dog)
    assert missing(run) < 1e-11
    points, forces = run.contact_forces()
    touching = np.linalg.norm(forces, axis=-1) > 0
    assert touching.any()
    assert not touching[0].any()  # it falls first
    assert forces[..., 2].min() >= 0.0
    assert np.abs(points[touching][:, 2]).max() < 5e-3  # at the ground
    moments = np.cross(points, forces)
    turn, shift = dog.placements(run.q[:-1])
    given = np.cross(shift, forces) + (turn @ run.wrenches[..., :3, None])[..., 0]  # type: ignore[index]
    along = np.cross(moments - given, forces)  # the point is on the line of force: what is left is a moment along it
    assert np.abs(along).max() < 1e-6 * np.square(forces).sum(axis=-1).max()


def test_states_that_were_not_kept_are_computed_again(dog: catena.Robot, tmp_path: Path) -> None:
    all_, some = falling(dog), falling(dog, every=10)
    assert np.array_equal(some.wrenches, all_.wrenches[::10])  # type: ignore[index]
    some.save(tmp_path / "run.npz")
    again = catena.load_run(tmp_path / "run.npz")
    assert np.array_equal(again.wrenches, some.wrenches)  # type: ignore[arg-type]
    assert np.array_equal(again.contact_forces(), some.contact_forces())


def test_simulations_and_samples(dog: catena.Robot) -> None:
    q = np.tile(dog.neutral(), (2, 1))
    q[:, 2] = 0.5, 0.51
    options: dict[str, Any] = {
        "ground": catena.Ground(FEET, radius=0.02),
        "integrator": "semi_implicit",
        "duration": 0.06,
        "dt": DT,
    }
    run = catena.simulate(dog, q, np.zeros((2, dog.nv)), every=3, **options)
    alone = catena.simulate(dog, q[1], np.zeros(dog.nv), every=3, **options)
    assert run.wrenches is not None
    assert run.wrenches.shape == (2, 20, dog.tree.n, 6)
    assert np.array_equal(run.wrenches[1], alone.wrenches)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_pins_drag_and_wrenches_of_ones_own(kernel: str) -> None:
    cable = catena.rod_chain(5, length=0.2)
    q = np.array([0.8, -0.3, -0.4, -0.3, -0.5])
    tip = cable.links[-1].name
    pins = catena.Pins({tip: cable.placements(q, [tip]).position[0]})
    push = {cable.links[2].name: np.array([0.0, 0.1, 0.0, 0.3, 0.0, 0.2])}
    drag = catena.Drag(normal=0.2, linear_normal=0.1)
    run = cable.rollout(q, np.ones(5), None, DT, steps=60, pins=pins, drag=drag, f_ext=push, kernel=kernel)
    assert missing(run) < 1e-9
    pushed = cable.rollout(q, np.ones(5), None, DT, steps=3, f_ext=push, kernel=kernel)
    assert np.allclose(pushed.wrenches[..., 2, :], push[cable.links[2].name])  # type: ignore[index]
    free = cable.rollout(q, np.ones(5), None, DT, steps=3, kernel=kernel)
    assert free.wrenches is None
    assert not np.any(free.contact_forces()[1])
