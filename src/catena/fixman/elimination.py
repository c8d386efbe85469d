"""Symmetric matrices with one sparse pattern, in batches, eliminated along that pattern: for trees without fill.

The order takes the row with the fewest neighbours next, as leaves are. With d(j) the pivots, l(j) the column of the
factor below pivot j and N(j) its rows, all of them numbers of a whole batch,

    A(N,N) ← A(N,N) − d l lᵀ,    log det A = Σ log d(j)
    Z(N,j) = −Z(N,N) l,          Z(j,j) = 1 / d − l · Z(N,j)         the inverse, where A or its factor has entries

Each step is a few calls of NumPy, so that this pays where a band would be wide: on branched chains.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Array = npt.NDArray[Any]


class Elimination:
    """Symmetric positive definite matrices (..., m, m), given by the values at chosen entries.

    `rows` and `columns` (entries,) are where the values belong, in both triangles; repeated entries are summed.
    `columns_below` are the rows N(j) of each column of the factor, by :func:`factor_pattern`.
    """

    def __init__(self, rows: Array, columns: Array, columns_below: dict[int, list[int]]) -> None:
        m = len(columns_below)
        self._m, self._order = m, list(columns_below)
        slot = {(j, j): j for j in range(m)}
        for j, below in columns_below.items():
            for i in below:
                slot[min(i, j), max(i, j)] = len(slot)
        self._slots = len(slot)
        self._rows = {j: np.array(below, dtype=np.int64) for j, below in columns_below.items()}
        self._column = {
            j: np.array([slot[min(i, j), max(i, j)] for i in below], dtype=np.int64)
            for j, below in columns_below.items()
        }
        self._block = {
            j: np.array([[slot[min(i, k), max(i, k)] for k in below] for i in below], dtype=np.int64)
            for j, below in columns_below.items()
        }
        own = [slot[min(i, j), max(i, j)] for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
        self._entries = np.array(own, dtype=np.int64)
        upper = np.flatnonzero(rows <= columns)  # the other triangle says the same
        shape = self._slots, len(rows)
        self._gather = csr_matrix((np.ones(len(upper)), (self._entries[upper], upper)), shape=shape)

    @np.errstate(invalid="ignore", divide="ignore")
    def factors(self, values: Array) -> tuple[tuple[Array, ...], Array]:
        """The factors of the matrices with these values (..., entries), and log det of each, NaN if singular."""
        batch = values.shape[:-1]
        A = np.asarray(self._gather @ values.reshape(-1, values.shape[-1]).T)
        for j in self._order:
            column = self._column[j]
            if len(column):
                below = A[column]
                A[column] = below / A[j]
                A[self._block[j]] -= A[column][:, None] * below[None]
        pivots = A[: self._m]
        log_determinant = np.where((pivots > 0).all(axis=0), np.log(pivots).sum(axis=0), np.nan)
        return (np.ascontiguousarray(A.T).reshape(*batch, self._slots),), log_determinant.reshape(batch)

    @np.errstate(invalid="ignore", divide="ignore")
    def solve(self, parts: tuple[Array, ...], b: Array) -> Array:
        """The solutions (..., m) of the factored systems for right-hand sides b (..., m)."""
        A = np.ascontiguousarray(parts[0].reshape(-1, self._slots).T)
        x = np.array(b.reshape(-1, self._m).T)
        for j in self._order:
            x[self._rows[j]] -= A[self._column[j]] * x[j]
        x /= A[: self._m]
        for j in reversed(self._order):
            x[j] -= np.einsum("rb,rb->b", A[self._column[j]], x[self._rows[j]])
        return np.ascontiguousarray(x.T).reshape(b.shape)

    @np.errstate(invalid="ignore", divide="ignore")
    def inverse_entries(self, values: Array) -> tuple[Array, Array]:
        """log det (...) of the matrices, and their inverses at the same entries as the values, (..., entries)."""
        (factor,), log_determinant = self.factors(values)
        A = np.ascontiguousarray(factor.reshape(-1, self._slots).T)
        Z = np.empty_like(A)
        for j in reversed(self._order):
            column = self._column[j]
            Z[j] = 1 / A[j]
            if len(column):
                below = A[column]
                Z[column] = -np.einsum("rkb,kb->rb", Z[self._block[j]], below)
                Z[j] -= np.einsum("rb,rb->b", below, Z[column])
        return log_determinant, np.ascontiguousarray(Z[self._entries].T).reshape(*values.shape[:-1], -1)


def factor_pattern(rows: Array, columns: Array, m: int, most: int) -> dict[int, list[int]] | None:
    """The rows below the diagonal of each column of the factor, in the order of elimination: fewest neighbours first.

    None if the squares of their numbers add up to more than `most`: then the matrix is not sparse enough.
    """
    near: list[set[int]] = [set() for _ in range(m)]
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        if i != j:
            near[i].add(j)
            near[j].add(i)
    waiting = [(len(near[i]), i) for i in range(m)]
    heapify(waiting)
    found: dict[int, list[int]] = {}
    work = 0
    while waiting:
        degree, j = heappop(waiting)
        if j in found or degree != len(near[j]):
            continue
        found[j] = sorted(near[j])
        work += degree * degree
        if work > most:
            return None
        for i in found[j]:
            near[i] |= near[j]
            near[i] -= {i, j}
            heappush(waiting, (len(near[i]), i))
    return found
