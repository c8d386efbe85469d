"""The exponential and the arctangent of two coordinates: accuracy beside 60 digits, special numbers, lanes alone."""

from __future__ import annotations

import functools
import math

import mpmath
import numpy as np
import pytest
from tests.kernels.codegen.test_elementary import ulps
from tests.kernels.targets import kernel, leaves, targets, unfused

from catena.kernels.call.kernel import Kernel
from catena.scalars import tanh
from catena.trace.graph import Graph

ALL = {**targets(), **unfused()}
REAL = {"float64": np.float64, "float32": np.float32}
N = 8

each_real = pytest.mark.parametrize("real", REAL)
each_target = pytest.mark.parametrize("target", ALL)


@functools.cache
def functions(target: str, real: str) -> Kernel:
    g = Graph()
    x, y = leaves(g, "x", N), leaves(g, "y", N)
    outputs = {
        "exp": [g.exp(a) for a in x],
        "arctan2": [g.arctan2(b, a) for a, b in zip(x, y, strict=True)],
        "tanh": [tanh(a) for a in x],
    }
    return kernel({"x": N, "y": N}, outputs, ALL[target], REAL[real])


def evaluate(target: str, real: str, x: np.ndarray, y: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """exp x, arctan2(y, x) and tanh x of each number."""
    given = [np.asarray(a, REAL[real]) for a in (x, x if y is None else y)]
    rows = [np.resize(a, (-(-a.size // N), N)) for a in given]
    return tuple(z.ravel()[: given[0].size] for z in functions(target, real)(*rows))


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(60):
        yield


@each_real
@each_target
def test_the_exponential_is_right_to_a_unit_in_the_last_place(target, real):
    rng = np.random.default_rng(1)
    end = {"float64": (-744.4, 709.7), "float32": (-103.2, 88.7)}[real]
    few = rng.uniform(-1, 1, 300) * 10.0 ** rng.uniform(-20, 0, 300)
    x = np.concatenate([rng.uniform(*end, 300), rng.uniform(-2, 2, 300), few]).astype(REAL[real])
    found, *_ = evaluate(target, real, x)
    assert ulps(found, [mpmath.exp(mpmath.mpf(float(a))) for a in x]) < 1.0


@each_real
@each_target
def test_the_exponential_of_special_numbers(target, real):
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e30, -1e30, 711.0, -747.0], REAL[real])
    found, *_ = evaluate(target, real, x)
    assert np.array_equal(found, [1.0, 1.0, math.inf, 0.0, math.nan, math.inf, 0.0, math.inf, 0.0], equal_nan=True)


@each_real
@each_target
def test_the_arctangent_is_right_to_two_units_in_the_last_place(target, real):
    rng = np.random.default_rng(2)
    information = np.finfo(REAL[real])
    turn = rng.uniform(-math.pi, math.pi, 500)
    eighths = np.arange(-8, 9) * math.pi / 8
    beside = np.concatenate([eighths, eighths + 1e-7, eighths - 1e-7])
    angle, size = np.concatenate([turn, beside]), np.concatenate([10.0 ** rng.uniform(-30, 30, 500), np.ones(51)])
    decades = rng.uniform(math.log10(information.tiny), math.log10(information.max), (2, 500))
    signs = rng.choice([-1, 1], (2, 500))
    x = np.concatenate([size * np.cos(angle), signs[0] * 10.0 ** decades[0]]).astype(REAL[real])
    y = np.concatenate([size * np.sin(angle), signs[1] * 10.0 ** decades[1]]).astype(REAL[real])
    exact = [mpmath.atan2(mpmath.mpf(float(b)), mpmath.mpf(float(a))) for a, b in zip(x, y, strict=True)]
    normal = np.abs(np.array([float(e) for e in exact])) > 2 * information.tiny
    found = evaluate(target, real, x, y)[1]
    assert ulps(found[normal], [e for e, keep in zip(exact, normal, strict=True) if keep]) < (
        0.7 if ALL[target].has_fma else 1.7
    )
    np.testing.assert_allclose(found[~normal].astype(float), np.arctan2(y, x)[~normal], rtol=0, atol=1e-45)


@each_real
@each_target
def test_the_arctangent_of_special_coordinates(target, real):
    odd = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3e38, -1e-40, 5e-324], REAL[real])
    x, y = (a.ravel() for a in np.meshgrid(odd, odd))
    found, exact = evaluate(target, real, x, y)[1], np.arctan2(y, x)
    np.testing.assert_allclose(found, exact, rtol=4 * np.finfo(REAL[real]).eps, atol=1e-45)
    assert np.array_equal(np.signbit(found), np.signbit(exact) & ~np.isnan(exact) | np.isnan(exact) & np.signbit(found))


@each_real
@each_target
def test_the_hyperbolic_tangent(target, real):
    rng = np.random.default_rng(3)
    few = rng.uniform(-1, 1, 200) * 10.0 ** rng.uniform(-20, 0, 200)
    x = np.concatenate([rng.uniform(-20, 20, 200), few, [0.0, 0.625, -0.625]]).astype(REAL[real])
    assert ulps(evaluate(target, real, x)[2], [mpmath.tanh(mpmath.mpf(float(a))) for a in x]) < 3.0
    odd = evaluate(target, real, [math.inf, -math.inf, math.nan, 1e30, -1e30])[2]
    assert np.array_equal(odd, [1, -1, math.nan, 1, -1], equal_nan=True)


@each_real
@each_target
def test_bad_numbers_stay_in_their_lane(target, real):
    rng = np.random.default_rng(4)
    good = rng.uniform(0.1, 9.0, (2, 64)).astype(REAL[real])
    expected = evaluate(target, real, *good)
    for odd in (math.nan, math.inf, -math.inf, 3e38, -0.0):
        for at in range(9):
            x = good.copy()
            x[:, at] = odd
            others = np.arange(64) != at
            for z, e in zip(evaluate(target, real, *x), expected, strict=True):
                assert np.array_equal(z[others], e[others])


@each_real
@pytest.mark.parametrize("group", [targets(), unfused()], ids=["fused", "unfused"])
def test_every_number_of_lanes_gives_the_same_bits(group, real):
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 400)) * 10.0 ** rng.uniform(-20, 20, (2, 400))
    first, *rest = [evaluate(target, real, x, y) for target in group]
    for other in rest:
        for a, b in zip(first, other, strict=True):
            assert np.array_equal(a, b, equal_nan=True)
