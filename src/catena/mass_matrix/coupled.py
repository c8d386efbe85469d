"""The mass matrix Gᵀ M G of robots in which joints follow others: solutions in O(n), roots by Cholesky's factor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.functions import coupled, coupled_recipes
from catena.functions.catalogue import MASS_MATRIX, MASS_MATRIX_TIMES
from catena.functions.coupled import WORD
from catena.functions.derived import vjp
from catena.functions.function import Function, on_any_scalars
from catena.functions.recipes import Ask
from catena.mass_matrix.dense import DENSE
from catena.mass_matrix.formulation import Formulation

Array = npt.NDArray[Any]

_SLOPE = vjp(coupled.LOG_DETERMINANT, ("q",))


def _diagonal(function: Function) -> Function:
    """The diagonal of a whole matrix."""

    def recipe(ask: Ask, q: Array) -> Array:
        found: Array = np.diagonal(ask(function, q), axis1=-2, axis2=-1)
        return found

    return Function(f"{function.question}_diagonal/{WORD}", on_any_scalars, {"q": "q"}, {"d": "joint"}, recipe=recipe)


def _gradient(ask: Ask, q: Array) -> Array:
    found: Array = ask(_SLOPE, q, np.ones(q.shape[:-1], q.dtype))
    return found


COUPLED_DENSE: Formulation = replace(
    DENSE,
    diagonal=_diagonal(MASS_MATRIX),
    inv_diagonal=_diagonal(coupled_recipes.INVERSE_MASS_MATRIX),
    logdet_gradient=Function(
        f"logdet_gradient/{WORD}", on_any_scalars, {"q": "q"}, {"gradient": "tau"}, recipe=_gradient
    ),
)
"""Cholesky's factor of the whole matrix."""

COUPLED: Formulation = replace(
    COUPLED_DENSE,
    times=MASS_MATRIX_TIMES,
    solve=coupled.SOLVE,
    logdet=coupled.LOG_DETERMINANT,
    inv=coupled_recipes.INVERSE_MASS_MATRIX,
)
"""Articulated bodies, with joints that move together freed together; square roots as in :data:`COUPLED_DENSE`."""
