"""Base parameters: the combinations of a robot's parameters that torques depend on, and nothing else does.

Columns of the regressor that are combinations of others add nothing that torques could tell. The independent ones are
found on random states, from the base to the tips; each other column is expressed by them, and its parameter goes into
theirs with the coefficients found.

Source: M. Gautier, "Numerical calculation of the base inertial parameters of robots", J. Robot. Syst. 8 (1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot, generator
from catena.arguments.words import some_of
from catena.errors import ModelError
from catena.parameters.record import LINEAR, Parameters

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

_DEPENDENT = 1e-8  # of a column's length: what is left of one that is a combination of others
_SHOWN = 1e-9  # coefficients below this are rounding


@dataclass(frozen=True)
class BaseParameters:
    """The combinations β = `matrix` π of parameters π that torques depend on; torques are Y[:, independent] β.

    Attributes:
        columns: places of π in `robot.parameters().vector` and in rows of `robot.regressor(..., joints=True)`, (p,).
        parameters: their names, p of them.
        independent: the places in π of the parameters that each combination is named after, (r,).
        matrix: (r, p); a row has a one at its own parameter, and numbers for those that go together with it.
    """

    columns: Array
    parameters: tuple[str, ...]
    independent: Array
    matrix: Array

    def __len__(self) -> int:
        """How many there are, r."""
        return len(self.independent)

    @property
    def names(self) -> tuple[str, ...]:
        """Each combination in words, such as "upper_arm.Izz + 0.09 forearm.m"."""
        return tuple(self._name(row) for row in range(len(self)))

    def values(self, parameters: Parameters | npt.ArrayLike) -> Array:
        """The numbers β, (..., r), of a record of parameters or of its vector (..., 10 links + 5 nv + 3)."""
        found: Array = np.asarray(parameters)[..., self.columns] @ self.matrix.T
        return found

    def _name(self, row: int) -> str:
        own = int(self.independent[row])
        text = self.parameters[own]
        for place in np.flatnonzero(self.matrix[row]).tolist():
            if place != own:
                x = float(self.matrix[row, place])
                size = "" if abs(abs(x) - 1) < _SHOWN else f"{abs(x):.6g} "
                text += f" {'-' if x < 0 else '+'} {size}{self.parameters[place]}"
        return text

    def __repr__(self) -> str:
        return f"<BaseParameters: {len(self)} combinations of {len(self.parameters)} parameters>"


def base_parameters(
    robot: Robot, joints: Sequence[str] | None = None, *, rng: np.random.Generator | int = 0
) -> BaseParameters:
    """Find the combinations of parameters that the torques of a robot depend on.

        base = catena.identification.base_parameters(robot)
        print(len(base), base.names)

    Args:
        robot: the robot; only its geometry, its gravity and the kinds of its joints matter.
        joints: which of "armature", "damping" and "friction" count as parameters beside the ten numbers of each link;
            those that the model has on some joint if left out.
        rng: a generator, or its seed, for the states that the regressor is looked at.

    Returns:
        A :class:`BaseParameters`. Cost: O(p³) for p parameters.

    Raises:
        ModelError: for a robot without joints.
    """
    if not a_robot("base_parameters", robot).nv:
        raise ModelError(f"robot {robot.name!r} has no joints, so there are no torques that parameters could change")
    record = robot.parameters()
    columns = chosen_columns(robot, joints)
    random = generator("base_parameters", rng)
    states = max(20, -(-3 * len(columns) // robot.nv))
    q = robot.random_configuration(random, states)
    v, a = random.standard_normal((2, states, robot.nv))
    Y = robot.regressor(q, v, a, joints=True)[..., columns].reshape(-1, len(columns))
    triangle = np.asarray(np.linalg.qr(Y, mode="r"))
    independent = _independent(triangle)
    matrix = np.linalg.lstsq(triangle[:, independent], triangle, rcond=None)[0]
    scale = np.abs(matrix).max(initial=1.0)
    matrix[np.abs(matrix) < _SHOWN * scale] = 0.0
    matrix[:, independent] = np.eye(len(independent))
    return BaseParameters(columns, tuple(record.names[i] for i in columns.tolist()), independent, matrix)


def chosen_columns(robot: Robot, joints: Sequence[str] | None) -> Array:
    """The places in the vector of parameters, and in the regressor, of the parameters that are looked at."""
    if joints is None:
        wanted = [name for name in LINEAR if getattr(robot, name).any()]
    else:
        wanted = list(some_of("joints", joints, LINEAR))
    places = [np.arange(10 * robot.tree.n)]
    for number, name in enumerate(LINEAR):
        if name in wanted:
            places.append(10 * robot.tree.n + number * robot.nv + np.arange(robot.nv))
    return np.concatenate(places)


def _independent(triangle: Array) -> Array:
    """The columns that are no combination of those before them, by Gram and Schmidt's method, done twice each."""
    lengths = np.linalg.norm(triangle, axis=0)
    largest = lengths.max(initial=0.0)
    found: list[int] = []
    directions = np.empty((triangle.shape[0], 0))
    for k in np.flatnonzero(lengths > _DEPENDENT * largest).tolist():
        rest = triangle[:, k] / lengths[k]
        for _ in range(2):
            rest = rest - directions @ (directions.T @ rest)
        if (left := float(np.linalg.norm(rest))) > _DEPENDENT:
            directions = np.column_stack([directions, rest / left])
            found.append(k)
    return np.array(found, dtype=np.int64)
