"""Unrolled kernels: every operation, every shape of program, the same bits in every lane, batch and call."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from tests.kernels.elf import undefined_symbols
from tests.kernels.targets import kernel, leaves, targets, unfused

from catena.errors import UnsupportedError
from catena.kernels.build import unrolled_ir
from catena.kernels.machine.compile import object_code
from catena.kernels.machine.target import Target, host
from catena.scalars import equal, floor, maximum, minimum, sign, tanh, where
from catena.trace.fuse import fuse
from catena.trace.graph import Expr, Graph, Operand
from catena.trace.interpret import values

ALL = {**targets(), **unfused()}
each_target = pytest.mark.parametrize("target", ALL.values(), ids=list(ALL))
each_real = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def random_program(seed: int, size: int, inputs: int, functions: bool = True) -> list[Operand]:
    """Outputs of a program of random operations on x and on numbers, tame enough to stay finite."""
    rng = np.random.default_rng(seed)
    g = Graph()
    known: list[Operand] = list(leaves(g, "x", inputs))

    def operand() -> Operand:
        if rng.random() < 0.15:
            return float(rng.choice([-1.5, 0.25, -3.0, 2.0, 1e-3]))
        recent = rng.random() < 0.6
        return known[int(rng.integers(max(0, len(known) - 20) if recent else 0, len(known)))]

    tame: list[Callable[[Operand], Operand]] = [g.sin, g.cos]
    tame += [lambda x: g.sqrt(x * x + 0.5), lambda x: g.log(x * x + 0.5)]
    tame += [lambda x: g.exp(-abs(x)), lambda x: g.arctan2(x, 0.3 - x * x), tanh, abs]
    for _ in range(size):
        x, y, kind = operand(), operand(), rng.random()
        if kind < 0.35:
            new = x * y
            new = g.sin(new) if rng.random() < 0.1 else 0.5 * new
        elif kind < 0.6:
            new = x + y
        elif kind < 0.85:
            new = x - y
        elif kind < 0.9:
            new = -x
        elif kind < 0.93:
            new = x / (y * y + 1.0)
        elif kind < 0.95:
            new = where(x < y, x, operand()) if isinstance(x, Expr) else maximum(x, y)
        else:
            new = tame[int(rng.integers(len(tame)))](x) if functions else x * x
        known.append(new / 4.0 if rng.random() < 0.3 else new)
    chosen = rng.integers(inputs, len(known), 12)
    return [known[i] for i in chosen] + [known[-1]]


OPERATIONS: dict[str, Callable[[Graph, Operand, Operand], Operand]] = {
    "add": lambda g, x, y: x + y,
    "add a number": lambda g, x, y: x + 0.1,
    "sub": lambda g, x, y: x - y,
    "from a number": lambda g, x, y: 0.1 - x,
    "minus both": lambda g, x, y: -x - y,
    "mul": lambda g, x, y: x * y,
    "square": lambda g, x, y: x * x,
    "negative product": lambda g, x, y: -(x * y),
    "times a number": lambda g, x, y: -0.3 * x,
    "div": lambda g, x, y: x / y,
    "reciprocal": lambda g, x, y: 1.0 / x,
    "neg": lambda g, x, y: -x,
    "sqrt": lambda g, x, y: g.sqrt(x),
    "sqrt of minus": lambda g, x, y: g.sqrt(-x),
    "abs": lambda g, x, y: abs(x),
    "abs of minus": lambda g, x, y: abs(-x - y),
    "round": lambda g, x, y: g.nearest(x),
    "round minus": lambda g, x, y: g.nearest(-x) + y,
    "floor": lambda g, x, y: floor(x),
    "less": lambda g, x, y: where(x < y, x * y, -x),
    "not less": lambda g, x, y: where(x >= y, -0.3, y),
    "more than a number": lambda g, x, y: where(x > 0.5, y, 2.0),
    "no more": lambda g, x, y: where(x <= y, -x, -y),
    "equal": lambda g, x, y: where(equal(g.nearest(x), g.nearest(y)), x, y),
    "a mask for two": lambda g, x, y: where(x < -y, x, 1.0) + where(x < -y, 2.0, y),
    "min": lambda g, x, y: where(x < y, x, y),
    "max": lambda g, x, y: where(x < y, y, x),
    "minimum": lambda g, x, y: minimum(x, y),
    "maximum": lambda g, x, y: maximum(x, 0.3),
    "sign": lambda g, x, y: sign(x),
}


@each_real
@each_target
def test_every_operation_rounds_as_numpy_does(target, dtype):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((50, 2)) * 10.0 ** rng.uniform(-3, 3, (50, 2))).astype(dtype)
    odd = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 0.5, 1.5, -2.5, 0.49999999999999994, 4503599627370497.5, 1e30]
    x = np.concatenate([x, np.stack(np.meshgrid(odd, odd), axis=-1).reshape(-1, 2).astype(dtype)])
    g = Graph()
    a, b = leaves(g, "x", 2)
    outputs = [f(g, a, b) for f in OPERATIONS.values()]
    with np.errstate(all="ignore"):
        expected = values(outputs, {"x": x})
    computed = kernel({"x": 2}, {"y": outputs}, target, dtype)(x)
    for i, name in enumerate(OPERATIONS):
        assert np.array_equal(computed[:, i], expected[:, i].astype(dtype), equal_nan=True), name


@pytest.mark.parametrize("target", targets().values(), ids=list(targets()))
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_multiply_adds_are_rounded_once(target, signs):
    g = Graph()
    x, y, z = leaves(g, "x", 3)
    product = x * y if signs[0] > 0 else -(x * y)
    whole = product + z if signs[1] > 0 else product - z
    assert any(node.op == "fma" for node in fuse([whole])[0].graph.nodes)
    rng = np.random.default_rng(1)
    values_in = rng.standard_normal((100, 3))
    values_in[:50, 2] = -signs[0] * signs[1] * values_in[:50, 0] * values_in[:50, 1] * (1 + 1e-15)
    exact = [float(signs[0] * Fraction(a) * Fraction(b) + signs[1] * Fraction(c)) for a, b, c in values_in.tolist()]
    assert np.array_equal(kernel({"x": 3}, {"y": [whole]}, target)(values_in)[:, 0], exact)


@functools.cache
def _reference(seed: int, dtype: type) -> tuple[list[Operand], np.ndarray, np.ndarray]:
    outputs = random_program(seed, 400, 20)
    x = np.random.default_rng(seed).standard_normal((37, 20)).astype(dtype)
    return outputs, x, values(outputs, {"x": x.astype(float)})


@each_real
@pytest.mark.parametrize("seed", range(3))
def test_programs_give_the_same_bits_on_every_number_of_lanes(seed, dtype):
    outputs, x, expected = _reference(seed, dtype)
    for group in (targets(), unfused()):
        results = {}
        for name, target in group.items():
            k = kernel({"x": 20}, {"y": outputs}, target, dtype)
            results[name] = k(x)
            singles = np.stack([k(row) for row in x])
            assert np.array_equal(singles, results[name]), name
            scale = np.abs(expected).max()
            assert np.abs(results[name] - expected).max() < (1e-11 if dtype is np.float64 else 1e-3) * scale, name
        first = results.pop(next(iter(results)))
        for name, result in results.items():
            assert np.array_equal(first, result), name


@each_target
def test_many_values_alive_at_once(target):
    count = 150
    g = Graph()
    x = leaves(g, "x", count)
    squares = [a * a for a in x]
    outputs = [squares[i] + squares[-1 - i] for i in range(count)] + [squares[0] * x[-1]]
    data = np.random.default_rng(2).standard_normal((9, count))
    assert np.allclose(kernel({"x": count}, {"y": outputs}, target)(data), values(outputs, {"x": data}), rtol=1e-15)


@pytest.mark.parametrize("name", ["host", "LLVM", "128 bits"])
def test_every_size_of_batch_gives_the_same_bits(name):
    outputs = random_program(7, 300, 5)
    k = kernel({"x": 5}, {"y": outputs}, targets()[name])
    x = np.random.default_rng(3).standard_normal((150, 5))
    singles = np.stack([k(row) for row in x])
    for size in [*range(1, 40), 63, 64, 65, 149, 150]:
        assert np.array_equal(k(x[:size]), singles[:size]), size


@each_real
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33])
def test_rows_of_every_width_and_stride(width, dtype):
    g = Graph()
    x, y = leaves(g, "x", width), leaves(g, "y", width)
    outputs: list[Operand] = [a - 2.0 * b for a, b in zip(x, y, strict=True)]
    k = kernel({"x": width, "y": width}, {"z": outputs}, host(), dtype)
    rng = np.random.default_rng(width)
    wide = rng.standard_normal((41, 2 * width + 3)).astype(dtype)
    one = rng.standard_normal(width).astype(dtype)
    for a in (wide[:, :width], wide[:, width + 1 : 2 * width + 1], wide[::-1, :width], wide[::3, 2 : width + 2]):
        assert np.array_equal(k(a, one), a - 2 * one)
        assert np.array_equal(k(one, a), one - 2 * a)


@each_target
@each_real
def test_outputs_that_need_no_computing(target, dtype):
    g = Graph()
    x = leaves(g, "x", 3)
    numbers = [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan]
    outputs: dict[str, Sequence[Operand]] = {
        "inputs": [x[2], x[0], x[2], -x[1]],
        "numbers": numbers,
        "sines": [g.sin(x[0]), g.sin(x[0]), -g.sin(x[0])],
    }
    k = kernel({"x": 3, "unused": 2}, outputs, target, dtype)
    data = np.random.default_rng(4).standard_normal((11, 3)).astype(dtype)
    passed, constant, sines = k(data, np.zeros(2))
    assert np.array_equal(passed, np.stack([data[:, 2], data[:, 0], data[:, 2], -data[:, 1]], -1))
    assert np.array_equal(constant, np.tile(np.array(numbers, dtype), (11, 1)), equal_nan=True)
    assert np.array_equal(np.signbit(constant[0, :6]), np.signbit(numbers[:6]))
    assert np.array_equal(sines[:, 0], sines[:, 1])
    assert np.array_equal(sines[:, 2], -sines[:, 0])
    assert all(np.array_equal(a[3], b) for a, b in zip((passed, sines), k(data[3], np.zeros(2))[::2], strict=True))


@each_target
def test_the_same_output_twice_and_one_made_of_another(target):
    g = Graph()
    (x,) = leaves(g, "x", 1)
    square = x * x
    outputs: list[Operand] = [square, square, -square, g.log(square + 1.0), g.sin(square), square + 1.0]
    data = np.linspace(-2, 2, 23)[:, None]
    assert np.allclose(kernel({"x": 1}, {"y": outputs}, target)(data), values(outputs, {"x": data}), rtol=1e-15, atol=0)


@each_target
def test_functions_of_functions(target):
    g = Graph()
    x, y = leaves(g, "x", 2)
    inner = g.sin(x + 0.5)
    middle = g.log(2.0 + inner * y)
    outputs: list[Operand] = [g.cos(middle), g.sin(g.cos(g.sin(y))), middle, inner, g.cos(inner)]
    data = np.random.default_rng(5).uniform(-1, 1, (19, 2))
    k = kernel({"x": 2}, {"y": outputs}, target)
    assert np.allclose(k(data), values(outputs, {"x": data}), rtol=1e-14)
    assert np.array_equal(np.stack([k(row) for row in data]), k(data))


@pytest.mark.parametrize("name", ["host", "LLVM"])
def test_more_arrays_than_registers_for_pointers(name):
    g = Graph()
    arrays = {f"x{i}": 2 for i in range(8)}
    x = [leaves(g, array, 2) for array in arrays]
    outputs: dict[str, Sequence[Operand]] = {f"y{i}": [x[i][0] * x[-1 - i][1], x[i][1]] for i in range(8)}
    k = kernel(arrays, outputs, targets()[name])
    data = np.random.default_rng(6).standard_normal((8, 13, 2))
    results = k(*data)
    for i, result in enumerate(results):
        assert np.array_equal(result, np.stack([data[i][:, 0] * data[-1 - i][:, 1], data[i][:, 1]], -1))
    assert all(np.array_equal(a[5], b) for a, b in zip(results, k(*data[:, 5]), strict=True))


@each_target
def test_a_bad_sample_changes_no_other(target):
    outputs = random_program(11, 300, 6)
    k = kernel({"x": 6}, {"y": outputs}, target)
    x = np.random.default_rng(7).standard_normal((45, 6))
    expected = k(x)
    for row, odd in ((0, math.nan), (17, math.inf), (44, 1e300), (43, -math.inf)):
        spoilt = x.copy()
        spoilt[row] = odd
        others = np.arange(45) != row
        assert np.array_equal(k(spoilt)[others], expected[others])


FOREIGN = {
    "AVX-512": ("x86_64-unknown-linux-gnu", "skylake-avx512", "+avx,+avx2,+fma,+avx512f,+avx512dq,+avx512vl,+avx512bw"),
    "AVX2": ("x86_64-unknown-linux-gnu", "haswell", "+avx,+avx2,+fma"),
    "AVX": ("x86_64-unknown-linux-gnu", "sandybridge", "+avx"),
    "SSE2": ("x86_64-unknown-linux-gnu", "x86-64", "+sse2"),
}


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="LLVM is ready for this computer's family only")
@each_real
@pytest.mark.parametrize("words", FOREIGN.values(), ids=list(FOREIGN))
def test_other_processors_of_the_family_get_code_that_needs_nothing_from_outside(words, dtype):
    target = Target(*words)
    outputs = random_program(13, 500, 9)
    code = object_code(unrolled_ir({"x": 9}, {"y": outputs}, dtype=dtype, target=target), target=target)
    assert undefined_symbols(code) in ([], ["_GLOBAL_OFFSET_TABLE_"])


def test_operations_that_kernels_do_not_know_are_refused():
    g = Graph()
    x, y = leaves(g, "x", 2)
    with pytest.raises(UnsupportedError, match="modulo"):
        unrolled_ir({"x": 2}, {"y": [g._node("modulo", x, y)]}, dtype=np.float64, target=host())
