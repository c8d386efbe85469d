"""What `catena check` compares: methods of a robot with each other, the answers of a system with its equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import CatenaError
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.robot import Robot
from catena.system import System

Array = npt.NDArray[Any]
Compared = tuple[str, Callable[[], Any], Callable[[], Any]]
"""What is compared, in words, and two ways to compute it."""

DENSE = 200
"""Degrees of freedom up to which methods with n x n matrices are tried."""
SAME = ("innovations", "fd3")
"""Names of the method that the others are compared with."""


def of_robot(robot: Robot, q: Array, v: Array, tau: Array) -> Iterator[Compared]:
    """Every method of forward dynamics, inverse dynamics, the mass matrix and its determinant, each by another way."""
    reference = robot.forward_dynamics(q, v, tau)
    for method in FORWARD_DYNAMICS:
        if method not in SAME and (method != "dense" or robot.nv <= DENSE):
            ask = partial(robot.forward_dynamics, q, v, tau, method=method)
            yield f"forward dynamics, {method}", ask, lambda: reference
    yield "inverse of forward dynamics", lambda: robot.inverse_dynamics(q, v, reference), lambda: tau
    yield (
        "mass matrix times accelerations",
        lambda: robot.mass_matrix(q).times(reference),
        lambda: tau - robot.inverse_dynamics(q, v, np.zeros_like(reference)),
    )
    if robot.nv <= DENSE:
        yield (
            "log determinant, dense",
            lambda: robot.mass_matrix(q, method="dense").logdet(),
            lambda: robot.mass_matrix(q).logdet(),
        )


def of_system(system: System, q: Array, v: Array, tau: Array) -> Iterator[Compared]:
    """Accelerations against the equations of motion and those of the constraints, inverse against forward dynamics."""
    a = np.asarray(system.forward_dynamics(q, v, tau).a)
    J = np.asarray(system.constraint_jacobian(q))

    def explained() -> Array:
        """What the equations of the open trees lack, as far as forces of constraints explain it."""
        lacking = system.forest.inverse_dynamics(q, v, a) - tau
        forces = np.linalg.pinv(np.swapaxes(J, -1, -2), rcond=1e-10) @ lacking[..., None]
        return np.asarray(tau + (np.swapaxes(J, -1, -2) @ forces)[..., 0])

    yield "torques of accelerations and constraints", lambda: system.forest.inverse_dynamics(q, v, a), explained
    yield (
        "accelerations along constraints",
        lambda: (J @ a[..., None])[..., 0],
        lambda: -np.asarray(system.constraint_bias(q, v)),
    )
    yield (
        "forward of inverse dynamics",
        lambda: system.forward_dynamics(q, v, system.inverse_dynamics(q, v, a).tau).a,
        lambda: a,
    )


def difference(first: Callable[[], Any], second: Callable[[], Any]) -> float | str:
    """How far two answers differ, relative to the largest number; words where one could not be asked for."""
    try:
        found, expected = np.asarray(first()), np.asarray(second())
    except CatenaError as error:
        return str(error)
    largest = max(float(np.abs(expected).max(initial=0.0)), 1e-300)
    return float(np.abs(found - expected).max(initial=0.0)) / largest
