"""Which functions serve robots in which joints follow others, and by what.

Functions whose results do not depend on M⁻¹ are served as they are: they run on the whole tree, with numbers made wider
before and narrower after (:mod:`catena.functions.following`). Of those that do depend on it, forward dynamics and
solutions have algorithms of their own (:mod:`catena.functions.coupled`), and others are composed of these with NumPy,
here. What is left is refused, with the name of a joint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import determinant, regressor
from catena.algorithms.energy import GRAVITY_TORQUE
from catena.algorithms.fixman import REACTIONS
from catena.algorithms.forward_dynamics import FD3, FORWARD_LINK_DYNAMICS
from catena.algorithms.forward_dynamics_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from catena.algorithms.inverse_dynamics_derivatives import INVERSE_DYNAMICS_DERIVATIVES
from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX as USUAL_INVERSE
from catena.algorithms.joint_losses import AT_JOINTS, AtJoints, with_acting
from catena.algorithms.kinematics import LINK_ACCELERATIONS, PLACEMENTS
from catena.algorithms.newton_euler import INTERLINK_FORCES
from catena.algorithms.operational_space import MOBILITY
from catena.algorithms.parameters import with_parameters
from catena.algorithms.wrench_derivatives import (
    FORWARD_DYNAMICS_WRENCH_DERIVATIVE,
    INVERSE_DYNAMICS_WRENCH_DERIVATIVE,
)
from catena.functions.catalogue import BIAS
from catena.functions.coupled import FORWARD_DYNAMICS, LOG_DETERMINANT, SOLVE, WORD
from catena.functions.following import understood
from catena.functions.function import Function, is_dense, on_any_scalars
from catena.functions.linearization import LINEARIZE
from catena.functions.recipes import Ask, columns, inverses
from catena.model.mimic import followers, refuse_followers
from catena.model.tree import Tree

Array = npt.NDArray[Any]

SERVED = frozenset(
    [
        "advance",
        "advance_slopes",
        "bias",
        "bias_derivatives",
        "center_of_mass",
        "center_of_mass_jacobian",
        "center_of_mass_velocity",
        "centroidal_momentum_matrix",
        "coriolis_matrix",
        "coriolis_times",
        "difference",
        "gravity_torque",
        "integrate",
        "interlink_forces",
        "inverse_dynamics",
        "inverse_dynamics_derivatives",
        "inverse_dynamics_wrench_derivative",
        "jacobian",
        "jacobian_derivatives",
        "jacobian_dot_times",
        "jacobian_times",
        "jacobian_transpose_times",
        "joint_axes",
        "joint_losses",
        "kinetic_energy",
        "kinetic_energy_gradient",
        "link_accelerations",
        "link_velocities",
        "mass_matrix",
        "mass_matrix_times",
        "drifts",
        "f_ext",
        "integrate_slopes",
        "inverse_kinematics",
        "torques",
        "momentum",
        "momentum_axes",
        "momentum_derivatives",
        "normalize",
        "placement",
        "placement_derivatives",
        "placements",
        "potential_energy",
        "quadratic_form",
        "regressor",
        "spring_energy",
        "spatial_dynamics",
        "total_inertia",
        "wrench_torques",
        "wrenches",
    ]
)
"""Questions whose functions do not depend on M⁻¹."""

COMPOSED = frozenset(("dense",))
"""Questions whose functions are composed of others with NumPy, as they are."""


def served(tree: Tree, function: Function) -> Function:
    """The function that answers for a tree, or an UnsupportedError that names a joint."""
    if followers(tree) is None:
        return function
    if function.adopts is not None and function.adopts.name in SUBSTITUTES:
        function = with_parameters(SUBSTITUTES[function.adopts.name])
    function = SUBSTITUTES.get(function.name, function)
    made = WORD in function.name.split("/") or (function.question in COMPOSED and not function.sweeps)
    whole = function.question in SERVED and not any(map(_odd, function.outputs.values()))
    known = not function.sweeps or understood(function)
    if not known or not (made or whole):
        refuse_followers(tree, function.question)
    return function


def _odd(kind_name: str) -> bool:
    """Whether this is a whole matrix with dimensions that G says nothing about."""
    words = kind_name.partition(":")[2].split(",") if is_dense(kind_name) else []
    return any("v" in word and word != "nv" for word in words)


def _composed(usual: Function, recipe: Callable[..., Any]) -> Function:
    """A recipe in place of a usual function, with the same arrays; what it asks for is served, too."""

    def serving(ask: Ask, *arrays: Array) -> Any:
        return recipe(_Serving(ask), *arrays)

    return replace(usual, name=f"{usual.name}/{WORD}", algorithm=on_any_scalars, recipe=serving)


@dataclass(frozen=True)
class _Serving:
    """What a recipe asks with: of each function, the one that answers where joints follow others."""

    ask: Ask

    @property
    def tree(self) -> Tree:
        return self.ask.tree

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.ask.dtype

    @property
    def gravity(self) -> Any:
        return self.ask.gravity

    def __call__(self, function: Function, *arrays: Any) -> Any:
        return self.ask(served(self.ask.tree, function), *arrays)


def _inverse(ask: Ask, q: Array) -> Array:
    """(Gᵀ M G)⁻¹, of each column what is above the diagonal: sweeps of traced scalars then end at its joint."""
    found = columns(ask, SOLVE, ask.tree.nv, q)
    row, column = np.tril_indices(ask.tree.nv, -1)
    found[..., row, column] = found[..., column, row]
    return found


INVERSE_MASS_MATRIX = _composed(USUAL_INVERSE, _inverse)


def _derivatives(ask: Ask, *state: Array, acting: AtJoints) -> tuple[Array, Array, Array]:
    """−M⁻¹ times the derivatives of inverse dynamics at the accelerations found."""
    q, v, tau, *f_ext = state
    a = ask(with_acting(FORWARD_DYNAMICS, *acting), q, v, tau, *f_ext)
    dq, dv, _ = ask(INVERSE_DYNAMICS_DERIVATIVES[acting], q, v, a, *f_ext)
    inverse = _inverse(ask, q)
    return -inverse @ dq, -inverse @ dv, inverse


def _by_wrenches(ask: Ask, q: Array) -> Array:
    """M⁻¹ Jᵀ of all links, (..., nv, links, 6)."""
    pulls = -ask(INVERSE_DYNAMICS_WRENCH_DERIVATIVE, q)
    return np.asarray(np.einsum("...vw,...wia->...via", _inverse(ask, q), pulls))


def _mobilities(ask: Ask, q: Array) -> Array:
    """J M⁻¹ Jᵀ of every link by itself, (..., links, 6, 6)."""
    pulls = -ask(INVERSE_DYNAMICS_WRENCH_DERIVATIVE, q)
    return np.asarray(np.einsum("...via,...vib->...iab", pulls, _by_wrenches(ask, q)))


def _link_dynamics(ask: Ask, q: Array, v: Array, tau: Array, *f_ext: Array) -> tuple[Array, Array]:
    """Accelerations of joints and, as those of points in the links' axes, of links."""
    a = ask(FORWARD_DYNAMICS, q, v, tau, *f_ext)
    R, A = ask(PLACEMENTS, q)[0], ask(LINK_ACCELERATIONS["mixed"], q, v, a)
    halves = A.reshape(*A.shape[:-1], 2, 3)
    return a, np.einsum("...iab,...ica->...icb", R, halves).reshape(A.shape)


