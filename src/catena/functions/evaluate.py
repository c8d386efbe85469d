"""A function of a robot on scalars of the caller's choice: the readable reference, and the oracle with many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError
from catena.functions.catalogue import function_named
from catena.functions.function import kind
from catena.functions.linkwise import evaluate as run
from catena.scalars import Scalar

if TYPE_CHECKING:
    from catena.robot import Robot


def evaluate(robot: Robot, function: str, *arrays: npt.ArrayLike, scalar: Callable[[float], Scalar] = float) -> Any:
    """Evaluate a function of a robot at one state with scalars of any kind, such as numbers of 50 digits.

        catena.evaluate(robot, "forward_dynamics", q, v, tau, scalar=mpmath.mpf)

    The source is the one that the machine code is made of, here run by Python link by link. `function` is a name in
    `catena.functions.catalogue.FUNCTIONS`, such as "inverse_dynamics", "mass_matrix" or "forward_dynamics/fd2".
    `arrays` are its arguments for one sample, q (nq,), v (nv,) and so on; optional ones, such as wrenches, come last.
    `scalar` makes scalars of numbers. Returns an array of these scalars (dtype object, or float64 for floats), or a
    tuple of arrays. Cost: O(n) operations, at Python's speed.
    """
    chosen = function_named(function)
    names = list(chosen.inputs)
    if not len(names) - len(chosen.optional) <= len(arrays) <= len(names):
        raise ShapeError(f"{function} takes {', '.join(names)}; {len(arrays)} arrays were given")
    values = dict(zip(names, arrays, strict=False))
    for name, value in values.items():
        expected = kind(chosen.inputs[name]).full_shape(robot.tree.n, robot.nq, robot.nv)
        if np.shape(value) != expected:
            raise ShapeError(f"{function}: {name} must have shape {expected}, not {np.shape(value)}")
    results = run(robot.tree, chosen, values, scalar).values()
    arrays_out = [result.astype(float) if scalar is float else result for result in results]
    return arrays_out[0] if len(arrays_out) == 1 else tuple(arrays_out)
