"""One tree of errors that carry what they know."""

from __future__ import annotations

import pickle

import pytest

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
