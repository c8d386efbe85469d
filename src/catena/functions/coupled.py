"""Forward dynamics and solutions of robots in which joints follow others.

For robots, by articulated bodies with joints that are freed together (:mod:`catena.algorithms.coupled_joints`); in
loops over many links, with the couplings as constraints (:mod:`catena.functions.closures`). What is made of these is in
:mod:`catena.functions.coupled_recipes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import coupled_joints
from catena.algorithms.composite_body import MASS_MATRIX
from catena.errors import UnsupportedError
from catena.functions import catalogue
from catena.functions.closures import Closures
from catena.functions.following import narrowed_array, narrowed_matrix, widened_array
from catena.functions.function import Function, is_dense, kind
from catena.functions.recipes import Ask
from catena.model.mimic import Followers, couplings, followers, refuse_followers
from catena.model.tree import Tree

Array = npt.NDArray[Any]

WORD = "coupled"
"""Part of the names of functions that are made for joints that follow others."""


def by_whole_tree(found: Followers, function: Function, present: tuple[str, ...], kernel: Any) -> Any:
    """A recipe for long chains, from the `kernel` of the function for the whole tree."""
    inputs = function.given(present)

    def recipe(ask: Ask, *arrays: Array) -> Any:
        pairs = zip(inputs.values(), arrays, strict=True)
        results = kernel(*[widened_array(found, kind(k), array) for k, array in pairs])
        results = results if isinstance(results, tuple) else (results,)
        given = zip(function.outputs.values(), results, strict=True)
        back = tuple(_narrowed(found, k, np.asarray(x)) for k, x in given)
        return back if len(back) > 1 else back[0]

    return recipe


def _narrowed(found: Followers, kind_name: str, array: Array) -> Array:
    if not is_dense(kind_name):
        return narrowed_array(found, kind(kind_name), array)
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
    {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"},
    {"a": "v"},
    optional=("f_ext",),
    recipe=_moved_by_loops,
)

SOLVE = Function(f"solve/{WORD}", coupled_joints.solve, {"q": "q", "b": "tau"}, {"x": "v"}, recipe=_solved_by_loops)


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


def dynamics_of(tree: Tree, method: str) -> Function:
    """Forward dynamics by a method; where joints follow others, there is the usual one alone."""
    if followers(tree) is None:
        return catalogue.FORWARD_DYNAMICS[method]
    if method != "innovations":
        refuse_followers(tree, f"forward_dynamics by method={method!r}")
    return FORWARD_DYNAMICS
