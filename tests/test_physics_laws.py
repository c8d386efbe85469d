"""Laws of mechanics on random trees of all joint types, whatever formulas are behind them.

Everything runs link by link on floats, so that each example is a new mechanism at the cost of no compilation.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import catena
from catena.algorithms import coriolis, energy
from catena.functions import engine
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.functions.function import Function
from catena.model.joints import BY_NAME

Array = NDArray[np.float64]
TYPES = [name for name in BY_NAME if name != "fixed"]
STEP = 1e-4

laws = settings(max_examples=30, deadline=None, derandomize=True)


@st.composite
def states(draw: st.DrawFn, base: str | None = None, gravity: bool = True) -> tuple[catena.Robot, Array, Array, Array]:
    """A robot with rotors, a configuration, velocities, and torques or accelerations."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    joint_types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4, unique=True))
    robot = catena.random_tree(
        rng,
        draw(st.integers(1, 6)),
        joint_types,
        draw(st.sampled_from([0.0, 0.4, 1.0])),
        base=base or draw(st.sampled_from(["fixed", "floating"])),
        gravity=rng.uniform(-10, 10, 3) if gravity else np.zeros(3),
    )
    free = 6 if base == "floating" else 0
    rotors = np.where(np.arange(robot.nv) < free, 0.0, rng.uniform(0, 0.2, robot.nv) * draw(st.booleans()))
    robot = catena.Robot(dataclasses.replace(robot.tree, armature=rotors))
    return robot, robot.random_configuration(rng), *rng.standard_normal((2, robot.nv))


def ask(robot: catena.Robot, function: Function, **values: Array) -> Any:
    (found,) = engine.evaluate(robot.tree, function, values).values()
    return found.astype(float)


