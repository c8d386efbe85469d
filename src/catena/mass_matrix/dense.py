"""The mass matrix as an array and its Cholesky factor, by NumPy: O(n²) memory and O(n³) time, to compare with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.functions.catalogue import MASS_MATRIX
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask
from catena.mass_matrix.formulation import Formulation
from catena.mass_matrix.innovations import INNOVATIONS

Array = npt.NDArray[Any]

_MATRIX, _FORCE, _MOTION = "dense:nv,nv", {"y": "tau"}, {"y": "v"}
_FACTORED = {"A": _MATRIX, "A_inv": _MATRIX}


def _cholesky(ask: Ask, q: Array) -> tuple[Array, Array]:
    """The upper triangular A with A Aᵀ = M, and its inverse; NaN for samples that have none."""
    matrix = ask(MASS_MATRIX, q)[..., ::-1, ::-1]
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        lower = _one_by_one(matrix)
    return lower[..., ::-1, ::-1], np.linalg.inv(lower)[..., ::-1, ::-1]


def _one_by_one(matrices: Array) -> Array:
    """The factors of those that are positive definite, NaN for the others."""
    factors = np.full_like(matrices, np.nan)
    for i in np.ndindex(matrices.shape[:-2]):
        with suppress(np.linalg.LinAlgError):
            factors[i] = np.linalg.cholesky(matrices[i])
    return factors


def _product(matrix: Array, x: Array) -> Array:
    result: Array = np.einsum("...ij,...j->...i", matrix, np.asarray(x, dtype=matrix.dtype))
    return result


def _transposed(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _function(name: str, recipe: Any, inputs: dict[str, str], outputs: dict[str, str]) -> Function:
    return Function(f"dense/{name}", by_recipe, inputs, outputs, recipe=recipe)


DENSE: Formulation = replace(
    INNOVATIONS,
    factor=_function("cholesky", _cholesky, {"q": "q"}, _FACTORED),
    times=_function("times", lambda ask, q, x: _product(ask(MASS_MATRIX, q), x), {"q": "q", "x": "v"}, _FORCE),
    solve=_function(
        "solve_factored",
        lambda ask, A_inv, x: _product(_transposed(A_inv), _product(A_inv, x)),
        {"A_inv": _MATRIX, "x": "tau"},
        _MOTION,
    ),
    sqrt_times=_function("sqrt_times", lambda ask, A, x: _product(A, x), {"A": _MATRIX, "x": "v"}, _FORCE),
    inv_sqrt_times=_function(
        "inv_sqrt_times",
        lambda ask, A_inv, x: _product(_transposed(A_inv), x),
        {"A_inv": _MATRIX, "x": "tau"},
        _MOTION,
    ),
    logdet=_function(
        "logdet",
        lambda ask, A: 2 * np.log(np.diagonal(A, axis1=-2, axis2=-1)).sum(axis=-1),
        {"A": _MATRIX},
        {"logdet": "robot"},
    ),
    inv=_function("inv", lambda ask, A_inv: _transposed(A_inv) @ A_inv, {"A_inv": _MATRIX}, {"inverse": _MATRIX}),
    U_times=None,
    U_solve=None,
    Ut_times=None,
    Ut_solve=None,
    D_times=None,
    D_solve=None,
)
"""M itself and A, upper triangular with A Aᵀ = M."""
