"""Wrong words and wrong operations are answered with the right ones."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from tests.odd_values import RaisingWord

import catena
from catena.arguments.arrays import MOST_LEADING
from catena.errors import CatenaError, ShapeError, UnsupportedError

ARM = catena.load(catena.robots.path("two_link_arm"))
N = ARM.nv
Q = np.zeros(N)
M = ARM.mass_matrix(Q)
ODD_WORDS = [None, 3, 2.5, ["udu"], ("udu",), {"udu"}, {}, np.array("udu"), np.array(["udu"]), np.zeros(3), b"udu", ""]


@pytest.mark.parametrize(
    ("frame", "meant"),
    [("LOCAL_WORLD_ALIGNED", "'mixed'"), ("local_world_aligned", "'mixed'"), ("LOCAL", "'link'"), ("WORLD", "'world'")],
)
def test_frames_of_other_libraries(frame, meant):
    for ask in (lambda: ARM.jacobian(Q, 0, frame=frame), lambda: ARM.link_velocities(Q, Q, frame)):
        with pytest.raises(UnsupportedError, match=f"no frame '{frame}'.*; .*{meant}"):
            ask()


@pytest.mark.parametrize(("method", "meant"), [("aba", "'innovations'"), ("CRBA", "'dense'"), ("UDU", "'udu'")])
def test_methods_of_other_libraries(method, meant):
    for ask in (lambda: ARM.forward_dynamics(Q, Q, Q, method=method), lambda: ARM.mass_matrix(Q, method)):
        with pytest.raises(UnsupportedError, match=f"method '{method}'.*; .*{meant}"):
            ask()


@pytest.mark.parametrize("word", ODD_WORDS, ids=repr)
def test_words_that_are_no_words(word):
    asked = [
        lambda: ARM.forward_dynamics(Q, Q, Q, method=word),
        lambda: ARM.mass_matrix(Q, method=word),
        lambda: ARM.jacobian(Q, 0, frame=word),
        lambda: ARM.link_velocities(Q, Q, frame=word),
    ]
    for ask in asked:
        for _ in range(2):
            with pytest.raises(UnsupportedError, match="expected one of"):
                ask()


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
@pytest.mark.parametrize("other", [2, 2.0, np.eye(N), np.float64(2), M], ids=["int", "float", "array", "number", "M"])
def test_arithmetic_is_the_arrays(operation: Any, other: Any):
    for pair in ((M, other), (other, M)):
        with pytest.raises(CatenaError, match=r"M\.dense\(\)"):
            operation(*pair)
    np.testing.assert_array_equal(M @ np.eye(N), M.dense())


def test_entries_are_the_arrays():
    for ask in (lambda: M[0], lambda: -M, lambda: abs(M), lambda: M[0, 0]):
        with pytest.raises(CatenaError, match=r"M\.dense\(\)"):
            ask()


@pytest.mark.parametrize("dimensions", [MOST_LEADING, MOST_LEADING + 1, 33, 60, 63])
def test_more_dimensions_than_can_be_broadcast(dimensions):
    try:
        deep = np.zeros((1,) * dimensions + (N,))
    except ValueError:
        pytest.skip("NumPy has no such arrays")
    asked = [
        lambda: ARM.bias(deep, Q),
        lambda: ARM.bias(Q, deep[0]) if dimensions > MOST_LEADING + 1 else ARM.bias(deep, deep),
        lambda: ARM.placements(deep)[0],
        lambda: ARM.placements(deep, kernel="rolled")[0],
        lambda: ARM.jacobian(deep, 0, np.zeros((2,) * (dimensions > 1) + (3,)), kernel="rolled"),
        lambda: ARM.mass_matrix(deep).dense(),
        lambda: ARM.mass_matrix(deep, method="dense").solve(Q),
        lambda: ARM.mass_matrix(deep, kernel="rolled").inv(),
        lambda: ARM.coriolis_matrix(deep, Q, kernel="rolled"),
        lambda: ARM.forward_dynamics(deep, Q, Q, {0: np.zeros(6)}),
    ]
    for ask in asked:
        if dimensions > MOST_LEADING:
            with pytest.raises(ShapeError, match=f"at most {MOST_LEADING} leading dimensions.*reshape"):
                ask()
        else:
            assert ask().ndim > dimensions


def test_words_that_cannot_be_compared_count_as_what_they_say() -> None:
    """A class of words may raise whenever it is compared or hashed; it is still a word."""
    plain = ARM.forward_dynamics(Q, Q, Q, method="udu", kernel="rolled")
    for _ in range(2):
        found = ARM.forward_dynamics(Q, Q, Q, method=RaisingWord("udu"), kernel=RaisingWord("rolled"))
        np.testing.assert_array_equal(found, plain)
    for ask in (
        lambda: ARM.forward_dynamics(Q, Q, Q, method=RaisingWord("nonsense")),
        lambda: ARM.link_velocities(Q, Q, frame=RaisingWord("nonsense")),
        lambda: ARM.linearize(Q, Q, Q, 0.1, integrator=RaisingWord("nonsense")),
        lambda: ARM.mass_matrix(Q, method=RaisingWord("nonsense")),
        lambda: ARM.rollout(Q, Q, None, 0.1, steps=1, integrator=RaisingWord("nonsense")),
    ):
        with pytest.raises(UnsupportedError, match="nonsense"):
            ask()
