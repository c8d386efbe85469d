"""The factors of a mass matrix, M = U D Uᵀ, as operators."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.mass_matrix.methods import Method
from catena.mass_matrix.vectors import answer, product, product_from_the_left

Array = npt.NDArray[Any]


class Factors(NamedTuple):
    """M = U D Uᵀ."""

    U: Upper
    D: BlockDiagonal


class _Factor:
    """What both factors have in common: the shape and dtype of the matrix, and the matrix for NumPy."""

    __array_ufunc__ = None
    _method: Method

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `dense()`: (..., nv, nv)."""
        return (*self._method.q.shape[:-1], self._method.robot.nv, self._method.robot.nv)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What it computes in."""
        return self._method.dtype

    def dense(self) -> Array:
        """The matrix, (..., nv, nv)."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        if copy is False:
            raise ValueError("a factor of a MassMatrix holds no array that could be shared; leave copy out")
        matrix = self.dense()
        return matrix if dtype is None else matrix.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<factor {self._name} of the mass matrix of {self._method.robot.name!r}, {self.shape}>"

    @property
    def _name(self) -> str:
        raise NotImplementedError


class Upper(_Factor):
    """U, unit upper triangular, or its transpose, as an operator on vectors along the last dimension."""

    def __init__(self, method: Method, transposed: bool = False) -> None:
        self._method, self._transposed = method, transposed

    @property
    def T(self) -> Upper:
        """The transpose."""
        return Upper(self._method, not self._transposed)

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """U x, or Uᵀ x, for vectors x (..., nv) or a matrix (..., nv, k). O(n) for each vector."""
        return product(self._method, f"{self._name} @ x", self._times, x)

    def __rmatmul__(self, x: npt.ArrayLike) -> Array:
        """x U, or x Uᵀ, for vectors x (..., nv) or a matrix (..., k, nv). O(n) for each vector."""
        return product_from_the_left(self._method, f"x @ {self._name}", self.T._times, x)

    def solve(self, b: npt.ArrayLike) -> Array:
        """U⁻¹ b, or U⁻ᵀ b, for vectors b, (..., nv). O(n)."""
        action = partial(self._method.upper, "transpose_divide" if self._transposed else "divide")
        return cast(Array, answer(self._method, f"{self._name}.solve", action, None, "b", b))

    @property
    def _name(self) -> str:
        return "U.T" if self._transposed else "U"

    def _times(self, x: Array, out: Array | None = None) -> Array:
        return self._method.upper("transpose_times" if self._transposed else "times", x, out)

    def dense(self) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        return self._method.upper_dense("transpose_times" if self._transposed else "times")


class BlockDiagonal(_Factor):
    """D, symmetric with a block for each joint, as an operator on vectors along the last dimension."""

    _name = "D"

    def __init__(self, method: Method) -> None:
        self._method = method

    @property
    def T(self) -> BlockDiagonal:
        """The matrix itself, which is symmetric."""
        return self

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """D x for vectors x (..., nv) or a matrix (..., nv, k). O(n) for each vector."""
        return product(self._method, "D @ x", partial(self._method.blocks, "times"), x)

    def __rmatmul__(self, x: npt.ArrayLike) -> Array:
        """x D for vectors x (..., nv) or a matrix (..., k, nv). O(n) for each vector."""
        return product_from_the_left(self._method, "x @ D", partial(self._method.blocks, "times"), x)

    def solve(self, b: npt.ArrayLike) -> Array:
        """D⁻¹ b for vectors b, (..., nv). O(n)."""
        return cast(Array, answer(self._method, "D.solve", partial(self._method.blocks, "solve"), None, "b", b))

    def dense(self) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        return self._method.blocks_dense()
