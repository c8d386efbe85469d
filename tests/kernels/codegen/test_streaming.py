"""Results written past the caches are the same as others, for rows of every width and wherever they start."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.targets import kernel, leaves

from catena.kernels.build import unrolled_ir
from catena.kernels.codegen import tiles
from catena.kernels.codegen.transposition import INLINE
from catena.kernels.machine.target import host
from catena.trace.graph import Graph

SAMPLES = 71


def mixed(x, width: int):
    """Results of all sorts: computed, repeated, arguments as they are, numbers, whole stretches of zeros."""
    sorts = [x[0] * x[1], x[2], 0.0, x[0] + x[3], -1.5, x[0] * x[1], x[4] * x[4]]
    return [0.0 if i % 40 > 24 else sorts[(i * i + i // 7) % len(sorts)] for i in range(width)]


def placed(shape, dtype, odd: int):
    """An array that starts so many numbers after a multiple of 64 bytes, between guards."""
    size, per_line = int(np.prod(shape)), 64 // np.dtype(dtype).itemsize
    memory = np.full(size + 3 * per_line, -7.0, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize + per_line + odd
    return memory, memory[start : start + size].reshape(shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_whatever_the_width_and_the_start(monkeypatch, dtype):
    target, x = host(), np.random.default_rng(0).standard_normal((SAMPLES, 5)).astype(dtype)
    lanes = target.lanes(dtype)
    monkeypatch.setattr(tiles, "STREAMED", 0)
    monkeypatch.setattr(tiles, "WIDE", 0)
    for over in sorted({1, 2, lanes // 2, lanes - 1, lanes, lanes + 1}):
        width = INLINE * lanes + over
        expected = np.stack(np.broadcast_arrays(*mixed(x.T, width)), axis=-1).astype(dtype)
        streaming = kernel({"x": 5}, {"y": mixed(leaves(Graph(), "x", 5), width)}, target, dtype)
        for odd in (0, 1, 16 // np.dtype(dtype).itemsize):
            memory, out = placed(expected.shape, dtype, odd)
            streaming(x, out=out)
            assert np.array_equal(out, expected)
            assert (memory != -7.0).sum() == (expected != -7.0).sum()  # the guards are as they were


@pytest.mark.skipif(not host().streams, reason="for x86 with AVX")
def test_only_wide_rows_are_streamed():
    def text(width: int) -> str:
        return unrolled_ir({"x": 5}, {"y": mixed(leaves(Graph(), "x", 5), width)}, dtype=np.float64, target=host())

    assert "!nontemporal" in text(2000)
    assert "!nontemporal" not in text(20)
