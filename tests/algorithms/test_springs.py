"""Springs of joints: conservative on every joint, with the slopes of what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.mechanisms import relative

import catena

H = 1e-6


@pytest.fixture(scope="module")
def sprung() -> catena.Robot:
    """A free base, and a spherical, a planar, a universal and a revolute joint, whose springs rest elsewhere."""
    rng = np.random.default_rng(1)
    robot = catena.random_tree(3, 4, ["spherical", "planar", "universal", "revolute"], 0.3, base="floating")
    stiffness, rest = rng.uniform(0.2, 2.0, robot.nv), rng.uniform(-1.0, 1.0, robot.nv)
    return catena.Robot(replace(robot.tree, stiffness=stiffness, rest=rest))


def ball(stiffness: object, rest: object = 0.0) -> catena.Robot:
    """A body on a ball joint."""
    builder = catena.Builder("ball", gravity=(0, 0, 0)).link("b", 1.0, inertia=(0.1, 0.2, 0.25))
    return builder.spherical("j", "base", "b", stiffness=stiffness, rest=rest).build()


def test_the_energy_is_that_of_the_turn_and_the_shift_from_the_rest_pose() -> None:
    k, rest = np.array([1.0, 5.0, 9.0, 2.0, 3.0, 4.0]), np.array([0.3, -0.4, 0.5, 0.0, 0.0, 0.0])
    builder = catena.Builder("body").link("b", 1.0, inertia=(0.1, 0.2, 0.25))
    robot = builder.free("j", "base", "b", stiffness=k.tolist(), rest=rest.tolist()).build()
    q = robot.random_configuration(np.random.default_rng(0))
    back = Rotation.from_rotvec(rest[:3]).inv()
    stretch = np.concatenate([(back * Rotation.from_quat(q[3:])).as_rotvec(), back.apply(q[:3])])
    assert robot.spring_energy(q) == pytest.approx(0.5 * k @ stretch**2, rel=1e-12)


def test_torques_are_the_gradient_of_the_energy_and_slopes_its_second_derivatives(sprung: catena.Robot) -> None:
    zero, rng = np.zeros(sprung.nv), np.random.default_rng(2)
    q, still = sprung.random_configuration(rng), {"v": zero, "a": zero}

    def torques(q: np.ndarray) -> np.ndarray:
        return sprung.inverse_dynamics(q, **still, joint_springs=True) - sprung.inverse_dynamics(q, **still)

    moved = [[sprung.integrate(q, sign * H * unit) for unit in np.eye(sprung.nv)] for sign in (1, -1)]
    up, down = (sprung.spring_energy(np.array(x)) for x in moved)
    assert relative(torques(q), (up - down) / (2 * H)) < 1e-7
    up, down = (torques(np.array(x)) for x in moved)
    for kernel in ("unrolled", "rolled"):
        with_them = sprung.inverse_dynamics_derivatives(q, **still, joint_springs=True, kernel=kernel).dq
        without = sprung.inverse_dynamics_derivatives(q, **still, kernel=kernel).dq
        assert relative(with_them - without, (up - down).T / (2 * H)) < 1e-7


def test_derivatives_by_stiffness_and_rest(sprung: catena.Robot) -> None:
    rng = np.random.default_rng(3)
    q, (v, tau), P = sprung.random_configuration(rng), rng.uniform(-1, 1, (2, sprung.nv)), sprung.parameters().vector
    found = sprung.forward_dynamics_parameter_derivatives(q, v, tau, joints=True, joint_springs=True)
    first, n = 10 * sprung.tree.n + 3 * sprung.nv, sprung.nv
    numbers = [int(i) for i in np.flatnonzero([name.startswith(("stiffness", "rest")) for name in names(sprung)])]
    assert numbers == list(range(first, first + 2 * n))
    for i in numbers:
        step = H * np.eye(len(P))[i]
        options = {"joint_losses": True, "joint_springs": True}
        up, down = (sprung.forward_dynamics(q, v, tau, parameters=P + s * step, **options) for s in (1, -1))
        assert np.abs(found[:, i] - (up - down) / (2 * H)).max() < 1e-5 * (1 + np.abs(found[:, i]).max())


def names(robot: catena.Robot) -> list[str]:
    n, nv = robot.tree.n, robot.nv
    return ["inertia"] * (10 * n) + [
        x for x in ("armature", "damping", "friction", "stiffness", "rest") for _ in range(nv)
    ]


@pytest.mark.parametrize(
    ("stiffness", "rest"), [([1.0, 5.0, 9.0], 0.0), (5.0, [0.5, -0.8, 1.0]), ([1.0, 5.0, 9.0], 0.7)]
)
def test_bodies_on_ball_joints_keep_their_energy(stiffness: object, rest: object) -> None:
    robot = ball(stiffness, rest)
    run = robot.rollout(robot.neutral(), [0.5, 1.0, -0.5], None, 1e-3, steps=2000, every=100, integrator="rk4")
    energy = run.energy()
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert np.ptp(robot.kinetic_energy(run.q, run.v)) > 0.1 * energy[0]


def test_a_cable_that_twists_keeps_its_energy() -> None:
    robot = catena.cable(1.0, 3, 1.0, 0.5, GJ=0.2, radius=0.05, gravity=(0, 0, 0))
    v = np.tile([1.0, 2.0, -1.5], 3)
    run = robot.rollout(robot.neutral(), v, None, 2e-4, steps=2000, every=100, integrator="rk4")
    energy = run.energy()
    assert np.abs(robot.difference(robot.neutral(), run.q)).max() > 0.15
    assert np.ptp(energy) < 1e-7 * energy[0]


def test_linearised_steps_have_the_springs_that_steps_have(sprung: catena.Robot) -> None:
    rng, dt, n = np.random.default_rng(4), 0.02, sprung.nv
    q, (v, tau) = sprung.random_configuration(rng), rng.uniform(-1, 1, (2, n))
    reached = sprung.step(q, v, tau, dt).q
    columns = []
    for unit in np.eye(3 * n):
        at, speeds, torques = np.split(H * unit, 3)
        ends = [sprung.step(sprung.integrate(q, s * at), v + s * speeds, tau + s * torques, dt) for s in (1, -1)]
        up, down = (np.concatenate([sprung.difference(reached, x.q), x.v]) for x in ends)
        columns.append((up - down) / (2 * H))
    for kernel in ("unrolled", "rolled"):
        A, B = sprung.linearize(q, v, tau, dt, kernel=kernel)
        assert relative(np.concatenate([A, B], axis=-1), np.array(columns).T) < 1e-7
