"""Functions of robots in which joints follow others: which are served, and by what.

Functions whose results do not depend on M⁻¹ are served as they are: they run on the whole tree, with numbers made wider
before and narrower after (:mod:`catena.functions.following`). For those that do depend on it there are
:data:`FORWARD_DYNAMICS` and :data:`SOLVE` on articulated bodies (:mod:`catena.algorithms.coupled_joints`), and what is
made of them. All others are refused, with the name of a joint.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import coupled_joints
from catena.algorithms.composite_body import MASS_MATRIX
from catena.algorithms.determinant import LOG_DETERMINANT as USUAL_LOG_DETERMINANT
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.forward_dynamics_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from catena.algorithms.inverse_dynamics_derivatives import INVERSE_DYNAMICS_DERIVATIVES
from catena.algorithms.joint_losses import with_joint_losses
from catena.errors import UnsupportedError
from catena.functions import catalogue
from catena.functions.closures import Closures
from catena.functions.following import narrowed_array, narrowed_matrix, widened_array
from catena.functions.function import Function, by_recipe, is_dense, kind
from catena.functions.recipes import Ask, columns
from catena.model.mimic import Followers, couplings, followers, refuse_followers
from catena.model.tree import Tree

Array = npt.NDArray[Any]

WORD = "coupled"
"""Part of the names of functions that are made for joints that follow others."""

SERVED = frozenset(
    [
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
        "spatial_dynamics",
        "total_inertia",
        "wrench_torques",
    ]
)
"""Questions whose functions do not depend on M⁻¹."""

COMPOSED = frozenset(("dense",))
"""Questions whose functions are composed of others with NumPy."""


def check_served(tree: Tree, function: Function) -> None:
    """UnsupportedError, which names a joint, if the function cannot serve a tree in which joints follow others."""
    made = WORD in function.name.split("/") or (function.question in COMPOSED and function.algorithm is by_recipe)
    whole = function.question in SERVED and not any(map(_odd, function.outputs.values()))
    if not made and not whole:
        refuse_followers(tree, function.question)


def served(tree: Tree, function: Function) -> Function:
    """The function of the catalogue that answers for a tree, or an UnsupportedError that names a joint."""
    if followers(tree) is None:
        return function
    chosen = SUBSTITUTES.get(function.name, function)
    check_served(tree, chosen)
    return chosen


def _odd(kind_name: str) -> bool:
    """Whether this is a whole matrix with dimensions that G says nothing about."""
    words = kind_name.partition(":")[2].split(",") if is_dense(kind_name) else []
    return any("v" in word and word != "nv" for word in words)


def by_whole_tree(found: Followers, function: Function, present: tuple[str, ...], kernel: Any) -> Any:
    """A recipe for long chains, from the `kernel` of the function for the whole tree."""
    inputs = function.given(present)

    def recipe(ask: Ask, *arrays: Array) -> Any:
        pairs = zip(inputs.items(), arrays, strict=True)
        results = kernel(*[widened_array(found, kind(k), array, name) for (name, k), array in pairs])
        results = results if isinstance(results, tuple) else (results,)
        given = zip(function.outputs.items(), results, strict=True)
        back = tuple(_narrowed(found, name, k, np.asarray(x)) for (name, k), x in given)
        return back if len(back) > 1 else back[0]

    return recipe


def _narrowed(found: Followers, name: str, kind_name: str, array: Array) -> Array:
    if not is_dense(kind_name):
        return narrowed_array(found, kind(kind_name), array, name)
    words = kind_name.partition(":")[2].split(",")
    leading = array.ndim - len(words)
    return narrowed_matrix(found, "dense:" + ",".join([*["1"] * leading, *words]), array)


def _closures(tree: Tree) -> Closures:
    """The couplings of a whole tree as constraints, for loops over many links."""
    number = {name: i for i, name in enumerate(tree.joint_names)}
    return tree.once("mimic closures", lambda: Closures(list(couplings(tree)), _no_frame, number.__getitem__))


def _no_frame(name: str) -> Any:
    raise UnsupportedError(f"couplings of joints have no frames, {name!r} was asked for")


def _moved_by_loops(ask: Ask, q: Array, v: Array, tau: Array, *f_ext: Array) -> Array:
    asked = _closures(ask.tree).forward_dynamics(("f_ext",) if f_ext else ())
    found: Array = asked.recipe(ask, q, v, tau, *f_ext)[0]  # type: ignore[misc]
    return found


def _solved_by_loops(ask: Ask, q: Array, b: Array) -> Array:
    closures = _closures(ask.tree)
    found: Array = closures.response.recipe(ask, q, b, np.zeros(closures.rows))[0]  # type: ignore[misc]
    return found


FORWARD_DYNAMICS = Function(
    f"forward_dynamics/{WORD}",
    coupled_joints.forward_dynamics,
    {"q": "q", "v": "v", "tau": "v", "f_ext": "force"},
    {"a": "v"},
    optional=("f_ext",),
    recipe=_moved_by_loops,
)

SOLVE = Function(f"solve/{WORD}", coupled_joints.solve, {"q": "q", "b": "v"}, {"x": "v"}, recipe=_solved_by_loops)

_MATRIX = "dense:nv,nv"


def _inverse(ask: Ask, q: Array) -> Array:
    return columns(ask, SOLVE, ask.tree.nv, q)


INVERSE_MASS_MATRIX = Function(
    f"inverse_mass_matrix/{WORD}", by_recipe, {"q": "q"}, {"inverse": _MATRIX}, recipe=_inverse
)


def _by_matrix(ask: Ask, q: Array) -> Array:
    found: Array = np.linalg.slogdet(ask(MASS_MATRIX, q))[1]
    return found


LOG_DETERMINANT = Function(
    f"log_determinant/{WORD}",
    coupled_joints.log_determinant,
    {"q": "q"},
    {"log_determinant": "robot"},
    recipe=_by_matrix,
)


def _derivatives(ask: Ask, *state: Array, losses: bool) -> tuple[Array, Array, Array]:
    """−M⁻¹ times the derivatives of inverse dynamics at the accelerations found."""
    q, v, tau, *f_ext = state
    a = ask(with_joint_losses(FORWARD_DYNAMICS) if losses else FORWARD_DYNAMICS, q, v, tau, *f_ext)
    dq, dv, _ = ask(INVERSE_DYNAMICS_DERIVATIVES[losses], q, v, a, *f_ext)
    inverse = _inverse(ask, q)
    return -inverse @ dq, -inverse @ dv, inverse


def _derivatives_function(losses: bool) -> Function:
    name = "/".join(["forward_dynamics_derivatives", WORD, *(["joint_losses"] if losses else [])])
    outputs = {"dq": _MATRIX, "dv": _MATRIX, "dtau": _MATRIX}
    recipe = partial(_derivatives, losses=losses)
    return Function(name, by_recipe, FORWARD_DYNAMICS.inputs, outputs, optional=("f_ext",), recipe=recipe)


DERIVATIVES = {losses: _derivatives_function(losses) for losses in (False, True)}
"""Derivatives of forward dynamics, without and with joint losses."""


SUBSTITUTES = {
    FD3.name: FORWARD_DYNAMICS,
    with_joint_losses(FD3).name: with_joint_losses(FORWARD_DYNAMICS),
    USUAL_LOG_DETERMINANT.name: LOG_DETERMINANT,
    **{FORWARD_DYNAMICS_DERIVATIVES[losses].name: DERIVATIVES[losses] for losses in (False, True)},
}
"""What answers in place of usual functions."""


class _Substituting:
    """What a recipe asks with that was written for usual functions."""

    def __init__(self, ask: Ask) -> None:
        self.ask, self.tree, self.dtype = ask, ask.tree, ask.dtype

    def __call__(self, function: Function, *arrays: Any) -> Any:
        return self.ask(SUBSTITUTES.get(function.name, function), *arrays)


def composed(function: Function) -> Function:
    """A usual function by its recipe, which asks for forward dynamics and its derivatives."""
    usual: Any = function.recipe
    return replace(
        function,
        name=f"{function.name}/{WORD}",
        algorithm=by_recipe,
        recipe=lambda ask, *arrays: usual(_Substituting(ask), *arrays),
    )


def dynamics_of(tree: Tree, method: str) -> Function:
    """Forward dynamics by a method; where joints follow others, there is the usual one alone."""
    if followers(tree) is None:
        return catalogue.FORWARD_DYNAMICS[method]
    if method != "innovations":
        refuse_followers(tree, f"forward_dynamics by method={method!r}")
    return FORWARD_DYNAMICS


def chosen_of(tree: Tree, usual: Function, coupled: Function) -> Function:
    """The usual function, or the one for joints that follow others."""
    return usual if followers(tree) is None else coupled
