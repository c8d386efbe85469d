"""The part of Robot that answers with derivatives along a direction, and with gradients: products without matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.configurations import INTEGRATE
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.forward_dynamics_products import forward_dynamics_jvp, forward_dynamics_vjp
from catena.algorithms.joint_losses import with_joint_losses
from catena.algorithms.newton_euler import INVERSE_DYNAMICS
from catena.arguments.words import METHOD_HINTS, one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.errors import UnsupportedError
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.functions.coupled import dynamics_of
from catena.functions.derived import jvp, vjp
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible
from catena.parameters.adopting import adopting

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]

METHODS = tuple(method for method in FORWARD_DYNAMICS if method != "dense")
"""The formulations of forward dynamics whose sweeps can be differentiated in both shapes of kernels."""


SHORT = 60
"""Up to so many links derivatives of forward dynamics come from those of inverse dynamics, which is cheaper. In long
chains inverse dynamics adds up large moments that cancel: 13 digits remain for 60 links, 9 for 1,000, 6 for 100,000."""


def _forward(robot: Robot, given: tuple[str, ...], method: str, joint_losses: bool) -> Function | None:
    """The forward dynamics whose own sweeps are to be differentiated; None for the form with inverse dynamics."""
    one_of("method of derivatives", method, METHODS, METHOD_HINTS)
    if "parameters" not in given:
        check_invertible(robot.tree)
    forward = dynamics_of(robot.tree, method)
    if forward is FD3 and method == "innovations" and robot.tree.n <= SHORT:
        return None
    return with_joint_losses(forward) if joint_losses else forward


def _inverse(joint_losses: bool) -> Function:
    return with_joint_losses(INVERSE_DYNAMICS) if truth("joint_losses", joint_losses) else INVERSE_DYNAMICS


def _directions(given: tuple[str, ...], *names: str) -> tuple[str, ...]:
    """The inputs with directions: those that every call gives, and wrenches if it gives their direction."""
    if "df_ext" in given and "f_ext" not in given:
        raise UnsupportedError("df_ext is the direction of f_ext, which is missing: give both, or neither")
    return (*names, "f_ext") if "df_ext" in given else names


def _wanted(by: Any, given: tuple[str, ...], *names: str) -> tuple[str, ...]:
    """The inputs to differentiate by, as words of `by`."""
    words = (by,) if isinstance(by, str) else by
    if not isinstance(words, list | tuple) or not words:
        raise UnsupportedError(f"by must be a list of names among {', '.join(names)}, got {by!r}")
    wanted = tuple(one_of("input to differentiate by,", word, names) for word in words)
    if "f_ext" in wanted and "f_ext" not in given:
        raise UnsupportedError("by names f_ext, which is missing: give the wrenches at which to differentiate")
    if len(set(wanted)) < len(wanted):
        raise UnsupportedError(f"by names an input twice: {', '.join(wanted)}")
    return wanted


def _forward_jvp(robot: Robot, given: tuple[str, ...], method: str, joint_losses: bool) -> Function:
    losses, by = truth("joint_losses", joint_losses), _directions(given, "q", "v", "tau")
    forward = _forward(robot, given, method, losses)
    return adopting(forward_dynamics_jvp(by, losses) if forward is None else jvp(forward, by), given)


def _forward_vjp(robot: Robot, given: tuple[str, ...], by: Any, method: str, joint_losses: bool) -> Function:
    losses, wanted = truth("joint_losses", joint_losses), _wanted(by, given, "q", "v", "tau", "f_ext")
    forward = _forward(robot, given, method, losses)
    return adopting(forward_dynamics_vjp(wanted, losses) if forward is None else vjp(forward, wanted), given)


def _inverse_jvp(robot: Robot, given: tuple[str, ...], joint_losses: bool) -> Function:
    return adopting(jvp(_inverse(joint_losses), _directions(given, "q", "v", "a")), given)


def _inverse_vjp(robot: Robot, given: tuple[str, ...], by: Any, joint_losses: bool) -> Function:
    return adopting(vjp(_inverse(joint_losses), _wanted(by, given, "q", "v", "a", "f_ext")), given)


class DerivativeProducts(Answering):
    """Exact derivatives of dynamics and of `integrate`, times a vector from the right (jvp) or from the left (vjp).

    A jvp says how the result changes as the arguments move in given directions; a vjp gives the gradient of a weighted
    sum of the result. Neither forms a matrix: each takes O(n), two to four times as long as the question itself.

    Directions, weights and gradients that belong to configurations are in the tangent space that `integrate` and
    `difference` use, (..., nv): for a free joint the spatial velocity of the body in its own frame, (ω, v). Otherwise
    they have the shape of what they belong to. With `joint_losses` the slope of dry friction is 0 everywhere, at v = 0
    too, where the law jumps: losses have the slope `robot.damping` in v.
    """

    __slots__ = ()

    @question(_forward_jvp)
    def forward_dynamics_jvp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
        f_ext: Wrenches = None,
        df_ext: npt.ArrayLike | None = None,
        *,
        method: str = "innovations",
        joint_losses: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """How the joint accelerations of `forward_dynamics` change as q, v and tau move in the directions given.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dq: directions of the configurations, (..., nv), as velocities.
            dv: directions of the velocities, (..., nv).
            dtau: directions of the torques, (..., nv).
            f_ext: wrenches on links, as for `forward_dynamics`.
            df_ext: directions of the wrenches, (..., links, 6); zero if left out.
            method: the formulation whose sweeps are differentiated, "fd1" to "fd4", "two_sweep" or "udu"; with
                "innovations" FD3, or for up to 60 links M⁻¹ times a derivative of inverse dynamics. All agree.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 3 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv), in rad/s² or m/s² per unit of the direction. Cost: O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """

    @question(_forward_vjp)
    def forward_dynamics_vjp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        weight: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        by: Sequence[str] = ("q", "v", "tau"),
        method: str = "innovations",
        joint_losses: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> tuple[Array, ...]:
        """The gradients of weight · `forward_dynamics(q, v, tau)` by q, v and tau.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            weight: the weights of the joint accelerations, (..., nv).
            f_ext: wrenches on links, as for `forward_dynamics`.
            by: what to differentiate by, among "q", "v", "tau" and "f_ext".
            method: the formulation whose sweeps are differentiated, "fd1" to "fd4", "two_sweep" or "udu"; with
                "innovations" FD3, or for up to 60 links M⁻¹ and the adjoint of inverse dynamics. All agree.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 3 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results, as many as `by` has words.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            A gradient for each word of `by`, in that order: (..., nv), by wrenches (..., links, 6). With one word, that
            array alone. Cost: O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """

    @question(_inverse_jvp)
    def inverse_dynamics_jvp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        da: npt.ArrayLike,
        f_ext: Wrenches = None,
        df_ext: npt.ArrayLike | None = None,
        *,
        joint_losses: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """How the joint torques of `inverse_dynamics` change as q, v and a move in the directions given.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            dq: directions of the configurations, (..., nv), as velocities.
            dv: directions of the velocities, (..., nv).
            da: directions of the accelerations, (..., nv).
            f_ext: wrenches on links, as for `inverse_dynamics`.
            df_ext: directions of the wrenches, (..., links, 6); zero if left out.
            joint_losses: whether torques also overcome damping and friction; friction has the slope 0, at v = 0 too.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 3 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv), in N m or N per unit of the direction. Cost: O(n).
        """

    @question(_inverse_vjp)
    def inverse_dynamics_vjp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        weight: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        by: Sequence[str] = ("q", "v", "a"),
        joint_losses: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> tuple[Array, ...]:
        """The gradients of weight · `inverse_dynamics(q, v, a)` by q, v and a.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            weight: the weights of the joint torques, (..., nv).
            f_ext: wrenches on links, as for `inverse_dynamics`.
            by: what to differentiate by, among "q", "v", "a" and "f_ext".
            joint_losses: whether torques also overcome damping and friction; friction has the slope 0, at v = 0 too.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 3 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results, as many as `by` has words.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            A gradient for each word of `by`, in that order: (..., nv), by wrenches (..., links, 6). With one word, that
            array alone. Cost: O(n).
        """

    @question(jvp(INTEGRATE, ("q", "dv")))
    def integrate_jvp(
        self,
        q: npt.ArrayLike,
        dv: npt.ArrayLike,
        dq: npt.ArrayLike,
        ddv: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """How the configurations that `integrate(q, dv)` reaches move as q and dv move in the directions given.

        Args:
            q: configurations, (..., nq).
            dv: velocities times the time step, (..., nv).
            dq: directions of the configurations, (..., nv), as velocities.
            ddv: directions of dv, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv): velocities at the configurations reached. Cost: O(n).
        """

    @question(vjp(INTEGRATE, ("q", "dv")))
    def integrate_vjp(
        self,
        q: npt.ArrayLike,
        dv: npt.ArrayLike,
        weight: npt.ArrayLike,
        *,
        out: tuple[Array, ...] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> tuple[Array, Array]:
        """The gradients by q and by dv of a function of what `integrate(q, dv)` reaches.

        Args:
            q: configurations, (..., nq).
            dv: velocities times the time step, (..., nv).
            weight: the gradient of that function at the configurations reached, (..., nv).
            out: two arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            The gradients by q and by dv, (..., nv) each. Cost: O(n).
        """