def close(found: Any, expected: Any, tolerance: float, scale: float = 1.0) -> None:
    size = max(scale, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


def along(robot: catena.Robot, q: Array, v: Array, a: Array, h: float) -> tuple[Array, Array]:
    """The state a time h later, to second order."""
    return robot.integrate(q, h * v + 0.5 * h * h * a), v + h * a


def rate(quantity: Any) -> Any:
    """The derivative of quantity(h) at 0 by central differences of fourth order."""
    return (8 * (quantity(STEP) - quantity(-STEP)) - (quantity(2 * STEP) - quantity(-2 * STEP))) / (12 * STEP)


@laws
@given(states())
def test_the_mass_matrix_is_symmetric_and_positive_definite(state: Any) -> None:
    robot, q, v, _ = state
    M = ask(robot, MASS_MATRIX, q=q)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0
    close(ask(robot, energy.KINETIC_ENERGY, q=q, v=v), 0.5 * v @ M @ v, 1e-12)


@laws
@given(states())
def test_forward_dynamics_undoes_inverse_dynamics(state: Any) -> None:
    robot, q, v, a = state
    tau = ask(robot, INVERSE_DYNAMICS, q=q, v=v, a=a)
    M = ask(robot, MASS_MATRIX, q=q)
    close(tau, M @ a + ask(robot, BIAS, q=q, v=v), 1e-11)
    for method in ("fd1", "fd3", "fd4"):
        close(ask(robot, FORWARD_DYNAMICS[method], q=q, v=v, tau=tau), a, 1e-13 * float(np.linalg.cond(M)), 10.0)


@laws
@given(states())
def test_power_is_the_rate_of_energy(state: Any) -> None:
    robot, q, v, tau = state
    a = ask(robot, FORWARD_DYNAMICS["fd4"], q=q, v=v, tau=tau)

    def total(h: float) -> float:
        q_h, v_h = along(robot, q, v, a, h)
        kinetic = ask(robot, energy.KINETIC_ENERGY, q=q_h, v=v_h)
        return float(kinetic + ask(robot, energy.POTENTIAL_ENERGY, q=q_h))

    size = float(np.abs(a).max() ** 2 + abs(total(0.0)))
    close(rate(total), tau @ v, 1e-6, max(1.0, size))


@laws
@given(states())
def test_gravity_torque_is_the_gradient_of_potential_energy(state: Any) -> None:
    robot, q, x, _ = state
    slope = rate(lambda h: ask(robot, energy.POTENTIAL_ENERGY, q=robot.integrate(q, h * x)))
    close(ask(robot, energy.GRAVITY_TORQUE, q=q) @ x, slope, 1e-7, 100.0)


@laws
@given(states())
def test_rate_of_mass_matrix_minus_twice_coriolis_is_skew(state: Any) -> None:
    robot, q, v, x = state
    C = ask(robot, coriolis.CORIOLIS_MATRIX, q=q, v=v)
    M_dot = rate(lambda h: ask(robot, MASS_MATRIX, q=robot.integrate(q, h * v)))
    N = M_dot - 2 * C
    close(N + N.T, np.zeros_like(N), 1e-7, max(1.0, float(np.abs(C).max())))
    close(C @ v + ask(robot, energy.GRAVITY_TORQUE, q=q), ask(robot, BIAS, q=q, v=v), 1e-11)
    close(C @ x, ask(robot, coriolis.CORIOLIS_TIMES, q=q, v=v, x=x), 1e-11)


@laws
@given(states(gravity=False))
def test_bias_follows_from_the_mass_matrix_by_hamels_equations(state: Any) -> None:
    """ṗ_i = ½ ∂(vᵀ M v)/∂π_i + p · [v, e_i] without forces, p = M v: whatever the speeds are, rotors included."""
    robot, q, v, x = state
    p = ask(robot, MASS_MATRIX, q=q) @ v
    p_dot = rate(lambda h: ask(robot, MASS_MATRIX, q=robot.integrate(q, h * v)) @ v)
    slope = rate(lambda h: ask(robot, energy.KINETIC_ENERGY, q=robot.integrate(q, h * x), v=v))
    found = ask(robot, BIAS, q=q, v=v) @ x
    close(found, p_dot @ x - slope - p @ commutator(robot, q, v, x), 2e-6, max(1.0, float(np.abs(p).max())))


def commutator(robot: catena.Robot, q: Array, v: Array, x: Array) -> Array:
    """[v, x]: where moving along v, then along x, leads, as seen from where it leads the other way round."""

    def gap(h: float) -> Array:
        one, other = robot.integrate(robot.integrate(q, [h * v, h * x]), [h * x, h * v])
        return robot.difference(other, one)

    near, far = [(gap(h) + gap(-h)) / (2 * h * h) for h in (1e-3, 2e-3)]
    return np.asarray((4 * near - far) / 3)


@laws
@given(st.sampled_from(["planar", "spherical", "free"]), st.integers(0, 2**32 - 1))
def test_rotors_of_a_joint_on_the_base_move_as_a_body_would(joint_type: str, seed: int) -> None:
    """Equal armatures of slides are a mass, those of turns moments of inertia, at the link's frame."""
    rng = np.random.default_rng(seed)
    robot = catena.random_tree(rng, 1, [joint_type], gravity=(0, 0, 0))
    tree, turns, mass = robot.tree, rng.uniform(0.5, 1.0, 3), rng.uniform(0.5, 1.0)
    turns[2] = turns[2] if joint_type != "planar" else 1.0
    armature = {
        "planar": [mass, mass, turns[2]],
        "spherical": turns,
        "free": [*turns, mass, mass, mass],
    }[joint_type]
    Q, mass = tree.joint_rotation[0], mass if joint_type != "spherical" else 0.0
    total = tree.mass[0] + mass
    com = tree.mass[0] * tree.com[0] / total
    point = tree.mass[0] * (tree.com[0] @ tree.com[0] * np.eye(3) - np.outer(tree.com[0], tree.com[0]))
    inertia = tree.inertia[0] + point + Q @ np.diag(turns) @ Q.T
    inertia = inertia - total * (com @ com * np.eye(3) - np.outer(com, com))
    heavier = dataclasses.replace(tree, mass=np.array([total]), com=com[None], inertia=inertia[None])
    with_rotors = catena.Robot(dataclasses.replace(tree, armature=np.array(armature)))
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    expected = ask(catena.Robot(heavier), FORWARD_DYNAMICS["fd3"], q=q, v=v, tau=tau)
    for method in ("fd1", "fd2", "fd3", "fd4", "two_sweep", "udu", "dense"):
        close(ask(with_rotors, FORWARD_DYNAMICS[method], q=q, v=v, tau=tau), expected, 1e-10)


@laws
@given(states(base="floating", gravity=False))
def test_momentum_is_conserved_without_gravity(state: Any) -> None:
    """Whatever the joints do, as long as nobody pushes the floating base."""
    robot, q, v, tau = state
    a = ask(robot, FORWARD_DYNAMICS["fd4"], q=q, v=v, tau=np.where(np.arange(robot.nv) < 6, 0.0, tau))

    def momentum(h: float) -> Array:
        q_h, v_h = along(robot, q, v, a, h)
        found: Array = ask(robot, energy.MOMENTUM, q=q_h, v=v_h)
        return found

    close(rate(momentum), np.zeros(6), 1e-6, max(1.0, float(np.abs(a).max()) ** 2))
    A = ask(robot, energy.CENTROIDAL_MOMENTUM_MATRIX, q=q)
    close(A @ v, ask(robot, energy.CENTROIDAL_MOMENTUM, q=q, v=v), 1e-12)


@laws
@given(states(base="fixed"), st.integers(0, 2**32 - 1))
def test_moving_the_base_changes_nothing_that_joints_feel(state: Any, seed: int) -> None:
    """Placing the whole robot elsewhere, with gravity turned along, leaves M and all torques as they are."""
    robot, q, v, a = state
    rng = np.random.default_rng(seed)
    R, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    R *= np.sign(np.linalg.det(R))
    tree, first = robot.tree, robot.tree.parent < 0
    rotation, position = tree.placement_rotation.copy(), tree.placement_position.copy()
    rotation[first], position[first] = R @ rotation[first], position[first] @ R.T + rng.standard_normal(3)
    moved = dataclasses.replace(
        tree, placement_rotation=rotation, placement_position=position, gravity=R @ tree.gravity
    )
    elsewhere = catena.Robot(moved)
    close(ask(elsewhere, MASS_MATRIX, q=q), ask(robot, MASS_MATRIX, q=q), 1e-12)
    close(ask(elsewhere, INVERSE_DYNAMICS, q=q, v=v, a=a), ask(robot, INVERSE_DYNAMICS, q=q, v=v, a=a), 1e-11)
    turned = ask(robot, energy.CENTER_OF_MASS_VELOCITY, q=q, v=v) @ R.T
    close(ask(elsewhere, energy.CENTER_OF_MASS_VELOCITY, q=q, v=v), turned, 1e-12)
