"""Products with a matrix that takes vectors: told from products with matrices, as NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array
from catena.errors import ShapeError

Array = npt.NDArray[Any]


def product(question: str, size: int, dimensions: int, action: Callable[[Any], Array], x: npt.ArrayLike) -> Array:
    """A matrix times x, where `action` multiplies vectors (..., size).

    With as many `dimensions` as the configurations have, or fewer, x holds such vectors; with more it holds matrices
    (..., size, k), which are multiplied as NumPy does.
    """
    given = x if isinstance(x, np.ndarray) else as_array(x, Port("x", ()), question)
    if given.ndim <= dimensions:
        return _named(question, action, given)
    if given.shape[-2] != size:
        raise ShapeError(
            f"{question}: x must be a vector ({size},) or a matrix (..., {size}, k), as for NumPy, got {given.shape}; "
            "M.times takes vectors along the last dimension"
        )
    return np.moveaxis(_named(question, action, np.moveaxis(given, -1, 0)), 0, -1)


def _named(question: str, action: Callable[[Any], Array], x: Array) -> Array:
    """What an action makes of x; errors are about the product that users wrote."""
    try:
        return action(x)
    except ShapeError as error:
        raise ShapeError(f"{question}: {str(error).partition(': ')[2]}") from None


def product_from_the_left(
    question: str, size: int, dimensions: int, action: Callable[[Any], Array], x: npt.ArrayLike
) -> Array:
    """x times the transpose of a matrix, where `action` multiplies vectors by the matrix."""
    given = as_array(x, Port("x", ()), question)
    if given.ndim <= dimensions:
        return _named(question, action, given)
    return np.swapaxes(product(question, size, dimensions, action, np.swapaxes(given, -1, -2)), -1, -2)


def hint(question: str, size: int, x: Any) -> str:
    """What to do where columns were given for vectors along the last dimension; empty where that is not so."""
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[0] == size != x.shape[1]:
        call = question.replace("MassMatrix", "M")
        return f"vectors lie along the last dimension: of the columns of a matrix X, {call}(X.T).T"
    return ""
