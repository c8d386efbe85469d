"""The mass matrix by sweeps from gains and blocks: the innovations factorization, and Saha's UDUᵀ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from catena.algorithms import determinant, innovations, udu
from catena.algorithms.diagonals import DIAGONAL, INVERSE_DIAGONAL
from catena.algorithms.energy import QUADRATIC_FORM
from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.functions.catalogue import MASS_MATRIX, MASS_MATRIX_TIMES
from catena.functions.function import Function
from catena.functions.recipes import Ask
from catena.mass_matrix.formulation import Formulation


def _of_one(function: Function) -> Function:
    """A solve that keeps one copy of the factors on long chains where all right-hand sides have one configuration."""
    loops = replace(function, name=f"{function.name}/loops")
    shared = replace(function, name=f"{function.name}/shared", shared=tuple(function.inputs)[:-1])

    def recipe(ask: Ask, *arrays: Any) -> Any:
        q, *_, b = arrays
        return ask(shared if q.ndim == 1 < b.ndim else loops, *arrays)

    return replace(function, recipe=recipe)


INNOVATIONS = Formulation(
    factor=innovations.FACTOR,
    times=MASS_MATRIX_TIMES,
    solve=_of_one(innovations.SOLVE),
    sqrt_times=innovations.ROOT,
    inv_sqrt_times=innovations.INVERSE_ROOT,
    logdet=determinant.LOG_DETERMINANT,
    logdet_gradient=determinant.GRADIENT,
    quadratic_form=QUADRATIC_FORM,
    diagonal=DIAGONAL,
    inv_diagonal=INVERSE_DIAGONAL,
    dense=MASS_MATRIX,
    inv=INVERSE_MASS_MATRIX,
    U_times=innovations.U_TIMES,
    U_solve=innovations.U_SOLVE,
    Ut_times=innovations.UT_TIMES,
    Ut_solve=innovations.UT_SOLVE,
    D_times=innovations.D_TIMES,
    D_solve=innovations.D_SOLVE,
)
"""Rodriguez and Kreutz: M = U D Uᵀ with U = 1 + HφK."""

UDU = replace(INNOVATIONS, factor=udu.FACTORS)
"""Saha: the same factors by his recursion."""
