"""The mass matrix by sweeps from gains and blocks: the innovations factorization, and Saha's UDUᵀ."""

from __future__ import annotations

from dataclasses import replace

from catena.algorithms import determinant, innovations, udu
from catena.algorithms.diagonals import DIAGONAL, INVERSE_DIAGONAL
from catena.algorithms.energy import QUADRATIC_FORM
from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.functions.catalogue import MASS_MATRIX, MASS_MATRIX_TIMES
from catena.mass_matrix.formulation import Formulation

INNOVATIONS = Formulation(
    factor=innovations.FACTOR,
    times=MASS_MATRIX_TIMES,
    solve=innovations.SOLVE,
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
