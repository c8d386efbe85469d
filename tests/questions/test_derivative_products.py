"""Products with derivatives as questions: losses, wrenches, options, batches, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative

import catena
from catena.errors import ShapeError, UnsupportedError


def lossy(robot: catena.Robot) -> catena.Robot:
    rng = np.random.default_rng(4)
    damping, friction = rng.uniform(0.1, 0.5, (2, robot.nv))
    return catena.Robot(replace(robot.tree, damping=damping, friction=friction))


ROBOT = lossy(catena.random_tree(31, 3, ["revolute", "universal"], 0.5, base="floating"))


def arrays(count: int, batch: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """A configuration, and so many vectors."""
    rng = np.random.default_rng(6)
    return ROBOT.random_configuration(rng, batch), *rng.standard_normal((count, *batch, ROBOT.nv))


def wrenches() -> np.ndarray:
    return np.random.default_rng(7).standard_normal((2, ROBOT.tree.n, 6))


def matrix(forward: bool, name: str, f: np.ndarray) -> np.ndarray:
    """The derivatives of dynamics with losses by one input, column by column by differences."""
    q, v, x = arrays(2)
    question, h = ROBOT.forward_dynamics if forward else ROBOT.inverse_dynamics, 1e-6
    given: dict[str, Any] = {"q": q, "v": v, "x": x, "f_ext": f}

    def at(step: np.ndarray) -> np.ndarray:
        moved = ROBOT.integrate(q, step) if name == "q" else given[name] + step.reshape(given[name].shape)
        return question(*{**given, name: moved}.values(), joint_losses=True)

    size = ROBOT.nv if name == "q" else given[name].size
    return np.stack([(at(e) - at(-e)) / (2 * h) for e in h * np.eye(size)], axis=-1)


@pytest.mark.parametrize("forward", [True, False], ids=["forward", "inverse"])
def test_dynamics_with_losses_and_wrenches(forward: bool) -> None:
    q, v, x, dq, dv, dx, w = arrays(6)
    f, df = wrenches()
    names = "q", "v", "x", "f_ext"
    J = {name: matrix(forward, name, f) for name in names}
    along = sum(J[n] @ d.ravel() for n, d in zip(names, (dq, dv, dx, df), strict=True))
    jvp, vjp, third = (
        (ROBOT.forward_dynamics_jvp, ROBOT.forward_dynamics_vjp, "tau")
        if forward
        else (ROBOT.inverse_dynamics_jvp, ROBOT.inverse_dynamics_vjp, "a")
    )
    for shape in ("unrolled", "rolled"):
        found = jvp(q, v, x, dq, dv, dx, f, df, joint_losses=True, kernel=shape)
        assert relative(found, along) < 1e-6
        gradients = vjp(q, v, x, w, f, by=["f_ext", "v", third, "q"], joint_losses=True, kernel=shape)
        for gradient, name in zip(gradients, ("f_ext", "v", "x", "q"), strict=True):
            assert relative(gradient.ravel(), w @ J[name]) < 1e-6


def test_methods_of_forward_dynamics_agree() -> None:
    q, v, tau, dq, dv, dtau, w = arrays(6)
    along = ROBOT.forward_dynamics_jvp(q, v, tau, dq, dv, dtau, method="fd3")
    assert relative(along, ROBOT.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)) < 1e-12
    back = ROBOT.forward_dynamics_vjp(q, v, tau, w, method="fd3", kernel="rolled")
    for x, y in zip(back, ROBOT.forward_dynamics_vjp(q, v, tau, w), strict=True):
        assert relative(x, y) < 1e-12


def test_long_chains_keep_their_digits() -> None:
    """Forward and in reverse, to rounding, although M is ill-conditioned."""
    chain = catena.rod_chain(1000)
    rng = np.random.default_rng(9)
    q, (v, tau, dq, dv, dtau, w) = chain.random_configuration(rng), rng.standard_normal((6, chain.nv))
    along = chain.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)
    by_q, by_v, by_tau = chain.forward_dynamics_vjp(q, v, tau, w)
    difference = w @ along - (by_q @ dq + by_v @ dv + by_tau @ dtau)
    assert abs(difference) < 1e-13 * np.abs(w * along).sum()


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_parameters_in_place_of_the_models(shape: str) -> None:
    other = ROBOT.with_parameters(catena.randomize(ROBOT, 3, 0.2)).with_gravity((1.0, 2.0, -8.0))
    q, v, x, dq, dv, dx, w = arrays(6)
    options: dict[str, Any] = {"joint_losses": True, "kernel": shape}
    for jvp, vjp in (
        ("forward_dynamics_jvp", "forward_dynamics_vjp"),
        ("inverse_dynamics_jvp", "inverse_dynamics_vjp"),
    ):
        found = getattr(ROBOT, jvp)(q, v, x, dq, dv, dx, parameters=other.parameters(), **options)
        assert relative(found, getattr(other, jvp)(q, v, x, dq, dv, dx, joint_losses=True)) < 1e-11
        back = getattr(ROBOT, vjp)(q, v, x, w, parameters=other.parameters(), **options)
        for gradient, expected in zip(back, getattr(other, vjp)(q, v, x, w, joint_losses=True), strict=True):
            assert relative(gradient, expected) < 1e-11


@pytest.mark.parametrize("forward", [True, False], ids=["forward", "inverse"])
def test_by_parameters(forward: bool) -> None:
    """All numbers of the robot move, and its state with them: against differences, and forward against reverse."""
    q, v, x, dq, dv, dx, w = arrays(6)
    P, rng, h = catena.randomize(ROBOT, 3, 0.2).vector, np.random.default_rng(8), 1e-6
    dP = rng.standard_normal(P.shape) * np.maximum(np.abs(P), 0.1)
    question, jvp, vjp, third = (
        (ROBOT.forward_dynamics, ROBOT.forward_dynamics_jvp, ROBOT.forward_dynamics_vjp, "tau")
        if forward
        else (ROBOT.inverse_dynamics, ROBOT.inverse_dynamics_jvp, ROBOT.inverse_dynamics_vjp, "a")
    )
    ahead, behind = (
        question(ROBOT.integrate(q, s * dq), v + s * dv, x + s * dx, joint_losses=True, parameters=P + s * dP)
        for s in (h, -h)
    )
    rolled: Any = None
    for shape in ("rolled", "unrolled"):
        options: dict[str, Any] = {"joint_losses": True, "kernel": shape, "parameters": P}
        along = jvp(q, v, x, dq, dv, dx, dparameters=dP, **options)
        assert relative(along, (ahead - behind) / (2 * h)) < 1e-6
        gradients = vjp(q, v, x, w, by=["parameters", third, "v", "q"], **options)
        reverse = sum(g @ d for g, d in zip(gradients, (dP, dx, dv, dq), strict=True))
        assert abs(reverse - w @ along) < 1e-13 * np.abs(w * along).sum()
        assert np.array_equal(vjp(q, v, x, w, by="parameters", **options).shape, P.shape)
        if rolled is not None:
            assert all(relative(a, b) < 1e-12 for a, b in zip(rolled, (along, *gradients), strict=True))
        rolled = along, *gradients


def test_by_parameters_and_wrenches_per_sample() -> None:
    """Wrenches beside parameters, each sample with its own, and long chains by their own sweeps."""
    q, v, x, w = arrays(3, (4,))
    many, f = catena.randomize(ROBOT, 5, 0.1, shape=4), wrenches()[0]
    by_f, by_P = ROBOT.forward_dynamics_vjp(q, v, x, w, f, by=("f_ext", "parameters"), parameters=many)
    one = ROBOT.forward_dynamics_vjp(q[2], v[2], x[2], w[2], f, by=("f_ext", "parameters"), parameters=many[2])
    assert np.array_equal(by_f[2], one[0])
    assert np.array_equal(by_P[2], one[1])
    same = ROBOT.forward_dynamics_vjp(q, v, x, w, f, by="parameters", parameters=many, method="fd3", kernel="rolled")
    assert relative(same, by_P) < 1e-11
    own = ROBOT.parameters()
    Y = ROBOT.regressor(q[0], v[0], x[0])
    gradient = ROBOT.inverse_dynamics_vjp(q[0], v[0], x[0], w[0], by="parameters", parameters=own)
    assert relative(gradient[: 10 * ROBOT.tree.n], w[0] @ Y) < 1e-12


def test_at_rest_friction_has_no_slope() -> None:
    q, x, w = arrays(2)
    still = np.zeros(ROBOT.nv)
    with_losses = ROBOT.inverse_dynamics_vjp(q, still, x, w, by="v", joint_losses=True)
    without = ROBOT.inverse_dynamics_vjp(q, still, x, w, by="v")
    assert with_losses - without == pytest.approx(ROBOT.damping * w, rel=1e-12)


def test_batches_results_given_and_float32() -> None:
    q, v, tau, dq, dv, dtau, w = arrays(6, (3, 5))
    ones = ROBOT.forward_dynamics_vjp(q[1, 2], v[1, 2], tau[1, 2], w[1, 2])
    out = tuple(np.empty((3, 5, ROBOT.nv)) for _ in range(3))
    ROBOT.forward_dynamics_vjp(q, v, tau, w, out=out)
    for x, y in zip(out, ones, strict=True):
        assert np.array_equal(x[1, 2], y)
    single = ROBOT.forward_dynamics_jvp(q, v, tau, dq, dv, dtau, dtype=np.float32)
    assert single.dtype == np.float32
    assert relative(single, ROBOT.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)) < 1e-3
    many = ROBOT.forward_dynamics_jvp(q[0, 0], v[0, 0], tau[0, 0], np.eye(ROBOT.nv), 0 * w[0, 0], 0 * w[0, 0])
    weighted = ROBOT.forward_dynamics_vjp(q[0, 0], v[0, 0], tau[0, 0], w[0, 0], by="q")
    assert many @ w[0, 0] == pytest.approx(weighted, rel=1e-10, abs=1e-10)
    empty = np.empty((0, ROBOT.nv))
    assert ROBOT.integrate_jvp(np.empty((0, ROBOT.nq)), empty, empty, empty).shape == (0, ROBOT.nv)


def test_integrate_in_reverse() -> None:
    q, dv, d, e, w = arrays(4)
    for shape in ("unrolled", "rolled"):
        along = ROBOT.integrate_jvp(q, dv, d, e, kernel=shape)
        by_q, by_dv = ROBOT.integrate_vjp(q, dv, w, kernel=shape)
        assert w @ along == pytest.approx(by_q @ d + by_dv @ e, rel=1e-13)


def test_integrate_from_rest_moves_as_told() -> None:
    q, d, e = arrays(2)
    assert ROBOT.integrate_jvp(q, np.zeros(ROBOT.nv), d, e) == pytest.approx(d + e, rel=1e-13)


def test_quaternions_of_any_length() -> None:
    q, v, tau, dq, dv, dtau = arrays(5)
    longer = q.copy()
    longer[3:7] *= 3.0
    expected = ROBOT.forward_dynamics_jvp(q, v, tau, dq, dv, dtau)
    assert ROBOT.forward_dynamics_jvp(longer, v, tau, dq, dv, dtau) == pytest.approx(expected, rel=1e-11)


def test_what_is_refused() -> None:
    q, v, tau, w = arrays(3)
    with pytest.raises(UnsupportedError, match="no method of derivatives 'dense'"):
        ROBOT.forward_dynamics_vjp(q, v, tau, w, method="dense")
    with pytest.raises(UnsupportedError, match=r"no input to differentiate by, 'a'; expected one of 'q', 'v', 'tau'"):
        ROBOT.forward_dynamics_vjp(q, v, tau, w, by=["q", "a"])
    with pytest.raises(UnsupportedError, match="by names f_ext, which is missing"):
        ROBOT.inverse_dynamics_vjp(q, v, tau, w, by="f_ext")
    with pytest.raises(UnsupportedError, match="twice"):
        ROBOT.inverse_dynamics_vjp(q, v, tau, w, by=("q", "q"))
    with pytest.raises(UnsupportedError, match="expected at least one input to differentiate by"):
        ROBOT.inverse_dynamics_vjp(q, v, tau, w, by=())
    with pytest.raises(UnsupportedError, match="df_ext is the direction of f_ext"):
        ROBOT.forward_dynamics_jvp(q, v, tau, w, w, w, df_ext=wrenches()[0])
    with pytest.raises(UnsupportedError, match="dparameters is the direction of parameters, which is missing"):
        ROBOT.inverse_dynamics_jvp(q, v, tau, w, w, w, dparameters=ROBOT.parameters().vector)
    with pytest.raises(UnsupportedError, match="by names parameters, which is missing: give the parameters, such as"):
        ROBOT.forward_dynamics_vjp(q, v, tau, w, by="parameters")
    with pytest.raises(ShapeError, match=r"forward_dynamics_vjp: weight must have shape"):
        ROBOT.forward_dynamics_vjp(q, v, tau, w[1:])