def _by_parameters(ask: Ask, *state: Array) -> Array:
    """−M⁻¹ Y, as in :func:`catena.algorithms.regressor.accelerations_by_parameters`."""
    q, v, *_ = state
    return np.asarray(-_inverse(ask, q) @ ask(regressor.REGRESSOR, q, v, ask(FORWARD_DYNAMICS, *state)))


def _reactions(ask: Ask, *state: Array) -> tuple[Array, Array]:
    """Accelerations, and the wrenches that links get through their joints; a follower's also drives it."""
    q, v, _, *f_ext = state
    a = ask(FORWARD_DYNAMICS, *state)
    return a, ask(INTERLINK_FORCES, q, v, a, *f_ext)


_BY_PARAMETERS = regressor.ACCELERATIONS_BY_PARAMETERS[AtJoints()]

SUBSTITUTES = {
    **{with_acting(FD3, *acting).name: with_acting(FORWARD_DYNAMICS, *acting) for acting in AT_JOINTS},
    determinant.LOG_DETERMINANT.name: LOG_DETERMINANT,
    USUAL_INVERSE.name: INVERSE_MASS_MATRIX,
    **{
        usual.name: _composed(usual, partial(_derivatives, acting=acting))
        for acting, usual in FORWARD_DYNAMICS_DERIVATIVES.items()
    },
    FORWARD_DYNAMICS_WRENCH_DERIVATIVE.name: _composed(FORWARD_DYNAMICS_WRENCH_DERIVATIVE, _by_wrenches),
    MOBILITY.name: _composed(MOBILITY, _mobilities),
    FORWARD_LINK_DYNAMICS.name: _composed(FORWARD_LINK_DYNAMICS, _link_dynamics),
    REACTIONS.name: _composed(REACTIONS, _reactions),
    _BY_PARAMETERS.name: _composed(_BY_PARAMETERS, _by_parameters),
    **{usual.name: _composed(usual, usual.recipe) for usual in LINEARIZE.values() if usual.recipe is not None},
}
"""What answers in place of usual functions, by their names; recipes that ask for those are answered likewise."""


