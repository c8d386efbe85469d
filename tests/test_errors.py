"""One tree of errors that carry what they know, and one of warnings that point to the user's line."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import catena
from catena import errors


@pytest.mark.parametrize("name", ["ModelError", "LoadError", "SingularError", "ShapeError", "UnsupportedError"])
def test_one_tree(name: str) -> None:
    assert issubclass(getattr(errors, name), errors.CatenaError)


def test_errors_survive_pickling_with_their_data() -> None:
    error = pickle.loads(pickle.dumps(errors.SingularError("no", link="tip", joint="wrist")))
    assert (str(error), error.link, error.joint) == ("no", "tip", "wrist")


def test_unknown_names_suggest_known_ones() -> None:
    error = errors.UnknownNameError.among("joint", "shouldre", ["elbow", "shoulder", "wrist"])
    assert str(error) == "there is no joint named 'shouldre'; did you mean 'shoulder'?"
    assert isinstance(error, KeyError)
    assert "none at all" in str(errors.UnknownNameError.among("joint", "x", []))


@pytest.mark.parametrize("name", ["ModelWarning", "PrecisionWarning", "SingularWarning", "CacheWarning"])
def test_one_tree_of_warnings(name: str) -> None:
    assert issubclass(getattr(catena, name), catena.CatenaWarning)
    assert issubclass(catena.CatenaWarning, UserWarning)


def test_warnings_point_to_the_line_outside_the_package() -> None:
    robot, q = catena.rod_chain(3000, axes="z", radius=0.1), np.zeros(3000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors.warn("at once", errors.ModelWarning)
        robot.mass_matrix(q, method="fixman").logdet()
    assert [warning.category for warning in caught] == [catena.ModelWarning, catena.PrecisionWarning]
    assert {warning.filename for warning in caught} == {__file__}


def test_odd_files_warn_once_in_each_call_at_the_user_s_line() -> None:
    odd = catena.robots.path("two_link_arm").read_text().replace("<limit", "<nolimit")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robots = [catena.load(odd) for _ in range(2)]
    (message,) = robots[0].warnings
    assert [str(warning.message) for warning in caught] == [f"XML text: {message}"] * 2
    assert {(warning.category, warning.filename) for warning in caught} == {(catena.ModelWarning, __file__)}


def test_model_warnings_can_be_silenced_and_refused() -> None:
    odd = catena.robots.path("two_link_arm").read_text().replace("<limit", "<nolimit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", catena.ModelWarning)
        assert catena.load(odd).warnings
        warnings.simplefilter("error", catena.CatenaWarning)
        with pytest.raises(catena.ModelWarning, match="without a <limit>"):
            catena.load(odd)


class _Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a word", "'a word'"),
        (np.array(2.0), f"{np.float64(2.0)!r}"),
        (np.array([0.0, 1.0]), "array([0., 1.])"),
        (np.zeros((3, 100)), "an array of dtype float64 and shape (3, 100)"),
        ([0.0] * 100, "a list"),
        pytest.param(10**5000, "an int", id="a long number"),
        (_Unprintable(), "a _Unprintable"),
    ],
)
def test_messages_show_values_that_are_short(value: Any, text: str) -> None:
    assert errors.shown(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "an int"), (None, "None"), ([], "a list"), (np.zeros(2), "an ndarray"), (catena.rod_chain(1), "a Robot")],
)
def test_messages_say_what_a_value_is(value: Any, text: str) -> None:
    assert errors.kind_of(value) == text
