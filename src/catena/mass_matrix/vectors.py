"""Vectors given to a mass matrix or to one of its factors: checked, and told from matrices in products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, Signature, as_array
from catena.errors import ShapeError
from catena.mass_matrix.methods import Method

Array = npt.NDArray[Any]


def answer(method: Method, question: str, action: Callable[..., Any], out: Any, *given: Any, result: str = "v") -> Any:
    """What `action` makes of `out` and of a vector, which is `given` after its name; `result` is the kind of result.

    Kernels check what they are given, so only if something is wrong is it looked for here, to call it by the names that
    users know.
    """
    if not method.checks:
        (_, *vectors), _, (out,) = _checked(method, question, out, given, result)
        return action(*vectors, out)
    try:
        return action(*given[1:], out)
    except (ValueError, TypeError) as error:
        found = error
    _checked(method, question, out, given, result)
    raise found


def _checked(
    method: Method, question: str, out: Any, given: tuple[Any, ...], result: str
) -> tuple[list[Array], tuple[int, ...], list[Array | None]]:
    nv = method.robot.nv
    inputs = Port("q", (method.robot.nq,)), *[Port(name, (nv,)) for name in given[:1]]
    outputs = (Port("result", {"number": (), "v": (nv,), "matrix": (nv, nv)}[result]),)
    signature = Signature(question, inputs, outputs, method.dtype)
    try:
        arrays, batch = signature.arguments((method.q, *given[1:]))
    except ShapeError as error:
        name, x = given
        if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[0] == nv != x.shape[1]:
            what = question.replace("MassMatrix", "M")
            hint = f"vectors lie along the last dimension: of the columns of {name}, {what}({name}.T).T"
            raise ShapeError(f"{error}; {hint}") from None
        raise
    return arrays, batch, signature.wanted(out, batch)


def product(method: Method, question: str, action: Callable[..., Array], x: npt.ArrayLike) -> Array:
    """A matrix times x, where `action` multiplies vectors (..., nv).

    With as many dimensions as the configurations, or fewer, x holds such vectors; with more it holds matrices
    (..., nv, k), which are multiplied as NumPy does.
    """
    given = x if isinstance(x, np.ndarray) else as_array(x, Port("x", ()), question)
    if given.ndim <= method.q.ndim:
        result: Array = answer(method, question, action, None, "x", given)
        return result
    if given.shape[-2] != method.robot.nv:
        size = method.robot.nv
        raise ShapeError(
            f"{question}: x must be a vector ({size},) or a matrix (..., {size}, k), as for NumPy, got {given.shape}; "
            "M.times takes vectors along the last dimension"
        )
    return np.moveaxis(answer(method, question, action, None, "x", np.moveaxis(given, -1, 0)), 0, -1)


def product_from_the_left(method: Method, question: str, action: Callable[..., Array], x: npt.ArrayLike) -> Array:
    """x times the transpose of a matrix, where `action` multiplies vectors by the matrix."""
    given = as_array(x, Port("x", ()), question)
    if given.ndim <= method.q.ndim:
        return product(method, question, action, given)
    return np.swapaxes(product(method, question, action, np.swapaxes(given, -1, -2)), -1, -2)
