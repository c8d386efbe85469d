"""Sine, cosine and logarithm: accuracy beside 60 digits, arguments out of bounds, lanes that don't mind each other."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.kernels.targets import kernel, leaves, targets, unfused

from catena.kernels.call.kernel import Kernel
from catena.trace.graph import Graph

ALL = {**targets(), **unfused()}
REAL = {"float64": np.float64, "float32": np.float32}
N = 8


@functools.cache
def elementary(target: str, real: str) -> Kernel:
    g = Graph()
    x = leaves(g, "x", N)
    outputs = {"sin": [g.sin(a) for a in x], "cos": [g.cos(a) for a in x], "log": [g.log(a) for a in x]}
    return kernel({"x": N}, outputs, ALL[target], REAL[real])


def evaluate(target: str, real: str, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sine, cosine and logarithm of each number."""
    x = np.asarray(x, REAL[real])
    rows = np.resize(x, (-(-x.size // N), N))
    return tuple(y.ravel()[: x.size] for y in elementary(target, real)(rows))


def ulps(computed: np.ndarray, exact: list[mpmath.mpf]) -> float:
    """The largest error, in units in the last place of the exact value."""
    spacing = np.spacing(np.abs(np.array([float(e) for e in exact])).astype(computed.dtype)).astype(float)
    errors = [abs(mpmath.mpf(float(c)) - e) for c, e in zip(computed, exact, strict=True)]
    return max(float(e) / s for e, s in zip(errors, spacing, strict=True))


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(60):
        yield


def angles(real: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    few = 300
    far = {"float64": 1e9, "float32": 8e3}[real]
    quarter = np.arange(-40, 41) * np.pi / 2
    beside = np.concatenate([quarter, np.nextafter(quarter, 9e9), np.nextafter(quarter, -9e9)])
    drawn = {
        "a turn": rng.uniform(-math.pi, math.pi, few),
        "small": rng.choice([-1, 1], few) * 10.0 ** rng.uniform(-30, -1, few),
        "far": rng.choice([-1, 1], few) * 10.0 ** rng.uniform(1, math.log10(far), few),
        "beside multiples of a quarter": beside,
        "large multiples of a quarter": rng.integers(10**3, 5 * 10**3, few) * (np.pi / 2),
    }
    return {name: x.astype(REAL[real]) for name, x in drawn.items()}


@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("target", ALL)
def test_sine_and_cosine_are_right_to_one_and_a_half_units_in_the_last_place(target, real):
    for name, x in angles(real, np.random.default_rng(1)).items():
        sine, cosine, _ = evaluate(target, real, x)
        exact = [mpmath.mpf(float(a)) for a in x]
        assert ulps(sine, [mpmath.sin(a) for a in exact]) < 1.5, name
        assert ulps(cosine, [mpmath.cos(a) for a in exact]) < 1.5, name


def _nearest_to_multiples_of_a_quarter(multiples: range, count: int) -> np.ndarray:
    """The doubles x = k π/2 (1 + tiny) with the least distance from k π/2, beside the spacing of doubles there."""
    bits = 220
    quarter = int(mpmath.nint(mpmath.ldexp(mpmath.pi / 2, bits)))
    found = []
    for k in multiples:
        x = quarter * k / 2**bits
        distance = abs(Fraction(x) - Fraction(quarter * k, 2**bits))
        found.append((float(distance) / math.ulp(x), x))
    return np.array([x for _, x in sorted(found)[:count]])


@pytest.mark.parametrize("target", ["host", "no FMA"])
def test_the_worst_cancellation_costs_no_digits(target):
    with mpmath.workdps(80):
        x = np.concatenate(
            [
                _nearest_to_multiples_of_a_quarter(range(1, 8000), 60),
                _nearest_to_multiples_of_a_quarter(range(300_000, 308_000), 60),
            ]
        )
        exact = [mpmath.mpf(a) for a in x.tolist()]
        sine, cosine, _ = evaluate(target, "float64", x)
        assert min(np.abs(sine).min(), np.abs(cosine).min()) < 1e-15
        assert ulps(sine, [mpmath.sin(a) for a in exact]) < 1.5
        assert ulps(cosine, [mpmath.cos(a) for a in exact]) < 1.5


@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("target", ALL)
def test_huge_angles_are_left_to_the_c_library(target, real):
    x = np.array([3e9, -1e10, 1e22, -1e30, 2.0**120, 3e38], REAL[real])
    sine, cosine, _ = evaluate(target, real, x)
    assert np.array_equal(sine, [REAL[real](math.sin(a)) for a in x.tolist()])
    assert np.array_equal(cosine, [REAL[real](math.cos(a)) for a in x.tolist()])


@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("target", ALL)
def test_bad_numbers_stay_in_their_lane(target, real):
    rng = np.random.default_rng(2)
    good = rng.uniform(0.1, 9.0, 64).astype(REAL[real])
    expected = evaluate(target, real, good)
    for odd in (math.nan, math.inf, -math.inf, 1e30, -1.0, 0.0):
        for at in range(9):
            x = good.copy()
            x[at] = odd
            others = np.arange(64) != at
            results = evaluate(target, real, x)
            for y, e in zip(results, expected, strict=True):
                assert np.array_equal(y[others], e[others])
            assert all(np.isnan(y[at]) for y in results[:2]) == (not math.isfinite(odd))


@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("target", ALL)
def test_the_logarithm_is_right_to_a_unit_in_the_last_place(target, real):
    rng = np.random.default_rng(3)
    information = np.finfo(REAL[real])
    decades = rng.uniform(math.log10(information.tiny), math.log10(information.max), 300)
    x = np.concatenate([10.0**decades, rng.uniform(0.5, 2.0, 300), 1.0 + 2.0 ** rng.uniform(-40, -2, 300)])
    x = x.astype(REAL[real])
    *_, log = evaluate(target, real, x)
    assert ulps(log, [mpmath.log(mpmath.mpf(float(a))) for a in x]) < 1.0
    assert np.all(evaluate(target, real, np.ones(8))[2] == 0)


@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("target", ALL)
def test_the_logarithm_of_special_numbers(target, real):
    tiny = np.finfo(REAL[real]).smallest_subnormal
    x = np.array([0.0, -0.0, -1.0, -math.inf, math.inf, math.nan, tiny, 8 * tiny], REAL[real])
    *_, log = evaluate(target, real, x)
    assert np.array_equal(log[:2], [-math.inf, -math.inf])
    assert np.isnan(log[[2, 3, 5]]).all()
    assert log[4] == math.inf
    assert np.array_equal(log[6:], [REAL[real](math.log(a)) for a in x[6:].tolist()])


@pytest.mark.parametrize("real", REAL)
@pytest.mark.parametrize("group", [targets(), unfused()], ids=["fused", "unfused"])
def test_every_number_of_lanes_gives_the_same_bits(group, real):
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(-10, 10, 200), 10.0 ** rng.uniform(-20, 20, 200)])
    first, *rest = [evaluate(target, real, x) for target in group]
    for other in rest:
        for a, b in zip(first, other, strict=True):
            assert np.array_equal(a, b, equal_nan=True)
