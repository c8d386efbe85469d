"""The factors of a mass matrix, M = U D Uᵀ, as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.mass_matrix.methods import Method

Array = npt.NDArray[Any]


class Factors(NamedTuple):
    """M = U D Uᵀ."""

    U: Upper
    D: BlockDiagonal


def product(apply: Callable[[Array], Array], x: npt.ArrayLike, method: Method) -> Array:
    """A matrix times x, where `apply` multiplies vectors (..., nv): x has such vectors, or is a matrix (..., nv, k).

    It is a matrix, as for NumPy, if it has one dimension more than the configurations, and nv rows.
    """
    given = np.asarray(x)
    if given.ndim == method.q.ndim + 1 and given.shape[-2] == method.robot.nv:
        return np.moveaxis(apply(np.moveaxis(given, -1, 0)), 0, -1)
    return apply(given)


class Upper:
    """U, unit upper triangular, or its transpose, as an operator on vectors along the last dimension."""

    __array_ufunc__ = None

    def __init__(self, method: Method, transposed: bool = False) -> None:
        self._method, self._transposed = method, transposed

    @property
    def T(self) -> Upper:
        """The transpose."""
        return Upper(self._method, not self._transposed)

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """U x, or Uᵀ x, for vectors x (..., nv) or a matrix (..., nv, k). O(n) for each vector."""
        name = "transpose_times" if self._transposed else "times"
        return product(lambda rows: self._method.upper(name, rows), x, self._method)

    def solve(self, b: npt.ArrayLike) -> Array:
        """U⁻¹ b, or U⁻ᵀ b, for vectors b, (..., nv). O(n)."""
        return self._method.upper("transpose_divide" if self._transposed else "divide", b)

    def dense(self) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        which = "transpose_times" if self._transposed else "times"
        return np.swapaxes(_widened(self._method).upper(which, _units(self._method)), -1, -2)


class BlockDiagonal:
    """D, symmetric with a block for each joint, as an operator on vectors along the last dimension."""

    __array_ufunc__ = None

    def __init__(self, method: Method) -> None:
        self._method = method

    @property
    def T(self) -> BlockDiagonal:
        """The matrix itself, which is symmetric."""
        return self

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """D x for vectors x (..., nv) or a matrix (..., nv, k). O(n) for each vector."""
        return product(lambda rows: self._method.blocks("times", rows), x, self._method)

    def solve(self, b: npt.ArrayLike) -> Array:
        """D⁻¹ b for vectors b, (..., nv). O(n)."""
        return self._method.blocks("solve", b)

    def dense(self) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        return _widened(self._method).blocks("times", _units(self._method))


def _units(method: Method) -> Array:
    return np.eye(method.robot.nv, dtype=method.dtype)


def _widened(method: Method) -> Method:
    """The same factors with one more dimension, along which a matrix has its columns."""
    wide = type(method)(method.robot, method.q[..., None, :], method.dtype, method.shape)
    gains, blocks = method.factors
    wide.__dict__["factors"] = gains[..., None, :, :], blocks[..., None, :, :]
    return wide
