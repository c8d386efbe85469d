"""Comparisons, choices, rounding and the like: the same for every kind of scalar, folded and differentiated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

from catena import scalars
from catena.scalars import equal, floor, maximum, minimum, nearest, sign, tanh, where
from catena.trace.count import Count, count_operations
from catena.trace.derivatives import gradient
from catena.trace.fuse import fuse
from catena.trace.graph import Graph, live
from catena.trace.interpret import values

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "less": lambda x, y: where(x < y, x + 1, y),
    "no more": lambda x, y: where(x <= y, x + 1, y),
    "more": lambda x, y: where(x > y, x + 1, y),
    "no less": lambda x, y: where(x >= y, x + 1, y),
    "equal": lambda x, y: where(equal(x, y), x + 1, y),
    "than a number": lambda x, y: where(x < 0.5, y, 2 * y),
    "minimum": minimum,
    "maximum": maximum,
    "absolute": lambda x, y: scalars.absolute(x),
    "sign": lambda x, y: sign(x),
    "nearest": lambda x, y: nearest(x),
    "floor": lambda x, y: floor(x),
    "exp": lambda x, y: scalars.exp(x),
    "tanh": lambda x, y: tanh(x),
    "arctan2": scalars.arctan2,
}
KINDS: dict[str, Callable[[float], Any]] = {
    "float": float,
    "numpy": np.float64,
    "array": lambda x: np.full(2, x),
    "mpmath": mpmath.mpf,
    "sympy": lambda x: sympy.Rational(str(x)),
}
PAIRS = [(0.25, -1.5), (-2.75, 3.0), (1.0, 1.0), (3.0, 0.2), (-0.75, -0.75)]


def traced(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    g = Graph()
    with np.errstate(all="ignore"):
        return values([function(g.input("x", 0), g.input("x", 1))], {"x": np.stack([x, y], axis=-1)})[..., 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kind_of_scalar_gives_the_same(name, kind) -> None:
    function, make = FUNCTIONS[name], KINDS[kind]
    for x, y in PAIRS:
        expected = float(traced(function, x, y))
        found = function(make(x), make(y))
        assert np.all(np.abs(np.array(found, dtype=float) - expected) <= 4e-16 * abs(expected)), (x, y)


ODD = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -7.3, math.nan, math.inf, -math.inf])
LIKE = {"minimum": np.minimum, "maximum": np.maximum, "arctan2": np.arctan2}
ALIKE = {"absolute": np.abs, "sign": np.sign, "nearest": np.round, "floor": np.floor, "exp": np.exp, "tanh": np.tanh}


@pytest.mark.parametrize("name", [*LIKE, *ALIKE])
def test_odd_numbers_do_as_with_numpy(name) -> None:
    x, y = (a.ravel() for a in np.meshgrid(ODD, ODD))
    found = traced(FUNCTIONS[name], x, y)
    expected = LIKE[name](x, y) if name in LIKE else ALIKE[name](x)
    np.testing.assert_allclose(found, expected, rtol=4e-16, atol=0)


@pytest.mark.parametrize("kind", ["float", "mpmath"])
def test_odd_numbers_of_other_kinds(kind) -> None:
    make = KINDS[kind]
    for name in ("minimum", "maximum"):
        assert math.isnan(FUNCTIONS[name](make(math.nan), make(1.0)))
        assert math.isnan(FUNCTIONS[name](make(1.0), make(math.nan)))
    assert math.isnan(sign(make(math.nan)))
    if kind == "float":
        assert scalars.exp(1e4) == math.inf
        assert nearest(math.inf) == floor(math.inf) == math.inf


def test_choices_that_are_known_are_not_made() -> None:
    g = Graph()
    x, y = g.input("x", 0), g.input("x", 1)
    assert g.select("lt", 1.0, 2.0, x, y) is x
    assert g.select("eq", 1.0, 2.0, x, y) is y
    assert where(x < y, x, x) is x
    assert where(x < x, x, y) is y
    assert where(x < y, 2.0, 2.0) == 2.0
    assert where(x < y, 0.0, -0.0).op == "lt"
    assert where(equal(x, x), x, y).op == "eq"  # a NaN is not equal to itself
    assert abs(-x) is abs(x) is abs(abs(x))
    assert nearest(-x) is -nearest(x)
    assert where(x < y, x, y) is where(y > x, x, y)


def test_the_outcome_of_a_comparison_is_not_known_while_tracing() -> None:
    x = Graph().input("x", 0)
    with pytest.raises(TypeError, match="where"):
        bool(x < 1.0)


def test_choices_survive_fusing_and_are_counted() -> None:
    g = Graph()
    x, y = g.input("x", 0), g.input("x", 1)
    outputs = [where(x < y, x * y + 1.0, nearest(x)), abs(x), g.exp(x), g.arctan2(y, x)]
    assert {"lt", "fma", "round", "abs", "exp", "arctan2"} <= {node.op for node in live(fuse(outputs))}
    names = ("choices", "roundings", "absolute_values", "exponentials", "arctangents", "multiplications", "additions")
    found = count_operations(outputs)
    assert found == Count(**dict.fromkeys(names, 1))
    assert found.total == 7


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_against_differences(name) -> None:
    g = Graph()
    x = [g.input("x", i) for i in range(2)]
    slopes = gradient(FUNCTIONS[name](*x))
    at, h = np.array([[0.3, 0.9], [-0.2, -0.7], [1.3, 1.1]]), 1e-6
    for i in range(2):
        step = h * np.eye(2)[i]
        ahead, behind = (traced(FUNCTIONS[name], *(at + s).T) for s in (step, -step))
        found = values([slopes.get(x[i], 0.0)], {"x": at})[:, 0]
        np.testing.assert_allclose(found, (ahead - behind) / (2 * h), atol=1e-8)


def test_slopes_at_kinks() -> None:
    g = Graph()
    x = g.input("x", 0)
    zero = {"x": np.zeros(1)}
    for function, slope in ((abs(x), 0.0), (where(x < 0, -x, 3 * x), 3.0), (where(x <= 0, -x, 3 * x), -1.0)):
        assert values([gradient(function)[x]], zero) == slope
