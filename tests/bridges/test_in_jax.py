"""Questions as functions of JAX: values, derivatives, batches, loops, both ways into compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative, state

import catena
import catena.jax

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
check_grads = pytest.importorskip("jax.test_util").check_grads


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def test_values_are_the_robot_s_own(arm: catena.Robot) -> None:
    q, v, tau = state(arm, batch=(5,))
    wrench = np.random.default_rng(1).normal(size=(len(arm.links), 6))
    function = catena.jax.function(arm, "forward_dynamics", joint_losses=True)
    for call in (function, jax.jit(function)):
        assert np.array_equal(call(q, v, tau), arm.forward_dynamics(q, v, tau, joint_losses=True))
        expected = arm.forward_dynamics(q[0], v, tau, wrench, joint_losses=True)
        assert np.array_equal(call(q[0], v, tau=tau, f_ext=wrench), expected)


@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics"])
def test_derivatives_of_dynamics(floating: catena.Robot, question: str) -> None:
    wrench = np.random.default_rng(2).normal(size=(len(floating.links), 6))
    check_grads(catena.jax.function(floating, question), (*state(floating), wrench), order=1)


@pytest.mark.parametrize("dv", [0.0, 1e-3, 1.0])
def test_derivatives_of_integrate(floating: catena.Robot, dv: float) -> None:
    q, v, _ = state(floating, 1)
    check_grads(catena.jax.function(floating, "integrate"), (q, dv * v), order=2 if dv == 0 else 1)


def test_derivatives_where_quaternions_are_not_of_unit_length(floating: catena.Robot) -> None:
    q, v, tau = state(floating, 2)
    check_grads(catena.jax.function(floating, "forward_dynamics"), (1.3 * q, v, tau), order=1)


def test_second_derivatives() -> None:
    robot = catena.random_tree(8, 2, ["spherical", "revolute"], 0.0)
    assert robot.nq > robot.nv  # it has a quaternion
    check_grads(catena.jax.function(robot, "forward_dynamics"), state(robot, 1), order=2)


def test_derivatives_of_loops_over_links(floating: catena.Robot) -> None:
    q, v, tau = state(floating, 3)
    rolled, unrolled = (catena.jax.function(floating, "forward_dynamics", kernel=k) for k in ("rolled", "unrolled"))
    for jacobian in (jax.jacfwd, jax.jacrev):
        assert relative(jacobian(rolled)(q, v, tau), jacobian(unrolled)(q, v, tau)) < 1e-10


def test_other_questions_have_derivatives_too(arm: catena.Robot) -> None:
    q, v, _ = state(arm)
    energy, momentum = (catena.jax.function(arm, name) for name in ("kinetic_energy", "inverse_dynamics"))
    assert relative(jax.grad(energy, 1)(q, v), arm.mass_matrix(q) @ v) < 1e-12
    assert relative(jax.jacfwd(momentum, 2)(q, v, v), arm.mass_matrix(q).dense()) < 1e-12
    rates = jax.jvp(catena.jax.function(arm, "placements"), (q,), (v,))[1]
    assert relative(rates.position, arm.link_velocities(q, v, frame="mixed")[:, 3:]) < 1e-12


def test_batches_in_every_order(floating: catena.Robot) -> None:
    function = catena.jax.function(floating, "forward_dynamics")
    (q, v, _), (_, _, tau) = state(floating, 4, (4,)), state(floating, 5)
    assert np.array_equal(jax.vmap(function, (0, 0, None))(q, v, tau), floating.forward_dynamics(q, v, tau))
    nested = jax.vmap(lambda q: jax.vmap(lambda v: function(q, v, tau), out_axes=1)(v))(q)
    expected = floating.forward_dynamics(q[:, None], v, tau)
    assert np.array_equal(np.moveaxis(nested, 1, 2), expected)
    mixed = jax.vmap(lambda t: function(q, v, t), 1)(np.stack([tau, 2 * tau], 1))
    assert np.array_equal(mixed[1], floating.forward_dynamics(q, v, 2 * tau))


def test_gradients_of_batches(floating: catena.Robot) -> None:
    function = catena.jax.function(floating, "forward_dynamics")
    (q, v, _), (_, _, tau) = state(floating, 4, (4,)), state(floating, 5)

    def total(q: Any, v: Any, tau: Any) -> Any:
        return function(q, v, tau).sum()

    each = jax.vmap(jax.grad(total, (0, 1, 2)), (0, 0, None))(q, v, tau)
    at_once = jax.grad(total, (0, 1, 2))(q, v, tau)
    inside = jax.grad(lambda *x: jax.vmap(function, (0, 0, None))(*x).sum(), (0, 1, 2))(q, v, tau)
    for found in (at_once, inside):
        assert relative(found[0], each[0]) < 1e-13
        assert relative(found[1], each[1]) < 1e-13
        assert relative(found[2], each[2].sum(0)) < 1e-13


def test_no_samples(arm: catena.Robot) -> None:
    q, v, tau = state(arm, batch=(0,))
    function = catena.jax.function(arm, "forward_dynamics")
    assert jax.jit(function)(q, v, tau).shape == (0, 7)
    assert not np.any(jax.grad(lambda t: function(q, v, t).sum())(np.ones(7)))


def test_single_precision(arm: catena.Robot) -> None:
    singles = [x.astype(np.float32) for x in state(arm)]
    function = catena.jax.function(arm, "forward_dynamics")
    expected = arm.forward_dynamics(*singles, dtype=np.float32)
    assert np.array_equal(function(*singles), expected)
    assert function(singles[0], *singles[1:]).dtype == np.float32
    assert function(singles[0].astype(float), *singles[1:]).dtype == np.float64
    gradient = jax.jit(jax.grad(lambda *x: function(*x).sum()))
    assert gradient(*singles).dtype == np.float32
    assert relative(gradient(*singles), gradient(*state(arm))) < 1e-4
    jax.config.update("jax_enable_x64", False)
    assert function(*[x.tolist() for x in singles]).dtype == np.float32


def rolled_out(robot: catena.Robot, dt: float) -> Callable[..., Any]:
    """A function of where steps of the semi-implicit Euler method lead, with one torque for each of them."""
    accelerations, moved = (catena.jax.function(robot, name) for name in ("forward_dynamics", "integrate"))

    def step(at: Any, tau: Any) -> Any:
        q, v = at
        v = v + dt * accelerations(q, v, tau)
        return (moved(q, dt * v), v), None

    def cost(q: Any, v: Any, taus: Any) -> Any:
        (q, v), _ = jax.lax.scan(step, (q, v), taus)
        return (jnp.arange(1.0, 1 + q.size) * q).sum() + (v**2).sum()

    return cost


def test_the_gradient_through_a_hundred_steps_of_an_arm(arm: catena.Robot) -> None:
    q, v, _ = state(arm, 6)
    rng = np.random.default_rng(7)
    taus = rng.normal(size=(100, 7))
    cost = rolled_out(arm, 1e-3)
    at, value, gradient = (q, 0.1 * v, taus), jax.jit(cost), jax.jit(jax.grad(cost, (0, 1, 2)))
    gradients = gradient(*at)
    h = 1e-4
    for which, found in enumerate(gradients):
        for _ in range(3):
            direction = rng.normal(size=found.shape)
            moved = [(*at[:which], at[which] + k * h * direction, *at[which + 1 :]) for k in (-2, -1, 1, 2)]
            back2, back, ahead, ahead2 = (float(value(*x)) for x in moved)
            slope = (8 * (ahead - back) - (ahead2 - back2)) / (12 * h)
            assert (found * direction).sum() == pytest.approx(slope, rel=1e-6)


def test_a_callback_serves_where_machine_code_cannot_be_called(
    arm: catena.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    import catena.bridges.in_jax as bridge

    q, v, tau = state(arm, 8, (3,))
    direct = catena.jax.function(arm, "forward_dynamics")
    expected = direct(q, v, tau), jax.grad(lambda q: direct(q, v, tau[0]).sum())(q)
    monkeypatch.setattr(bridge, "custom_call", lambda of, dtype: None)
    function = catena.jax.function(arm, "forward_dynamics")
    found = jax.jit(function)(q, v, tau), jax.jit(jax.grad(lambda q: function(q, v, tau[0]).sum()))(q)
    assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))


def test_machine_code_is_called_directly(arm: catena.Robot) -> None:
    lowered = jax.jit(catena.jax.function(arm, "forward_dynamics")).lower(*state(arm)).as_text()
    assert "@catena_" in lowered
    assert "callback" not in lowered


def test_long_chains_compute_in_memory_of_their_own() -> None:
    chain = catena.planar_chain(np.ones(1000), np.ones(1000))
    q, v, tau = state(chain, 9, (2,))
    function = jax.jit(catena.jax.function(chain, "forward_dynamics"))
    assert np.array_equal(function(q, v, tau), chain.forward_dynamics(q, v, tau))
    assert np.array_equal(function(q[0], v[0], tau[0]), chain.forward_dynamics(q[0], v[0], tau[0]))


def test_robots_without_joints() -> None:
    robot = catena.Builder("still").link("a", mass=1.0).build()
    function = jax.jit(catena.jax.function(robot, "forward_dynamics"))
    nothing = np.zeros((3, 0))
    assert function(nothing, nothing, nothing).shape == (3, 0)
    assert jax.grad(lambda q: function(q, nothing, nothing).sum())(nothing).shape == (3, 0)


def test_wrong_arrays_are_refused_by_name(arm: catena.Robot) -> None:
    function = catena.jax.function(arm, "forward_dynamics")
    q, v, tau = state(arm)
    for arrays in ((q[:6], v, tau), (q, np.zeros((2, 7)), np.zeros((3, 7))), (1j * q, v, tau)):
        with pytest.raises(catena.ShapeError, match="forward_dynamics"):
            jax.jit(function)(*arrays)


ODD: dict[str, Any] = {
    "an object": object(),
    "rows that differ": [[1.0, 2.0], [3.0]],
    "words": ["a", "b"],
    "objects": np.array([None] * 7),
    "numbers of thirty digits": [10**30] * 7,
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_odd_arrays_are_refused_by_name(arm: catena.Robot, value: Any) -> None:
    q, _, tau = state(arm)
    with pytest.raises(catena.ShapeError, match="forward_dynamics: v "):
        catena.jax.function(arm, "forward_dynamics")(q, value, tau)


def test_odd_dtypes(arm: catena.Robot) -> None:
    q, *_ = state(arm)
    function = catena.jax.function(arm, "gravity_torque")
    for odd in (">f8", np.longdouble):
        assert np.array_equal(function(q.astype(odd)), arm.gravity_torque(q))
    for kind in (jnp.zeros(7, jnp.int4), jax.random.split(jax.random.key(0), 7)):
        with pytest.raises(catena.ShapeError, match="float32 or float64"):
            function(kind)


def test_only_derivatives_have_a_transpose(arm: catena.Robot) -> None:
    q, v, tau = state(arm)
    function = catena.jax.function(arm, "forward_dynamics")
    with pytest.raises(catena.UnsupportedError, match="gradients"):
        jax.linear_transpose(lambda tau: function(q, v, tau), tau)(tau)


def test_parameters_are_inputs_with_gradients() -> None:
    robot = catena.random_tree(5, 2, ["revolute"], 0.0)
    at, heavier = state(robot), 1.5 * robot.parameters().vector
    function = catena.jax.function(robot, "forward_dynamics")
    expected = robot.forward_dynamics(*at, parameters=heavier)
    assert relative(function(*at, parameters=heavier), expected) < 1e-13
    found = jax.grad(lambda q: function(q, *at[1:], parameters=robot.parameters().vector).sum())(at[0])
    assert relative(found, jax.grad(lambda q: function(q, *at[1:]).sum())(at[0])) < 1e-12
    by_parameters = jax.grad(lambda p: function(*at, parameters=p).sum())(heavier)
    weight = np.ones(robot.nv)
    assert relative(by_parameters, robot.forward_dynamics_vjp(*at, weight, by="parameters", parameters=heavier)) < 1e-12
    check_grads(lambda q, p: function(q, *at[1:], parameters=p), (at[0], heavier), order=2, rtol=1e-5)


def test_what_is_checked_after_it_was_computed_has_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.fixman.method.LONG", 1)  # from how many links on it is checked
    chain = catena.planar_chain(np.ones(4), 0.2)
    partitioned = catena.jax.function(chain, "forward_dynamics", method="fixman")
    at = state(chain)
    found = jax.jit(lambda *given: jax.jvp(partitioned, given, given))(*at)
    assert relative(found[0], chain.forward_dynamics(*at)) < 1e-8
    assert relative(found[1], chain.forward_dynamics_jvp(*at, *at)) < 1e-8


def test_questions_without_derivatives_say_so(arm: catena.Robot) -> None:
    q, *_ = state(arm)
    inverse = catena.jax.function(arm, "inverse_mass_matrix")
    changes = jax.jacfwd(inverse)(q)
    assert changes.shape == (7, 7, 7)
    with pytest.raises(catena.UnsupportedError, match="whole matrix"):
        jax.grad(lambda q: inverse(q).sum())(q)
