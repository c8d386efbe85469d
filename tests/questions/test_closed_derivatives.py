"""Derivatives of closed systems beside differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_systems import CLOSED_MODELS, KINDS, box, closed_model, ladder, looped
from tests.mechanisms import relative

import catena


def differences(system: catena.System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float = 1e-5) -> np.ndarray:
    def at(dq: np.ndarray, dv: np.ndarray, dtau: np.ndarray) -> np.ndarray:
        return system.forward_dynamics(system.integrate(q, dq), v + dv, tau + dtau).a

    parts = np.split(h * np.eye(3 * system.nv), 3, axis=1)
    return ((at(*parts) - at(*[-x for x in parts])) / (2 * h)).T


@pytest.mark.parametrize("case", ["four-bar", "loops"])
def test_derivatives_are_those_of_differences(case: str, rng: np.random.Generator) -> None:
    if case == "four-bar":
        pytest.importorskip("mujoco")
        system = closed_model("four_bar")
        q = system.close([-1.0, 0.3, -1.2])
    else:
        system, q = looped(1, 4, ["Distance", "PointOnPlane"])
        assert system.redundancy(q).rank == system.closures.rows  # elsewhere the rank jumps off the constraints
    v, tau = rng.standard_normal((2, system.nv))
    expected = differences(system, q, v, tau)
    assert relative(np.hstack(system.forward_dynamics_derivatives(q, v, tau)), expected) < 1e-6
    dq, dv, dtau = rng.standard_normal((3, 2, system.nv))
    along = system.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)
    assert relative(along, np.hstack([dq, dv, dtau]) @ expected.T) < 1e-6


@pytest.mark.parametrize("number", range(5))
def test_every_kind_of_constraint(number: int, rng: np.random.Generator) -> None:
    kinds, bodies = list(KINDS)[2 * number : 2 * number + 2], ("near/body", "far/body")
    held = [
        getattr(catena, kind)(first, second, **KINDS[kind], position=(0.1, 0.2, 0.3), second_rotation=(0.3, 0.1, 0.2))
        for kind, first, second in zip(kinds, ("world", *bodies), bodies, strict=False)
    ]
    system = catena.System({"near": box(), "far": box()}, constraints=held)
    q, (v, tau) = system.random_configuration(rng), rng.standard_normal((2, system.nv))
    push = {"far/body": rng.standard_normal(6)}
    found = system.forward_dynamics_derivatives(q, v, tau, push), system.constraint_force_derivatives(q, v, tau, push)
    parts = np.split(1e-5 * np.eye(3 * system.nv), 3, axis=1)
    ends = [
        system.forward_dynamics(system.integrate(q, x), v + y, tau + z, push)
        for x, y, z in (parts, [-part for part in parts])
    ]
    for slopes, after, before in zip(found, *ends, strict=True):
        assert relative(np.concatenate(slopes, axis=-1), np.moveaxis(after - before, 0, -1) / 2e-5) < 1e-6


def test_constraints_that_are_there_twice_share_their_forces(rng: np.random.Generator) -> None:
    bodies, held = {"near": box(), "far": box()}, []
    for name in "ab":
        held.append(catena.Ball("world", "near/body", name=f"ball {name}"))
        held.append(catena.Hinge("near/body", "far/body", position=(0.1, 0.0, 0.2), name=f"hinge {name}"))
    once, twice = (catena.System(bodies, constraints=constraints) for constraints in (held[:2], held))
    q, (v, tau) = once.random_configuration(rng), rng.standard_normal((2, once.nv))
    a, f = (getattr(once, f"{name}_derivatives")(q, v, tau) for name in ("forward_dynamics", "constraint_force"))
    b, g = (getattr(twice, f"{name}_derivatives")(q, v, tau) for name in ("forward_dynamics", "constraint_force"))
    assert relative(np.hstack(b), np.hstack(a)) < 1e-9
    halves = np.concatenate(g, axis=-1)
    assert relative(halves, np.concatenate(2 * [np.concatenate(f, axis=-1) / 2])) < 1e-9


def test_large_systems_say_that_they_have_none() -> None:
    system, q = ladder(21)
    with pytest.raises(catena.UnsupportedError, match="up to 60 links"):
        system.forward_dynamics_derivatives(q, np.zeros(system.nv), np.zeros(system.nv))


def _springy() -> tuple[catena.System, np.ndarray, np.ndarray, np.ndarray]:
    """A four-bar with springs, damping, friction and rotors, and a state of it."""
    bar = closed_model("four_bar")
    numbers = {"stiffness": 3.0, "rest": 0.2, "damping": 0.5, "friction": 0.1, "armature": 0.02}
    P = bar.parameters().replace(**{name: np.full(3, x) for name, x in numbers.items()})
    system = bar.with_parameters(P)
    q = system.close(CLOSED_MODELS["four_bar"](system))
    return system, q, system.project_velocity(q, np.array([1.0, -2.0, 0.5])), np.array([0.3, -0.2, 0.1])


def test_losses_and_springs_act_in_closed_systems() -> None:
    system, q, v, tau = _springy()
    left = tau - system.joint_losses(v) - system.stiffness * (q - system.rest)
    options = {"joint_losses": True, "joint_springs": True}
    found, right = system.forward_dynamics(q, v, tau, **options), system.forward_dynamics(q, v, left)
    assert np.allclose(found.a, right.a, atol=1e-12)
    assert np.allclose(found.forces, right.forces, atol=1e-11)
    slopes = system.forward_dynamics_derivatives(q, v, tau, **options)
    jvp = system.forward_dynamics_jvp(q, v, tau, v, tau, v, **options)
    assert np.allclose(slopes.dq @ v + slopes.dv @ tau + slopes.dtau @ v, jvp, atol=1e-9)
    h = 1e-6
    for matrix, at in (
        (slopes.dq, lambda d: (system.integrate(q, d), v, tau)),
        (slopes.dv, lambda d: (q, v + d, tau)),
    ):
        for i, d in enumerate(np.eye(3) * h):
            ahead, behind = (system.forward_dynamics(*at(x), **options).a for x in (d, -d))
            assert np.allclose((ahead - behind) / (2 * h), matrix[:, i], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("integrator", ["midpoint", "rk4", "linearly_implicit"])
def test_steps_by_any_integrator_are_linearised(integrator: str) -> None:
    system, q, v, tau = _springy()
    options = {"integrator": integrator, "joint_losses": integrator != "linearly_implicit"}
    A, B = system.linearize(np.stack([q, q]), v, tau, 1e-2, **options)
    assert A.shape == (2, 6, 6)
    h, (q1, _) = 1e-5, system.step(q, v, tau, 1e-2, **options)
    for i, d in enumerate(np.eye(9) * h):
        ends = []
        for x in (d, -d):
            at, speeds = system.step(system.integrate(q, x[:3]), v + x[3:6], tau + x[6:], 1e-2, **options)
            ends.append(np.append(system.difference(q1, at), speeds))
        column = np.concatenate([A[0], B[0]], axis=1)[:, i]
        assert np.allclose((ends[0] - ends[1]) / (2 * h), column, rtol=1e-5, atol=1e-6)


def test_parameters_of_samples_where_constraints_are_redundant() -> None:
    system, q, v, tau = _springy()  # its pin holds one direction too many
    rng = np.random.default_rng(0)
    P = system.parameters().vector * (1 + 0.01 * rng.standard_normal((4, 1)))
    found = system.forward_dynamics(q, v, tau, parameters=P)
    for i in range(4):
        right = system.with_parameters(P[i]).forward_dynamics(q, v, tau)
        assert np.allclose(found.a[i], right.a, atol=1e-10)
        assert np.allclose(found.forces[i], right.forces, atol=1e-9)