def about_frames(question: str, usual: Function, jacobian: Function, drift: Function) -> Function:
    """A question about the operational space of frames, from their Jacobian and its rate."""
    return _composed(usual, partial(_OPERATIONAL[question], jacobian=jacobian, drift=drift))


def _mobility(ask: Ask, q: Array, *point: Array, jacobian: Function, **_: Function) -> Array:
    J = ask(jacobian, q, *point)
    return np.asarray(J @ _inverse(ask, q) @ np.swapaxes(J, -1, -2))


def _inertia(ask: Ask, q: Array, *point: Array, **known: Function) -> tuple[Array, Array]:
    inverse = _mobility(ask, q, *point, **known)
    return inverses(inverse, ask.dtype), inverse


def _consistent_inverse(ask: Ask, q: Array, *point: Array, **known: Function) -> Array:
    J, (inertia, _) = ask(known["jacobian"], q, *point), _inertia(ask, q, *point, **known)
    return np.asarray(_inverse(ask, q) @ np.swapaxes(J, -1, -2) @ inertia)


def _dynamics(ask: Ask, q: Array, v: Array, *point: Array, **known: Function) -> tuple[Array, Array, Array]:
    """Λ, μ = Λ (J M⁻¹ C v − J̇ v) and p = Λ J M⁻¹ g."""
    J, (inertia, _) = ask(known["jacobian"], q, *point), _inertia(ask, q, *point, **known)
    gravity = ask(GRAVITY_TORQUE, q)
    pulled, fallen = (ask(SOLVE, q, x)[..., None] for x in (ask(BIAS, q, v) - gravity, gravity))
    drift = ask(known["drift"], q, v, *point)[..., None]
    return inertia, (inertia @ (J @ pulled - drift))[..., 0], (inertia @ (J @ fallen))[..., 0]


_OPERATIONAL: dict[str, Callable[..., Any]] = {
    "operational_mobility": _mobility,
    "operational_inertia": _inertia,
    "dynamically_consistent_inverse": _consistent_inverse,
    "operational_dynamics": _dynamics,
}
OPERATIONAL = frozenset(_OPERATIONAL)
"""Questions about the operational space of frames."""
