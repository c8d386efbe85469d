"""Factors of sparse matrices by SuperLU, for matrices that may have none."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

NOISE, SMALL, DENSE = 1e-11, 1e-9, 3000
"""Entries change by so much, beside the largest of rows and columns, to see whether pivots are zero; smaller pivots are
suspect then; so many rows LAPACK takes in that case."""


def sparse_factors(matrix: Any, order: str = "COLAMD") -> Any:
    """The factors of a square sparse matrix, with columns in this order; RuntimeError if a pivot is zero.

    SuperLU goes on with whatever is in memory where a pivot is exactly zero, and crashes now and then. A pivot is zero
    where a column depends on those before it, so the factors of a matrix with a little noise tell beforehand.
    """
    matrix = matrix.tocsc()
    size = matrix.shape[0]
    scaled, biggest = matrix.copy(), np.ones(size)
    for indices in (matrix.indices, np.repeat(np.arange(size), np.diff(matrix.indptr))):  # rows, then columns
        biggest = np.zeros(size)
        np.maximum.at(biggest, indices, np.abs(scaled.data))
        scaled.data = scaled.data / np.where(biggest > 0, biggest, 1.0)[indices]
    if structural_rank(matrix) < size or not np.all(biggest):
        raise RuntimeError("its entries leave no place for a pivot")
    if not np.isfinite(scaled.data).all():
        raise RuntimeError("an entry is not finite")
    scaled.data += np.random.default_rng(0).uniform(-NOISE, NOISE, len(scaled.data))
    if np.all(np.abs(splu(scaled, permc_spec=order).U.diagonal()) > SMALL):
        return splu(matrix, permc_spec=order)
    if size > DENSE:
        raise RuntimeError("a pivot is zero, or nearly so")
    return _DenseFactors(matrix.toarray())


class _DenseFactors:
    """Factors by LAPACK, with the names that SuperLU's have: rows go to `perm_r`, columns stay."""

    def __init__(self, matrix: Any) -> None:
        self._lu, self._swaps, info = dgetrf(matrix)
        if info:
            raise RuntimeError("a pivot is zero")
        rows = np.arange(len(matrix))
        for i, j in enumerate(self._swaps):
            rows[[i, j]] = rows[[j, i]]
        self.perm_c, self.perm_r = np.arange(len(rows)), np.argsort(rows)
        self.L, self.U = np.tril(self._lu, -1) + np.eye(len(rows)), np.triu(self._lu)

    def solve(self, given: Any, trans: str = "N") -> Any:
        """The solution for right-hand sides, of the transpose for "T"."""
        return dgetrs(self._lu, self._swaps, given, trans=int(trans == "T"))[0]
