"""The part of System that answers with derivatives of forward dynamics.

They follow from the equations M a + b = τ + Jᵀλ and J a + J̇v = 0, differentiated along a direction: what is left of
both sides with a and λ held is a generalised force and a rate, and `constrained_response` answers to these. That
serves redundant constraints too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import DEPENDENT_ROWS
from catena.arguments.arrays import as_samples
from catena.arguments.scalars import of_systems
from catena.errors import UnsupportedError
from catena.functions.closures import Closures, finite
from catena.functions.derived import jvp
from catena.functions.function import Function
from catena.functions.recipes import times
from catena.questions.closing import Closing

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]

MOST_LINKS = 60
"""What constraints hold is differentiated in code that is written out for each link."""


class ClosedSlopes(NamedTuple):
    """Derivatives of the accelerations by q (in the tangent space of `integrate`), by v and by tau, (..., nv, nv)."""

    dq: Array
    dv: Array
    dtau: Array


class Slopes:
    """The derivatives of what constraints hold: J x along a direction of q, Jᵀλ likewise, and J̇v of q and v."""

    def __init__(self, closures: Closures) -> None:
        self._closures = closures

    @cached_property
    def rates(self) -> Function:
        """(∂J) x."""
        return jvp(self._closures.rates, ("q",))

    @cached_property
    def forces(self) -> Function:
        """(∂Jᵀ) λ."""
        return jvp(self._closures.torques, ("q",))

    @cached_property
    def bias(self) -> Function:
        """∂(J̇ v)."""
        return jvp(self._closures.bias, ("q", "v"))


class ClosedDerivatives(Closing):
    """Derivatives of the forward dynamics of closed systems."""

    __slots__ = ()

    @of_systems("held")
    def forward_dynamics_jvp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
    ) -> Array:
        """How the accelerations of `forward_dynamics` change as q, v and tau move in the directions given.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dq: directions of the configurations, (..., nv), as velocities; they need not keep the constraints.
            dv: directions of the velocities, (..., nv).
            dtau: directions of the torques, (..., nv).

        Returns:
            (..., nv). Cost: a few times that of `forward_dynamics`, and O(k² nv).

        Raises:
            UnsupportedError: for more than 60 links.
        """
        system = cast("System", self)
        _check_size(system)
        shapes = {"q": (system.nq,), **dict.fromkeys(("v", "tau", "dq", "dv", "dtau"), (system.nv,))}
        given, _ = as_samples("forward_dynamics_jvp", shapes, [q, v, tau, dq, dv, dtau])
        q, v, tau, dq, dv, dtau = given
        if not system.constraints:
            return np.asarray(system.forest.forward_dynamics_jvp(q, v, tau, dq, dv, dtau))
        a = np.asarray(system.forward_dynamics(q, v, tau).a)
        needed, J = np.asarray(system.forest.inverse_dynamics(q, v, a)), np.asarray(system.constraint_jacobian(q))
        lam = times(np.swapaxes(np.linalg.pinv(finite(J), rcond=DEPENDENT_ROWS), -1, -2), needed - tau)
        slopes, kernel = (
            system.tree.once(("slopes", system.closures), lambda: Slopes(system.closures)),
            system._compiled.kernel,
        )
        push = dtau - np.asarray(system.forest.inverse_dynamics_jvp(q, v, a, dq, dv, np.zeros(system.nv)))
        push = push + np.asarray(kernel(slopes.forces)(q, lam, dq))
        drift = np.asarray(kernel(slopes.rates)(q, a, dq)) + np.asarray(kernel(slopes.bias)(q, v, dq, dv))
        return np.asarray(system.constrained_response(q, push, -drift).change)

    @of_systems("held")
    def forward_dynamics_derivatives(self, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike) -> ClosedSlopes:
        """The derivatives of the accelerations of `forward_dynamics` by q, v and tau, as matrices.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.

        Returns:
            `dq`, `dv` and `dtau`, (..., nv, nv) each: column j belongs to a motion of degree of freedom j alone, which
            need not keep the constraints. Cost: that of 3 nv times `forward_dynamics_jvp`, in one batch.
        """
        nq, nv = cast("System", self).nq, cast("System", self).nv
        shapes = {"q": (nq,), "v": (nv,), "tau": (nv,)}
        given, _ = as_samples("forward_dynamics_derivatives", shapes, [q, v, tau])
        q, v, tau = (x[..., None, :] for x in given)
        directions = np.split(np.eye(3 * nv), 3, axis=1)
        found = np.swapaxes(self.forward_dynamics_jvp(q, v, tau, *directions), -1, -2)
        return ClosedSlopes(*[found[..., i * nv : (i + 1) * nv] for i in range(3)])


def _check_size(system: System) -> None:
    if system.tree.n > MOST_LINKS:
        raise UnsupportedError(
            f"derivatives of a System are for up to {MOST_LINKS} links, and this one has {system.tree.n}; those of the "
            "robots without constraints are asked of system.forest"
        )
