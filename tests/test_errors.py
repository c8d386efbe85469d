"""One tree of errors that carry what they know, and one of warnings that point to the user's line."""

from __future__ import annotations

import pickle
import warnings

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


@pytest.mark.parametrize("name", ["ModelWarning", "PrecisionWarning"])
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
