"""The factors of a mass matrix, M = U D Uᵀ, as operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.functions.recipes import columns
from catena.mass_matrix.formulation import OWN
from catena.mass_matrix.prepared import Prepared
from catena.mass_matrix.vectors import hint, product, product_from_the_left

if TYPE_CHECKING:
    from catena.mass_matrix.matrix import MassMatrix

Array = npt.NDArray[Any]


class Factors(NamedTuple):
    """M = U D Uᵀ."""

    U: Upper
    D: BlockDiagonal


def _times(factor: Factor, given: tuple[str, ...]) -> Function:
    found: Function = getattr(factor._compiled.formulation, f"{factor._action}_times")
    return found


def _solve(factor: Factor, given: tuple[str, ...]) -> Function:
    found: Function = getattr(factor._compiled.formulation, f"{factor._action}_solve")
    return found


def _factor_of(make: Callable[..., MassMatrix], action: str, *arrays: Any) -> Factor:
    """A factor for a chunk of configurations."""
    found: Factor = getattr(make(*arrays).factors(), action)
    return found


def _again(matrix: MassMatrix, action: str) -> Factor:
    """A factor of a matrix that was copied or pickled."""
    U, D = matrix.factors()
    return {"U": U, "Ut": U.T, "D": D}[action]


class Factor(Answering):
    """What both factors have in common."""

    __slots__ = ("_action", "_matrix")
    __array_ufunc__ = None
    _own_names: ClassVar = OWN
    _compiled: Prepared

    def __init__(self, matrix: MassMatrix, action: str) -> None:
        self._matrix, self._action = matrix, action
        self._compiled, self._own = matrix._compiled.part(action), matrix._own

    def __reduce__(self) -> tuple[Any, ...]:
        """What is pickled: the matrix, whose factors are computed again."""
        return _again, (self._matrix, self._action)

    def _anew(self) -> tuple[Any, Callable[..., Factor], list[tuple[Any, Port]]]:
        root, make, own = self._matrix._anew()
        return root, partial(_factor_of, make, self._action), own

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `dense()`: (..., nv, nv)."""
        return self._matrix.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """What it computes in."""
        return self._compiled.dtype

    @question(_times)
    def times(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The product with vectors x, (..., nv). O(n) for each."""

    @question(_solve)
    def solve(self, b: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The inverse times vectors b, (..., nv). O(n) for each."""

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """The product with vectors x (..., nv) or a matrix (..., nv, k). O(n) for each vector."""
        return product(f"{self._name} @ x", self.shape[-1], len(self.shape) - 1, self.times, x)

    def __rmatmul__(self, x: npt.ArrayLike) -> Array:
        """x times the factor, for vectors x (..., nv) or a matrix (..., k, nv). O(n) for each vector."""
        times = self.T.times
        return product_from_the_left(f"x @ {self._name}", self.shape[-1], len(self.shape) - 1, times, x)

    @property
    def T(self) -> Factor:
        """The transpose."""
        raise NotImplementedError

    def dense(self) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        compiled = self._compiled
        function = _times(self, ())

        def ask(chosen: Function, *arrays: Any) -> Any:
            return compiled.kernel(chosen, (), compiled.dtype, compiled.kernel_shape)(*arrays)

        own = [self._own[OWN[name]] for name in function.inputs if name in OWN]
        return columns(ask, function, self.shape[-1], *own)  # type: ignore[arg-type]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The matrix, (..., nv, nv). O(n²) time and memory."""
        if copy is False:
            raise ValueError("a factor of a MassMatrix holds no array that could be shared; leave copy out")
        matrix = self.dense()
        return matrix if dtype is None else matrix.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<factor {self._name} of the mass matrix of {self._matrix.robot.name!r}, {self.shape}>"

    @property
    def _name(self) -> str:
        return "U.T" if self._action == "Ut" else self._action

    @property
    def _dtype(self) -> Any:
        return self._compiled.dtype

    @property
    def _kernel_shape(self) -> str | None:
        return self._compiled.kernel_shape

    def _called(self, name: str) -> str:
        return f"{self._name}.{name}"

    def _hint(self, question: str, x: Any) -> str:
        return hint(question, self.shape[-1], x)


class Upper(Factor):
    """U, unit upper triangular, or its transpose, as an operator on vectors along the last dimension."""

    __slots__ = ()

    @property
    def T(self) -> Upper:
        """The transpose."""
        return Upper(self._matrix, "U" if self._action == "Ut" else "Ut")


class BlockDiagonal(Factor):
    """D, symmetric with a block for each joint, as an operator on vectors along the last dimension."""

    __slots__ = ()

    @property
    def T(self) -> BlockDiagonal:
        """The matrix itself, which is symmetric."""
        return self
