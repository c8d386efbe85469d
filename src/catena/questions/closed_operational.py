"""The part of System about operational space: what a push at a link or frame does with all constraints held.

In place of M⁻¹ stands the map from torques to the accelerations that they cause in the closed system,

    N = M⁻¹ − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ A M⁻¹,            A: the constraints' Jacobian

which `constrained_response` applies, also where constraints are redundant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import DEPENDENT_ROWS
from catena.arguments.arrays import as_samples
from catena.errors import SingularError, SingularWarning, warn
from catena.questions.closing import Closing
from catena.questions.jacobians import Links
from catena.questions.operational import OperationalDynamics, OperationalInertia

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]


class ClosedOperational(Closing):
    """The inverse of the mass matrix and operational space, with the constraints held.

    `link`, `point` and `frame` are as for Jacobians: a link or frame, or a list of m of them; a point of each, (..., 3)
    in m; and "link", "world" or "mixed". Results are float64. Cost of each: that of `constrained_response` for all
    columns, in one batch.
    """

    __slots__ = ()

    def inverse_mass_matrix(self, q: npt.ArrayLike) -> Array:
        """The accelerations that unit torques cause in the closed system, (..., nv, nv).

        With constraints it is M⁻¹ − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ A M⁻¹, symmetric and of the rank of the freedom that is left;
        without any it is M⁻¹.
        """
        nv = cast("System", self).nv
        (q,), _ = as_samples("inverse_mass_matrix", {"q": (cast("System", self).nq,)}, [q])
        return self._moved(q, np.broadcast_to(np.eye(nv), (*q.shape[:-1], nv, nv)))

    def operational_mobility(
        self, q: npt.ArrayLike, link: Links, point: npt.ArrayLike | None = None, frame: str = "link"
    ) -> Array:
        """What a wrench on a link or frame of the closed system does: it accelerates by Ω f, Ω (..., 6 m, 6 m)."""
        J, answer = self._pushed(q, link, point, frame)
        return J @ np.swapaxes(answer, -1, -2)

    def operational_inertia(
        self, q: npt.ArrayLike, link: Links, point: npt.ArrayLike | None = None, frame: str = "link"
    ) -> OperationalInertia:
        """Operational-space inertia Λ = Ω⁻¹ of a link or frame of the closed system, and Ω, each (..., 6 m, 6 m).

        SingularError where the constraints leave it no motion in some direction, so that there is no Λ; in a batch such
        samples are NaN, and a SingularWarning counts them. `operational_mobility` always exists.
        """
        Omega = self.operational_mobility(q, link, point, frame)
        return OperationalInertia(_inverse("operational_inertia", Omega), Omega)

    def dynamically_consistent_inverse(
        self, q: npt.ArrayLike, link: Links, point: npt.ArrayLike | None = None, frame: str = "link"
    ) -> Array:
        """The inverse J̄ of the Jacobian, (..., nv, 6 m), whose columns keep the constraints: J J̄ = 1.

        Joint torques (1 − Jᵀ J̄ᵀ) τ do not accelerate the link in the closed system. Singular as `operational_inertia`.
        """
        J, answer = self._pushed(q, link, point, frame)
        columns = np.swapaxes(answer, -1, -2)
        return np.asarray(columns @ _inverse("dynamically_consistent_inverse", J @ columns))

    def operational_dynamics(
        self,
        q: npt.ArrayLike,
        link: Links,
        v: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
    ) -> OperationalDynamics:
        """The equation of motion Λ ẍ + μ + p = F of a link or frame of the closed system; F = J̄ᵀ τ.

        μ has what velocities cause, that of the constraints' own accelerations included; p what gravity does. v,
        (..., nv), keeps the constraints. Singular as `operational_inertia`.
        """
        system = cast("System", self)
        shapes = {"q": (system.nq,), "v": (system.nv,)}
        (q, v), _ = as_samples("operational_dynamics", shapes, [q, v])
        J, answer = self._pushed(q, link, point, frame)
        Lambda = _inverse("operational_dynamics", J @ np.swapaxes(answer, -1, -2))
        rest = np.zeros((*q.shape[:-1], self.closures.rows))
        swung = self.constrained_response(q, -np.asarray(system.coriolis_times(q, v, v)), -self.constraint_bias(q, v))
        hung = self.constrained_response(q, -np.asarray(system.gravity_torque(q)), rest)
        drift = np.asarray(system.jacobian_dot_times(q, link, v, point, frame))
        moved = [(J @ np.asarray(x.change)[..., None])[..., 0] for x in (swung, hung)]
        mu, p = (-(Lambda @ x[..., None])[..., 0] for x in (moved[0] + drift, moved[1]))
        return OperationalDynamics(Lambda, mu, p)

    def _pushed(self, q: npt.ArrayLike, link: Links, point: Any, frame: str) -> tuple[Array, Array]:
        """The Jacobian, (..., 6 m, nv), and the accelerations that unit wrenches cause, as rows likewise."""
        system = cast("System", self)
        J = np.asarray(system.jacobian(q, link, point, frame))
        q = np.broadcast_to(np.asarray(q, dtype=float), (*J.shape[:-2], system.nq))
        return J, self._moved(q, J)

    def _moved(self, q: Array, torques: Array) -> Array:
        """The accelerations that rows of torques (..., m, nv) cause at rest without gravity."""
        still = np.zeros((*torques.shape[:-1], self.closures.rows))
        return np.asarray(self.constrained_response(q[..., None, :], torques, still).change)


def _inverse(question: str, Omega: Array) -> Array:
    """The inverses of mobilities; an error for one that has none, NaN and a warning for such samples of a batch."""
    square = np.einsum("...ii->...i", Omega)
    good = np.isfinite(Omega).all(axis=(-1, -2)) & (square > 0.0).all(axis=-1)
    size = np.sqrt(np.where(good[..., None], square, 1.0))
    both = size[..., :, None] * size[..., None, :]  # moments and forces are of different sizes
    scaled = np.where(good[..., None, None], Omega / both, np.eye(Omega.shape[-1]))
    good &= np.linalg.eigvalsh(scaled)[..., 0] > DEPENDENT_ROWS
    if not good.all():
        missing = "cannot move in all directions with the constraints held, so that it has no operational inertia"
        if good.ndim == 0:
            raise SingularError(f"{question}: what is asked about {missing}; see operational_mobility")
        count = f"{np.count_nonzero(~good)} of {good.size} samples"
        warn(f"{question}: at {count}, which are NaN, what is asked about {missing}", SingularWarning)
    scaled = np.where(good[..., None, None], scaled, np.eye(Omega.shape[-1]))
    found = np.linalg.inv(scaled) / both
    return np.where(good[..., None, None], found, np.nan)
