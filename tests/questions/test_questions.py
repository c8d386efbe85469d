"""Questions about links, frames and momenta: both kernel shapes, batches, points, frames, the base, and errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import catena
from catena import robots
from catena.errors import ModelError, ShapeError, SingularError, UnknownNameError, UnsupportedError

FRAMES = ("link", "world", "mixed")


@pytest.fixture(scope="module")
def tree() -> catena.Robot:
    return catena.random_tree(7, 6, ("revolute", "universal", "prismatic", "spherical"), base="floating")


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load(robots.path("seven_dof_arm"))


def state(robot: catena.Robot, batch: tuple[int, ...] = (3,)) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return robot.random_configuration(rng, batch), *rng.standard_normal((2, *batch, robot.nv))


def close(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert np.shape(found) == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * max(1.0, np.abs(expected).max(initial=0.0)))


def fixed_frame(robot: catena.Robot) -> str:
    """A frame that is fixed to a moving link, if there is one, else the last link."""
    return next((name for name, frame in robot.frames.items() if frame.link >= 0), robot.links[-1].name)


QUESTIONS = {
    "placements": lambda r, q, v, a, **o: np.concatenate([x.reshape(3, -1) for x in r.placements(q, **o)], axis=1),
    "velocities": lambda r, q, v, a, **o: np.stack([r.link_velocities(q, v, f, **o) for f in FRAMES]),
    "accelerations": lambda r, q, v, a, **o: np.stack([r.link_accelerations(q, v, a, f, **o) for f in FRAMES]),
    "kinetic": lambda r, q, v, a, **o: r.kinetic_energy(q, v, **o),
    "potential": lambda r, q, v, a, **o: r.potential_energy(q, **o),
    "gravity": lambda r, q, v, a, **o: r.gravity_torque(q, **o),
    "coriolis": lambda r, q, v, a, **o: r.coriolis_matrix(q, v, **o),
    "coriolis_times": lambda r, q, v, a, **o: r.coriolis_times(q, v, a, **o),
    "center": lambda r, q, v, a, **o: r.center_of_mass(q, **o),
    "center_velocity": lambda r, q, v, a, **o: r.center_of_mass_velocity(q, v, **o),
    "center_jacobian": lambda r, q, v, a, **o: r.center_of_mass_jacobian(q, **o),
    "momentum": lambda r, q, v, a, **o: r.momentum(q, v, **o),
    "momentum_about_base": lambda r, q, v, a, **o: r.momentum(q, v, "base", **o),
    "momentum_about_a_point": lambda r, q, v, a, **o: r.momentum(q, v, (0.1, -0.2, 0.3), **o),
    "momentum_about_points": lambda r, q, v, a, **o: r.momentum(q, v, 3 * v[..., :3], **o),
    "forward_derivatives": lambda r, q, v, a, **o: np.stack(r.forward_dynamics_derivatives(q, v, a, **o)),
    "inverse_derivatives": lambda r, q, v, a, **o: np.stack(r.inverse_dynamics_derivatives(q, v, a, **o)),
    "bias_derivatives": lambda r, q, v, a, **o: np.stack(r.bias_derivatives(q, v, **o)),
    "by_wrenches": lambda r, q, v, a, **o: r.inverse_dynamics_wrench_derivative(q, **o),
    "linearize": lambda r, q, v, a, **o: np.concatenate(r.linearize(q, v, a, **o), axis=-1),
    "energy_gradient": lambda r, q, v, a, **o: np.stack(r.kinetic_energy_gradient(q, v, **o)),
    "momentum_derivatives": lambda r, q, v, a, **o: np.stack(r.momentum_derivatives(q, v, **o)),
    "placement_derivatives": lambda r, q, v, a, **o: r.placement_derivatives(q, r.links[-1], **o).rotation,
    "jacobian_derivatives": lambda r, q, v, a, **o: r.jacobian_derivatives(q, r.links[-1], **o),
    "momentum_matrix": lambda r, q, v, a, **o: r.centroidal_momentum_matrix(q, **o),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_shapes_of_kernels_agree(tree: catena.Robot, question: str) -> None:
    q, v, a = state(tree)
    unrolled, rolled = (QUESTIONS[question](tree, q, v, a, kernel=shape) for shape in ("unrolled", "rolled"))
    close(rolled, unrolled)
    close(QUESTIONS[question](tree, q, v, a), unrolled)


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize("frame", FRAMES)
def test_products_with_the_jacobian(arm: catena.Robot, frame: str, shape: str) -> None:
    q, v, _ = state(arm)
    rng = np.random.default_rng(1)
    f, point = rng.standard_normal((2, 3, 6))
    for name, where in ((arm.links[-1].name, None), (fixed_frame(arm), point[:, :3])):
        options = {"point": where, "frame": frame, "kernel": shape}
        J = arm.jacobian(q, name, **options)
        close(J, arm.jacobian(q, name, point=where, frame=frame))
        close(arm.jacobian_times(q, name, v, **options), np.einsum("bij,bj->bi", J, v))
        close(arm.jacobian_transpose_times(q, name, f, **options), np.einsum("bij,bi->bj", J, f))
        step = 1e-6
        ahead, behind = (arm.jacobian_times(q + h * v, name, v, **options) for h in (step, -step))
        found = arm.jacobian_dot_times(q, name, v, **options)
        np.testing.assert_allclose(found, (ahead - behind) / (2 * step), rtol=0, atol=1e-7)


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_placement_of_frames_and_points(arm: catena.Robot, shape: str) -> None:
    q, *_ = state(arm)
    name, point = fixed_frame(arm), np.array([0.1, -0.2, 0.3])
    link, rotation, position = arm.frame(name)
    R, p = (x[:, link] for x in arm.placements(q, kernel=shape))
    found = arm.placement(q, name, point, kernel=shape)
    close(found.rotation, R @ rotation)
    close(found.position, p + R @ (position + rotation @ point))
    step = 1e-6
    for i, unit in enumerate(np.eye(arm.nv)):
        ahead, behind = (arm.placement(q + h * unit, name, point, kernel=shape).position for h in (step, -step))
        column = arm.jacobian(q, name, point, frame="mixed", kernel=shape)[:, 3:, i]
        np.testing.assert_allclose(column, (ahead - behind) / (2 * step), rtol=0, atol=1e-8)


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_placements_of_chosen_links_and_frames(arm: catena.Robot, shape: str) -> None:
    q, *_ = state(arm, (2, 3))
    chosen = [fixed_frame(arm), 2, arm.base_name, arm.links[-1]]
    out = np.empty((2, 3, 4, 3, 3)), np.empty((2, 3, 4, 3))
    found = arm.placements(q, chosen, kernel=shape, out=out)
    assert found.rotation is out[0]
    for i, link in enumerate(chosen):
        rotation, position = arm.placement(q, link)
        close(found.rotation[:, :, i], rotation)
        close(found.position[:, :, i], position)
    assert arm.placements(q[0, 0], arm.frames, dtype=np.float32).position.dtype == np.float32
    assert arm.placements(q, "flange").position.shape == (2, 3, 1, 3)
    with pytest.raises(UnknownNameError, match="did you mean 'flange'"):
        arm.placements(q, ["flang"])


@pytest.mark.parametrize("question", QUESTIONS)
def test_empty_batches(tree: catena.Robot, question: str) -> None:
    q, v, a = state(tree, (3, 0))
    for shape in ("unrolled", "rolled"):
        if question != "placements":
            assert np.size(QUESTIONS[question](tree, q, v, a.reshape(v.shape), kernel=shape)) == 0


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_the_base_does_not_move(arm: catena.Robot, shape: str) -> None:
    q, v, _ = state(arm)
    base = arm.base_name
    assert not arm.jacobian(q, base, kernel=shape).any()
    assert arm.jacobian(q, base, kernel=shape).shape == (3, 6, arm.nv)
    assert not arm.jacobian_times(q, base, v, frame="world", kernel=shape).any()
    assert not arm.jacobian_dot_times(q, base, v, kernel=shape).any()
    assert not arm.jacobian_transpose_times(q, base, np.ones(6), kernel=shape).any()
    R, p = arm.placement(q, base, point=(1.0, 2.0, 3.0), kernel=shape)
    close(R, np.broadcast_to(np.eye(3), (3, 3, 3)))
    close(p, np.broadcast_to([1.0, 2.0, 3.0], (3, 3)))


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize("frame", FRAMES)
def test_operational_inertia(tree: catena.Robot, frame: str, shape: str) -> None:
    q, *_ = state(tree)
    names, points = [tree.links[2].name, tree.links[-1].name], np.random.default_rng(2).standard_normal((2, 3))
    options = {"frame": frame, "kernel": shape}
    J = np.concatenate([tree.jacobian(q, n, p, frame) for n, p in zip(names, points, strict=True)], axis=1)
    inverse = tree.mass_matrix(q).inv()
    Omega = J @ inverse @ np.swapaxes(J, -1, -2)
    close(tree.operational_mobility(q, names, points, **options), Omega)
    one = J[:, :6]
    found = tree.operational_inertia(q, names[0], points[0], **options)
    close(found.inverse, Omega[:, :6, :6])
    close(found.inertia @ found.inverse, np.broadcast_to(np.eye(6), (3, 6, 6)))
    bar = tree.dynamically_consistent_inverse(q, names[0], points[0], **options)
    close(one @ bar, np.broadcast_to(np.eye(6), (3, 6, 6)))
    close(bar, inverse @ np.swapaxes(one, -1, -2) @ found.inertia)


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize("frame", FRAMES)
def test_operational_dynamics(tree: catena.Robot, frame: str, shape: str) -> None:
    """Λ ẍ + μ + p = J̄ᵀ τ for the accelerations that torques τ cause; without gravity p is zero, at rest μ is."""
    q, v, tau = state(tree)
    name, point = tree.links[-1].name, np.random.default_rng(2).standard_normal(3)
    inertia, coriolis, gravity = tree.operational_dynamics(q, name, v, point, frame, kernel=shape)
    close(inertia, tree.operational_inertia(q, name, point, frame).inertia)
    acceleration = tree.forward_dynamics(q, v, tau)
    moved = tree.jacobian_times(q, name, acceleration, point, frame)
    moved = moved + tree.jacobian_dot_times(q, name, v, point, frame)
    bar = tree.dynamically_consistent_inverse(q, name, point, frame)
    close(np.einsum("...ij,...j->...i", inertia, moved) + coriolis + gravity, np.einsum("...ji,...j->...i", bar, tau))
    free = tree.with_gravity((0, 0, 0)).operational_dynamics(q, name, v, point, frame, kernel=shape)
    close(free.coriolis, coriolis)
    assert not free.gravity.any()
    assert not tree.operational_dynamics(q, name, 0 * v, point, frame, kernel=shape).coriolis.any()


def test_out_and_float32(tree: catena.Robot) -> None:
    q, v, _ = state(tree)
    name = tree.links[-1].name
    J = np.empty((3, 6, tree.nv))
    assert tree.jacobian(q, name, out=J) is J
    close(J, tree.jacobian(q, name))
    small = tree.jacobian(q.astype(np.float32), name, dtype=np.float32)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, J, atol=1e-5)
    energies = np.empty(3)
    assert tree.kinetic_energy(q, v, out=energies) is energies
    pair = np.empty((2, 3, 6, 6))
    tree.operational_inertia(q, name, out=(pair[0], pair[1]))
    close(pair[1], tree.operational_mobility(q, name))


def test_joint_losses() -> None:
    robot = catena.load(robots.path("crane"))
    q, v, a = state(robot)
    losses = robot.damping * v + robot.friction * np.sign(v)
    close(robot.inverse_dynamics(q, v, a, joint_losses=True), robot.inverse_dynamics(q, v, a) + losses)
    close(robot.joint_losses(v), losses)
    with pytest.raises(ShapeError, match="v must have shape"):
        robot.joint_losses(v[..., :2])


@pytest.mark.parametrize("method", ["innovations", "fd1", "fd4", "udu", "dense", "fixman"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forward_dynamics_undoes_inverse_dynamics_with_losses(method: str, dtype: Any) -> None:
    tree = catena.random_tree(3, 5, ("revolute", "prismatic", "spherical")).tree
    damping, friction = np.random.default_rng(0).uniform(0.1, 2.0, (2, tree.nv))
    robot = catena.Robot(replace(tree, damping=damping, friction=friction))
    q, v, a = state(robot)
    v[0] = 0.0  # where dry friction takes nothing
    tau = robot.inverse_dynamics(q, v, a, joint_losses=True)
    close(tau[0], robot.inverse_dynamics(q, v, a)[0])
    out = np.empty((3, robot.nv), dtype)
    found = robot.forward_dynamics(q, v, tau, method=method, joint_losses=True, dtype=dtype, out=out)
    assert found is out
    np.testing.assert_allclose(found, a, rtol=0, atol=1e4 * np.finfo(dtype).eps)
    with pytest.raises(ShapeError, match="forward_dynamics: v must have shape"):
        robot.forward_dynamics(q, v[..., :2], tau, joint_losses=True)


def test_momentum_about_points(arm: catena.Robot) -> None:
    q, v, _ = state(arm)
    close(arm.momentum(q, v, arm.center_of_mass(q)), arm.momentum(q, v))
    close(arm.momentum(q, v, (0, 0, 0)), arm.momentum(q, v, "base"))
    assert arm.momentum(q[0], v[0], np.zeros((4, 3))).shape == (4, 6)
    with pytest.raises(ShapeError, match=r"momentum: about must have shape \(\.\.\., 3\), got \(2,\)"):
        arm.momentum(q, v, (1.0, 2.0))
    with pytest.raises(UnsupportedError, match="momentum about 'tip'; expected one of 'center_of_mass', 'base'"):
        arm.momentum(q, v, "tip")


def test_what_is_wrong_is_said(arm: catena.Robot) -> None:
    q, v, _ = state(arm, ())
    tip = arm.links[-1].name
    with pytest.raises(UnsupportedError, match="no frame 'local'; expected one of 'link', 'world', 'mixed'"):
        arm.jacobian(q, tip, frame="local")
    with pytest.raises(UnknownNameError, match="no link or frame named 'hand7'"):
        arm.jacobian(q, "hand7")
    with pytest.raises(ShapeError):
        arm.jacobian(q[:-1], tip)
    with pytest.raises(ShapeError):
        arm.jacobian(q, tip, point=(1.0, 2.0))
    with pytest.raises(ShapeError, match="point"):
        arm.jacobian(q, tip, point=(1.0, 2.0), kernel="rolled")
    with pytest.raises(UnsupportedError, match="center_of_mass"):
        arm.momentum(q, v, "origin")
    with pytest.raises(SingularError, match=r"only 2 degrees of freedom.*operational_mobility"):
        arm.operational_inertia(q, arm.links[1].name)
    with pytest.raises(SingularError, match="does not move"):
        arm.operational_mobility(q, arm.base_name)
    with pytest.raises(ShapeError, match="point must have shape"):
        arm.operational_mobility(q, [tip, tip], [(0.0, 0.0, 0.0)])
    weightless = catena.Builder("weightless").link("a").revolute("j", "base", "a", armature=1.0).build()
    with pytest.raises(ModelError, match="no centre of mass"):
        weightless.center_of_mass([0.0])
