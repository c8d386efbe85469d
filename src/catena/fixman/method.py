"""Fixman's partition as a method of a robot: the right form for it, its limits, and how far the result can be trusted.

Rigid bodies and planar point masses run as kernels; polymers, whose hard angles reach over three atoms, through sparse
matrices. A link without inertia of its own, in a robot of neither form, is an error that names it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms import determinant, fixman, fixman_determinant, innovations, point_mass
from catena.arguments.arrays import Port, as_array, batch_shape
from catena.errors import PrecisionWarning, warn
from catena.fixman.point_mass_form import Polymer, is_planar, is_polymer
from catena.fixman.rounding import rounding
from catena.functions.catalogue import BIAS, MASS_MATRIX_TIMES
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask
from catena.model.singular import check_masses

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


def form_of(robot: Robot) -> Form | Polymer:
    """The form of Fixman's partition that fits a robot, found once; SingularError for one that none fits."""
    return robot._compiled.once("form of Fixman's partition", lambda: _form_of(robot))


def _form_of(robot: Robot) -> Form | Polymer:
    tree = robot.tree
    if is_planar(tree):
        return PLANAR
    if is_polymer(tree):
        return Polymer(robot)
    check_masses(tree)
    return RIGID


def functions_for(robot: Robot) -> Form:
    """The functions that answer a robot's questions: from :data:`LONG` links on, and for polymers, with checks.

    There the error is estimated, with a :class:`~catena.PrecisionWarning` where it exceeds :data:`TRUSTED`.
    """
    form = form_of(robot)
    if isinstance(form, Polymer):
        return _of_polymer(form)
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
    return Form(*[_by(recipe, function) for recipe, function in zip(recipes, form, strict=True)])


def _of_polymer(polymer: Polymer) -> Form:
    """The functions of a polymer, sample by sample."""

    def forward(ask: Ask, q: Array, v: Array, tau: Array, *f_ext: Array) -> Array:
        return solve(ask, q, np.asarray(tau) - ask(BIAS, q, v, *f_ext))

    def solve(ask: Ask, q: Array, b: Array) -> Array:
        x, error = _polymer_solved(polymer, ask, q, b)
        _warn_if_bad("the solution", error, ask)
        return x

    def log_determinant(ask: Ask, q: Array) -> Array:
        return _polymer_log_determinant(polymer, q)

    recipes = forward, solve, log_determinant
    return Form(*[_by(recipe, function) for recipe, function in zip(recipes, RIGID, strict=True)])


def _by(recipe: Any, function: Function) -> Function:
    return replace(function, name=f"{function.name}/checked", algorithm=by_recipe, recipe=recipe)


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
    form, ports = form_of(robot), (Port("q", (robot.nq,)), Port("b", (robot.nv,)))
    given = [as_array(x, port, "solve_with_error") for x, port in zip((q, b), ports, strict=True)]
    batch_shape(given, ports, "solve_with_error")
    q, right = (np.asarray(x, dtype=float) for x in given)

    def ask(function: Function, *arrays: Any) -> Any:
        return robot._compiled.kernel(function)(*arrays)

    if isinstance(form, Polymer):
        x, error = _polymer_solved(form, ask, q, right)
        value: Any = _polymer_log_determinant(form, q)
    else:
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


def _polymer_solved(polymer: Polymer, ask: Any, q: Array, b: Array) -> tuple[Array, float]:
    """M⁻¹ b and its relative error, estimated as in :func:`_solved`; refinement is the blocks' own."""
    q, b = np.asarray(q, dtype=float), np.asarray(b, dtype=float)
    batch = np.broadcast_shapes(q.shape[:-1], b.shape[:-1])
    q, b = np.broadcast_to(q, batch + q.shape[-1:]), np.broadcast_to(b, batch + b.shape[-1:])
    x, error = np.full(b.shape, np.nan), 0.0
    for index in np.ndindex(batch):
        if not (np.isfinite(q[index]).all() and np.isfinite(b[index]).all()):
            continue
        solution = polymer.blocks(q[index]).solve(b[index])
        x[index], error = solution.x, max(error, solution.error)
    return x, max(2 * _distance(x, _otherwise(ask, q, b)), error)


def _polymer_log_determinant(polymer: Polymer, q: Array) -> Array:
    rows = np.asarray(q, dtype=float)
    found = np.full(rows.shape[:-1], np.nan)
    for index in np.ndindex(found.shape):
        if np.isfinite(rows[index]).all():
            found[index] = polymer.blocks(rows[index]).log_determinant()
    return found


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
