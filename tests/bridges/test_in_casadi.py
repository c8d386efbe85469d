"""Questions as functions of CasADi: values, Jacobians, directions, gradients, Hessians, an optimisation."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative, state

import catena
import catena.casadi

casadi = pytest.importorskip("casadi")


@pytest.fixture(scope="module")
def small() -> catena.Robot:
    robot = catena.random_tree(8, 2, ["spherical", "revolute"], 0.0)
    assert robot.nq > robot.nv  # it has a quaternion
    return robot


def slopes(function: Any, at: list[np.ndarray], which: int, h: float = 1e-5) -> np.ndarray:
    """Differences of the fourth order, a column for each number, in CasADi's order."""

    def value(k: int, unit: np.ndarray) -> np.ndarray:
        moved = [x + k * h * unit if i == which else x for i, x in enumerate(at)]
        return np.asarray(function(*moved)).ravel(order="F")

    units = [u.reshape(at[which].shape, order="F") for u in np.eye(at[which].size)]
    columns = [(8 * (value(1, u) - value(-1, u)) - (value(2, u) - value(-2, u))) / (12 * h) for u in units]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics", "integrate"])
def test_values_and_jacobians(floating: catena.Robot, question: str) -> None:
    wrench = np.random.default_rng(1).normal(size=(len(floating.links), 6))
    at = state(floating)[:2] if question == "integrate" else [*state(floating), wrench]
    names = None if question == "integrate" else {"forward_dynamics": "tau", "inverse_dynamics": "a"}[question]
    arrays = names and ["q", "v", names, "f_ext"]
    function = catena.casadi.function(floating, question, arrays)
    assert np.array_equal(np.asarray(function(*at)).ravel(), getattr(floating, question)(*at))
    symbols = [casadi.MX.sym("x", *function.sparsity_in(i).shape) for i in range(len(at))]
    blocks = [casadi.jacobian(function(*symbols), x) for x in symbols]
    found = casadi.Function("all", symbols, blocks)(*at)
    for i, block in enumerate(found):
        assert relative(block.full(), slopes(function, at, i)) < 1e-8


def test_directions_and_gradients(small: catena.Robot) -> None:
    function, at = catena.casadi.function(small, "forward_dynamics"), state(small)
    symbols = [casadi.MX.sym("x", x.size) for x in at]
    value = function(*symbols)
    rng = np.random.default_rng(2)
    direction, weight = rng.normal(size=small.nq), rng.normal(size=small.nv)
    ahead = casadi.jtimes(value, symbols[0], direction)
    back = casadi.jtimes(value, symbols[0], weight, True)
    found = casadi.Function("both", symbols, [ahead, back])(*at)
    jacobian = slopes(function, at, 0)
    assert relative(found[0].full().ravel(), jacobian @ direction) < 1e-8
    assert relative(found[1].full().ravel(), jacobian.T @ weight) < 1e-8


def test_jacobians_by_parameters(small: catena.Robot) -> None:
    function = catena.casadi.function(small, "forward_dynamics", ["q", "v", "tau", "parameters"])
    at = [*state(small), np.array(catena.randomize(small, 3, 0.2))]
    symbols = [casadi.MX.sym("x", x.size) for x in at]
    jacobian = casadi.Function("J", symbols, [casadi.jacobian(function(*symbols), symbols[3])])
    assert relative(jacobian(*at).full(), slopes(function, at, 3)) < 1e-7


def test_hessians(small: catena.Robot) -> None:
    function, at = catena.casadi.function(small, "forward_dynamics"), state(small, 1)
    symbols = [casadi.MX.sym("x", x.size) for x in at]
    cost = casadi.sumsqr(function(*symbols))
    hessian, gradient = casadi.hessian(cost, symbols[0])
    found = casadi.Function("h", symbols, [hessian])(*at).full()
    assert relative(found, found.T) < 1e-12
    assert relative(found, slopes(casadi.Function("g", symbols, [gradient]), at, 0)) < 1e-8


def test_names_and_shapes(small: catena.Robot) -> None:
    forward = catena.casadi.function(small, "forward_dynamics", ["q", "v", "tau", "f_ext"])
    assert forward.name_in() == ["q", "v", "tau", "f_ext"]
    assert forward.size_in(3) == (len(small.links), 6)
    assert catena.casadi.function(small, "integrate").name_out() == ["q_out"]
    placed = catena.casadi.function(small, "placements")
    q, *_ = state(small)
    rotation, position = placed(q)
    expected = small.placements(q)
    assert np.array_equal(rotation.full(), expected.rotation.reshape(-1, 3))
    assert np.array_equal(position.full(), expected.position)
    at = casadi.MX.sym("q", small.nq)
    blocks = casadi.Function("blocks", [at], [casadi.jacobian(x, at) for x in placed(at)])(q)
    for i, block in enumerate(blocks):
        assert relative(block.full(), slopes(lambda q, i=i: placed(q)[i], [q], 0)) < 1e-8


def test_functions_outlive_their_names(small: catena.Robot) -> None:
    at = state(small)
    symbols = [casadi.MX.sym("x", x.size) for x in at]
    value = catena.casadi.function(small, "inverse_dynamics", joint_losses=True)(*symbols)
    outer = casadi.Function("outer", symbols, [casadi.jacobian(value, symbols[1])])
    gc.collect()
    assert outer(*at).shape == (small.nv, small.nv)


def test_a_solver_finds_the_torques_of_inverse_dynamics(small: catena.Robot) -> None:
    q, v, a = state(small, 2)
    tau = casadi.MX.sym("tau", small.nv)
    missing = catena.casadi.function(small, "forward_dynamics")(q, v, tau) - a
    root = casadi.rootfinder("root", "newton", {"x": tau, "g": missing})
    assert relative(root(np.zeros(small.nv), []).full().ravel(), small.inverse_dynamics(q, v, a)) < 1e-9


def test_wrong_arrays_are_refused_by_name(small: catena.Robot) -> None:
    with pytest.raises(catena.UnknownNameError, match="f_ext"):
        catena.casadi.function(small, "forward_dynamics", ["q", "v", "tau", "f_exd"])
    with pytest.raises(catena.UnsupportedError, match="tau must be among"):
        catena.casadi.function(small, "forward_dynamics", ["q", "v"])


def test_robots_without_joints() -> None:
    robot = catena.Builder("still").link("a", mass=1.0).build()
    nothing = casadi.DM(0, 1)
    assert catena.casadi.function(robot, "forward_dynamics")(nothing, nothing, nothing).shape == (0, 1)


def test_what_is_checked_after_it_was_computed_has_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.fixman.method.LONG", 1)  # from how many links on it is checked
    chain = catena.planar_chain(np.ones(3), 0.2)
    function, at = catena.casadi.function(chain, "forward_dynamics", method="fixman"), state(chain)
    assert relative(function(*at).full().ravel(), chain.forward_dynamics(*at)) < 1e-8
    symbols = [casadi.MX.sym("x", 3) for _ in range(3)]
    slope = casadi.Function("slope", symbols, [casadi.jacobian(function(*symbols), symbols[0])])
    assert relative(slope(*at).full(), chain.forward_dynamics_derivatives(*at).dq) < 1e-8
