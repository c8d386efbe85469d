"""Memory does not grow, whichever way a kernel is called."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from tests.kernels.handmade import Machine

from catena.arguments.arrays import Port
from catena.errors import ShapeError
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.threads import set_threads

N = 5
STATM = Path("/proc/self/statm")

pytestmark = pytest.mark.skipif(not STATM.exists(), reason="needs /proc")


def resident() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def kernel(multiply_add) -> Kernel:
    inputs = [Port("a", (1,)), Port("x", (N,)), Port("b", (N,))]
    return Kernel("k", multiply_add(operations=1000).module, inputs, [Port("y", (N,)), Port("total", (1,))])


def refused(call, *arguments):
    with pytest.raises(ShapeError):
        call(*arguments)


WAYS = {
    "one sample": (300_000, lambda f, k, a, x: f(a[0], x[0], x[1])),
    "a few samples": (100_000, lambda f, k, a, x: f(a[:8], x[:8], x[1])),
    "a large batch": (1_000, lambda f, k, a, x: f(a, x, x[1])),
    "general, one sample": (10_000, lambda f, k, a, x: k(a[0], x[0], x[1])),
    "general, with out": (10_000, lambda f, k, a, x: k(a[0], x[0], x[1], out=(np.empty(N), None))),
    "copied": (3_000, lambda f, k, a, x: f(a, x.astype(np.float32), x[1])),
    "lists": (100_000, lambda f, k, a, x: f([1.0], [0.0] * N, x[1])),
    "refused": (3_000, lambda f, k, a, x: refused(f, a, x, x[1, :3])),
    "a new object each time": (1_000, lambda f, k, a, x: Machine(k).multiply_add(a[0], x[0], x[1])),
    "an option that cannot be kept": (1_000, lambda f, k, a, x: f(a[0], x[0], x[1], [np.ones(2)])),
}


@pytest.mark.parametrize("way", WAYS)
def test_memory_does_not_grow(kernel, way):
    count, call = WAYS[way]
    set_threads(2)
    fast = Machine(kernel).multiply_add
    a, x = np.ones((1000, 1)), np.ones((1000, N))
    for _ in range(count // 10):
        call(fast, kernel, a, x)
    grown = []
    for _ in range(3):  # an allocator may settle once more; what leaks grows every time
        before = resident()
        for _ in range(count):
            call(fast, kernel, a, x)
        grown.append(resident() - before)
        if grown[-1] < 2**20:
            break
    assert min(grown) < 2**20
