"""Operator expressions as sparse equations, for inverses that no formula gives.

What flows through an expression is a *signal*: a sum of sparse matrices times unknown vectors. A sweep adds one
unknown, what comes out of it, and one equation. To invert an expression, its input becomes an unknown too, its output
is given, and all equations are solved together: the matrix has the structure of the tree, so elimination leaves little
fill.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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

    def unknown(self, size: int) -> Signal:
        """A new unknown vector."""
        self.sizes.append(size)
        return Signal({len(self.sizes) - 1: sparse.identity(size, format="csr")})

    def require(self, signal: Signal) -> None:
        """One more equation: the signal is zero."""
        self.equations.append(signal)

    def matrix(self, last: Signal) -> Any:
        """All equations and one more, whose right-hand side comes last, for the first unknown, as one sparse matrix."""
        rows = [[signal.terms.get(number) for number in range(len(self.sizes))] for signal in (*self.equations, last)]
        return sparse.bmat(rows, format="csc")
