"""Steps as long as a tolerance allows: the method of order 8 of Dormand and Prince, with dense output, by SciPy.

Coordinates are integrated as numbers, quaternions among them: the equations of motion keep their lengths, and what
rounding adds is taken away when states are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import DOP853

from catena.arguments.scalars import real
from catena.errors import ShapeError, UnsupportedError
from catena.questions.stepping import rates
from catena.simulation.asked import Prepared
from catena.simulation.parts import Filled

Array = npt.NDArray[Any]

FINEST = 3e-14
"""The smallest tolerance: rounding hides smaller errors."""

ROWS = 64
"""So many rows are handed on at a time."""


def adaptive_rows(
    rollout: Prepared, q: Array, v: Array, tolerance: float, row: int, state: Mapping[str, Any]
) -> Iterator[Filled]:
    """Fill in rows after those that are there, from dense output.

    To go on, the method needs where its last step ended, which is past the last row, and how long the next would be.
    """
    if q.ndim != 2:
        raise UnsupportedError("simulate: integrator='adaptive' takes one sample, as each has steps of its own")
    if rollout.control is not None and rollout.control.remembers:
        raise UnsupportedError("simulate: integrator='adaptive' asks controllers at any time; none that remembers")
    tolerance = real("simulate: tolerance", tolerance, least=FINEST, below=1.0)
    if not (np.isfinite(q[0]).all() and np.isfinite(v[0]).all()):
        raise ShapeError("simulate: q and v must be finite to start with")
    robot, times = rollout.robot, rollout.times(rollout.rows)
    fine = np.full((), -1)
    begun = {"t": times[0], "y": np.concatenate([q[0], v[0]]), **state}
    solver = DOP853(_right_hand_side(rollout), begun["t"], begun["y"], times[-1], rtol=tolerance, atol=tolerance)
    solver.h_abs = float(begun.get("h_abs", solver.h_abs))
    handed = row
    while row < rollout.rows:
        solver.step()
        if solver.status == "failed":
            at = int((solver.t - times[0]) / rollout.dt) + 1
            yield Filled(row, np.array(at), np.array(int(np.argmax(np.abs(solver.y[robot.nq :]))) if robot.nv else -1))
            return
        reached = int(np.searchsorted(times, solver.t, side="right")) - 1
        if reached > row:
            states = solver.dense_output()(times[row + 1 : reached + 1]).T
            q[row + 1 : reached + 1] = robot.normalize(states[:, : robot.nq])
            v[row + 1 : reached + 1] = states[:, robot.nq :]
            row = reached
        if row - handed >= ROWS or row == rollout.rows:
            handed = row
            yield Filled(row, fine, fine, state={"t": solver.t, "y": solver.y, "h_abs": solver.h_abs})


def _right_hand_side(rollout: Prepared) -> Any:
    """How fast the state, q and then v, changes."""
    robot, o = rollout.robot, rollout.options
    acted_on = rollout.f_ext is not None or rollout.wrench is not None
    present = ("f_ext",) if acted_on else ()
    function = rates(robot, o.method, o.joint_losses, o.joint_springs, rollout.forces.traced)
    kernel = robot._compiled.kernel(function, present, o.dtype, rollout.shape)
    none, nq = np.zeros(robot.nv), robot.nq
    numbers = [rollout.forces.values[name] for name in rollout.forces.acting.inputs]

    def right_hand_side(t: float, y: Array) -> Array:
        q, v = y[:nq], y[nq:]
        given = none if rollout.control is None else rollout.asked_now(rollout.control, t, q, v)
        tau = rollout.driven(given, q, v)
        wrenches = [rollout.wrenches_at(t, q, v)] if acted_on else []
        return np.concatenate(kernel(q, v, tau, *wrenches, *numbers))

    return right_hand_side
