"""Kernels that walk along arrays: which functions they serve, and that strides and left-over components are right."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.elf import undefined_symbols
from tests.kernels.targets import kernel, leaves, targets, unfused

from catena.kernels.build import unrolled_ir
from catena.kernels.codegen.elementwise import MOST, is_elementwise
from catena.kernels.machine.compile import object_code
from catena.scalars import maximum, where
from catena.trace.graph import Graph

ALL = {**targets(), **unfused()}
FUNCTIONS = {
    "sum": lambda x, y: [a + b for a, b in zip(x, y, strict=True)],
    "copy": lambda x, y: list(y),
    "choice": lambda x, y: [where(a < b, 2.0 * a - b, abs(b)) for a, b in zip(x, y, strict=True)],
}


def traced(name: str, width: int):
    g = Graph()
    return {"x": width, "y": width}, {"z": FUNCTIONS[name](leaves(g, "x", width), leaves(g, "y", width))}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 6, 19, 77])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("target", ALL.values(), ids=list(ALL))
def test_batches_of_any_size_and_stride(target, name, width, dtype) -> None:
    inputs, outputs = traced(name, width)
    assert is_elementwise(inputs, outputs)
    run = kernel(inputs, outputs, target, dtype)
    rng = np.random.default_rng(0)
    for count in (1, 2, 7, 64):
        x, wide = (
            rng.standard_normal((count, width)).astype(dtype),
            rng.standard_normal((count, width + 3)).astype(dtype),
        )
        for y in (wide[:, :width].copy(), wide[:, 1 : width + 1], wide[0, 2 : width + 2]):
            z = np.broadcast_to(y, x.shape)
            expected = {"sum": x + z, "copy": z, "choice": np.where(x < z, 2 * x - z, np.abs(z))}[name]
            np.testing.assert_array_equal(run(x, y), expected)
            np.testing.assert_array_equal(run(x[0], z[0]), expected[0])
    out = x.copy()
    np.testing.assert_array_equal(run(out, z, out=out), expected)


def test_what_is_elementwise() -> None:
    g = Graph()
    x, y = leaves(g, "x", 3), leaves(g, "y", 3)
    sizes = {"x": 3, "y": 3}

    def is_so(*values, inputs=sizes) -> bool:
        return is_elementwise(inputs, {"z": list(values)})

    assert is_so(*[a * 0.5 + b for a, b in zip(x, y, strict=True)])
    assert is_so(*[maximum(a, 0.0) for a in x])
    assert not is_so(x[0] + y[0], x[1] + y[1], x[2] - y[2])
    assert not is_so(x[0] + y[1], x[1] + y[2], x[2] + y[0])
    assert not is_so(0.5 * x[0], 0.5 * x[1], 0.4 * x[2])
    assert not is_so(x[0] + y[0], x[1] + y[1])
    assert not is_so(*[a + 1.0 for a in x], inputs={"x": 3, "y": 2})
    assert not is_so(*[g.sin(a) for a in x])
    assert not is_so(1.0, 1.0, 1.0)
    assert not is_so()
    many = list(x)
    for i in range(MOST + 1):
        many = [a + float(i + 1) for a in many]
    assert not is_so(*many)


def test_nothing_is_needed_from_outside() -> None:
    code = object_code(unrolled_ir(*traced("choice", 6), dtype=np.float64, target=targets()["host"]))
    assert undefined_symbols(code) in ([], ["_GLOBAL_OFFSET_TABLE_"])
