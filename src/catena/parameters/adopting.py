"""Which function answers a call that gives parameters: the usual one, with one more input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.algorithms.parameters import with_parameters
from catena.errors import UnsupportedError
from catena.functions.function import Function


def adopting(function: Function, given: tuple[str, ...]) -> Function:
    """The function, with parameters as an input if the call gives them."""
    return with_parameters(function) if "parameters" in given else function


def parametrised(function: Function) -> Callable[..., Function]:
    """The rule of a question that one function answers, with or without parameters."""

    def rule(robot: Any, given: tuple[str, ...]) -> Function:
        return adopting(function, given)

    return rule


def check_method(method: str) -> None:
    """Refuse the method whose form is chosen by the numbers of the model."""
    if method == "fixman":
        raise UnsupportedError(
            "method='fixman' takes a form that suits the numbers of the model, so parameters= has no place in it; use "
            "another method, such as 'innovations', or robot.with_parameters(...)"
        )
