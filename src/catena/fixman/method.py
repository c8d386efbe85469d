"""Fixman's partition as a method of a robot: the right form for it, its limits, and how far the result can be trusted.

Planar point masses have a form of their own; every other robot is parted into rigid bodies, and where a link is no body
(a point, a thin rod) its joint stays whole. A link without mass is an error that names it, except for sliders on which
the first link of a floating polymer moves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms import determinant, fixman, fixman_determinant, innovations, point_mass
from catena.algorithms.forward_dynamics import FD3
from catena.arguments.arrays import Port, as_array, batch_shape
from catena.arguments.scalars import a_robot
from catena.errors import PrecisionWarning, warn
from catena.fixman.point_mass_form import is_planar
from catena.fixman.rounding import rounding
from catena.functions.catalogue import MASS_MATRIX_TIMES
from catena.functions.compared import compared
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask
from catena.model.mimic import refuse_followers
from catena.model.singular import check_masses
from catena.sweeps import Field, Links

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

LONG = 200
"""From this many links on, digits can get lost, so results are checked."""

TRUSTED = 1e-9
"""Relative errors above this are warned of."""


class Form(NamedTuple):
    """The functions that serve a robot: forward dynamics, M⁻¹ b and log det M."""

    forward: Function
    solve: Function
    log_determinant: Function


RIGID = Form(fixman.FIXMAN, fixman.SOLVE, fixman_determinant.LOG_DETERMINANT)
PLANAR = Form(point_mass.POINT_MASS, point_mass.SOLVE, point_mass.LOG_DETERMINANT)


def form_of(robot: Robot) -> Form:
    """The form of Fixman's partition that fits a robot, found once; SingularError for one that none fits."""
    return robot._compiled.once("form of Fixman's partition", lambda: _form_of(robot))


def _form_of(robot: Robot) -> Form:
    tree = robot.tree
    if is_planar(tree):
        return PLANAR
    check_masses(tree)
    return RIGID


def functions_for(robot: Robot) -> Form:
    """The functions that answer a robot's questions: from :data:`LONG` links on, with checks.

    There the error is estimated, with a :class:`~catena.PrecisionWarning` where it exceeds :data:`TRUSTED`.
    """
    refuse_followers(robot.tree, "Fixman's partition")
    form = form_of(robot)
    return form if robot.tree.n < LONG else _checked(form)


def _checked(form: Form) -> Form:
    """The functions of a form, each of them checked after it was run."""

    def forward(ask: Ask, q: Array, v: Array, tau: Array, *f_ext: Array) -> Any:
        solve(ask, q, tau)
        return ask(form.forward, q, v, tau, *f_ext)

    def solve(ask: Ask, q: Array, b: Array) -> Array:
        x, error = _solved(form, ask, q, b)
        _warn_if_bad("the solution", error, ask)
        return x

    def log_determinant(ask: Ask, q: Array) -> Any:
        value = ask(form.log_determinant, q)
        _warn_if_bad("log det M", _distance(value, ask(determinant.LOG_DETERMINANT, q)), ask)
        return np.asarray(value)

    recipes = forward, solve, log_determinant
    return Form(*map(_checked_by, recipes, form, _ARTICULATED))


def _checked_by(recipe: Any, function: Function, articulated: Any) -> Function:
    """The function where the articulated recursion agrees, in one kernel, and the recipe for what is left."""
    fast = compared(function, articulated, TRUSTED / 2)  # twice the distance is what errors are estimated by
    return replace(function, name=f"{function.name}/checked", algorithm=by_recipe, recipe=recipe, fast=fast)


def _articulated_solution(links: Links, q: Field, b: Field) -> Field:
    return innovations.solve(links, q, *innovations.factor(links, q), b)


_ARTICULATED = FD3.algorithm, _articulated_solution, determinant.log_determinant
"""The same three by the articulated recursion."""


class Solution(NamedTuple):
    """M⁻¹ b (..., nv), log det M (...), and the relative error estimated for each."""

    x: Array
    log_determinant: Array
    error: float
    log_determinant_error: float


def solve_with_error(robot: Robot, q: npt.ArrayLike, b: npt.ArrayLike) -> Solution:
    """Solve M(q) x = b by Fixman's partition, with log det M and an estimate of the relative error of both.

    `q` is (..., nq), `b` is (..., nv) in N m or N; they broadcast. The result is a :class:`Solution`. The estimates are
    made for any number of links, at the price of a second solution by the articulated recursion and one step of
    refinement. O(n). Raises SingularError, which names it, for a link without mass.
    """
    form, ports = form_of(a_robot("solve_with_error", robot)), (Port("q", (robot.nq,)), Port("b", (robot.nv,)))
    given = [as_array(x, port, "solve_with_error") for x, port in zip((q, b), ports, strict=True)]
    batch_shape(given, ports, "solve_with_error")
    q, right = (np.asarray(x, dtype=float) for x in given)

    def ask(function: Function, *arrays: Any) -> Any:
        return robot._compiled.kernel(function)(*arrays)

    x, error = _solved(form, ask, q, right)
    value = ask(form.log_determinant, q)
    return Solution(x, value, error, _distance(value, ask(determinant.LOG_DETERMINANT, q)))


def _solved(form: Form, ask: Any, q: Array, b: Array) -> tuple[Array, float]:
    """M⁻¹ b and its relative error.

    It is estimated by the distance from the articulated recursion, and by one step of refinement, M⁻¹ (b − M x): either
    alone may be small by chance, as the first has errors of its own and the second sees none that M hides. Twice the
    larger one is given, and never less than rounding.
    """
    x = ask(form.solve, q, b)
    change = ask(form.solve, q, np.asarray(b) - ask(MASS_MATRIX_TIMES, q, x))
    return x, max(2 * _distance(x, _otherwise(ask, q, b)), 2 * _distance(x + change, x), rounding(x.dtype))


def _otherwise(ask: Any, q: Array, b: Array) -> Array:
    """M⁻¹ b by the articulated recursion."""
    return np.asarray(ask(innovations.SOLVE, q, *ask(innovations.FACTOR, q), b))


def _distance(a: Any, b: Any) -> float:
    """The largest relative difference over a batch."""
    a, b = np.asarray(a), np.asarray(b)
    axis = -1 if b.ndim and a.size else None
    size, difference = (np.max(np.abs(x), axis=axis, initial=0.0) for x in (b, a - b))
    return float(np.max(np.where(size > 0, difference / np.where(size > 0, size, 1.0), 0.0)))


def _warn_if_bad(what: str, error: float, ask: Ask) -> None:
    if error > max(TRUSTED, 1e3 * float(np.finfo(ask.dtype).eps)):
        warn(
            f"{what} by Fixman's partition has a relative error of about {error:.0e}: cond(Hᵇᵇ) grows as n⁴ on "
            "straight chains with parallel axes; method='innovations' keeps its digits",
            PrecisionWarning,
        )
