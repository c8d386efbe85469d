"""A function of a robot on scalars of the caller's choice: the readable reference, and the oracle with many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot
from catena.errors import CatenaError, ShapeError, UnsupportedError, shown
from catena.functions.catalogue import function_named
from catena.functions.coupled_recipes import served
from catena.functions.function import kind
from catena.functions.on_scalars import evaluate as run
from catena.scalars import Scalar, arctan2, sincos, sqrt

if TYPE_CHECKING:
    from catena.robot import Robot


def evaluate(robot: Robot, function: str, *arrays: npt.ArrayLike, scalar: Callable[[float], Scalar] = float) -> Any:
    """Evaluate a function of a robot at one state with scalars of any kind, such as numbers of 50 digits.

        catena.evaluate(robot, "forward_dynamics", q, v, tau, scalar=mpmath.mpf)

    The source is the one that the machine code is made of, here run by Python link by link. `function` is a name in
    `catena.functions.catalogue.FUNCTIONS`, such as "inverse_dynamics", "mass_matrix" or "forward_dynamics/fd2".
    `arrays` are its arguments for one sample, q (nq,), v (nv,) and so on; optional ones, such as wrenches, come last.
    `scalar` makes scalars of numbers: float, a floating type of NumPy, mpmath.mpf, or a function that gives SymPy's
    expressions. Scalars with more digits than floats get the mechanism as it is given, with the numbers of the model
    taken as exact, so that all digits of the result are right but for rounding: an oracle. Rotation matrices, which
    floats hold only up to rounding, then stand for the nearest rotations. Returns an array of these scalars (dtype
    object, or float64 for floats), or a tuple of arrays. Cost: O(n) operations, at Python's speed.

    Raises UnsupportedError for scalars without an order, a sine or a square root: complex numbers, fractions, decimals.
    """
    chosen = served(a_robot("evaluate", robot).tree, function_named(function))
    names = list(chosen.inputs)
    if not len(names) - len(chosen.optional) <= len(arrays) <= len(names):
        raise ShapeError(f"{function} takes {', '.join(names)}; {len(arrays)} arrays were given")
    values = dict(zip(names, arrays, strict=False))
    for name, value in values.items():
        expected = kind(chosen.inputs[name]).full_shape(robot.tree.n, robot.nq, robot.nv)
        if np.shape(value) != expected:
            raise ShapeError(f"{function}: {name} must have shape {expected}, not {np.shape(value)}")
    _check_scalar(scalar)
    for name, value in values.items():
        _check_numbers(function, name, value, scalar)
    results = run(robot.tree, chosen, values, scalar).values()
    arrays_out = [result.astype(float) if scalar is float else result for result in results]
    return arrays_out[0] if len(arrays_out) == 1 else tuple(arrays_out)


def _check_scalar(scalar: Any) -> None:
    """Refuse scalars that cannot hold ½ or lack an order, a sine, a square root or an angle of a point."""
    name = getattr(scalar, "__name__", repr(scalar))
    expected = "expected float, a floating type of NumPy, mpmath.mpf, or what makes SymPy's expressions"
    try:
        half = scalar(0.5)
        whole = not (half + half < 1 or half + half > 1)
        third = half / 3 * 2  # of which intervals know two ends only
        sincos(third), sqrt(third), arctan2(third, third)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnsupportedError(
            f"evaluate: scalar={name} has not all that dynamics need ({error}); {expected}"
        ) from error
    if not whole:
        raise UnsupportedError(
            f"evaluate: scalar={name} turns 0.5 into {half!r}, so it cannot hold numbers; {expected}"
        )


def _check_numbers(function: str, name: str, value: Any, scalar: Callable[[float], Scalar]) -> None:
    try:
        for x in np.ravel(np.asarray(value, dtype=object)).tolist():
            scalar(x)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise CatenaError(
            f"{function}: {name} must hold numbers that scalar can take, found {shown(x)} ({error})"
        ) from error
