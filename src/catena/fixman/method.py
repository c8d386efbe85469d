"""Fixman's partition as a method of a robot: the right form for it, its limits, and how far the result can be trusted.

Rigid bodies and planar point masses run as kernels; polymers, whose hard angles reach over three atoms, through sparse
matrices. A link without inertia of its own, in a robot of neither form, is an error that names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms import determinant, fixman, fixman_determinant, innovations, point_mass
from catena.errors import PrecisionWarning, warn
from catena.fixman.point_mass_form import Polymer, is_planar, is_polymer
from catena.functions.asking import ask, delivered
from catena.functions.catalogue import BIAS, MASS_MATRIX_TIMES
from catena.functions.function import Function
from catena.model.singular import check_masses

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

LONG = 200
"""From this many links on, digits can get lost, so results are checked."""

TRUSTED = 1e-9
"""Relative errors above this are warned of."""

_ROUNDINGS = 16
"""No result of many operations is claimed to be more exact than this many units in the last place."""


class Form(NamedTuple):
    """The functions that serve a robot: forward dynamics, M⁻¹ b and log det M."""

    forward: Function
    solve: Function
    log_determinant: Function


RIGID = Form(fixman.FIXMAN, fixman.SOLVE, fixman_determinant.LOG_DETERMINANT)
PLANAR = Form(point_mass.POINT_MASS, point_mass.SOLVE, point_mass.LOG_DETERMINANT)


def form_of(robot: Robot) -> Form | Polymer:
    """The form of Fixman's partition that fits a robot, found once; SingularError for one that none fits."""
    known = robot.__dict__.get("_fixman_form")
    if known is None:
        known = robot.__dict__["_fixman_form"] = _form_of(robot)
    found: Form | Polymer = known
    return found


def _form_of(robot: Robot) -> Form | Polymer:
    tree = robot.tree
    if is_planar(tree):
        return PLANAR
    if is_polymer(tree):
        return Polymer(robot)
    check_masses(tree)
    return RIGID


class Solution(NamedTuple):
    """M⁻¹ b (..., nv), log det M (...), and the relative error estimated for each."""

    x: Array
    log_determinant: Array
    error: float
    log_determinant_error: float


def forward_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    f_ext: npt.ArrayLike | None = None,
    *,
    out: Array | None = None,
    dtype: npt.DTypeLike = np.float64,
    shape: str | None = None,
) -> Array:
    """Joint accelerations (..., nv); `f_ext` is (..., links, 6) in link frames.

    From :data:`LONG` links on M⁻¹ τ is checked at q as in :func:`solve`, which warns where digits are lost.
    """
    form = form_of(robot)
    present = () if f_ext is None else ("f_ext",)
    given = () if f_ext is None else (f_ext,)
    if isinstance(form, Polymer):
        bias = ask(robot, BIAS, q, v, *given, dtype=dtype, shape=shape, present=present)
        return delivered(solve(robot, q, np.asarray(tau) - bias, dtype=dtype, shape=shape), out)
    if robot.tree.n >= LONG:
        solve(robot, q, tau, dtype=dtype, shape=shape)
    result: Array = ask(robot, form.forward, q, v, tau, *given, out=out, dtype=dtype, shape=shape, present=present)
    return result


def solve(
    robot: Robot,
    q: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    out: Array | None = None,
    dtype: npt.DTypeLike = np.float64,
    shape: str | None = None,
) -> Array:
    """M⁻¹ b (..., nv).

    From :data:`LONG` links on its error is estimated, with a :class:`PrecisionWarning` if it exceeds :data:`TRUSTED`.
    """
    x, error = _solved(robot, q, b, dtype, shape, robot.tree.n >= LONG)
    if error > max(TRUSTED, 1e3 * float(np.finfo(np.dtype(dtype)).eps)):
        _warn("the solution", error)
    return delivered(x, out)


def log_determinant(
    robot: Robot,
    q: npt.ArrayLike,
    *,
    out: Array | None = None,
    dtype: npt.DTypeLike = np.float64,
    shape: str | None = None,
) -> Any:
    """log det M (...), by Fixman's theorem.

    From :data:`LONG` links on it is checked against Σ log D(k), which keeps its digits, and warned of as there.
    """
    value = _log_determinant(robot, q, dtype, shape)
    if robot.tree.n >= LONG:
        error = _distance(value, ask(robot, determinant.LOG_DETERMINANT, q, dtype=dtype, shape=shape))
        if error > max(TRUSTED, 1e3 * float(np.finfo(np.dtype(dtype)).eps)):
            _warn("log det M", error)
    return value if out is None else delivered(np.asarray(value), out)


