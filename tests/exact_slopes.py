"""Central differences with 50 digits, in the tangent space of `integrate`: what derivatives are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp, mpf

import catena
from catena.algorithms.configurations import DIFFERENCE, INTEGRATE
from catena.functions.function import Function
from catena.functions.on_scalars import evaluate

DIGITS = 50
STEP = mpf(10) ** -18
"""The error of a difference is about the square of this."""


def run(robot: catena.Robot, function: Function, *arrays: Any) -> Any:
    """A function at one state with 50 digits."""
    values = dict(zip(function.inputs, arrays, strict=False))
    with mp.workdps(DIGITS):
        results = list(evaluate(robot.tree, function, values, mpf).values())
    return results[0] if len(results) == 1 else tuple(results)


def moved(robot: catena.Robot, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """`integrate` with 50 digits."""
    return np.asarray(run(robot, INTEGRATE, q, dv))


def apart(robot: catena.Robot, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """`difference` with 50 digits."""
    return np.asarray(run(robot, DIFFERENCE, q0, q1))


def slopes(f: Callable[[np.ndarray], Any], n: int) -> np.ndarray:
    """The derivatives of an array f(x) by the n components of x, at 0; they are the last dimension."""
    columns = []
    with mp.workdps(DIGITS):
        for j in range(n):
            x = np.array([STEP if i == j else mpf(0) for i in range(n)], dtype=object)
            columns.append((np.asarray(f(x)) - np.asarray(f(-x))) / (2 * STEP))
        return np.stack(columns, axis=-1).astype(float)
