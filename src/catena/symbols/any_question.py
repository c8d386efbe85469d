"""Any question of a robot on letters: the function that answers its method, run on symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter
from math import prod
from typing import TYPE_CHECKING, Any

from catena.errors import UnknownNameError, UnsupportedError
from catena.functions.function import kind
from catena.functions.linkwise import run_on
from catena.functions.question import Declared, question_named
from catena.kernels.call.words import Role
from catena.scalars import Scalar

if TYPE_CHECKING:
    from catena.robot import Robot

Rows = list[list[Scalar]]

_GROUPS = {"v": "qdot", "a": "qddot"}
"""What the papers call speeds and accelerations; other arrays go by their own names."""

_ARRAYS = (Role.ARRAY, Role.MAPPING_OR_ARRAY, Role.WORD_OR_ARRAY)
_NOT_HERE = ("dtype", "kernel", "out")


class AnyQuestion:
    """A question of a robot with its options: `function` answers it, `names` are those of its inputs, by group.

    Args:
        robot: the robot.
        what: the name of the method; UnknownNameError if it is none, and not one of `known` either.
        link: the link or links that it is about; None if it is about none.
        options: options of the method.
        known: what else may be asked for, for messages.
    """

    def __init__(
        self, robot: Robot, what: str, link: Any, options: Mapping[str, Any], known: Sequence[str] = ()
    ) -> None:
        declared = _found(robot, what, known)
        roles = dict(zip(declared.names, declared.roles, strict=True))
        defaults = dict(zip(declared.names, declared.defaults, strict=True))
        arrays = tuple(n for n, role in roles.items() if role in _ARRAYS and defaults[n] is Parameter.empty)
        own = {n: defaults[n] for n, role in roles.items() if role in (Role.OPTION, Role.WORD_OR_ARRAY)}
        own = {name: value for name, value in own.items() if name not in (*arrays, *_NOT_HERE)}
        for name, value in (*_about_links(what, own, link), *options.items()):
            if name not in own:
                raise UnknownNameError.among(f"option of {what}", name, own)
            own[name] = value
        self.inverts = declared.inverts
        self.function = declared.chosen(robot, arrays, own)
        if not self.function.sweeps:
            raise UnsupportedError(
                f"symbolic {what!r}: expected a question that one algorithm answers; NumPy puts this one together"
            )
        sizes = robot.tree.n, robot.nq, robot.nv
        inputs = self.function.given(arrays)
        self._groups = {inner: _GROUPS.get(name, name) for inner, name in zip(inputs, arrays, strict=True)}
        self.names = {
            group: [f"{group}_{i + 1}" for i in range(prod(kind(inputs[name]).full_shape(*sizes)))]
            for name, group in self._groups.items()
        }

    def rows(self, links: Any, inputs: Mapping[str, Sequence[Scalar]]) -> dict[str, Rows]:
        """The answer on these links: rows of scalars by name. Arrays of more than two dimensions, row below row."""
        found = run_on(self.function, links, {name: inputs[group] for name, group in self._groups.items()})
        return {name: _rows(numbers, shape) for name, (numbers, shape) in found.items()}


def _found(robot: Robot, what: Any, known: Sequence[str]) -> Declared:
    try:
        return question_named(robot, what)
    except UnknownNameError:
        methods = [name for name in dir(type(robot)) if not name.startswith("_")]
        questions = [name for name in methods if _is_question(robot, name)]
        raise UnknownNameError.among("symbolic expression", what, [*known, *questions]) from None


def _is_question(robot: Robot, name: str) -> bool:
    try:
        question_named(robot, name)
    except UnsupportedError:
        return False
    return True


def _about_links(what: str, own: Mapping[str, Any], link: Any) -> list[tuple[str, Any]]:
    """The option that says which links a question is about, if it is about any."""
    about = next((name for name in ("link", "links") if name in own), None)
    needed = about is not None and own[about] is Parameter.empty
    if (about is None and link is not None) or (needed and link is None):
        raise UnsupportedError(f"symbolic {what!r}: expected {'a link' if needed else 'no link'}, found link={link!r}")
    return [] if about is None or link is None else [(about, link)]


def _rows(numbers: list[Scalar], shape: tuple[int, ...]) -> Rows:
    width = shape[-1] if len(shape) > 1 else 1
    return [list(numbers[i : i + width]) for i in range(0, len(numbers), width or 1)]