def solve_with_error(robot: Robot, q: npt.ArrayLike, b: npt.ArrayLike) -> Solution:
    """Solve M(q) x = b by Fixman's partition, with log det M and an estimate of the relative error of both.

    `q` is (..., nq), `b` is (..., nv) in N m or N; they broadcast. The result is a :class:`Solution`. The estimates are
    made for any number of links, at the price of a second solution by the articulated recursion and one step of
    refinement. O(n). Raises SingularError, which names it, for a link without mass.
    """
    x, error = _solved(robot, q, b, np.float64, None, check=True)
    value = _log_determinant(robot, q, np.float64, None)
    return Solution(x, value, error, _distance(value, ask(robot, determinant.LOG_DETERMINANT, q)))


def _solved(
    robot: Robot, q: npt.ArrayLike, b: npt.ArrayLike, dtype: npt.DTypeLike, shape: str | None, check: bool
) -> tuple[Array, float]:
    """M⁻¹ b, and when it is to be checked its relative error.

    It is estimated by the distance from the articulated recursion, and by one step of refinement, M⁻¹ (b − M x): either
    alone may be small by chance, as the first has errors of its own and the second sees none that M hides. Twice the
    larger one is given, and never less than rounding.
    """
    form = form_of(robot)
    if isinstance(form, Polymer):
        return _polymer_solved(form, np.asarray(q, dtype=float), np.asarray(b, dtype=float))

    def once(right: npt.ArrayLike) -> Array:
        x: Array = ask(robot, form.solve, q, right, dtype=dtype, shape=shape)
        return x

    x = once(b)
    if not check:
        return x, 0.0
    change = once(np.asarray(b) - ask(robot, MASS_MATRIX_TIMES, q, x, dtype=dtype, shape=shape))
    gains = ask(robot, innovations.FACTOR, q, dtype=dtype, shape=shape)
    other = ask(robot, innovations.SOLVE, q, *gains, b, dtype=dtype, shape=shape)
    rounding = _ROUNDINGS * float(np.finfo(np.dtype(dtype)).eps)
    return x, max(2 * _distance(x, other), 2 * _distance(x + change, x), rounding)


def _polymer_solved(form: Polymer, q: Array, b: Array) -> tuple[Array, float]:
    batch = np.broadcast_shapes(q.shape[:-1], b.shape[:-1])
    q, b = np.broadcast_to(q, batch + q.shape[-1:]), np.broadcast_to(b, batch + b.shape[-1:])
    x, error = np.full(b.shape, np.nan), 0.0
    for index in np.ndindex(batch):
        if not (np.isfinite(q[index]).all() and np.isfinite(b[index]).all()):
            continue
        solution = form.blocks(q[index]).solve(b[index])
        x[index], error = solution.x, max(error, solution.error)
    return x, error


def _log_determinant(robot: Robot, q: npt.ArrayLike, dtype: npt.DTypeLike, shape: str | None) -> Any:
    form = form_of(robot)
    if not isinstance(form, Polymer):
        return ask(robot, form.log_determinant, q, dtype=dtype, shape=shape)
    rows = np.asarray(q, dtype=float)
    found = np.full(rows.shape[:-1], np.nan)
    for index in np.ndindex(found.shape):
        if not np.isfinite(rows[index]).all():
            continue
        found[index] = form.blocks(rows[index]).log_determinant()
    return found


def _distance(a: Any, b: Any) -> float:
    """The largest relative difference over a batch."""
    a, b = np.asarray(a), np.asarray(b)
    axis = -1 if b.ndim and a.size else None
    size, difference = (np.max(np.abs(x), axis=axis, initial=0.0) for x in (b, a - b))
    return float(np.max(np.where(size > 0, difference / np.where(size > 0, size, 1.0), 0.0)))


def _warn(what: str, error: float) -> None:
    warn(
        f"{what} by Fixman's partition has a relative error of about {error:.0e}: cond(Hᵇᵇ) grows as n⁴ on straight "
        f"chains with parallel axes; method='innovations' keeps its digits",
        PrecisionWarning,
    )
