"""Bearing forces and accelerations of links in closed systems: couplings, both shapes of kernels, long chains."""

import numpy as np
from tests.closed_systems import CLOSED_MODELS, closed_model, ladder, looped

import catena


def test_torques_of_couplings_are_among_those_of_constraints() -> None:
    hand = catena.System.load("gripper")
    q, v, tau = hand.close([0.03, 0.0], fixed=["left_slide"]), np.zeros(2), np.array([1.0, 0.3])
    a, forces = hand.forward_dynamics(q, v, tau)
    held = hand.constraint_torques(q, forces)
    assert np.abs(held).max() > 0.1
    assert np.allclose(hand.mass_matrix(q) @ a + hand.bias(q, v), tau + held, atol=1e-12)
    assert np.allclose(hand.constraint_torques(q, forces, kernel="rolled"), held, atol=1e-12)


def test_loops_over_links_give_the_same() -> None:
    system = closed_model("delta_robot")
    q = system.close(CLOSED_MODELS["delta_robot"](system))
    rng = np.random.default_rng(3)
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    a, forces = system.forward_dynamics(q, v, tau)
    for found, right in zip(
        (*system.reactions(q, v, tau, kernel="rolled"), *system.forward_link_dynamics(q, v, tau, kernel="rolled")),
        (*system.reactions(q, v, tau), *system.forward_link_dynamics(q, v, tau)),
        strict=True,
    ):
        assert np.allclose(found, right, rtol=1e-8, atol=1e-8 * np.abs(right).max())
    interlink = system.interlink_forces(q, v, a, forces)
    assert np.allclose(system.interlink_forces(q, v, a, forces, kernel="rolled"), interlink, atol=1e-9)


def test_bearing_forces_of_many_links() -> None:
    system, q = ladder(20)
    assert len(system.links) > 60
    v, tau = np.zeros(system.nv), np.linspace(-1.0, 1.0, system.nv)
    a, wrench = system.reactions(q, v, tau)
    forces = system.forward_dynamics(q, v, tau).forces
    assert np.allclose(wrench, system.interlink_forces(q, v, a, forces), atol=1e-9)
    held = system.constraint_torques(q, forces)
    assert np.allclose(system.mass_matrix(q) @ a + system.bias(q, v), tau + held, atol=1e-8)


def test_seeded_systems_keep_the_balance_of_every_link() -> None:
    system, q = looped(4, 8, ["Hinge", "Ball"])
    rng = np.random.default_rng(2)
    v = system.project_velocity(q, rng.standard_normal(system.nv))
    a, forces = system.forward_dynamics(q, v, rng.standard_normal(system.nv))
    needed = system.forest.inverse_dynamics(q, v, a) - system.constraint_torques(q, forces)
    assert np.allclose(system.forward_dynamics(q, v, needed).a, a, atol=1e-9)
