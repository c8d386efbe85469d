"""The part of System about operational space: what a push at a link or frame does with all constraints held.

In place of M⁻¹ stands the map from torques to the accelerations that they cause in the closed system,

    N = M⁻¹ − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ A M⁻¹,            A: the constraints' Jacobian

which `constrained_response` applies, also where constraints are redundant. Answers are composed of that with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import DEPENDENT_ROWS
from catena.algorithms.energy import GRAVITY_TORQUE
from catena.arguments.links import one_or_several
from catena.errors import SingularError, SingularWarning, warn
from catena.functions.catalogue import BIAS
from catena.functions.closures import Closures
from catena.functions.frames import QUESTIONS, function_of
from catena.functions.function import Function, by_recipe
from catena.functions.question import Rule, question
from catena.functions.recipes import Ask, times
from catena.model.singular import check_invertible
from catena.questions.closing import Closing
from catena.questions.jacobians import Links
from catena.questions.operational import OperationalDynamics, OperationalInertia

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]


def _inverse_mass_matrix(system: System, given: tuple[str, ...]) -> Function:
    check_invertible(system.tree)

    def recipe(ask: Ask, q: Array) -> Array:
        return _moved(ask, system.closures, q, np.eye(ask.tree.nv))

    name = f"inverse_mass_matrix/{system.closures.response.name}"
    return Function(name, by_recipe, {"q": "q"}, {"inverse": "dense:nv,nv"}, recipe=recipe, double=True)


def _about_frames(name: str) -> Rule:
    """The rule that chooses the function of a question about the operational space of frames."""

    def rule(system: Any, given: tuple[str, ...], link: Links, frame: str = "link") -> Function:
        check_invertible(system.tree)
        about = one_or_several(system.tree, link), frame, "point" in given
        J, drift = (function_of(system, each, *about) for each in ("jacobian", "jacobian_dot_times"))
        count = 1 if isinstance(about[0], str) else len(about[0])
        sizes = {"m": count, "w": 6 * count}
        return Function(
            f"{name}/{system.closures.response.name}/{J.name}",
            by_recipe,
            dict(drift.inputs if name == "operational_dynamics" else J.inputs),
            {result: kind.format(**sizes) for result, kind in QUESTIONS[name].outputs.items()},
            recipe=partial(_RECIPES[name], closures=system.closures, jacobian=J, drift=drift),
            double=True,
        )

    return rule


def _moved(ask: Ask, closures: Closures, q: Array, torques: Array) -> Array:
    """The accelerations that rows of torques (..., m, nv) cause at rest without gravity."""
    still = np.zeros((*torques.shape[:-1], closures.rows))
    return np.asarray(ask(closures.response, q[..., None, :], torques, still)[0])


def _pushed(ask: Ask, q: Array, *point: Array, closures: Closures, jacobian: Function, **_: Any) -> tuple[Array, Array]:
    """The Jacobian, (..., 6 m, nv), and in columns the accelerations that unit wrenches cause."""
    J = np.asarray(ask(jacobian, q, *point))
    return J, np.swapaxes(_moved(ask, closures, q, J), -1, -2)


def _mobility(ask: Ask, q: Array, *point: Array, **known: Any) -> Array:
    J, answer = _pushed(ask, q, *point, **known)
    return np.asarray(J @ answer)


def _inertia(ask: Ask, q: Array, *point: Array, **known: Any) -> tuple[Array, Array]:
    Omega = _mobility(ask, q, *point, **known)
    return _inverse("operational_inertia", Omega), Omega


def _consistent_inverse(ask: Ask, q: Array, *point: Array, **known: Any) -> Array:
    J, answer = _pushed(ask, q, *point, **known)
    return np.asarray(answer @ _inverse("dynamically_consistent_inverse", J @ answer))


def _dynamics(ask: Ask, q: Array, v: Array, *point: Array, **known: Any) -> tuple[Array, Array, Array]:
    """Λ, and μ and p: less Λ times how velocities, and how gravity, accelerate the frame."""
    J, answer = _pushed(ask, q, *point, **known)
    Lambda, closures = _inverse("operational_dynamics", J @ answer), known["closures"]
    gravity = ask(GRAVITY_TORQUE, q)
    swung = ask(closures.response, q, gravity - ask(BIAS, q, v), -ask(closures.bias, q, v))[0]
    hung = ask(closures.response, q, -gravity, np.zeros(closures.rows))[0]
    mu = -times(Lambda, times(J, swung) + ask(known["drift"], q, v, *point))
    return Lambda, mu, -times(Lambda, times(J, hung))


_RECIPES: dict[str, Callable[..., Any]] = {
    "operational_mobility": _mobility,
    "operational_inertia": _inertia,
    "dynamically_consistent_inverse": _consistent_inverse,
    "operational_dynamics": _dynamics,
}


class ClosedOperational(Closing):
    """The inverse of the mass matrix and operational space, with the constraints held.

    `link`, `point` and `frame` are as for Jacobians: a link or frame, or a list of m of them; a point of each, (..., 3)
    in m; and "link", "world" or "mixed". `out`, `dtype` and `kernel` are as for robots; numbers are float64 on the
    way whatever `dtype` says. Cost of each: that of `constrained_response` for all
    columns, in one batch.
    """

    __slots__ = ()

    @question(_inverse_mass_matrix, closed="held")
    def inverse_mass_matrix(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The accelerations that unit torques cause in the closed system, (..., nv, nv).

        With constraints it is M⁻¹ − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ A M⁻¹, symmetric and of the rank of the freedom that is left;
        without any it is M⁻¹.
        """

    @question(_about_frames("operational_mobility"), closed="held")
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
        """What a wrench on a link or frame of the closed system does: it accelerates by Ω f, Ω (..., 6 m, 6 m)."""

    @question(_about_frames("operational_inertia"), closed="held")
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
        """Operational-space inertia Λ = Ω⁻¹ of a link or frame of the closed system, and Ω, each (..., 6 m, 6 m).

        SingularError where the constraints leave it no motion in some direction, so that there is no Λ; in a batch such
        samples are NaN, and a SingularWarning counts them. `operational_mobility` always exists.
        """

    @question(_about_frames("dynamically_consistent_inverse"), closed="held")
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
        """The inverse J̄ of the Jacobian, (..., nv, 6 m), whose columns keep the constraints: J J̄ = 1.

        Joint torques (1 − Jᵀ J̄ᵀ) τ do not accelerate the link in the closed system. Singular as `operational_inertia`.
        """

    @question(_about_frames("operational_dynamics"), closed="held")
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
        """The equation of motion Λ ẍ + μ + p = F of a link or frame of the closed system; F = J̄ᵀ τ.

        μ has what velocities cause, that of the constraints' own accelerations included; p what gravity does. v,
        (..., nv), keeps the constraints. Singular as `operational_inertia`.
        """


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
