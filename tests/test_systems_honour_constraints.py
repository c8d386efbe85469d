"""Systems honour their constraints: what was answered for the open forest once, and what else constraints change."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.closed_systems import arm

import catena
from catena.functions.question import question_named
from catena.simulation import stiffness


@cache
def bar() -> tuple[catena.System, np.ndarray]:
    system = catena.System.load(catena.robots.path("four_bar"))
    return system, system.close([-1.0, 0.3, -1.2])


@cache
def carried() -> tuple[catena.System, np.ndarray]:
    """An arm with a box in its hand, so that the hand can move in all directions and constraints matter."""
    body = catena.Builder("box").link("body", mass=3.0, com=(0.01, 0.02, -0.03), inertia=(0.05, 0.04, 0.06))
    box = body.build(base="floating")
    system = catena.System({"arm": arm()}, [box], [catena.Weld("arm/tool", "box")])
    q = np.zeros(system.nq)
    q[:6] = [0.3, -0.7, 1.1, 0.4, 0.8, -0.2]
    place = system.placement(np.append(q[:6], [0, 0, 0, 0, 0, 0, 1.0]), "arm/tool")
    q[6:9], q[-1] = place.position, 1.0
    return system, system.close(q)


def closed_inverse(system: catena.System, q: np.ndarray) -> np.ndarray:
    """The inverse of M under constraints, from the dense equations [[M, Aᵀ], [A, 0]]."""
    M, A = np.asarray(system.mass_matrix(q).dense()), np.asarray(system.constraint_jacobian(q))
    kkt = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.pinv(kkt, rcond=1e-12)[: len(M), : len(M)]


@pytest.mark.parametrize("which", [bar, carried])
def test_inverse_and_mobility_against_dense_equations(which: Any) -> None:
    system, q = which()
    N = closed_inverse(system, q)
    size = np.abs(N).max()
    assert np.abs(system.inverse_mass_matrix(q) - N).max() < 1e-9 * size
    for frame in ("link", "world", "mixed"):
        J = np.asarray(system.jacobian(q, system.links[-1].name, frame=frame))
        Omega = system.operational_mobility(q, system.links[-1].name, frame=frame)
        assert np.abs(Omega - J @ N @ J.T).max() < 1e-9 * max(np.abs(Omega).max(), 1.0)


def test_a_push_moves_the_link_as_mobility_says() -> None:
    system, q = carried()
    f = np.array([0.1, -0.2, 0.3, 1.0, 2.0, -1.0])
    zero = np.zeros(system.nv)
    before, after = (system.forward_dynamics(q, zero, zero, {"box": x}).a for x in (np.zeros(6), f))
    J = np.asarray(system.jacobian(q, "box"))
    assert np.allclose(J @ (after - before), system.operational_mobility(q, "box") @ f, rtol=1e-9, atol=1e-9)


def test_operational_space_of_a_closed_system() -> None:
    system, q = carried()
    rng = np.random.default_rng(0)
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    N, J = closed_inverse(system, q), np.asarray(system.jacobian(q, "arm/tool"))
    inertia, Omega = system.operational_inertia(q, "arm/tool")
    inverse = system.dynamically_consistent_inverse(q, "arm/tool")
    assert np.allclose(inertia @ J @ N @ J.T, np.eye(6), atol=1e-9)
    assert np.allclose(Omega, J @ N @ J.T, atol=1e-9)
    assert np.allclose(J @ inverse, np.eye(6), atol=1e-9)
    assert np.allclose(system.constraint_jacobian(q) @ inverse, 0.0, atol=1e-9)
    moved, _ = system.forward_dynamics(q, v, tau)
    acceleration = J @ moved + system.jacobian_dot_times(q, "arm/tool", v)
    found = system.operational_dynamics(q, "arm/tool", v)
    force = found.inertia @ acceleration + found.coriolis + found.gravity
    assert np.allclose(force, inverse.T @ tau, rtol=1e-9, atol=1e-8)
    batch = system.operational_dynamics(np.stack([q, q]), "arm/tool", np.stack([v, v]))
    assert np.allclose(batch.coriolis[1], found.coriolis)


def test_operational_space_takes_the_options_of_robots() -> None:
    system, q = carried()
    v = system.project_velocity(q, np.ones(system.nv))
    more = {"operational_dynamics": ("arm/tool", v), "inverse_mass_matrix": ()}
    for name in (
        "inverse_mass_matrix", "operational_mobility", "operational_inertia", "dynamically_consistent_inverse",
        "operational_dynamics",
    ):  # fmt: skip
        ask, given = getattr(system, name), (q, *more.get(name, ("arm/tool",)))
        found = ask(*given)
        each = found if isinstance(found, tuple) else (found,)
        out = tuple(np.empty(x.shape) for x in each)
        kept = ask(*given, out=out if isinstance(found, tuple) else out[0], kernel="unrolled")
        small = ask(*given, dtype=np.float32)
        for x, y, z, o in zip(each, *[k if isinstance(k, tuple) else (k,) for k in (kept, small)], out, strict=True):
            assert np.array_equal(x, o)
            assert y is o
            assert z.dtype == np.float32
            assert np.allclose(x, z, rtol=1e-4, atol=1e-4 * np.abs(x).max())  # of states as float32 has them


def test_a_link_that_the_loop_holds_has_no_inertia() -> None:
    system, q = bar()
    name = system.links[-1].name
    for asked in (system.operational_inertia, system.dynamically_consistent_inverse):
        with pytest.raises(catena.SingularError, match="constraints held"):
            asked(q, name)
    with pytest.warns(catena.SingularWarning, match="2 of 2 samples"):
        assert np.isnan(system.operational_inertia(np.stack([q, q]), name).inertia).all()


def test_random_configurations_are_closed() -> None:
    system, _ = bar()
    q = system.random_configuration(0, (3,))
    assert q.shape == (3, system.nq)
    assert np.abs(system.closure_residual(q)).max() <= 1e-10
    assert np.array_equal(q, system.random_configuration(0, 3))


def test_a_new_question_is_refused_unless_it_says_otherwise() -> None:
    system, q = bar()
    refused = question_named(system.forest, "spatial_dynamics")  # declared for robots, with nothing said of systems
    still = np.zeros(system.nv)
    with pytest.raises(catena.UnsupportedError, match=r"constraints of a System.*system\.forest"):
        refused.answer(system, [q, still, still, *refused.defaults[3:]])


def test_mass_matrix_of_a_system_has_no_inverse_as_an_operator() -> None:
    system, q = bar()
    with pytest.raises(catena.UnsupportedError, match="constraints"):
        system.mass_matrix(q).as_linear_operator(inverse=True) @ np.ones(system.nv)


def test_a_step_is_judged_with_the_constraints_held() -> None:
    hand = catena.Builder("hand").prismatic("slide", "base", "hand", axis="x").link("hand", mass=1e-4)
    load = catena.Builder("load").prismatic("carry", "base", "load", axis="x").link("load", mass=1.0)
    system = catena.System([hand.build(), load.build()], [], [catena.Coupling({"hand/slide": 1.0, "load/carry": -1.0})])
    fastest = stiffness._largest(stiffness._answer(system, np.zeros(2)), np.array([100.0, 0.0]))
    assert np.isclose(fastest, 100.0 / 1.0001)  # a million without the load


def test_a_system_without_constraints_is_an_open_forest() -> None:
    system = catena.System.load(catena.robots.path("four_bar")).with_constraints(())
    q, x = np.array([0.1, 0.2, 0.3]), np.ones(3)
    assert np.allclose(system.mass_matrix(q).solve(x), system.forest.mass_matrix(q).solve(x))
    assert np.allclose(system.inverse_mass_matrix(q), system.forest.inverse_mass_matrix(q))
    assert np.allclose(system.reactions(q, x, x).wrench, system.forest.reactions(q, x, x).wrench)
    assert catena.count(system).total == catena.count(system.forest).total


def test_tasks_refuse_systems() -> None:
    pytest.importorskip("gymnasium")
    with pytest.raises(catena.UnsupportedError, match="constraints"):
        catena.gym.Task(bar()[0], 0.01, reset=lambda rng: None, reward=lambda q, v: 0.0)
