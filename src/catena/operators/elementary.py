"""The operators that expressions are made of: sparse matrices, sweeps, and inverses that no formula gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import splu

from catena.algorithms.closure_tolerances import UNSURE
from catena.errors import ShapeError, SingularError
from catena.functions.sparse_factors import sparse_factors
from catena.operators.expression import ATOM, Array, Operator
from catena.operators.structure import ANYWHERE, CAUSAL, MEMORYLESS, OWN, Pattern, Space, Structure
from catena.operators.systems import Signal, System

PROBES = 3
"""So many random vectors ask whether an inverse is one."""


class Elementary(Operator):
    """An operator with a name, which can be applied both ways."""

    name: str
    tightness = ATOM
    """How tightly the name holds together: that of φ⁻¹ is a formula, I - S Δ_φ."""

    @abstractmethod
    def apply_transposed(self, x: Array) -> Array:
        """What the transpose makes of the columns of x."""

    @abstractmethod
    def realise_transposed(self, system: System, signal: Signal) -> Signal:
        """The transpose as equations."""

    @property
    def T(self) -> Operator:
        """The transpose."""
        return Transposed(self)

    def text(self) -> tuple[str, int]:
        """The name."""
        return self.name, self.tightness


class Transposed(Operator):
    """The transpose of an elementary operator."""

    def __init__(self, inner: Elementary) -> None:
        self.inner = inner
        self.range, self.domain = inner.domain, inner.range

    def apply(self, x: Array) -> Array:
        """By the inner operator."""
        return self.inner.apply_transposed(x)

    def realise(self, system: System, signal: Signal) -> Signal:
        """By the inner operator."""
        return self.inner.realise_transposed(system, signal)

    @property
    def structure(self) -> Structure:
        """The other direction."""
        return self.inner.structure.T

    @property
    def T(self) -> Operator:
        """The inner operator."""
        return self.inner

    @property
    def inv(self) -> Operator:
        """The transpose of the inverse."""
        return self.inner.inv.T

    def text(self) -> tuple[str, int]:
        """The name with a T."""
        return f"{self.inner.bracketed(ATOM)}ᵀ", ATOM


class Matrix(Elementary):
    """An operator with a sparse matrix of O(n) entries, made when it is first wanted."""

    def __init__(
        self,
        name: str,
        range: Space,
        domain: Space,
        make: Callable[[], Any],
        pattern: Pattern = MEMORYLESS,
        tightness: int = ATOM,
    ) -> None:
        self.name, self.range, self.domain, self._make, self._pattern = name, range, domain, make, pattern
        self.tightness = tightness

    @cached_property
    def sparse(self) -> Any:
        """The matrix."""
        return self._make().tocsr()

    def apply(self, x: Array) -> Array:
        """A sparse product."""
        return np.asarray(self.sparse @ x)

    def apply_transposed(self, x: Array) -> Array:
        """A sparse product."""
        return np.asarray(self.sparse.T @ x)

    def realise(self, system: System, signal: Signal) -> Signal:
        """A sparse product."""
        return signal.under(self.sparse)

    def realise_transposed(self, system: System, signal: Signal) -> Signal:
        """A sparse product."""
        return signal.under(self.sparse.T.tocsr())

    @property
    def structure(self) -> Structure:
        """One product."""
        return Structure(self._pattern, products=1)

    @property
    def inv(self) -> Operator:
        """Block by block."""
        return Solve(f"{self.bracketed(ATOM)}⁻¹", self, self._pattern | {OWN})


class Solve(Elementary):
    """The inverse of a sparse matrix with the structure of the tree, or of its blocks: a sweep of substitutions.

    φ = (I − SΔ_φ)⁻¹ and ψ = (I − SΔ_ψ)⁻¹, (a.10) and (a.11), are such sweeps: links are numbered base to tip, so these
    matrices are upper triangular and need no elimination.
    """

    def __init__(self, name: str, matrix: Matrix, pattern: Pattern = CAUSAL) -> None:
        _check_square(matrix)
        self.name, self.matrix, self._pattern = name, matrix, pattern
        self.range, self.domain = matrix.domain, matrix.range

    @cached_property
    def _factors(self) -> Any:
        matrix = self.matrix.sparse.tocsc()
        if self._pattern != MEMORYLESS:
            return splu(matrix, permc_spec="NATURAL")  # triangular with ones on the diagonal
        return _factored(matrix, self.matrix.name, order="NATURAL")

    def apply(self, x: Array) -> Array:
        """Substitution."""
        return np.asarray(self._factors.solve(np.ascontiguousarray(x)))

    def apply_transposed(self, x: Array) -> Array:
        """Substitution the other way."""
        return np.asarray(self._factors.solve(np.ascontiguousarray(x), "T"))

    def realise(self, system: System, signal: Signal) -> Signal:
        """A new unknown y with matrix · y = signal."""
        y = system.unknown(self.range.total)
        system.require(y.under(self.matrix.sparse) + signal.scaled(-1.0))
        return y

    def realise_transposed(self, system: System, signal: Signal) -> Signal:
        """A new unknown y with matrixᵀ · y = signal."""
        y = system.unknown(self.domain.total)
        system.require(y.under(self.matrix.sparse.T.tocsr()) + signal.scaled(-1.0))
        return y

    @property
    def structure(self) -> Structure:
        """One sweep, or one product where no link depends on another."""
        sweep = self._pattern != MEMORYLESS
        return Structure(self._pattern, sweeps=int(sweep), products=int(not sweep))

    @property
    def inv(self) -> Operator:
        """The matrix."""
        return self.matrix


class Sweep(Solve):
    """φ or ψ of a long chain: `run` sweeps over vectors (k, total), inward or, transposed, outward."""

    def __init__(self, name: str, matrix: Matrix, run: Callable[[Array, bool], Array]) -> None:
        super().__init__(name, matrix)
        self._run = run

    def apply(self, x: Array) -> Array:
        """A sweep to the base."""
        return np.ascontiguousarray(self._run(x.T, False).T)

    def apply_transposed(self, x: Array) -> Array:
        """A sweep to the tips."""
        return np.ascontiguousarray(self._run(x.T, True).T)


class Named(Elementary):
    """An expression with a name of its own."""

    def __init__(self, name: str, expression: Operator, pattern: Pattern | None = None) -> None:
        self.name, self.expression, self._pattern = name, expression, pattern
        self.range, self.domain = expression.range, expression.domain

    def apply(self, x: Array) -> Array:
        """By the expression."""
        return self.expression.apply(x)

    def apply_transposed(self, x: Array) -> Array:
        """By the expression."""
        return self.expression.T.apply(x)

    def realise(self, system: System, signal: Signal) -> Signal:
        """By the expression."""
        return self.expression.realise(system, signal)

    def realise_transposed(self, system: System, signal: Signal) -> Signal:
        """By the expression."""
        return self.expression.T.realise(system, signal)

    @property
    def structure(self) -> Structure:
        """That of the expression, or a pattern known to be narrower."""
        own = self.expression.structure
        return own if self._pattern is None else Structure(self._pattern, own.sweeps, own.products)

    @property
    def inv(self) -> Operator:
        """The inverse of the expression."""
        return self.expression.inv


class Inverse(Operator):
    """The inverse of any square expression, by solving its equations: see :mod:`catena.operators.systems`.

    With `checked`, it is a SingularError if these have no solution that is more than rounding.
    """

    def __init__(self, expression: Operator, checked: bool = True) -> None:
        _check_square(expression)
        self.expression, self.checked = expression, checked
        self.range, self.domain = expression.domain, expression.range

    @cached_property
    def _factors(self) -> tuple[Any, int]:
        system = System()
        output = self.expression.realise(system, system.unknown(self.range.total))
        matrix = system.matrix(output)
        outputs = self.range.total if self.checked else 0
        factors = _factored(matrix, str(self.expression), order="COLAMD", outputs=outputs)
        return factors, matrix.shape[0] - self.domain.total

    def apply(self, x: Array) -> Array:
        """Solve for the input that gives x."""
        factors, others = self._factors
        given = np.concatenate([np.zeros((others, x.shape[1])), x])
        return np.asarray(factors.solve(given)[: self.range.total])

    def realise(self, system: System, signal: Signal) -> Signal:
        """A new unknown that the expression turns into the signal."""
        y = system.unknown(self.range.total)
        system.require(self.expression.realise(system, y) + signal.scaled(-1.0))
        return y

    @property
    def structure(self) -> Structure:
        """Triangular if the expression is."""
        own = self.expression.structure
        one_way = own.pattern <= CAUSAL or own.T.pattern <= CAUSAL
        return Structure(own.pattern | {OWN} if one_way else ANYWHERE, own.sweeps, own.products)

    @property
    def T(self) -> Operator:
        """The inverse of the transpose."""
        return Inverse(self.expression.T, self.checked)

    @property
    def inv(self) -> Operator:
        """The expression."""
        return self.expression

    def text(self) -> tuple[str, int]:
        """The expression with a -1."""
        return f"{self.expression.bracketed(ATOM)}⁻¹", ATOM


def _check_square(expression: Operator) -> None:
    if expression.range != expression.domain:
        raise ShapeError(
            f"{expression} takes {expression.domain.name} to {expression.range.name}: only a map of a space to itself "
            "has an inverse"
        )


def _factored(matrix: Any, name: str, order: str, outputs: int | None = None) -> Any:
    """The factors of a sparse matrix. SingularError if its solutions, of which the first `outputs` count, say nothing.

    Pivots do not tell: what rounding leaves of zero may be anything beside them. So a few equations are solved with
    random right-hand sides, at the end where inputs of expressions are, and once more for what rounding changes: in
    elimination a digit of |L| |U|, in entries, which may be what rounding left of zero, one of the smaller of what is
    largest in the row and in the column. If that is large beside the solution, there is no inverse.
    """
    size = matrix.shape[0]
    if size == 0:
        return splu(matrix)
    rows, columns = (np.asarray(abs(matrix).max(axis=i).todense()).ravel() for i in (1, 0))
    if not (np.all(rows) and np.all(columns)):
        raise SingularError(f"{name} has no inverse here: a row or a column of its equations is zero")
    try:
        factors = sparse_factors(matrix, order)
    except RuntimeError as error:
        raise SingularError(f"{name} has no inverse here: {error}") from error
    if outputs == 0:
        return factors
    kept, rng, given = slice(outputs), np.random.default_rng(0), np.zeros((size, PROBES))
    given[-len(columns[kept]) :] = rng.choice([-1.0, 1.0], (len(columns[kept]), PROBES))
    solution = factors.solve(given * rows[:, None])
    signs = rng.choice([-1.0, 1.0], given.shape)
    touched = np.empty_like(solution)
    touched[factors.perm_c] = np.abs(solution)
    touched = (abs(factors.L) @ (abs(factors.U) @ touched))[factors.perm_r]
    entries = matrix.tocoo()
    entries.data = np.minimum(rows[entries.row], columns[entries.col])
    touched = touched + entries @ np.abs(solution)
    change = factors.solve(np.finfo(float).eps * signs * touched)
    off, whole = (np.linalg.norm((columns[:, None] * x)[kept], axis=0) for x in (change, solution))
    if np.any(off > UNSURE * whole):
        share = float(np.max(off / whole))
        raise SingularError(f"{name} has no inverse here: rounding alone changes what it gives by {share:.0e}")
    return factors
