"""Arguments for the handmade kernel that tests of the emitted call ask, and what comes out of it."""

from __future__ import annotations

import numpy as np
from tests.kernels.call.test_call import N, normal
from tests.kernels.handmade import Results

from catena.arguments.arrays import Port


def ports(n: int = N):
    return [Port("a", (1,)), Port("x", (n,)), Port("b", (n,))], [Port("y", (n,)), Port("total", ())]


def arguments(dtype, *leading):
    return [normal(*lead, n).astype(dtype) for lead, n in zip(leading, (1, N, N), strict=True)]


def assert_same(results, expected):
    assert isinstance(results, Results)
    for r, e in zip(results, expected, strict=True):
        assert type(r) is type(e)
        assert r.dtype == e.dtype
        assert r.shape == e.shape
        np.testing.assert_array_equal(r, e)
