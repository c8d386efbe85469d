"""Every question that was declared, with arguments that suit it: what tests of all questions have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import catena
from catena.functions.question import Declared
from catena.kernels.call.words import Role
from catena.mass_matrix.factors import BlockDiagonal, Upper

CONFIGURATIONS = {"q", "q0", "q1"}
VECTORS = {"v", "tau", "a", "dv", "x", "b", "z", "dq", "dtau", "da", "ddv", "weight"}
OTHERS = {"f": (6,), "point": (3,), "about": (3,), "dt": ()}
NEED_SIX = {"operational_inertia", "operational_dynamics", "dynamically_consistent_inverse"}  # freedoms of a link


def questions(owner: type) -> dict[str, Declared]:
    """What objects of a class can be asked, by name."""
    found = {}
    for name in dir(owner):
        member = inspect.getattr_static(owner, name)
        declared = getattr(inspect.unwrap(member, stop=lambda f: hasattr(f, "question")), "question", None)
        if isinstance(declared, Declared):
            found[name] = declared
    return found


ROBOT, MASS_MATRIX = questions(catena.Robot), questions(catena.MassMatrix)
FACTORS = questions(Upper) | questions(BlockDiagonal)


def takes(declared: Declared, role: Role) -> list[str]:
    """The names of parameters with this role."""
    return [name for name, given in zip(declared.names, declared.roles, strict=True) if given is role]


def arrays(declared: Declared) -> list[str]:
    """The names of parameters that may be arrays."""
    roles = Role.ARRAY, Role.WORD_OR_ARRAY, Role.MAPPING_OR_ARRAY
    return [name for name, role in zip(declared.names, declared.roles, strict=True) if role in roles]


def shape(robot: catena.Robot, name: str) -> tuple[int, ...]:
    """The shape of one sample of an argument."""
    if name in CONFIGURATIONS:
        return (robot.nq,)
    if name in VECTORS:
        return (robot.nv,)
    if name in ("parameters", "dparameters"):
        return robot.parameters().vector.shape
    return (robot.tree.n, 6) if name in ("f_ext", "df_ext") else OTHERS[name]


def argument(robot: catena.Robot, name: str, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> np.ndarray:
    """Random numbers for an argument."""
    if name in CONFIGURATIONS:
        return robot.random_configuration(rng, batch)
    if name in ("parameters", "dparameters"):
        return rng.uniform(0.9, 1.1, (*batch, 1)) * robot.parameters().vector
    if name == "dt":
        return np.asarray(rng.uniform(1e-3, 1e-2, batch))
    return rng.standard_normal((*batch, *shape(robot, name)))


def arguments(
    robot: catena.Robot, declared: Declared, rng: np.random.Generator, batch: tuple[int, ...] = (), link: Any = -1
) -> dict[str, Any]:
    """Arguments for all arrays of a question, and a link (the last unless given) where it needs one."""
    given: dict[str, Any] = {name: argument(robot, name, rng, batch) for name in arrays(declared)}
    if "link" in declared.names:
        given["link"] = robot.tree.link_names[link] if isinstance(link, int) else link
    return given


def results(answer: Any) -> list[np.ndarray]:
    """The results of a question as a list of arrays."""
    return [np.asarray(x) for x in (answer if isinstance(answer, tuple) else (answer,))]


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
    for name, declared in _public(ROBOT):
        yield Asked(name, getattr(robot, name), needed(robot, declared, rng, batch))
    for method in METHODS:
        M = robot.mass_matrix(robot.random_configuration(rng, batch), method=method)
        for name, declared in _public(MASS_MATRIX):
            yield Asked(f"{method} {name}", getattr(M, name), needed(robot, declared, rng, batch))


def _public(declared: dict[str, Declared]) -> list[tuple[str, Declared]]:
    return [(name, question) for name, question in declared.items() if not name.startswith("_")]


def needed(robot: catena.Robot, declared: Declared, rng: np.random.Generator, batch: tuple[int, ...]) -> dict[str, Any]:
    """Arguments for the parameters that have no default."""
    given = arguments(robot, declared, rng, batch)
    return {
        name: given[name]
        for name, default in zip(declared.names, declared.defaults, strict=True)
        if default is inspect.Parameter.empty
    }
