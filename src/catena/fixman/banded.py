"""Symmetric matrices with one sparse pattern, in batches: reordered to a narrow band, then factored block by block.

Narrow bands run as machine code (:mod:`catena.algorithms.block_band`); of wide ones the sparse are eliminated along
their pattern (:mod:`catena.fixman.elimination`), and the others are dense matrices of NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from catena.algorithms.block_band import block_functions
from catena.fixman.elimination import Elimination, factor_pattern
from catena.functions.function import Function
from catena.functions.store import Compiled
from catena.model.chains import planar_chain

Array = npt.NDArray[Any]

NARROW = 8
"""Up to this half-bandwidth matrices are factored block by block."""


class Factors(NamedTuple):
    """What solves with a batch of matrices: blocks, sparse factors or inverses; log det of each, NaN if singular."""

    parts: tuple[Array, ...]
    log_determinant: Array

    def of(self, which: Array) -> Factors:
        """The factors of some of the matrices, by their numbers along the first dimension."""
        return Factors(tuple(part[which] for part in self.parts), self.log_determinant[which])


class Banded:
    """Symmetric positive definite matrices (..., m, m), given by the values at chosen entries.

    `rows` and `columns` (entries,) are where the values belong; both triangles and repeated entries, which are summed,
    are fine.
    """

    def __init__(self, rows: Array, columns: Array, m: int) -> None:
        pattern = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(m, m))
        order = reverse_cuthill_mckee(csr_matrix(pattern + pattern.T), symmetric_mode=True)
        place = np.empty(m, dtype=np.int64)
        place[order] = np.arange(m)
        self._m, self._place = m, place
        i, j = place[rows], place[columns]
        self.width = max(1, int(np.max(np.abs(i - j), initial=0)))
        self.narrow = self.width <= NARROW
        below = None if self.narrow else factor_pattern(rows, columns, m, m * m // 2)
        self._sparse = None if below is None else Elimination(rows, columns, below)
        w = self.width if self.narrow else max(m, 1) if below is None else 1
        self._w, self._count = w, max(1, -(-m // w))
        kept = i // w >= j // w  # the coupling is to the block before
        self._kept = np.flatnonzero(kept)
        side = (i // w != j // w)[kept]
        cell = ((side * self._count + i[kept] // w) * w + i[kept] % w) * w + j[kept] % w
        cells = 2 * self._count * w * w
        self._gather = csr_matrix((np.ones(len(cell)), (cell, np.arange(len(cell)))), shape=(cells, len(cell)))
        self._i, self._j = i, j
        self._compiled = Compiled(planar_chain(np.ones(self._count), 1.0)) if self.narrow else None

    def _blocks(self, values: Array) -> tuple[Array, Array]:
        """Values (..., entries) as diagonal blocks and couplings (..., blocks, w, w); 1 where there is no row."""
        flat = values.reshape(-1, values.shape[-1])[:, self._kept]
        blocks = np.ascontiguousarray((self._gather @ flat.T).T)
        diagonal, coupling = np.moveaxis(blocks.reshape(-1, 2, self._count, self._w, self._w), 1, 0)
        empty = np.arange(self._m - (self._count - 1) * self._w, self._w)
        diagonal = diagonal.copy()
        diagonal[:, -1, empty, empty] = 1.0
        shape = values.shape[:-1] + diagonal.shape[1:]
        return diagonal.reshape(shape), np.ascontiguousarray(coupling).reshape(shape)

    def _run(self, function: Function, *arrays: Array) -> Any:
        assert self._compiled is not None
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._compiled.kernel(function, kernel_shape="rolled")(*arrays)

    def factors(self, values: Array) -> Factors:
        """Factor the matrices with these values (..., entries)."""
        if self._sparse is not None:
            return Factors(*self._sparse.factors(values))
        diagonal, coupling = self._blocks(values)
        if self.narrow:
            inverse, gain, log_determinant = self._run(block_functions(self._w).factors, diagonal, coupling)
            return Factors((inverse, gain), np.asarray(log_determinant))
        inverse, log_determinant = _dense_inverse(diagonal[..., 0, :, :])
        return Factors((inverse,), log_determinant)

    def solve(self, factors: Factors, b: Array) -> Array:
        """The solutions (..., m) of the factored systems for right-hand sides b (..., m)."""
        if self._sparse is not None:
            return self._sparse.solve(factors.parts, b)
        if not self.narrow:
            ordered = b[..., np.argsort(self._place)]
            return np.asarray(np.einsum("...ij,...j->...i", factors.parts[0], ordered)[..., self._place])
        padded = np.zeros((*b.shape[:-1], self._count * self._w))
        padded[..., self._place] = b
        blocks = padded.reshape(*b.shape[:-1], self._count, self._w)
        x = self._run(block_functions(self._w).solve, *factors.parts, blocks)
        return np.asarray(x.reshape(padded.shape)[..., self._place])

    def inverse_entries(self, values: Array) -> tuple[Array, Array]:
        """log det (...) of the matrices, and their inverses at the same entries as the values, (..., entries)."""
        if self._sparse is not None:
            return self._sparse.inverse_entries(values)
        diagonal, coupling = self._blocks(values)
        if not self.narrow:
            inverse, log_determinant = _dense_inverse(diagonal[..., 0, :, :])
            return log_determinant, inverse[..., self._i, self._j]
        log_determinant, Z, beside = self._run(block_functions(self._w).inverse_entries, diagonal, coupling)
        i, j = np.maximum(self._i, self._j), np.minimum(self._i, self._j)
        w = self._w
        own, row, column = i // w, i % w, j % w
        entries = np.where(own == j // w, Z[..., own, row, column], beside[..., own, row, column])
        return np.asarray(log_determinant), entries


def _dense_inverse(matrices: Array) -> tuple[Array, Array]:
    """Inverses and log det, NaN where a matrix is not positive definite."""
    sign, log_determinant = np.linalg.slogdet(matrices)
    good = sign > 0
    safe = np.where(good[..., None, None], matrices, np.eye(matrices.shape[-1]))
    inverse = np.where(good[..., None, None], np.linalg.inv(safe), np.nan)
    return inverse, np.where(good, log_determinant, np.nan)
