"""Simulation by the variational midpoint rule, in machine code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.rollouts import NOTHING
from catena.algorithms.variational import ITERATIONS, SUMS, newton
from catena.errors import UnsupportedError
from catena.model.joints import JOINT_TYPES
from catena.simulation.asked import Prepared
from catena.simulation.divergence import culprit, healthy
from catena.simulation.parts import Filled, paced

Array = npt.NDArray[Any]

MOST = 16
"""Degrees of freedom for which all derivatives are written out."""

ENOUGH = 1e-8
"""How small the last change of speeds in a step must be, beside the largest speed."""


def variational_rows(rollout: Prepared, q: Array, v: Array, row: int, state: Mapping[str, Any]) -> Iterator[Filled]:
    """Fill in rows after those that are there. Velocities are those of the momenta at each state.

    A sample for which Newton's method fails has diverged, at the latest by the end of the rows that are noted.
    """
    _refuse(rollout)
    robot, o, every = rollout.robot, rollout.options, rollout.asked.every
    law: Any = NOTHING if rollout.control is None else rollout.control.law
    repeated = newton(law, bool(o.joint_losses), bool(o.joint_springs) and bool(robot.tree.stiffness.any()))
    made = robot._compiled.repeated(repeated, (), np.float64, "unrolled")
    values = {} if rollout.control is None else rollout.values(rollout.control)
    at = {"q": q[..., 0, :].copy(), "u": v[..., 0, :].copy(), "tau": np.zeros(robot.nv), **dict.fromkeys(SUMS, 0.0)}
    at["count"] = float(rollout.first)
    at["p"] = robot.mass_matrix(at["q"]) @ at["u"]
    at = {**at, **state}
    for start, count in paced(row, rollout.rows, every):
        kernel = made(count, every * ITERATIONS)
        given = {**at, "dt": rollout.dt, **values}
        results = kernel(*[given[port.name] for port in kernel.inputs])
        found = dict(zip([port.name for port in kernel.outputs], results, strict=True))
        new = slice(start + 1, start + count + 1)
        q[..., new, :] = found["q"][..., 1:, :]
        v[..., new, :] = robot.mass_matrix(q[..., new, :]).solve(found["p"][..., 1:, :])
        at = {**found, "q": found["q"][..., -1, :], "p": found["p"][..., -1, :]}
        failed = _failed(rollout, q, v, slice(start, start + count + 1), found["worst"])
        yield Filled(start + count, *failed, state=at)


def _refuse(rollout: Prepared) -> None:
    """UnsupportedError for what there is no equation for."""
    robot = rollout.robot
    types = [JOINT_TYPES[code] for code in np.unique(robot.tree.joint_type)]
    found = [f"joints of type {joint.name}" for joint in types if not joint.flat]
    found += [f"{robot.nv} degrees of freedom"] if robot.nv > MOST else []
    found += ["wrenches"] if rollout.f_ext is not None or rollout.wrench is not None else []
    found += [f"the force {force.name!r}" for force in rollout.forces.traced]
    found += ["actuators"] if rollout.actuators is not None else []
    found += ["a controller that goes along a spline"] if rollout.control and rollout.control.along else []
    found += ["a controller that remembers"] if rollout.control and rollout.control.remembers else []
    found += ["a controller that cannot be compiled"] if not rollout.compiled else []
    if found:
        raise UnsupportedError(
            f"simulate: integrator='variational' is for at most {MOST} joints that turn or slide, without wrenches "
            f"and actuators, and for controllers that can be compiled; found {found[0]}; use 'rk4' or 'adaptive'"
        )


def _failed(rollout: Prepared, q: Array, v: Array, rows: slice, worst: Array) -> tuple[Array, Array]:
    """Steps and joints at which samples diverged in some rows."""
    every, bound = rollout.asked.every, rollout.bound
    good = healthy(q[..., rows, :], v[..., rows, :], bound)
    with np.errstate(invalid="ignore"):
        good[..., -1] &= worst <= ENOUGH
    first = np.argmin(good, axis=-1)

    def row(x: Array, at: Array) -> Array:
        return np.take_along_axis(x[..., rows, :], at[..., None, None], axis=-2)[..., 0, :]

    joint = culprit(rollout.robot, row(v, np.maximum(first - 1, 0)), row(q, first), row(v, first), bound)
    bad = ~good.all(axis=-1)
    return np.where(bad, (rows.start + first) * every, -1), np.where(bad, joint, -1)
