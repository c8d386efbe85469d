"""Robots with mimic joints: Gᵀ M G and what follows from it, against the same robots with independent joints."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from tests import asking, mimics

import catena
from catena.functions import catalogue, coupled
from catena.functions.composed import Composed
from catena.functions.engine import kernel
from catena.functions.function import Function
from catena.functions.on_scalars import evaluate


@pytest.fixture(scope="module")
def hand() -> mimics.Pair:
    with pytest.warns(catena.ModelWarning, match="massless leaves"):
        full = catena.load(mimics.HAND, mimic="independent")
    return mimics.pair(full)


def state(pair: mimics.Pair, rng: np.random.Generator, *batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        pair.robot.random_configuration(rng, batch),
        rng.standard_normal((*batch, pair.robot.nv)),
        rng.standard_normal((*batch, pair.robot.nv)),
    )


def close(found: object, expected: object, tolerance: float = 1e-10) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("seed", range(24))
def test_forward_dynamics_of_random_trees(seed: int, rng: np.random.Generator) -> None:
    pair = mimics.random_pair(seed, 3 + seed % 10, base="floating" if seed % 4 == 3 else "fixed")
    q, v, tau = state(pair, rng)
    f = rng.standard_normal((pair.robot.tree.n, 6))

    def of(robot: catena.Robot, function: Function, **given: np.ndarray) -> np.ndarray:
        (result,) = evaluate(robot.tree, function, given).values()
        return result.astype(float)

    M = pair.G.T @ of(pair.full, catalogue.MASS_MATRIX, q=pair.wide(q)) @ pair.G
    bias = pair.G.T @ of(pair.full, catalogue.BIAS, q=pair.wide(q), v=pair.G @ v, f_ext=f)
    close(of(pair.robot, catalogue.MASS_MATRIX, q=q), M)
    a = of(pair.robot, coupled.FORWARD_DYNAMICS, q=q, v=v, tau=tau, f_ext=f)
    close(M @ a + bias, tau)
    close(of(pair.robot, catalogue.INVERSE_DYNAMICS, q=q, v=v, a=a, f_ext=f), tau)
    close(M @ of(pair.robot, coupled.SOLVE, q=q, b=tau), tau)
    close(of(pair.robot, coupled.LOG_DETERMINANT, q=q), np.linalg.slogdet(M)[1])


def test_dynamics(hand: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, tau), G = state(hand, rng, 5), hand.G
    robot, full, wide, V = hand.robot, hand.full, hand.wide(q), v @ hand.G.T
    M, bias = G.T @ full.mass_matrix(wide).dense() @ G, full.bias(wide, V) @ G
    a = robot.forward_dynamics(q, v, tau)
    close(np.einsum("...ij,...j->...i", M, a) + bias, tau)
    close(robot.inverse_dynamics(q, v, a), tau)
    close(robot.bias(q, v), bias)
    close(robot.gravity_torque(q), full.gravity_torque(wide) @ G)
    losses = full.joint_losses(V) @ G
    close(robot.joint_losses(v), losses)
    close(robot.forward_dynamics(q, v, tau, joint_losses=True), robot.forward_dynamics(q, v, tau - losses))
    f = {"b": rng.standard_normal(6)}
    close(robot.bias(q, v, f_ext=f), full.bias(wide, V, f_ext=f) @ G)
    p = robot.parameters()
    close(robot.forward_dynamics(q, v, tau, parameters=p), a)
    assert p.vector.size == 10 * 4 + 5 * robot.nv + 3
    row, moved, weight = p.vector, rng.standard_normal(p.vector.size), rng.standard_normal(robot.nv)
    state_of = q[0], v[0], tau[0]
    gradient = robot.forward_dynamics_vjp(*state_of, weight, by=["parameters"], parameters=row)
    ahead, behind = (robot.forward_dynamics(*state_of, parameters=row + s * 1e-6 * moved) for s in (1, -1))
    close(gradient @ moved, weight @ (ahead - behind) / 2e-6, 1e-6)


def test_mass_matrix(hand: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, tau), G = state(hand, rng, 3), hand.G
    dense = G.T @ hand.full.mass_matrix(hand.wide(q)).dense() @ G
    for method in ("innovations", "dense"):
        M = hand.robot.mass_matrix(q, method=method)
        close(M.dense(), dense)
        close(M @ v, np.einsum("...ij,...j->...i", dense, v))
        close(M.solve(tau), np.linalg.solve(dense, tau[..., None])[..., 0])
        close(M.logdet(), np.linalg.slogdet(dense)[1])
        close(M.inv(), np.linalg.inv(dense))
        close(M.diagonal(), np.diagonal(dense, axis1=-2, axis2=-1))
        close(M.inv_diagonal(), np.diagonal(np.linalg.inv(dense), axis1=-2, axis2=-1))
        close(M.quadratic_form(v), np.einsum("...i,...ij,...j", v, dense, v))
        root = np.stack([M.sqrt_times(e) for e in np.eye(hand.robot.nv)], axis=-1)
        close(root @ np.swapaxes(root, -1, -2), dense)
        step = 1e-6 * np.eye(hand.robot.nv)
        slope = [hand.robot.mass_matrix(q + d, method=method).logdet() - M.logdet() for d in step]
        close(M.logdet_gradient(), np.stack(slope, axis=-1) / 1e-6, 1e-4)
    close(hand.robot.inverse_mass_matrix(q), np.linalg.inv(dense))
    with pytest.raises(catena.UnsupportedError, match="mimic"):
        hand.robot.mass_matrix(q).factors()
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        hand.robot.mass_matrix(q, method="udu")


def test_kinematics_and_energies(hand: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, a), G = state(hand, rng, 3), hand.G
    robot, full, wide, V, A = hand.robot, hand.full, hand.wide(q), v @ hand.G.T, a @ hand.G.T
    close(robot.placements(q).position, full.placements(wide).position)
    close(robot.link_velocities(q, v), full.link_velocities(wide, V))
    close(robot.link_accelerations(q, v, a), full.link_accelerations(wide, V, A))
    close(robot.jacobian(q, "b"), full.jacobian(wide, "b") @ G)
    close(robot.jacobian_transpose_times(q, "b", np.ones(6)), full.jacobian(wide, "b").swapaxes(-1, -2).sum(-1) @ G)
    close(robot.kinetic_energy(q, v), full.kinetic_energy(wide, V))
    close(robot.potential_energy(q), full.potential_energy(wide))
    close(robot.momentum(q, v), full.momentum(wide, V))
    close(robot.center_of_mass_jacobian(q), full.center_of_mass_jacobian(wide) @ G)
    close(robot.coriolis_matrix(q, v), G.T @ full.coriolis_matrix(wide, V) @ G)
    moved = robot.integrate(q, v)
    close(hand.wide(moved), full.integrate(wide, V))
    close(robot.difference(q, moved), v)


def test_derivatives(hand: mimics.Pair, rng: np.random.Generator) -> None:
    q, v, tau = state(hand, rng)
    robot, h = hand.robot, 1e-6
    exact = robot.forward_dynamics_derivatives(q, v, tau)
    for number, found in enumerate(exact):
        columns = []
        for d in h * np.eye(robot.nv):
            plus, minus = ([x + s * d if i == number else x for i, x in enumerate((q, v, tau))] for s in (1, -1))
            columns.append((robot.forward_dynamics(*plus) - robot.forward_dynamics(*minus)) / (2 * h))
        close(found, np.stack(columns, axis=-1), 1e-6)
    along = [rng.standard_normal(robot.nv) for _ in range(3)]
    expected = sum(matrix @ d for matrix, d in zip(exact, along, strict=True))
    close(robot.forward_dynamics_jvp(q, v, tau, *along), expected)
    weight = rng.standard_normal(robot.nv)
    for gradient, matrix in zip(robot.forward_dynamics_vjp(q, v, tau, weight), exact, strict=True):
        close(gradient, weight @ matrix)
    a = robot.forward_dynamics(q, v, tau)
    by = robot.inverse_dynamics_derivatives(q, v, a)
    for gradient, matrix in zip(robot.inverse_dynamics_vjp(q, v, a, weight), by, strict=True):
        close(gradient, weight @ matrix)
    A, B = robot.linearize(q, v, tau, 1e-3)
    plain = robot.linearize(q, v, tau)
    close(A[robot.nv :], np.eye(2 * robot.nv)[robot.nv :] + 1e-3 * plain.A[robot.nv :])
    close(B[robot.nv :], 1e-3 * plain.B[robot.nv :])


@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics"])
def test_derivatives_by_parameters(hand: mimics.Pair, question: str, rng: np.random.Generator) -> None:
    robot, (q, v, x), h = hand.robot.with_joints(stiffness=2.0, damping=0.3), state(hand, rng), 1e-6
    P, zero, weight = robot.parameters().vector, np.zeros(robot.nv), rng.standard_normal(robot.nv)
    dP = rng.standard_normal(P.shape) * np.abs(P)
    options = {"joint_losses": True, "joint_springs": True}
    ahead, behind = (getattr(robot, question)(q, v, x, parameters=P + s * dP, **options) for s in (h, -h))
    jvp, vjp = (getattr(robot, f"{question}_{kind}") for kind in ("jvp", "vjp"))
    along = jvp(q, v, x, zero, zero, zero, parameters=P, dparameters=dP, **options)
    close(along, (ahead - behind) / (2 * h), 1e-6)
    gradient = vjp(q, v, x, weight, by="parameters", parameters=P, **options)
    assert gradient.shape == P.shape
    close(gradient @ dP, weight @ along, 1e-9)


@pytest.fixture(scope="module")
def chain() -> mimics.Pair:
    return mimics.random_pair(1, 12, joint_types="revolute", branching=0.0)


def test_operational_space(chain: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, _), robot, link = state(chain, rng, 2), chain.robot, chain.robot.tree.link_names[-1]
    point = rng.standard_normal(3)
    J, inverse = robot.jacobian(q, link, point), np.linalg.inv(robot.mass_matrix(q).dense())
    omega = J @ inverse @ J.swapaxes(-1, -2)
    close(robot.operational_mobility(q, link, point), omega)
    found = robot.operational_inertia(q, link, point)
    close(found.inertia @ omega, np.broadcast_to(np.eye(6), omega.shape), 1e-7)
    close(found.inverse, omega)
    consistent = robot.dynamically_consistent_inverse(q, link, point)
    close(J @ consistent, np.broadcast_to(np.eye(6), omega.shape), 1e-7)
    close(robot.link_mobilities(q)[..., -1, :, :], robot.operational_mobility(q, link))
    equation = robot.operational_dynamics(q, link, v, point)
    F = np.einsum("...ij,...j->...i", equation.inertia, robot.jacobian_dot_times(q, link, v, point))
    expected = np.einsum("...vw,...v->...w", consistent, robot.bias(q, v)) - F
    close(equation.coriolis + equation.gravity, expected, 1e-7)


def test_links_wrenches_and_parameters(chain: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, a), robot, full, G = state(chain, rng), chain.robot, chain.full, chain.G
    tau = robot.inverse_dynamics(q, v, a)
    f = rng.standard_normal((robot.tree.n, 6))
    pushed = robot.forward_dynamics(q, v, tau, f_ext=f)
    close(a + np.einsum("via,ia->v", robot.forward_dynamics_wrench_derivative(q), f), pushed, 1e-9)
    wide = chain.wide(q), G @ v
    links = full.forward_link_dynamics(*wide, full.inverse_dynamics(*wide, G @ a)).links
    close(robot.forward_link_dynamics(q, v, tau).links, links, 1e-8)
    Y = robot.regressor(q, v, a)
    inertial = np.asarray(robot.parameters().inertial)
    close(Y @ inertial.ravel(), robot.with_joints(armature=0.0).inverse_dynamics(q, v, a), 1e-9)
    M = robot.mass_matrix(q).dense()
    close(M @ robot.forward_dynamics_parameter_derivatives(q, v, tau), -Y, 1e-9)


def test_steps_and_rollouts(hand: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, tau), robot, dt = state(hand, rng), hand.robot, 1e-3
    new = robot.step(q, v, tau, dt)
    faster = v + dt * robot.forward_dynamics(q, v, tau)
    close(new.v, faster)
    close(new.q, robot.integrate(q, dt * faster))
    run = robot.rollout(q, v, np.tile(tau, (3, 1)), dt=dt)
    close(run.q[1], new.q)
    held = robot.rollout(q, v, None, dt=dt, steps=3, control=lambda t, q, v: -2.0 * v)
    close(held.v[1], robot.step(q, v, -2.0 * v, dt).v)
    run = catena.simulate(robot, q, 0 * v, duration=0.2, dt=1e-3, integrator="rk4")
    energy = run.energy()
    assert np.ptp(energy) < 1e-8 * max(1.0, np.abs(energy).max())
    target, gains = robot.random_configuration(rng), {"kp": 3.0, "kd": 0.5}
    drawn = gains["kp"] * (target - q) - gains["kd"] * v
    for control, torque in (
        (catena.controllers.gravity_compensation(), robot.gravity_torque(q)),
        (catena.controllers.pd(target, **gains), drawn),
        (catena.controllers.hold(target, **gains), drawn + robot.gravity_torque(q)),
    ):
        run = robot.rollout(q, v, None, dt=dt, steps=1, control=control)
        close(run.v[1], robot.step(q, v, torque, dt).v)
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        robot.rollout(q, v, None, dt=dt, steps=3, control=catena.controllers.computed_torque(target, **gains))


@pytest.mark.parametrize("integrator", ["semi_implicit", "linearly_implicit"])
def test_what_resists_acts_on_leaders(integrator: str) -> None:
    """Two fingers of 50 g that move together are one slider of 100 g, with friction that sticks and limits."""
    gripper = catena.load(catena.robots.path("gripper")).with_joints(friction=0.3, damping=0.1)
    parts = catena.Builder("slider").link("palm").link("finger", mass=0.1, inertia=(1, 1, 1))
    slider = parts.prismatic("slide", "palm", "finger", axis="y", lower=0.0, upper=0.04, friction=0.3, damping=0.1)
    push = np.concatenate([np.full(40, 0.2), np.full(60, 2.0), np.full(60, -1.0)])[:, None]
    options = {"joint_losses": True, "joint_limits": catena.JointLimits(1e4, 50.0), "integrator": integrator}
    runs = [robot.rollout([0.02], [0.0], push, 1e-3, **options) for robot in (gripper, slider.build())]
    close(runs[0].q, runs[1].q, 1e-12)
    close(runs[0].v, runs[1].v, 1e-12)
    assert np.abs(runs[0].q[40] - 0.02) < 1e-6
    assert runs[0].q.max() > 0.04


def test_samples_that_diverge_or_are_singular_are_named(hand: mimics.Pair) -> None:
    start, push = np.zeros((2, 2)), np.zeros((2, 20, 2))
    push[1, 3:, 1] = 1e300
    with pytest.warns(catena.DivergenceWarning, match="'one'"):
        run = hand.robot.rollout(start, start, push, 1e-3)
    assert run.diverged.tolist() == [False, True]
    thin = catena.Builder("thin").link("a", mass=1.0, com=(1, 0, 0)).link("b", mass=1.0, com=(1, 0, 0)).link("c")
    thin = thin.revolute("one", "base", "a", axis="x").revolute("two", "a", "b", axis="z")
    robot = thin.revolute("three", "b", "c", axis="z", mimic="two").build()
    with pytest.warns(catena.SingularWarning, match=r"samples 0.*'one'"):
        a = robot.forward_dynamics([[0.0, 0.0], [0.0, 1.0]], np.zeros(2), np.ones(2))
    assert np.isfinite(a).all(axis=-1).tolist() == [False, True]


def test_inverse_kinematics(hand: mimics.Pair, rng: np.random.Generator) -> None:
    q = hand.robot.random_configuration(rng, 20)
    target = hand.robot.placement(q, "b")
    found, reached, _ = hand.robot.inverse_kinematics({"b": (target.rotation, target.position)}, rng=0)
    assert reached.all()
    close(hand.robot.placement(found, "b").position, target.position, 1e-8)


def refusal(asked: asking.Asked) -> str:
    """What a question says that is refused because of mimic joints."""
    try:
        asked()
    except catena.UnsupportedError as error:
        return str(error)
    except catena.SingularError:
        pass
    return ""


def test_every_question_answers_or_names_a_joint(hand: mimics.Pair, rng: np.random.Generator) -> None:
    refused = {asked.label: refusal(asked) for asked in mimics.questions(hand.robot, rng)}
    refused = {label: message for label, message in refused.items() if message}
    assert not refused
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        hand.robot.regressor(np.zeros(2), np.zeros(2), np.zeros(2), joints=True)
    for ask in (hand.robot.operators, hand.robot.natural_orthogonal_complement):
        with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
            ask(hand.robot.neutral())
    with pytest.raises(catena.UnsupportedError, match=r"method='udu'.*'two' mimics 'one'"):
        hand.robot.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), method="udu")


def test_rolled_kernels_agree(hand: mimics.Pair, rng: np.random.Generator) -> None:
    heavy = mimics.pair(catena.load(mimics.HAND.replace('<link name="c"/>', C), mimic="independent"))
    q, v, tau = state(heavy, rng, 3)
    robot = heavy.robot
    for name, given in (
        ("forward_dynamics", (q, v, tau)),
        ("inverse_dynamics", (q, v, tau)),
        ("kinetic_energy", (q, v)),
    ):
        ask = getattr(robot, name)
        close(ask(*given, kernel="rolled"), ask(*given, kernel="unrolled"))
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        robot.step(q, v, tau, 1e-3, kernel="rolled")


C = """<link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>"""


def test_arrays_that_nobody_knows_are_refused(hand: mimics.Pair) -> None:
    renamed = replace(catalogue.INVERSE_DYNAMICS, name="inverse_dynamics/renamed", outputs={"what": "small"})
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        kernel(hand.robot, renamed)


def test_evaluate_and_count(hand: mimics.Pair, rng: np.random.Generator) -> None:
    q, v, tau = state(hand, rng)
    close(catena.evaluate(hand.robot, "forward_dynamics", q, v, tau), hand.robot.forward_dynamics(q, v, tau))
    assert catena.count(hand.robot, "forward_dynamics").total > 0
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        catena.count(hand.robot, "forward_dynamics/fd1")


def test_forces_in_joints(chain: mimics.Pair, rng: np.random.Generator) -> None:
    """What joints pass on is what moves the links as they move, whoever drives the followers."""
    (q, v, tau), robot, full, G = state(chain, rng), chain.robot, chain.full, chain.G
    f = rng.standard_normal((robot.tree.n, 6))
    found = robot.reactions(q, v, tau, f)
    close(found.acceleration, robot.forward_dynamics(q, v, tau, f))
    close(found.wrench, full.interlink_forces(chain.wide(q), G @ v, G @ found.acceleration, f), 1e-9)


def test_derivatives_with_other_parameters(hand: mimics.Pair, rng: np.random.Generator) -> None:
    (q, v, tau), robot, h = state(hand, rng), hand.robot, 1e-6
    row = robot.parameters().vector * rng.uniform(0.8, 1.2, robot.parameters().vector.shape)
    found = robot.forward_dynamics_derivatives(q, v, tau, parameters=row)
    for d, column in zip(np.eye(robot.nv), found.dq.T, strict=True):
        ahead, behind = (robot.forward_dynamics(q + s * d, v, tau, parameters=row) for s in (h, -h))
        close(column, (ahead - behind) / (2 * h), 1e-6)


def test_every_question_is_machine_code(hand: mimics.Pair, rng: np.random.Generator) -> None:
    """Nothing is composed with NumPy but what is meant to be, to compare with."""
    asked, refused = 0, []
    for question in mimics.questions(hand.robot, rng):
        asked += 1
        try:
            with contextlib.suppress(catena.SingularError):  # too few joints move the link, or it has no mass
                question()
        except catena.UnsupportedError:
            refused.append(question.label)
    composed = {x.name for x in hand.robot._compiled._things.values() if isinstance(x, Composed)}
    assert composed == {"dense"}
    assert asked > 60
    assert refused == []
