"""One step of a closed chain with many links: the integrators of :mod:`catena.algorithms.integrators`, with NumPy.

Accelerations and corrections are those that the functions of closed chains answer with, redundant constraints included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.carried import CARRIED, is_carried
from catena.algorithms.closure_tolerances import CLOSED, CORRECTIONS
from catena.algorithms.configurations import INTEGRATE
from catena.algorithms.force_elements import STIFF, ForceElement
from catena.algorithms.integrators import ADVANCE, STAGE
from catena.algorithms.joint_losses import JOINT_LOSSES, JointLosses
from catena.algorithms.springs import JOINT_SPRINGS, JointSprings
from catena.errors import UnsupportedError
from catena.functions.recipes import Ask

if TYPE_CHECKING:
    from catena.functions.closures import Closures

Array = npt.NDArray[Any]
State = tuple[Array, Array]
Rates = Callable[[Array, Array], Array]
"""Accelerations at a state."""

INTEGRATORS = ("semi_implicit", "midpoint", "rk4")
"""The steps that there are."""


@dataclass(frozen=True)
class StepRecipe:
    """A step as a recipe: what :func:`catena.algorithms.closed_steps.closed_step` is for few links."""

    closures: Closures
    integrator: str
    forces: tuple[ForceElement, ...]
    more: tuple[str, ...]
    projected: bool

    def __call__(self, ask: Ask, q: Array, v: Array, tau: Array, dt: Array, *more: Array) -> State:
        """The state after a step; wrenches, gains and what rows are driven at come last, if there are any."""
        served = all(isinstance(each, JointLosses | JointSprings) for each in self.forces)
        if not served or self.integrator not in INTEGRATORS:
            raise UnsupportedError(
                f"a System of {ask.tree.n:,} links, or by kernel='rolled', has steps by {', '.join(INTEGRATORS)}, "
                f"without {STIFF}; up to 60 links have all"
            )
        names = ["f_ext"] * (len(more) > len(self.more)) + [*self.more]
        dynamics = self.closures.forward_dynamics(names)

        def accelerations(q: Array, v: Array) -> Array:
            left = tau
            for each in self.forces:
                left = left - (ask(JOINT_LOSSES, v) if isinstance(each, JointLosses) else ask(JOINT_SPRINGS, q))
            return np.asarray(ask(dynamics, q, v, left, *more)[0])

        shape = np.broadcast_shapes(*[x.shape[:-1] for x in (q, v, tau)], dt.shape)
        q, v = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, v))
        state = _advanced(ask, self.integrator, accelerations, q, v, dt)
        known = dict(zip(names, more, strict=True))
        return self._on_the_constraints(ask, *state, known.get("driven")) if self.projected else state

    def _on_the_constraints(self, ask: Ask, q: Array, v: Array, driven: Array | None) -> State:
        """States that meet the constraints, nearest in kinetic energy: Newton's method on q, and a projection of v."""
        closures, still = self.closures, np.zeros_like(v)
        places, speeds = (0.0, 0.0) if driven is None else (driven[..., 0, :], driven[..., 1, :])
        r = np.asarray(ask(closures.residual, q)) - places
        for _ in range(CORRECTIONS):
            error = np.abs(r).max(axis=-1, initial=0.0)
            if not (error > CLOSED).any():
                break
            trial = np.asarray(ask(INTEGRATE, q, ask(closures.response, q, still, -r)[0]))
            new = np.asarray(ask(closures.residual, trial)) - places
            better = (np.abs(new).max(axis=-1, initial=0.0) < error)[..., None]
            q, r = np.where(better, trial, q), np.where(better, new, r)
        return q, v + ask(closures.response, q, still, speeds - ask(closures.rates, q, v))[0]


def _advanced(ask: Ask, integrator: str, rates: Rates, q: Array, v: Array, dt: Array) -> State:
    h, a = dt[..., None], rates(q, v)
    if integrator == "semi_implicit":
        q1, v1 = ask(CARRIED if is_carried(ask.tree) else ADVANCE, q, v, a, dt)
        return q1, v1
    q2, v2, u2 = ask(STAGE, q, v, v, a, dt * 0.5)
    a2 = rates(q2, v2)
    if integrator == "midpoint":
        return np.asarray(ask(INTEGRATE, q, h * v2)), v + h * a2
    q3, v3, u3 = ask(STAGE, q, v, u2, a2, dt * 0.5)
    a3 = rates(q3, v3)
    q4, v4, u4 = ask(STAGE, q, v, u3, a3, dt)
    u = h / 6 * (v + 2 * (u2 + u3) + u4)
    return np.asarray(ask(INTEGRATE, q, u)), v + h / 6 * (a + 2 * (a2 + a3) + rates(q4, v4))
