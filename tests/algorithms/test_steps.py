"""The steps at one joint against the equations of motion of one link, on every joint of every mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.mechanisms import ALL

import catena
from catena.algorithms.innovations import FACTOR, riccati
from catena.algorithms.steps import coloured, filtered, free_joint, smoothed, unsmoothed
from catena.functions.linkwise import lowered_for
from catena.spatial import ArticulatedInertia, Axes, Columns, Dofs, Force, Motion
from catena.sweeps import RealLinks

Array = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = 1e-11


def array(x: Dofs | Force | Motion | Columns | Axes | ArticulatedInertia) -> Array:
    """The numbers of a spatial object: columns of forces and axes side by side."""
    if isinstance(x, ArticulatedInertia):
        return np.transpose([array(x @ Motion.of(list(e))) for e in np.eye(6)])
    if isinstance(x, Columns | Axes):
        return np.transpose([array(column) for column in x.columns])
    return np.array(list(x) if isinstance(x, Dofs) else x.components, dtype=float)


class Joint(NamedTuple):
    """A joint of a mechanism with what hangs on it, and random numbers for all that may act on it."""

    P: ArticulatedInertia
    H: Axes
    rotors: Dofs
    x: Dofs
    z: Force
    lam: Motion


@pytest.fixture(params=ALL)
def joints(request: pytest.FixtureRequest) -> list[Joint]:
    return list(joints_of(ALL[request.param]()))


def joints_of(robot: catena.Robot) -> Iterator[Joint]:
    rng = np.random.default_rng(1)
    links = RealLinks(lowered_for(robot.tree, FACTOR))
    q = links.coordinates(robot.random_configuration(2).tolist(), "q")
    P, _, _ = riccati(links, q)
    for k in links:
        x, z, lam = (rng.standard_normal(size).tolist() for size in (k.joint_type.nv, 6, 6))
        yield Joint(P[k], k.joint(q[k])[1], k.armature, Dofs(x), Force.of(z), Motion.of(lam))


def close(found: Array, expected: Array, scale: Array) -> bool:
    return bool(np.abs(found - expected).max() <= TOLERANCE * max(1.0, np.abs(scale).max()))


def test_a_free_joint_passes_on_what_its_axes_do_not_take(joints: list[Joint]) -> None:
    for P, H, rotors, *_ in joints:
        D, G, P_plus = free_joint(P, H, rotors)
        whole, axes, R = array(P), array(H), np.diag(array(rotors))
        blocks = axes.T @ whole @ axes + R
        lower = np.array([row + [0.0] * (len(rotors) - len(row)) for row in D.lower])
        assert close(lower, np.tril(blocks), whole)
        assert close(array(G) @ blocks, whole @ axes, whole)
        assert close(array(P_plus) + array(G) @ blocks @ array(G).T, whole, whole)
        assert close(array(P_plus) @ axes, array(G) @ R, whole)  # P⁺ Hᵀ = 0 without rotors
        assert np.array_equal(array(P_plus), array(P_plus).T)


def test_filter_and_smoother_solve_the_equations_of_motion_of_the_link(joints: list[Joint]) -> None:
    """P λ + z is what the joint exerts: its torque along the axes, and on the parent P⁺ λ_in + z⁺."""
    for P, H, rotors, tau, z, lam_in in joints:
        D, G, P_plus = free_joint(P, H, rotors)
        eps, z_plus = filtered(z, tau, H, G)
        vdot, lam = smoothed(lam_in, D.inv @ eps, H, G)
        force = array(P) @ array(lam) + array(z)
        rotor = array(rotors) * array(vdot)
        scale = np.abs(array(P)).max() * np.append(np.abs(array(lam)), 1.0)
        assert close(array(H).T @ force + rotor, array(tau), scale)
        assert close(force, array(P_plus) @ array(lam_in) + array(z_plus), scale)
        assert close(array(lam), array(lam_in) + array(H) @ array(vdot), scale)


def test_steps_are_undone(joints: list[Joint]) -> None:
    for P, H, rotors, x, z, lam in joints:
        _, G, _ = free_joint(P, H, rotors)
        for forth, back, state in ((filtered, coloured, z), (smoothed, unsmoothed, lam)):
            once, passed = forth(state, x, H, G)
            again, passed_again = back(state, once, H, G)
            scale = array(G) @ np.append(array(x), 1.0)[: len(x)]
            assert close(array(again), array(x), scale)
            assert close(array(passed_again), array(passed), scale)


def test_the_smoother_is_the_adjoint_of_the_filter(joints: list[Joint]) -> None:
    for P, H, rotors, x, z, lam_in in joints:
        _, G, _ = free_joint(P, H, rotors)
        nu = Dofs([1.0 + i for i in range(len(x))])
        eps, z_plus = filtered(z, x, H, G)
        vdot, lam = smoothed(lam_in, nu, H, G)
        one = nu.dot(eps) - lam_in.dot(z_plus)
        other = vdot.dot(x) - lam.dot(z)
        assert abs(one - other) <= TOLERANCE * max(1.0, np.abs(array(G)).max() ** 2)
