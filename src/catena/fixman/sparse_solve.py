"""Symmetric positive definite sparse systems, factored once: by LAPACK where the band is narrow, else by SuperLU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu

from catena.errors import SingularError
from catena.functions.sparse_factors import sparse_factors

Array = npt.NDArray[Any]

_NARROW = 16
"""Up to this half-bandwidth the banded factorization is the faster one."""


_ROUNDING = 1e-15
_SINGULAR = "Hᵇᵇ is singular: the hard coordinates are not independent at this configuration"


class Factored:
    """A symmetric positive definite matrix and its factors; no fill on trees, as minimum degree takes leaves first."""

    def __init__(self, matrix: csr_matrix) -> None:
        entries = matrix.tocoo()
        offset = entries.col - entries.row
        width = int(np.max(np.abs(offset), initial=0))
        self._n = matrix.shape[0]
        self._banded: Array | None = None
        try:
            if width <= _NARROW:
                lower = offset <= 0
                bands = np.zeros((width + 1, self._n))
                np.add.at(bands, (-offset[lower], entries.col[lower]), entries.data[lower])
                self._banded = cholesky_banded(bands, lower=True) if self._n else bands
                self._check(self._banded[0] ** 2, bands[0])
            else:
                options = {"SymmetricMode": True}
                self._lu = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
                self._check(self._lu.U.diagonal(), matrix.diagonal()[np.argsort(self._lu.perm_c)])
        except (LinAlgError, RuntimeError) as error:
            raise SingularError(_SINGULAR) from error

    def _check(self, pivots: Array, diagonal: Array) -> None:
        if not (pivots > _ROUNDING * diagonal).all():
            raise SingularError(_SINGULAR)

    def solve(self, b: Array) -> Array:
        """The solution for one right-hand side."""
        if self._n == 0:
            return b
        if self._banded is not None:
            return np.asarray(cho_solve_banded((self._banded, True), b))
        return np.asarray(self._lu.solve(b))

    def log_determinants(self, blocks: int = 1) -> Array:
        """log det of each of so many equal blocks along the diagonal, which have nothing to do with each other."""
        if self._banded is not None:
            return 2 * _sums(np.log(self._banded[0]), blocks)
        return _sums(np.log(self._lu.U.diagonal()[self._lu.perm_c]), blocks)


def _sums(logarithms: Array, blocks: int) -> Array:
    return np.asarray(logarithms.reshape(blocks, -1 if blocks else 0).sum(axis=1))


def log_abs_determinants(matrix: csr_matrix, blocks: int = 1) -> Array:
    """log |det| of each of so many equal blocks along the diagonal of a square sparse matrix."""
    if matrix.shape[0] == 0:
        return np.zeros(blocks)
    try:
        factors = sparse_factors(matrix)
        return _sums(np.log(np.abs(factors.U.diagonal()[factors.perm_c])), blocks)
    except RuntimeError as error:
        raise SingularError("the coordinates are not independent at this configuration") from error
