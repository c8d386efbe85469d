"""What bridges are asked for by name, and what they refuse."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import catena
import catena.casadi
import catena.jax
import catena.torch
from catena.bridges.asked import Asked

PACKAGES = {"jax": catena.jax, "torch": catena.torch, "casadi": catena.casadi}


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.random_tree(1, 3, ["revolute"], 0.0)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    package: str, arm: catena.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(catena.UnsupportedError, match=re.escape(f"pip install 'catena-dynamics[{package}]'")):
        PACKAGES[package].function(arm, "forward_dynamics")


@pytest.mark.parametrize(
    ("question", "options", "error", "said"),
    [
        ("forward_dynamic", {}, catena.UnknownNameError, "forward_dynamics"),
        (7, {}, catena.UnknownNameError, "7"),
        ("neutral", {}, catena.UnsupportedError, "neutral"),
        ("bias", {"dtype": np.float32}, catena.UnsupportedError, "own dtype"),
        ("bias", {"out": None}, catena.UnsupportedError, "new arrays"),
        ("forward_dynamics", {"joint_loses": True}, catena.UnknownNameError, "joint_losses"),
        ("forward_dynamics", {"q": 1}, catena.UnknownNameError, "'q'"),
        ("bias", {"kernel": "round"}, catena.UnsupportedError, "'unrolled', 'rolled'"),
    ],
)
def test_what_cannot_be_asked(arm: catena.Robot, question: Any, options: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        Asked(arm, question, options)
    with pytest.raises(catena.UnsupportedError, match="expected a Robot first, got an int"):
        Asked(5, "forward_dynamics", {})  # type: ignore[arg-type]


def test_arrays_are_bound_as_python_does(arm: catena.Robot) -> None:
    asked = Asked(arm, "forward_dynamics", {})
    assert asked.names == ("q", "v", "tau", "f_ext", "parameters")
    assert asked.given((1, 2), {"tau": 3, "f_ext": None}) == {"q": 1, "v": 2, "tau": 3}
    for args, kwargs, said in [
        ((1, 2), {}, "tau is missing"),
        ((1, 2, 3, 4, 5, 6), {}, "takes 5 arrays"),
        ((1, 2, 3), {"v": 2}, "v twice"),
        ((1, 2, 3), {"method": "udu"}, "give options to function"),
    ]:
        with pytest.raises(TypeError, match=said):
            asked.given(args, kwargs)
    with pytest.raises(catena.UnsupportedError, match="f_ext must be an array"):
        asked.given((1, 2, 3, {"tool": np.zeros(6)}), {})


def test_what_is_asked_twice_is_the_same_map(arm: catena.Robot) -> None:
    one, other = (Asked(arm, "bias", {}).map(("q", "v")) for _ in range(2))
    assert one is other
    assert Asked(arm, "bias", {"kernel": "rolled"}).map(("q", "v")) is not one
    assert Asked(arm, "bias", {}).map(("q", "v", "f_ext")) is not one


def test_wrong_options_are_refused_with_the_question_s_own_words(arm: catena.Robot) -> None:
    with pytest.raises(catena.UnsupportedError, match="articulated-body"):
        Asked(arm, "forward_dynamics", {"method": "aba"}).map(("q", "v", "tau"))
