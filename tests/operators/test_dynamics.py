"""Inverse dynamics and FD1 to FD4 as the report prints them, on batches: against the algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.operators import Operators, geometry

BATCH = (2, 3)


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def asked(robot: catena.Robot, seed: int = 0) -> tuple[Operators, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Operators, torques T, wrenches f(0) on the environment, the same as f_ext, and accelerations by default."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, BATCH)
    v, tau = rng.standard_normal((2, *BATCH, robot.nv))
    o = robot.operators(q, v=v)
    f0 = rng.standard_normal((*BATCH, 6 * len(o.tips)))
    f_ext = -(o.B @ f0).reshape(*BATCH, robot.tree.n, 6)
    return o, tau, f0, f_ext, robot.forward_dynamics(q, v, tau, f_ext)


def test_forward_dynamics_in_four_ways(robot) -> None:
    o, tau, f0, f_ext, expected = asked(robot)
    I, H, phi, psi, Phi, Psi = o.I, o.H, o.phi, o.psi, o.Phi, o.Psi
    M, D, L, G, P, B, S = o.M, o.D, o.L, o.G, o.P, o.B, o.S
    a, b, T = o.a + o.E @ o.g, o.b, tau - o.rotor_torque
    bias_free = T - H @ phi @ (M @ phi.T @ a + b + B @ f0)  # (4.17)
    found = {"fd1": (I - H @ Psi @ L).T @ D.inv @ (I - H @ Psi @ L) @ bias_free}  # (4.18)
    alpha = psi.T @ H.T @ D.inv @ (I - H @ Psi @ L) @ bias_free + phi.T @ a  # (5.6)
    found["fd2"] = D.inv @ (I - H @ Psi @ L) @ bias_free - L.T @ S.T @ (alpha - phi.T @ a)
    zeta = phi.T @ a  # (5.8)
    eps = T - H @ psi @ (S @ L @ T + M @ zeta + b + B @ f0)  # (5.9)
    found["fd3"] = (I - H @ Psi @ L).T @ D.inv @ eps  # (5.10)
    nu = D.inv @ (I - H @ Psi @ L) @ T - D.inv @ H @ o.psi_tilde @ P @ a - D.inv @ H @ psi @ (b + B @ f0)  # (5.14)
    found["fd4"] = (I - H @ Psi @ L).T @ nu - L.T @ Psi.T @ (I - G @ H).T @ a - G.T @ a  # (5.15)
    for name, acceleration in found.items():
        own = robot.forward_dynamics(o.q, o.v, tau, f_ext, method=name)
        assert relative(acceleration, own) < 1e-12, name
    states = o.filter(tau, f0)
    assert relative(states.acceleration, expected) < 1e-12
    assert relative(states.alpha, alpha) < 1e-11
    assert relative(alpha, phi.T @ (H.T @ expected + a)) < 1e-11  # (3.15)
    assert Phi.domain.batch == BATCH


def test_inverse_dynamics(robot) -> None:
    o, tau, f0, _, acceleration = asked(robot, 1)
    a = o.a + o.E @ o.g
    T = o.mass @ acceleration + o.H @ o.phi @ (o.M @ o.phi.T @ a + o.b + o.B @ f0) + o.rotor_torque  # (3.20)
    assert relative(T, tau) < 1e-10
    assert relative(o.phi.T @ o.H.T @ o.v, o.V) < 1e-13  # (3.12)
    velocities = robot.link_velocities(o.q, o.v)
    assert relative(o.V.reshape(velocities.shape), velocities) < 1e-13


def test_a_batch_is_its_samples(robot) -> None:
    o, tau, *_ = asked(robot, 2)
    K = o.I - o.H @ o.Psi @ o.L
    both, whole = K.T @ o.D.inv @ K @ tau, o.mass.dense()
    inverse = o.mass.inv @ tau
    for index in np.ndindex(BATCH):
        one = robot.operators(o.q[index], v=o.v[index])
        k = one.I - one.H @ one.Psi @ one.L
        assert relative(k.T @ one.D.inv @ k @ tau[index], both[index]) < 1e-13
        assert relative(one.mass.dense(), whole[index]) < 1e-13
        assert relative(one.mass.inv @ tau[index], inverse[index]) < 1e-11
        for name in ("V", "a", "b"):
            assert relative(getattr(one, name), getattr(o, name)[index]) < 1e-13
    columns = np.random.default_rng(0).standard_normal((*BATCH, robot.nv, 2))
    assert relative((o.mass @ columns)[..., 1], o.mass @ columns[..., 1]) < 1e-13
    assert relative(o.mass @ tau[0, 0], np.einsum("...ij,j->...i", whole, tau[0, 0])) < 1e-13


def test_accelerations_of_links_are_those_of_their_origins(robot) -> None:
    """α (5.6) without gravity is J a + J̇ v of every link's origin, in its own axes."""
    o, tau, f0, _, acceleration = asked(robot, 3)
    alpha = (o.filter(tau, f0).alpha - o.phi.T @ o.E @ o.g).reshape(*BATCH, robot.tree.n, 6)
    mixed = robot.link_accelerations(o.q, o.v, acceleration, frame="mixed")
    R = robot.placements(o.q).rotation
    turned = np.einsum("...nji,...npj->...npi", R, mixed.reshape(*BATCH, robot.tree.n, 2, 3))
    assert relative(alpha, turned.reshape(alpha.shape)) < 1e-10


def test_many_links_take_the_compiled_way(monkeypatch) -> None:
    robot = ALL["tree of all joint types"]()
    o, tau, f0, *_ = asked(robot)
    slow = o.filter(tau, f0)
    monkeypatch.setattr(geometry, "LONG", 5)
    fast = robot.operators(o.q, v=o.v).filter(tau, f0)
    for x, y in zip(fast, slow, strict=True):
        assert relative(x, y) < 1e-12
    assert relative(robot.operators(o.q).phi.dense(), o.phi.dense()) < 1e-13


def test_what_does_not_fit_is_refused() -> None:
    robot = ALL["revolute chain"]()
    q = np.zeros((3, robot.nq))
    with pytest.raises(catena.ShapeError, match="velocities"):
        _ = robot.operators(q).V
    with pytest.raises(catena.ShapeError, match="broadcast"):
        robot.operators(q, v=np.zeros((2, robot.nv)))
    with pytest.raises(catena.ShapeError, match="joints"):
        robot.operators(q).mass @ np.zeros((2, robot.nv))
    with pytest.raises(catena.ShapeError, match="joints"):
        robot.operators(q).mass @ 1.0
    empty = robot.operators(np.zeros((0, robot.nq)))
    assert (empty.mass @ np.zeros((0, robot.nv))).shape == (0, robot.nv)
    assert robot.operators(np.zeros((0, robot.nq)), v=np.zeros(robot.nv)).filter(np.zeros(robot.nv)).z.shape[0] == 0
