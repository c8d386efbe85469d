"""What recipes have in common: answers for long chains, composed of what loops give, with NumPy.

A recipe is called as `recipe(ask, *arrays)`, where `ask(function, *arrays)` evaluates another function of the same
mechanism by a rolled kernel: see :mod:`catena.functions.composed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from catena.functions.function import Function, kind
from catena.model.tree import Tree
from catena.scalars import ROUNDING
from catena.spatial.mobility import inertia_of

Array = npt.NDArray[Any]


class Ask(Protocol):
    """What a recipe asks with."""

    tree: Tree
    """The mechanism."""

    dtype: np.dtype[Any]
    """What is computed in."""

    @property
    def gravity(self) -> Any:
        """(..., 3): the model's, or that of the parameters of the call."""

    def __call__(self, function: Function, *arrays: Any) -> Any:
        """What the function makes of the arrays: the result, or a tuple of results."""


def inverses(matrices: Array, dtype: npt.DTypeLike) -> Array:
    """The inverses of mobilities (..., 6 m, 6 m); NaN, and only there, where no more than rounding is left of one.

    Rounding along one axis is that, in `dtype`, of what is along all three. One divided by a diagonal entry of the
    inverse is what elimination leaves of that entry, if it comes last.
    """
    if matrices.dtype == object:
        return np.array(inertia_of(matrices.tolist())[0], dtype=object).reshape(matrices.shape)
    found = np.full_like(matrices, np.nan)
    with np.errstate(all="ignore"):
        good = np.isfinite(matrices).all(axis=(-1, -2)) & (np.linalg.slogdet(matrices)[0] != 0.0)
        found[good] = np.linalg.inv(matrices[good])
        along = np.diagonal(matrices, axis1=-1, axis2=-2).reshape(*matrices.shape[:-2], matrices.shape[-1] // 3, 3)
        left = np.repeat(along.sum(axis=-1), 3, axis=-1) * np.diagonal(found, axis1=-1, axis2=-2)
        found[~((left > 0) & (left * (0.5 * ROUNDING * np.finfo(dtype).eps) < 1)).all(axis=-1)] = np.nan
    return found


def parts(array: Array) -> list[Any]:
    """The numbers along the last dimension, each an array over the others: scalars for algorithms that run on any."""
    return list(np.moveaxis(array, -1, 0))


def stacked(scalars: Sequence[Any], axis: int = -1) -> Array:
    """Scalars that are arrays as one array, along a new dimension."""
    return np.stack(np.broadcast_arrays(*scalars), axis=axis)


def times(A: Array, x: Array) -> Array:
    """Matrices (..., m, n) times vectors (..., n)."""
    result: Array = (A @ x[..., None])[..., 0]
    return result


def columns(ask: Callable[..., Any], function: Function, nv: int, *arrays: Array) -> Array:
    """A whole matrix (..., nv, nv): what `function`, whose last input is a vector (..., nv), makes of unit vectors."""
    return products(ask, function, np.eye(nv), *arrays)


def products(ask: Callable[..., Any], function: Function, matrix: Array, *arrays: Array) -> Array:
    """What `function`, whose last input is a vector (..., nv), makes of each column of a matrix (..., nv, m)."""
    wide = [np.expand_dims(a, -1 - _rank(k)) for a, k in zip(arrays, function.inputs.values(), strict=False)]
    return np.swapaxes(ask(function, *wide, np.swapaxes(matrix, -1, -2)), -1, -2)


def slopes_along(ask: Callable[..., Any], function: Function, nv: int, along: str, **given: Array) -> Array:
    """A whole matrix (..., nv, nv): what `function` makes of unit vectors for its input `along`.

    Inputs that are not given are vectors of zeros, but for optional ones, which are left out.
    """
    arrays: list[Array] = []
    for name, kind_name in function.inputs.items():
        if name in given:
            arrays.append(np.expand_dims(given[name], -1 - _rank(kind_name)))
        elif name not in function.optional:
            arrays.append(np.eye(nv) if name == along else np.zeros(nv))
    return np.swapaxes(ask(function, *arrays), -1, -2)


def link_by_link(ask: Callable[..., Any], function: Function, n: int, *arrays: Array) -> Array:
    """What unit wrenches on one of n links after the other give, (..., nv, links, 6); memory stays O(n²).

    The last input of `function` is wrenches on all links, its first result is vectors (..., nv).
    """
    wide = [np.expand_dims(a, -1 - _rank(k)) for a, k in zip(arrays, function.inputs.values(), strict=False)]
    found = []
    for link in range(n):
        f = np.zeros((6, n, 6))
        f[:, link, :] = np.eye(6)
        answer = ask(function, *wide, f)
        found.append(np.swapaxes(answer[0] if isinstance(answer, tuple) else answer, -1, -2))
    return np.stack(found, axis=-2)


def _rank(kind_name: str) -> int:
    return len(kind(kind_name).full_shape(1, 1, 1))
