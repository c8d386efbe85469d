"""Kernels applied again and again: on every target, for every width, as the single kernel applied by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.kernels.targets import kernel, leaves, targets, unfused

from catena.functions.function import Function, Repeated
from catena.kernels.build import unrolled_ir
from catena.kernels.call.kernel import Kernel, repeated_ports
from catena.kernels.machine.compile import load, object_code
from catena.kernels.machine.target import Target, host
from catena.trace.graph import Graph, Operand

ALL = {**targets(), **unfused()}


def program(width: int) -> tuple[dict[str, int], dict[str, list[Operand]]]:
    """A state that changes places, with a sine, a given row, a number that lasts, a constant result, and a sum."""
    g = Graph()
    x, y, row = leaves(g, "x", width), leaves(g, "y", width), leaves(g, "row", width)
    (h,), (total,) = leaves(g, "h", 1), leaves(g, "total", 1)
    spun = [g.sin(a + h * b) for a, b in zip(x, row, strict=True)]
    long = [sum((b * c for c in spun), a * h) for a, b in zip(y, x, strict=True)]
    outputs: dict[str, list[Operand]] = {
        "y": [*x[1:], x[0]],  # an input in another's place
        "x": [*long[:-1], 0.25],
        "total": [total + h * spun[0]],
    }
    return {"x": width, "y": width, "row": width, "h": 1, "total": 1}, outputs


def compiled(width: int, target: Target, dtype: Any, rows: int, between: int) -> Kernel:
    inputs, outputs = program(width)
    nothing = Function("f", lambda *a: a, dict.fromkeys(inputs, "robot"), dict.fromkeys(outputs, "robot"))
    repeated = Repeated(nothing, each=("row",), last=("total",))
    ir = unrolled_ir(inputs, outputs, dtype=dtype, target=target, repeated=repeated)
    single = kernel(inputs, outputs, target, dtype)
    ports = repeated_ports(repeated, single.inputs, single.outputs, rows, between)
    return Kernel("f", load(object_code(ir, target=target)), *ports, dtype=dtype, context=(rows, between))


def by_hand(single: Kernel, given: list[np.ndarray], rows: int, between: int) -> tuple[np.ndarray, ...]:
    x, y, row, h, total = given
    kept = [(y, x)]
    for i in range(rows):
        for j in range(between):
            y, x, total = single(x, y, row[..., i * between + j, :], h, total)
        kept.append((y, x))
    return np.stack([k[0] for k in kept], -2), np.stack([k[1] for k in kept], -2), total


@pytest.mark.parametrize("target", ALL.values(), ids=list(ALL))
def test_every_target(target: Target) -> None:
    rng = np.random.default_rng(0)
    repeated, single = compiled(5, target, np.float64, 3, 2), kernel(*program(5), target)
    given = [rng.uniform(-1, 1, (37, *port.shape)) for port in repeated.inputs]
    expected = by_hand(single, given, 3, 2)
    for found, wanted in zip(repeated(*given), expected, strict=True):
        assert np.array_equal(found, wanted)
    for found, wanted in zip(repeated(*[x[3] for x in given]), expected, strict=True):
        assert np.array_equal(found, wanted[3])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 8, 17])
def test_every_width(width: int, dtype: type) -> None:
    rng = np.random.default_rng(1)
    repeated, single = compiled(width, host(), dtype, 2, 3), kernel(*program(width), host(), dtype)
    for samples in (1, 7, 150):
        given = [rng.uniform(-1, 1, (samples, *port.shape)).astype(dtype) for port in repeated.inputs]
        for found, wanted in zip(repeated(*given), by_hand(single, given, 2, 3), strict=True):
            assert np.array_equal(found, wanted)


def test_no_turns_give_the_start() -> None:
    repeated = compiled(4, host(), np.float64, 0, 1)
    given = [np.ones((3, *port.shape)) for port in repeated.inputs]
    y, x, total = repeated(*given)
    assert y.shape == x.shape == (3, 1, 4)
    assert (y == 1).all()
    assert (total == 1).all()
