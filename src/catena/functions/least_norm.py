"""Solutions of least norm by singular values, of systems that may be short of rank: what redundant constraints need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.functions.recipes import times

Array = npt.NDArray[Any]


class LeastNorm:
    """A x = b for matrices A (..., m, n), factored once: x of least norm, of those that come nearest.

    Singular values below a share of the largest one count as zero, or below that share of the size of another matrix,
    `beside`. Matrices that hold anything but numbers count as zero, so that no other sample suffers from them.
    """

    def __init__(self, A: Array, share: float, beside: Array | None = None) -> None:
        self._U, s, self._Vt = np.linalg.svd(_finite(A), full_matrices=False)
        size = s.max(axis=-1, initial=0.0) if beside is None else np.linalg.norm(_finite(beside), axis=(-1, -2))
        counts = s > share * size[..., None]
        self._reciprocals = np.where(counts, 1.0 / np.where(counts, s, 1.0), 0.0)

    @property
    def inverse(self) -> Array:
        """The pseudo-inverses, (..., n, m)."""
        scaled = np.swapaxes(self._Vt, -1, -2) * self._reciprocals[..., None, :]
        return np.asarray(scaled @ np.swapaxes(self._U, -1, -2))

    def solve(self, b: Array) -> Array:
        """X of least norm with A x = b, for b (..., m)."""
        return times(np.swapaxes(self._Vt, -1, -2), self._reciprocals * times(np.swapaxes(self._U, -1, -2), b))

    def solve_transposed(self, b: Array) -> Array:
        """X of least norm with Aᵀ x = b, for b (..., n)."""
        return times(self._U, self._reciprocals * times(self._Vt, b))


def _finite(matrices: Array) -> Array:
    good = np.isfinite(matrices).all(axis=(-1, -2), keepdims=True)
    return np.where(good, matrices, 0.0)
