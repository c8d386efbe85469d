"""The part of Robot that answers with derivatives along a direction, and with gradients: products without matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.configurations import INTEGRATE
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.forward_dynamics_products import Acting, forward_dynamics_jvp, forward_dynamics_vjp
from catena.algorithms.joint_losses import with_acting
from catena.algorithms.newton_euler import INVERSE_DYNAMICS
from catena.algorithms.parameters import with_parameters
from catena.arguments.words import METHOD_HINTS, one_of, some_of, truth
from catena.arguments.wrenches import Wrenches
from catena.errors import UnsupportedError
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.functions.coupled import dynamics_of
from catena.functions.derived import jvp, vjp
from catena.functions.function import Function, with_last
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible
from catena.parameters.adopting import adopting

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]

OPTIONAL = {"f_ext": "wrenches", "parameters": "parameters, such as robot.parameters(),"}
"""Inputs that calls may leave out, and what they are."""

METHODS = tuple(method for method in FORWARD_DYNAMICS if method != "dense")
"""The formulations of forward dynamics whose sweeps can be differentiated in both shapes of kernels."""


SHORT = 60
"""Up to so many links derivatives of forward dynamics come from those of inverse dynamics, which is cheaper. In long
chains inverse dynamics adds up large moments that cancel: 13 digits remain for 60 links, 9 for 1,000, 6 for 100,000."""


Derivative = Callable[[Function, Sequence[str]], Function]


def _acting(joint_losses: bool, joint_springs: bool) -> Acting:
    """What adds losses and springs of joints, as the options say, to dynamics."""
    losses, springs = truth("joint_losses", joint_losses), truth("joint_springs", joint_springs)
    return partial(with_acting, losses=losses, springs=springs)


def _forward(robot: Robot, given: tuple[str, ...], method: str, acting: Acting) -> Function | None:
    """The forward dynamics whose own sweeps are to be differentiated; None for the form with inverse dynamics."""
    one_of("method of derivatives", method, METHODS, METHOD_HINTS)
    if "parameters" not in given:
        check_invertible(robot.tree)
    forward = dynamics_of(robot.tree, method)
    if forward is FD3 and method == "innovations" and robot.tree.n <= SHORT:
        return None
    return acting(forward)


def _directions(given: tuple[str, ...], *names: str) -> tuple[str, ...]:
    """The inputs with directions: those that every call gives, wrenches and parameters if it gives their direction."""
    for name in OPTIONAL:
        if f"d{name}" in given and name not in given:
            raise UnsupportedError(f"d{name} is the direction of {name}, which is missing: give both, or neither")
    return (*names, *[name for name in OPTIONAL if f"d{name}" in given])


def _wanted(by: Any, given: tuple[str, ...], *names: str) -> tuple[str, ...]:
    """The inputs to differentiate by, as words of `by`."""
    wanted = some_of("input to differentiate by,", by, names)
    if not wanted:
        raise UnsupportedError(f"expected at least one input to differentiate by, among {', '.join(names)}; got none")
    for name, what in OPTIONAL.items():
        if name in wanted and name not in given:
            raise UnsupportedError(f"by names {name}, which is missing: give the {what} at which to differentiate")
    if len(set(wanted)) < len(wanted):
        raise UnsupportedError(f"by names an input twice: {', '.join(wanted)}")
    return wanted


def _derived(derivative: Derivative, function: Function, by: tuple[str, ...], given: tuple[str, ...]) -> Function:
    """A derivative of a function, of one with parameters as an input if these are to be differentiated by."""
    return _arranged(derivative(with_parameters(function) if "parameters" in by else function, by), by, given)


def _arranged(derivative: Function, by: tuple[str, ...], given: tuple[str, ...]) -> Function:
    """A derivative with its inputs in the order of the questions here: parameters, and their direction, last."""
    return with_last(derivative, "parameters", "dparameters") if "parameters" in by else adopting(derivative, given)


def _forward_jvp(
    robot: Robot, given: tuple[str, ...], method: str, joint_losses: bool, joint_springs: bool
) -> Function:
    acting, by = _acting(joint_losses, joint_springs), _directions(given, "q", "v", "tau")
    if (forward := _forward(robot, given, method, acting)) is None:
        return _arranged(forward_dynamics_jvp(by, acting), by, given)
    return _derived(jvp, forward, by, given)


def _forward_vjp(
    robot: Robot, given: tuple[str, ...], by: Any, method: str, joint_losses: bool, joint_springs: bool
) -> Function:
    acting, wanted = _acting(joint_losses, joint_springs), _wanted(by, given, "q", "v", "tau", *OPTIONAL)
    if (forward := _forward(robot, given, method, acting)) is None:
        return _arranged(forward_dynamics_vjp(wanted, acting), wanted, given)
    return _derived(vjp, forward, wanted, given)


def _inverse_jvp(robot: Robot, given: tuple[str, ...], joint_losses: bool, joint_springs: bool) -> Function:
    inverse = _acting(joint_losses, joint_springs)(INVERSE_DYNAMICS)
    return _derived(jvp, inverse, _directions(given, "q", "v", "a"), given)


def _inverse_vjp(robot: Robot, given: tuple[str, ...], by: Any, joint_losses: bool, joint_springs: bool) -> Function:
    inverse = _acting(joint_losses, joint_springs)(INVERSE_DYNAMICS)
    return _derived(vjp, inverse, _wanted(by, given, "q", "v", "a", *OPTIONAL), given)


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

    @question(_forward_jvp, inverts="M")
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
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        dparameters: npt.ArrayLike | None = None,
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
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            dparameters: directions of the parameters, of the same shape; zero if left out.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv), in rad/s² or m/s² per unit of the direction. Cost: O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """

    @question(_forward_vjp, inverts="M")
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
        joint_springs: bool = False,
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
            by: what to differentiate by, among "q", "v", "tau", "f_ext" and "parameters".
            method: the formulation whose sweeps are differentiated, "fd1" to "fd4", "two_sweep" or "udu"; with
                "innovations" FD3, or for up to 60 links M⁻¹ and the adjoint of inverse dynamics. All agree.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results, as many as `by` has words.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            A gradient for each word of `by`, in that order: (..., nv), by wrenches (..., links, 6), by parameters as
            many numbers as they have. With one word, that array alone. Cost: O(n).

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
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        dparameters: npt.ArrayLike | None = None,
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
            joint_springs: whether they also hold the model's springs, stiffness (q − rest).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            dparameters: directions of the parameters, of the same shape; zero if left out.
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
        joint_springs: bool = False,
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
            by: what to differentiate by, among "q", "v", "a", "f_ext" and "parameters".
            joint_losses: whether torques also overcome damping and friction; friction has the slope 0, at v = 0 too.
            joint_springs: whether they also hold the model's springs, stiffness (q − rest).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results, as many as `by` has words.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            A gradient for each word of `by`, in that order: (..., nv), by wrenches (..., links, 6), by parameters as
            many numbers as they have. With one word, that array alone. Cost: O(n).
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
