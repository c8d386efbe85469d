"""Newton's method for configurations that meet conditions, damped where it does not make progress, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]

_FLOOR = 1e-14
"""The least damping, relative to the mean square of the Jacobian's rows: redundant rows need some."""


class Rows(Protocol):
    """What is to vanish; `of` says of which samples the configurations q (s, nq) are."""

    def errors(self, q: Array, of: Array) -> Array:
        """How far from zero each row is, (s, k)."""

    def jacobian(self, q: Array, of: Array) -> Array:
        """How fast that changes by the degrees of freedom, (s, k, nv)."""


class ConstraintRows:
    """The constraints of a system, as rows."""

    def __init__(self, system: System) -> None:
        self.system = system

    def errors(self, q: Array, of: Array) -> Array:
        """Their residuals."""
        return np.asarray(self.system.closure_residual(q))

    def jacobian(self, q: Array, of: Array) -> Array:
        """Theirs."""
        return np.asarray(self.system.constraint_jacobian(q))


def descend(
    system: System, rows: Rows, q: Array, free: Array, tolerance: float, steps: int, limited: bool = False
) -> Array:
    """Move samples (s, nq) in place until their rows vanish; how far each is off at the end.

    `free` says which degrees of freedom may move. With `limited`, joints of one coordinate stay in their ranges.
    """
    ranges = _Ranges(system) if limited else None
    every = np.arange(len(q))
    r = rows.errors(q, every)
    error: Array = np.abs(r).max(axis=1, initial=0.0)
    damping = np.full(len(q), 1e-3)
    for _ in range(steps):
        (busy,) = np.nonzero((error > tolerance) & np.isfinite(error))
        if not len(busy):
            break
        J = rows.jacobian(q[busy], busy) * free
        step = _step(J, r[busy], damping[busy])
        if ranges is not None:
            step = _step(J * ranges.open(q[busy], step)[:, None, :], r[busy], damping[busy])
        trial = np.asarray(system.integrate(q[busy], step))
        if ranges is not None:
            trial = np.clip(trial, ranges.lower, ranges.upper)
        new = rows.errors(trial, busy)
        better = np.sum(new**2, axis=1) < np.sum(r[busy] ** 2, axis=1)
        good = busy[better]
        q[good], r[good] = trial[better], new[better]
        error[good] = np.abs(r[good]).max(axis=1, initial=0.0)
        damping[busy] = np.clip(np.where(better, 0.1, 10.0) * damping[busy], 1e-12, 1e6)
    return error


def _step(J: Array, r: Array, damping: Array) -> Array:
    """The damped shortest step −Jᵀ (J Jᵀ + μ)⁻¹ r; μ vanishes with the error, so that the end is Newton's."""
    S = J @ np.swapaxes(J, -1, -2)
    mean = np.trace(S, axis1=-2, axis2=-1) / max(S.shape[-1], 1)
    mu = damping * np.sum(r**2, axis=1) + _FLOOR * np.maximum(mean, 1e-300)
    x: Array = np.linalg.solve(S + mu[:, None, None] * np.eye(S.shape[-1]), r[..., None])
    return np.asarray(-(np.swapaxes(J, -1, -2) @ x)[..., 0])


class _Ranges:
    """The ranges of the joints of one coordinate."""

    def __init__(self, system: System) -> None:
        tree = system.tree
        single = (np.diff(tree.q_start) == 1) & (np.diff(tree.v_start) == 1)
        self.coordinates, self.dofs = tree.q_start[:-1][single], tree.v_start[:-1][single]
        self.lower, self.upper = (np.full(tree.nq, sign * np.inf) for sign in (-1, 1))
        self.lower[self.coordinates], self.upper[self.coordinates] = (
            bound[self.coordinates] for bound in (tree.lower, tree.upper)
        )

    def open(self, q: Array, step: Array) -> Array:
        """Which degrees of freedom a step does not move out of their ranges, (s, nv)."""
        at, by = q[:, self.coordinates], step[:, self.dofs]
        low, high = self.lower[self.coordinates], self.upper[self.coordinates]
        found = np.ones_like(step, dtype=bool)
        found[:, self.dofs] = ~((at <= low) & (by < 0)) & ~((at >= high) & (by > 0))
        return found
