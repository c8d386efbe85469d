"""Calls in which an argument picks the kernel: at once for what is known, by the general path for all else."""

from __future__ import annotations

import numpy as np
import pytest

from catena.kernels.call import layout
from catena.kernels.call.keyed import MOST, Keyed

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


def test_an_argument_picks_the_kernel(square):
    fast, general = square
    asked = []

    def named(x, name, *, out=None, power=2):
        """Something to the power of two."""
        asked.append(name)
        return np.asarray(x) ** power

    keyed = Keyed(named, place=1, arguments=2)
    key, other = "".join(["first", "name"]), "".join(["first", "name"])
    x, out = np.arange(4.0), np.empty(4)
    keyed.function(x, key)
    keyed.add(key, fast)
    keyed.add(key, fast)
    assert asked == [key]
    np.testing.assert_array_equal(keyed.function(x, key), x**2)
    assert keyed.function(x, key, out=out) is out
    np.testing.assert_array_equal(out, x**2)
    np.testing.assert_array_equal(keyed.function(x.tolist(), key), x**2)
    assert len(asked) == 1
    assert general.calls == 1  # for the list
    for call in (lambda: keyed.function(x, other), lambda: keyed.function(x, key, power=2)):
        np.testing.assert_array_equal(call(), x**2)
    np.testing.assert_array_equal(keyed.function(x, name=key), x**2)
    with pytest.raises(TypeError):
        keyed.function()
    with pytest.raises(TypeError):
        keyed.function(x, key, key)
    assert len(asked) == 4
    assert keyed.function.__doc__ == named.__doc__


def test_more_values_than_are_served_at_once(square):
    keyed = Keyed(lambda x, name: name, place=1, arguments=2)
    names = [f"name {i}" for i in range(MOST + 3)]
    for name in names:
        keyed.add(name, square[0])
    x = np.arange(3.0)
    for name in names[:MOST]:
        np.testing.assert_array_equal(keyed.function(x, name), x**2)
    assert [keyed.function(x, name) for name in names[MOST:]] == names[MOST:]


def test_a_key_is_no_shortcut_to_functions_of_other_kinds():
    keyed = Keyed(lambda x, name: "general", place=1, arguments=2)
    keyed.add("key", lambda x: "other")
    keyed.add("key", [].append)
    assert keyed.function(np.ones(1), "key") == "general"
