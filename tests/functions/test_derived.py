"""Functions derived from others: every algorithm in both shapes, against differences, each other and 50 digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.mechanisms import MOVING, relative, with_rotors

import catena
from catena.algorithms import configurations, coriolis, determinant, energy, kinematics, newton_euler
from catena.errors import UnknownNameError, UnsupportedError
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.functions.derived import jvp, vjp
from catena.functions.engine import kernel
from catena.functions.function import Function, by_recipe, kind
from catena.functions.on_scalars import evaluate

TREE = with_rotors(catena.random_tree(60, 10, MOVING, 0.6))
CHAIN = catena.random_tree(21, 4, ["universal", "revolute", "spherical"], 0.0)
FORKED = catena.random_tree(21, 5, ["revolute", "planar"], 0.8)

SHAPES = ("unrolled", "rolled")
MECHANISMS = {"tree": TREE, "chain": CHAIN, "forked": FORKED}


def test_mechanisms_are_what_they_are_called() -> None:
    assert set(TREE.tree.joint_type.tolist()) == set(range(9))
    assert CHAIN.tree.parent.tolist() == [-1, 0, 1, 2]
    assert FORKED.tree.parent.tolist() == [-1, -1, 1, 2, 2]


def state(robot: catena.Robot, function: Function, seed: int = 0) -> dict[str, np.ndarray]:
    """Random numbers for the inputs that a function must have."""
    rng = np.random.default_rng(seed)
    given = {}
    for name, k in function.inputs.items():
        if name not in function.optional:
            shape = kind(k).full_shape(robot.tree.n, robot.nq, robot.nv)
            given[name] = robot.random_configuration(rng) if k == "q" else rng.standard_normal(shape)
    return given


def directions(robot: catena.Robot, function: Function, seed: int = 1) -> dict[str, np.ndarray]:
    """Random directions of these inputs."""
    rng, given = np.random.default_rng(seed), state(robot, function)
    return {n: rng.standard_normal(robot.nv if function.inputs[n] == "q" else x.shape) for n, x in given.items()}


def listed(results: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]


def moved(robot: catena.Robot, function: Function, h: float) -> list[np.ndarray]:
    """The inputs, moved by h along the directions."""
    given, along = state(robot, function), directions(robot, function)
    return [
        robot.integrate(x, h * along[n]) if function.inputs[n] == "q" else x + h * along[n] for n, x in given.items()
    ]


def differences(robot: catena.Robot, function: Function, h: float = 1e-6) -> list[np.ndarray]:
    """The derivatives of all outputs along the directions, by differences."""
    here, ahead, behind = (listed(kernel(robot, function)(*moved(robot, function, x))) for x in (0.0, h, -h))
    found = []
    for k, x, y, z in zip(function.outputs.values(), here, ahead, behind, strict=True):
        step = robot.difference(x, y) - robot.difference(x, z) if k == "q" else y - z
        found.append(step / (2 * h))
    return found


CASES: list[tuple[str, Function]] = [
    ("chain", INVERSE_DYNAMICS),
    ("forked", INVERSE_DYNAMICS),
    ("chain", FORWARD_DYNAMICS["fd4"]),
    ("chain", configurations.INTEGRATE),
    ("forked", configurations.DIFFERENCE),
    ("forked", kinematics.PLACEMENTS),
    ("chain", coriolis.CORIOLIS_TIMES),
    ("forked", newton_euler.RECURSIVE_SPATIAL_DYNAMICS),
    ("chain", determinant.LOG_DETERMINANT),
    ("forked", determinant.LOG_DETERMINANT),
    ("chain", energy.MOMENTUM_ABOUT),
    ("forked", energy.CENTROIDAL_MOMENTUM),
]


@pytest.mark.parametrize(("mechanism", "function"), CASES, ids=[f"{f.name} {m}" for m, f in CASES])
def test_every_kind_of_algorithm_in_both_shapes(mechanism: str, function: Function) -> None:
    robot = MECHANISMS[mechanism]
    given, along = state(robot, function).values(), directions(robot, function)
    by = tuple(along)
    unrolled, rolled = (listed(kernel(robot, jvp(function, by), kernel=s)(*given, *along.values())) for s in SHAPES)
    for x, y, z in zip(unrolled, rolled, differences(robot, function), strict=True):
        assert relative(x, z) < 1e-6
        assert relative(y, x) < 1e-12
    weights = [np.random.default_rng(2).standard_normal(x.shape) for x in unrolled]
    found = [listed(kernel(robot, vjp(function, by), kernel=s)(*given, *weights)) for s in SHAPES]
    forward = sum(float(np.sum(w * x)) for w, x in zip(weights, unrolled, strict=True))
    scale = sum(float(np.abs(w * x).sum()) for w, x in zip(weights, unrolled, strict=True))
    for gradients in found:
        reverse = sum(float(np.sum(g * d)) for g, d in zip(gradients, along.values(), strict=True))
        assert abs(forward - reverse) <= 1e-13 * scale
    for x, y in zip(*found, strict=True):
        assert np.abs(x - y).max() <= 1e-12 * max(np.abs(g).max() for g in found[0])


def digits(robot: catena.Robot, function: Function) -> Callable[[Any], list[np.ndarray]]:
    """The outputs with 50 digits, h along the directions."""
    given, along = state(robot, function), directions(robot, function)

    def at(h: Any) -> list[np.ndarray]:
        values: dict[str, Any] = {}
        for name, x in given.items():
            step = h * np.array([mpmath.mpf(float(d)) for d in along[name].ravel()], dtype=object)
            exact = np.array([mpmath.mpf(float(y)) for y in x.ravel()], dtype=object)
            if function.inputs[name] == "q":
                inputs = {"q": exact, "dv": step}
                values[name] = evaluate(robot.tree, configurations.INTEGRATE, inputs, mpmath.mpf)["q"]
            else:
                values[name] = (exact + step).reshape(x.shape)
        return list(evaluate(robot.tree, function, values, mpmath.mpf).values())

    return at


@pytest.mark.parametrize("function", [FORWARD_DYNAMICS["fd3"], INVERSE_DYNAMICS], ids=lambda f: f.question)
def test_against_differences_of_50_digits(function: Function) -> None:
    with mpmath.workdps(50):
        at, h = digits(TREE, function), mpmath.mpf(10) ** -18
        (ahead,), (behind,) = at(h), at(-h)
        exact = np.array([float(x) for x in (ahead - behind) / (2 * h)])
    given, along = state(TREE, function).values(), directions(TREE, function)
    question = getattr(TREE, f"{function.question}_jvp")
    for shape in SHAPES:
        assert relative(question(*given, *along.values(), kernel=shape), exact) < 1e-10


def test_results_that_are_configurations_against_50_digits() -> None:
    function = configurations.INTEGRATE
    with mpmath.workdps(50):
        at, h = digits(TREE, function), mpmath.mpf(10) ** -18
        (here,), (ahead,) = at(mpmath.mpf(0)), at(h)
        inputs = {"q0": here, "q1": ahead}
        step = evaluate(TREE.tree, configurations.DIFFERENCE, inputs, mpmath.mpf)["v"]
        exact = np.array([float(x / h) for x in step])
    given, along = state(TREE, function).values(), directions(TREE, function).values()
    assert relative(TREE.integrate_jvp(*given, *along), exact) < 1e-10


def test_optional_inputs_come_last_and_have_directions() -> None:
    derived = jvp(INVERSE_DYNAMICS, ("v", "f_ext"))
    assert list(derived.inputs) == ["q", "v", "a", "dv", "f_ext", "df_ext"]
    assert derived.optional == ("f_ext", "df_ext")
    assert list(vjp(INVERSE_DYNAMICS, ("q",)).inputs) == ["q", "v", "a", "wtau", "f_ext"]


def test_derivatives_of_derivatives() -> None:
    """The Hessian of log det M times a vector, forward over reverse, by differences of the gradient."""
    gradient = vjp(determinant.LOG_DETERMINANT, ("q",))
    hessian = jvp(gradient, ("q",))
    rng = np.random.default_rng(3)
    q, d, h = FORKED.random_configuration(rng), rng.standard_normal(FORKED.nv), 1e-6
    of = kernel(FORKED, gradient)
    expected = (of(FORKED.integrate(q, h * d), 1.0) - of(FORKED.integrate(q, -h * d), 1.0)) / (2 * h)
    for shape in SHAPES:
        assert relative(kernel(FORKED, hessian, kernel=shape)(q, 1.0, d), expected) < 1e-6


def test_directions_of_directions_have_names_of_their_own() -> None:
    """The second derivative along a direction, by differences of the first."""
    twice = jvp(jvp(INVERSE_DYNAMICS, ("q",)), ("q", "dq"))
    assert list(twice.inputs) == ["q", "v", "a", "dq", "dq_", "ddq", "f_ext"]
    given, rng, h = list(state(FORKED, INVERSE_DYNAMICS).values()), np.random.default_rng(4), 1e-6
    first, second, turned = rng.standard_normal((3, FORKED.nv))
    of = kernel(FORKED, jvp(INVERSE_DYNAMICS, ("q",)))
    ahead, behind = (of(FORKED.integrate(given[0], x * second), *given[1:], first + x * turned) for x in (h, -h))
    for shape in SHAPES:
        found = kernel(FORKED, twice, kernel=shape)(*given, first, second, turned)
        assert relative(found, (ahead - behind) / (2 * h)) < 1e-6


def test_the_same_argument_twice() -> None:
    """A function that gets one field for two inputs is differentiated by one of them only."""

    def algorithm(links: Any, q: Any, v: Any) -> Any:
        return vjp(INVERSE_DYNAMICS, ("a",)).algorithm(links, q, v, v, v, None)

    twice = Function("twice", algorithm, {"q": "q", "v": "v"}, {"out": "v"})
    q, v = state(CHAIN, twice).values()
    for shape in SHAPES:
        found = kernel(CHAIN, twice, kernel=shape)(q, v)
        assert relative(found, CHAIN.mass_matrix(q) @ v) < 1e-12


def test_what_cannot_be_differentiated() -> None:
    with pytest.raises(UnknownNameError, match="input of inverse_dynamics"):
        jvp(INVERSE_DYNAMICS, ("q", "tau"))
    with pytest.raises(UnsupportedError, match="whole matrix"):
        vjp(MASS_MATRIX, ("q",))
    with pytest.raises(UnsupportedError, match="composed with NumPy"):
        jvp(Function("composed", by_recipe, {"q": "q"}, {"y": "v"}), ("q",))
    q, v, a = state(CHAIN, INVERSE_DYNAMICS).values()
    with pytest.raises(UnsupportedError, match="on expressions only"):
        evaluate(CHAIN.tree, jvp(INVERSE_DYNAMICS, ("a",)), {"q": q, "v": v, "a": a, "da": a})


def test_whole_matrices_have_directional_derivatives() -> None:
    q, d, h = FORKED.random_configuration(5), np.random.default_rng(5).standard_normal(FORKED.nv), 1e-6
    ahead, behind = (FORKED.mass_matrix(FORKED.integrate(q, x * d)).dense() for x in (h, -h))
    assert relative(kernel(FORKED, jvp(MASS_MATRIX, ("q",)))(q, d), (ahead - behind) / (2 * h)) < 1e-6
