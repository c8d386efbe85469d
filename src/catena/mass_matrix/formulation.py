"""A formulation of the mass matrix: one function for each thing that M can be asked to do.

`factor` gives, for a configuration, two arrays that are kept; the actions below it take q, those arrays and a vector,
or q alone. Vectors lie along the last dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from catena.algorithms import parameters
from catena.arguments.words import METHOD_HINTS, one_of
from catena.functions.function import Function
from catena.model.mimic import followers, refuse_followers

if TYPE_CHECKING:
    from catena.robot import Robot

OWN = {"q": 0, "G": 1, "A": 1, "D": 2, "A_inv": 2, "parameters": 3}
"""The arrays that a mass matrix keeps, by the names of inputs: the configurations, what `factor` gives, parameters."""


@dataclass(frozen=True)
class Formulation:
    """What a mass matrix does, by the names of its methods; the factors U and D only where there are such."""

    factor: Function
    times: Function
    solve: Function
    sqrt_times: Function
    inv_sqrt_times: Function
    logdet: Function
    logdet_gradient: Function
    quadratic_form: Function
    diagonal: Function
    inv_diagonal: Function
    dense: Function
    inv: Function
    U_times: Function | None = None
    U_solve: Function | None = None
    Ut_times: Function | None = None
    Ut_solve: Function | None = None
    D_times: Function | None = None
    D_solve: Function | None = None


def _innovations(robot: Robot) -> Formulation:
    from catena.mass_matrix.innovations import INNOVATIONS

    if followers(robot.tree) is not None:
        from catena.mass_matrix.coupled import COUPLED

        return COUPLED
    return INNOVATIONS


def _udu(robot: Robot) -> Formulation:
    from catena.mass_matrix.innovations import UDU

    return UDU


def _fixman(robot: Robot) -> Formulation:
    from catena.mass_matrix.fixman import fixman

    return fixman(robot)


def _dense(robot: Robot) -> Formulation:
    from catena.mass_matrix.dense import DENSE

    if followers(robot.tree) is not None:
        from catena.mass_matrix.coupled import COUPLED_DENSE

        return COUPLED_DENSE
    return DENSE


METHODS: dict[str, Callable[[Robot], Formulation]] = {
    "innovations": _innovations,
    "udu": _udu,
    "fixman": _fixman,
    "dense": _dense,
}
"""The formulations by name."""

FOLLOWED = ("innovations", "dense")
"""Those that serve robots in which joints follow others."""


def formulation(robot: Robot, name: str) -> Formulation:
    """The formulation of that name, for a robot."""
    chosen = METHODS[one_of("mass matrix method", name, METHODS, METHOD_HINTS)]
    if name not in FOLLOWED:
        refuse_followers(robot.tree, f"mass_matrix by method={name!r}")
    return chosen(robot)


def of_one(found: Formulation) -> Formulation:
    """The same for one configuration: on long chains, all right-hand sides share one copy of the factors."""
    solve = found.solve
    if not parameters.FACTORS & set(solve.inputs):
        return found
    return replace(found, solve=replace(solve, name=f"{solve.name}/shared", shared=tuple(solve.inputs)[:-1]))


def with_parameters(found: Formulation) -> Formulation:
    """The same with parameters as an input of functions that need inertias: those that do not start from factors."""
    functions = {field.name: getattr(found, field.name) for field in fields(found)}
    inertial = {name: f for name, f in functions.items() if f is not None and not parameters.FACTORS & set(f.inputs)}
    return replace(found, **{name: parameters.with_parameters(f) for name, f in inertial.items()})
