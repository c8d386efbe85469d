"""The part of System that answers with derivatives of forward dynamics, and of what the constraints exert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import Wrenches
from catena.errors import UnsupportedError
from catena.functions.function import Function
from catena.functions.question import question
from catena.model.singular import check_invertible
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


class ForceSlopes(NamedTuple):
    """Derivatives of the constraints' wrenches by q, by v and by tau, (..., constraints, 6, nv)."""

    dq: Array
    dv: Array
    dtau: Array


def _along(system: System, given: tuple[str, ...]) -> Function:
    _check(system)
    return system.closures.slopes.along


def _accelerations(system: System, given: tuple[str, ...]) -> Function:
    _check(system)
    return system.closures.slopes.accelerations(given)


def _forces(system: System, given: tuple[str, ...]) -> Function:
    _check(system)
    return system.closures.slopes.forces(given)


def _check(system: System) -> None:
    check_invertible(system.tree)
    if system.tree.n > MOST_LINKS:
        raise UnsupportedError(
            f"derivatives of a System are for up to {MOST_LINKS} links, and this one has {system.tree.n}; those of the "
            "robots without constraints are asked of system.forest"
        )


class ClosedDerivatives(Closing):
    """Derivatives of the forward dynamics of closed systems.

    Column j of a matrix belongs to a motion of degree of freedom j alone, which need not keep the constraints. Where
    constraints are redundant, the accelerations are unique, and forces are those of least norm.
    """

    __slots__ = ()

    @question(_along, inverts="M", closed="held")
    def forward_dynamics_jvp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """How the accelerations of `forward_dynamics` change as q, v and tau move in the directions given.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dq: directions of the configurations, (..., nv), as velocities; they need not keep the constraints.
            dv: directions of the velocities, (..., nv).
            dtau: directions of the torques, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv). Cost: a few times that of `forward_dynamics`, and O(k² nv).

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_accelerations, inverts="M", closed="held")
    def forward_dynamics_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> ClosedSlopes:
        """The derivatives of the accelerations of `forward_dynamics` by q, v and tau, as matrices.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `dtau`, (..., nv, nv) each. Cost: O(n d² + k² n) for a tree of depth d.

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_forces, inverts="M", closed="held")
    def constraint_force_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> ForceSlopes:
        """The derivatives of the constraints' wrenches, `forces` of `forward_dynamics`, by q, v and tau.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `dtau`, (..., constraints, 6, nv) each: of each constraint the wrench on its second frame, in
            that frame. Cost: as of `forward_dynamics_derivatives`.

        Raises:
            UnsupportedError: for more than 60 links.
        """
