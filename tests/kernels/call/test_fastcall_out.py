"""The emitted call with an array given for the result: filled at once if it is plain and in nobody's way."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from catena.errors import ShapeError
from catena.kernels.call import layout

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


@pytest.mark.parametrize("x", [np.array(3.0), np.arange(5.0), np.arange(0.0)], ids=["one", "some", "none"])
def test_a_given_array_is_filled_at_once(square, x):
    fast, general = square
    memory = np.full(x.size + 2, -1.0)
    out = memory[1:-1].reshape(x.shape)
    count = sys.getrefcount(out)
    assert fast(x, out=out) is out
    np.testing.assert_array_equal(out, x**2)
    assert (memory[0], memory[-1]) == (-1, -1)
    assert sys.getrefcount(out) == count
    assert general.calls == (x.size == 0)
    np.testing.assert_array_equal(fast(x, out=None), x**2)


def test_given_arrays_that_are_not_plain_are_passed_on(square):
    fast, general = square
    x, wide = np.arange(6.0), np.zeros(12)
    assert fast(x, out=wide[::2]) is not None
    np.testing.assert_array_equal(wide[::2], x**2)
    for start in (0, 3, 5):
        wide[3:9] = x
        np.testing.assert_array_equal(fast(wide[3:9], out=wide[start : start + 6]), x**2)
    assert general.calls == 4
    frozen = np.zeros(6)
    frozen.flags.writeable = False
    for wrong in (frozen, np.zeros(5), np.zeros((6, 1)), np.zeros(6, np.float32), [0.0] * 6):
        with pytest.raises(ShapeError, match="square: out"):
            fast(x, out=wrong)
    with pytest.raises(TypeError):
        fast(x, out=np.zeros(6), other=1)
    assert general.calls == 10
