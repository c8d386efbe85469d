"""Operator expressions as sparse equations, for inverses that no formula gives.

What flows through an expression is a *signal*: a sum of sparse matrices times unknown vectors. A sweep adds one
unknown, what comes out of it, and one equation. To invert an expression, its input becomes an unknown too, its output
is given, and all equations are solved together: the matrix has the structure of the tree, so elimination leaves little
fill.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sparse


@dataclass
class Signal:
    """Σ matrix · unknown, by the unknown's number."""

    terms: dict[int, Any]

    def __add__(self, o: Signal) -> Signal:
        terms = dict(self.terms)
        for number, matrix in o.terms.items():
            terms[number] = terms[number] + matrix if number in terms else matrix
        return Signal(terms)

    def scaled(self, factor: float) -> Signal:
        """The signal times a number."""
        return Signal({number: factor * matrix for number, matrix in self.terms.items()})

    def under(self, matrix: Any) -> Signal:
        """A sparse matrix times the signal."""
        return Signal({number: matrix @ term for number, term in self.terms.items()})


@dataclass
class System:
    """Unknown vectors by their sizes, and equations `signal = 0`."""

    sizes: list[int] = field(default_factory=list)
    equations: list[Signal] = field(default_factory=list)
    owned: list[int] = field(default_factory=list)

    def unknown(self, size: int) -> Signal:
        """A new unknown vector."""
        self.sizes.append(size)
        return Signal({len(self.sizes) - 1: sparse.identity(size, format="csr")})

    def require(self, signal: Signal, of: Signal) -> None:
        """One more equation: the signal is zero. It is the one that an unknown vector of its size was made for."""
        self.equations.append(signal)
        self.owned.extend(of.terms)

    def matrix(self, last: Signal) -> Any:
        """All equations and one more, whose right-hand side comes last, for the first unknown, as one sparse matrix."""
        rows = [[signal.terms.get(number) for number in range(len(self.sizes))] for signal in (*self.equations, last)]
        start = np.cumsum([0, *self.sizes])
        own = np.concatenate([np.arange(start[i], start[i + 1]) for i in (*self.owned, 0)])
        return with_places(sparse.bmat(rows, format="coo"), own)


def with_places(matrix: Any, columns: Any) -> Any:
    """A sparse square matrix that has an entry, if only a zero, in one of these columns in each row.

    SuperLU writes past its arrays if it finds no place for a pivot; of pivots that are zero it says so.
    """
    matrix, size = matrix.tocoo(), matrix.shape[0]
    at = np.concatenate([matrix.row, np.arange(size)]), np.concatenate([matrix.col, columns])
    return sparse.coo_matrix((np.concatenate([matrix.data, np.zeros(size)]), at), shape=matrix.shape).tocsc()
