"""Every question that robots and mass matrices answer, with arguments that fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import catena
from catena.kernels.call.emitted import question_type

METHODS = ("innovations", "udu", "dense")
"""Methods of mass matrices that serve every robot."""


class Asked(NamedTuple):
    """A question with arguments for it."""

    label: str
    question: Callable[..., Any]
    arguments: Mapping[str, Any]

    def __call__(self, **options: Any) -> Any:
        return self.question(**{**self.arguments, **options})


def every_question(robot: catena.Robot, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Iterator[Asked]:
    """All questions of a robot and of its mass matrices, by random arguments with these leading dimensions."""
    for name in _questions(type(robot)):
        yield _asked(name, robot, robot, rng, batch)
    for method in METHODS:
        M = robot.mass_matrix(robot.random_configuration(rng, batch), method=method)
        for name in _questions(type(M)):
            yield _asked(f"{method} {name}", M, robot, rng, batch)


def _questions(cls: type) -> list[str]:
    found = [name for name in dir(cls) if isinstance(inspect.getattr_static(cls, name), question_type())]
    return [name for name in found if not name.startswith("_")]


def _asked(label: str, asked: Any, robot: catena.Robot, rng: np.random.Generator, batch: tuple[int, ...]) -> Asked:
    question = getattr(asked, label.split()[-1])
    arguments = {}
    for parameter in inspect.signature(question).parameters.values():
        if parameter.default is parameter.empty:
            arguments[parameter.name] = _argument(parameter.name, robot, rng, batch)
    return Asked(label, question, arguments)


def _argument(name: str, robot: catena.Robot, rng: np.random.Generator, batch: tuple[int, ...]) -> Any:
    if name in ("q", "q0", "q1"):
        return robot.random_configuration(rng, batch)
    if name == "link":
        return robot.links[-1].name
    return rng.standard_normal((*batch, 6 if name == "f" else robot.nv))


def arrays_of(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, one or several."""
    return [np.asarray(x) for x in (answer if isinstance(answer, tuple) else (answer,))]
