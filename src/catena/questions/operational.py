"""The part of Robot that answers with the mass matrix, and with operational-space inertia at links and frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.arguments.scalars import of_systems
from catena.functions.function import Function
from catena.functions.question import question
from catena.functions.watch import SPACE
from catena.mass_matrix.matrix import MassMatrix
from catena.model.singular import check_invertible
from catena.questions.jacobians import Jacobians, Links, about_frames

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]


class OperationalInertia(NamedTuple):
    """Λ and its inverse Ω = J M⁻¹ Jᵀ, each (..., 6 m, 6 m) for m frames, angular rows first in each block of six.

    Λ is in kg m², kg m and kg, Ω in the reciprocals of these, in the axes that `frame` says.
    """

    inertia: Array
    inverse: Array


class OperationalDynamics(NamedTuple):
    """Λ, μ and p of the equation Λ ẍ + μ + p = F for a link or frame, or m of them together.

    Λ is (..., 6 m, 6 m); the Coriolis forces μ and the gravity forces p are (..., 6 m): moments in N m, forces in N.
    """

    inertia: Array
    coriolis: Array
    gravity: Array


def _inverse_mass_matrix(robot: Robot, given: tuple[str, ...]) -> Function:
    check_invertible(robot.tree)
    return INVERSE_MASS_MATRIX


class Operational(Jacobians):
    """The mass matrix, and the operational-space inertia of one link or frame, or of several with the blocks between.

    `link`, `point` and `frame` are as for Jacobians.
    """

    __slots__ = ()

    @of_systems("forest")
    def mass_matrix(
        self,
        q: npt.ArrayLike,
        method: str = "innovations",
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> MassMatrix:
        """The mass matrix M(q) as an operator: `M @ x`, `M.solve(b)`, `M.logdet()`, `M.factors()`, ... in O(n).

        Args:
            q: configurations, (..., nq); they are copied.
            method: the formulation behind it, "innovations", "udu", "fixman" or "dense"; all give the same answers.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), which broadcast
                against q: see `parameters`. Not with "fixman".
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            A :class:`~catena.MassMatrix`; nothing of size n x n is made unless you ask for it.
        """
        return MassMatrix(self, q, method, dtype, kernel, parameters)  # type: ignore[arg-type]

    @question(_inverse_mass_matrix, inverts="M")
    def inverse_mass_matrix(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The inverse of the mass matrix as an array: `mass_matrix(q).inv()` in one call.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            M⁻¹, (..., nv, nv), in the reciprocals of kg m², kg m and kg. Cost: O(n²) time and memory.

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """

    @question(about_frames("operational_inertia"), inverts=SPACE)
    def operational_inertia(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> OperationalInertia:
        """Operational-space inertia Λ = (J M⁻¹ Jᵀ)⁻¹ of a link or frame, and its inverse Ω.

        A wrench f on the link accelerates it by Ω f. Where J loses rank, Λ does not exist: its entries are then huge,
        infinite or NaN; Ω always exists.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            point: the point that is pushed, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes (see Kinematics).
            out: arrays for Λ and Ω.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `inertia` and `inverse`, each (..., 6 m, 6 m). Cost: O(n).

        Raises:
            SingularError: if too few joints move the link for Λ ever to exist; `operational_mobility` gives Ω.
        """

    @question(about_frames("operational_dynamics"), inverts=SPACE)
    def operational_dynamics(
        self,
        q: npt.ArrayLike,
        link: Links,
        v: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: tuple[Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> OperationalDynamics:
        """The equation of motion Λ ẍ + μ + p = F of a link or frame: its inertia, Coriolis and gravity forces.

        ẍ = J v̇ + J̇ v is the link's acceleration, of the kind that `link_accelerations` gives in this `frame`, and F the
        wrench on the link that has the effect of the joint torques, J̄ᵀ τ. Where J loses rank none of them exists.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            v: joint velocities, (..., nv).
            point: the point that is moved, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes, and the acceleration of which point (see Kinematics).
            out: arrays for Λ, μ and p.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `inertia` (..., 6 m, 6 m), `coriolis` and `gravity` (..., 6 m). Cost: O(n).

        Raises:
            SingularError: if too few joints move the link for Λ ever to exist.
        """

    @question(about_frames("operational_mobility"), inverts="M")
    def operational_mobility(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The inverse of operational-space inertia, Ω = J M⁻¹ Jᵀ, which exists whatever the rank of J.

        A wrench f on the link, (moment, force) in N m and N, accelerates it by Ω f.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            point: the point that is pushed, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6 m, 6 m). Cost: O(n).
        """

    @question(about_frames("dynamically_consistent_inverse"), inverts=SPACE)
    def dynamically_consistent_inverse(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The inverse J̄ = M⁻¹ Jᵀ Λ of the Jacobian that is consistent with the dynamics.

        J J̄ = 1, and joint torques (1 − Jᵀ J̄ᵀ) τ do not accelerate the link.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            point: the point that is moved, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, 6 m). Cost: O(n).

        Raises:
            SingularError: if too few joints move the link for Λ ever to exist.
        """
