"""Simulation by the variational midpoint rule, with Newton's method in every step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.variational import equation
from catena.errors import UnsupportedError
from catena.model.joints import JOINT_TYPES
from catena.simulation.rolling import Rollout
from catena.simulation.simulate import PACE, Filled

Array = npt.NDArray[Any]

MOST = 16
"""Degrees of freedom for which all derivatives are written out."""

ITERATIONS, CLOSE, ENOUGH = 20, 1e-12, 1e-8
"""How many iterations there are at most, and how small their changes of speeds get, beside the largest speed: iteration
ends when they are close, and is in vain if they are not even small enough in the end, for rounding."""


def variational_rows(rollout: Rollout, q: Array, v: Array) -> Iterator[Filled]:
    """Fill in rows, of which the first is there. Velocities are those of the momenta at each state."""
    robot, every = rollout.robot, rollout.asked.every
    tree, o = robot.tree, rollout.options
    bent = [JOINT_TYPES[code].name for code in np.unique(tree.joint_type) if not JOINT_TYPES[code].flat]
    if bent or robot.nv > MOST:
        found = f"joints of type {bent[0]}" if bent else f"{robot.nv} degrees of freedom"
        raise UnsupportedError(
            "simulate: integrator='variational' is for joints that turn or slide about one axis, and at most "
            f"{MOST} degrees of freedom; found {found}; use 'rk4' or 'adaptive'"
        )
    if rollout.f_ext is not None:
        raise UnsupportedError("simulate: integrator='variational' takes no wrenches; use 'rk4' or 'adaptive'")
    step = _Step(rollout, equation(bool(o.joint_losses), bool(o.joint_springs) and bool(tree.stiffness.any())))
    at, speed = q[..., 0, :].copy(), v[..., 0, :].copy()
    momentum, failed = robot.mass_matrix(at) @ speed, np.full(speed.shape[:-1], -1)
    began, handed = time.perf_counter(), 0
    for row in range(1, rollout.rows + 1):
        for number in range((row - 1) * every, row * every):
            at, momentum, speed, solved = step(number, at, momentum, speed)
            failed = np.where((failed < 0) & ~solved, number + 1, failed)
        q[..., row, :], v[..., row, :] = at, robot.mass_matrix(at).solve(momentum)
        if row == rollout.rows or time.perf_counter() - began > PACE:
            began = time.perf_counter()
            yield Filled(row, failed, _fastest(robot, v[..., handed, :], failed))
            handed = row


class _Step:
    """One step of all samples."""

    def __init__(self, rollout: Rollout, function: Any) -> None:
        self.rollout, self.dt = rollout, rollout.dt
        self.kernel = rollout.robot._compiled.kernel(function, (), np.float64, "unrolled")
        self.none = np.zeros(rollout.robot.nv)

    def __call__(self, number: int, q: Array, p: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """The next q and momentum, the speed in between, and which samples were solved, from the speed before."""
        control, t = self.rollout.control, number * self.dt
        tau = self.none if control is None else self.rollout.asked_now(control, t, q, u)
        close, end = np.zeros(u.shape[:-1], bool), p
        for _ in range(ITERATIONS):
            residual, slope, found = self.kernel(q, u, p, tau, self.dt)
            change = np.where(close[..., None], 0.0, _solved(slope, residual))  # samples do not wait for each other
            end = np.where(close[..., None], end, found)
            u = u - change
            size = np.abs(change).max(axis=-1, initial=0.0) / (1 + np.abs(u).max(axis=-1, initial=0.0))
            close |= size <= CLOSE
            if close.all():
                break
        return q + self.dt * u, end, u, size <= ENOUGH


def _solved(slope: Array, residual: Array) -> Array:
    """Newton's steps; NaN for samples that have none."""
    try:
        return np.asarray(np.linalg.solve(slope, residual[..., None])[..., 0])
    except np.linalg.LinAlgError:
        if slope.ndim == 2:
            return np.full_like(residual, np.nan)
        return np.stack([_solved(*each) for each in zip(slope, residual, strict=True)])


def _fastest(robot: Any, v: Array, failed: Array) -> Array:
    """The joint that moved fastest in the last state before, where a sample failed."""
    speed = np.where(np.isfinite(v), np.abs(v), -1.0)
    joint = np.searchsorted(robot.tree.v_start, np.argmax(speed, axis=-1), side="right") - 1
    return np.where(failed >= 0, joint, -1)
