"""Derivatives of placements, Jacobians, momentum and energies: against differences with 50 digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.exact_slopes import moved, run, slopes
from tests.mechanisms import relative, with_rotors

import catena
from catena.algorithms import energy
from catena.functions.frames import function_of
from catena.functions.function import Function

POINT = np.array([0.1, -0.2, 0.3])
JOINTS = ["universal", "spherical", "cylindrical", "planar", "revolute"]
TIP = "link 3"


@pytest.fixture(scope="module")
def robot() -> catena.Robot:
    """A chain with a universal, a spherical and a planar joint among others, and a branch beside it."""
    rng = np.random.default_rng(6)
    builder = catena.Builder("many joints")
    for i, (kind, parent) in enumerate(zip(JOINTS, ["base", "link 0", "link 1", "link 2", "link 0"], strict=True)):
        builder.link(f"link {i}", mass=rng.uniform(1, 2), com=rng.uniform(-0.2, 0.2, 3), inertia=[0.1, 0.2, 0.15])
        getattr(builder, kind)(f"joint {i}", parent, f"link {i}", position=rng.uniform(-0.5, 0.5, 3))
    return with_rotors(builder.build())


@pytest.fixture(scope="module")
def state(robot: catena.Robot) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return robot.random_configuration(rng), rng.standard_normal(robot.nv)


def by_q(robot: catena.Robot, function: Function, q: np.ndarray, *others: Any) -> Any:
    return slopes(lambda x: run(robot, function, moved(robot, q, x), *others), robot.nv)


def agree(ask: Callable[..., Any], *expected: Any) -> None:
    """The answers of both shapes of kernels are what is expected."""
    for kernel in ("unrolled", "rolled"):
        answer = ask(kernel=kernel)
        for found, exact in zip(answer if isinstance(answer, tuple) else (answer,), expected, strict=True):
            assert found.shape == exact.shape
            assert relative(found, exact) < 1e-13


@pytest.mark.parametrize("point", [None, POINT])
def test_placements(robot: catena.Robot, state: Any, point: Any) -> None:
    q, _ = state
    function, given = function_of(robot, "placement", TIP, "link", point is not None), () if point is None else (POINT,)
    rotation = slopes(lambda x: run(robot, function, moved(robot, q, x), *given)[0], robot.nv)
    position = slopes(lambda x: run(robot, function, moved(robot, q, x), *given)[1], robot.nv)
    agree(lambda **options: robot.placement_derivatives(q, TIP, point, **options), rotation, position)


@pytest.mark.parametrize("frame", ["link", "world", "mixed"])
def test_jacobians(robot: catena.Robot, state: Any, frame: str) -> None:
    q, v = state
    expected = by_q(robot, function_of(robot, "jacobian", TIP, frame, True), q, POINT)
    agree(lambda **options: robot.jacobian_derivatives(q, TIP, POINT, frame, **options), expected)
    dJ = robot.jacobian_derivatives(q, [TIP, "link 4"], frame=frame)
    assert relative(dJ[6:], robot.jacobian_derivatives(q, "link 4", frame=frame)) < 1e-14
    rate = robot.jacobian_dot_times(q, [TIP, "link 4"], v, frame=frame)
    assert relative((dJ @ v) @ v, rate) < 1e-13  # J̇ v


@pytest.mark.parametrize(
    ("function", "about"),
    [
        (energy.CENTROIDAL_MOMENTUM, "center_of_mass"),
        (energy.MOMENTUM, "base"),
        (energy.MOMENTUM_ABOUT, POINT),
    ],
    ids=["centre of mass", "base", "point"],
)
def test_momentum(robot: catena.Robot, state: Any, function: Function, about: Any) -> None:
    q, v = state
    point = () if isinstance(about, str) else (about,)
    dv = slopes(lambda x: run(robot, function, q, v + x, *point), robot.nv)
    agree(lambda **o: robot.momentum_derivatives(q, v, about, **o), by_q(robot, function, q, v, *point), dv)


def test_energies(robot: catena.Robot, state: Any) -> None:
    q, v = state
    dq = by_q(robot, energy.KINETIC_ENERGY, q, v)
    dv = slopes(lambda x: run(robot, energy.KINETIC_ENERGY, q, v + x), robot.nv)
    agree(lambda **options: robot.kinetic_energy_gradient(q, v, **options), dq, dv)
    agree(lambda **options: robot.gravity_torque(q, **options), by_q(robot, energy.POTENTIAL_ENERGY, q))


def test_batches(robot: catena.Robot) -> None:
    rng = np.random.default_rng(8)
    q, v = robot.random_configuration(rng, (2, 3)), rng.standard_normal((2, 3, robot.nv))
    for ask in (robot.momentum_derivatives, robot.kinetic_energy_gradient):
        for kernel in ("unrolled", "rolled"):
            many, one = ask(q, v, kernel=kernel), ask(q[1, 2], v[1, 2], kernel=kernel)
            assert all(relative(x[1, 2], y) < 1e-14 for x, y in zip(many, one, strict=True))
    for kernel in ("unrolled", "rolled"):
        found = robot.jacobian_derivatives(q, TIP, frame="mixed", kernel=kernel)
        assert relative(found[1, 2], robot.jacobian_derivatives(q[1, 2], TIP, frame="mixed")) < 1e-14
        rotation, position = robot.placement_derivatives(q, TIP, kernel=kernel)
        assert rotation.shape == (2, 3, 3, 3, robot.nv)
        assert position.shape == (2, 3, 3, robot.nv)


def test_the_base_does_not_move(robot: catena.Robot, state: Any) -> None:
    rotation, position = robot.placement_derivatives(state[0], "base")
    assert not rotation.any()
    assert not position.any()
