"""Operators as lazy expressions: `@` composes them, nothing is computed before they meet a vector.

Applied to a vector, every expression costs O(n): it is a series of sparse products and of sweeps, one for each φ or ψ.
What is printed is the formula as it is computed: evaluated on dense matrices it gives the operator's matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, SupportsFloat, cast, overload

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.errors import ShapeError, SingularError
from catena.operators.structure import MEMORYLESS, Space, Structure
from catena.operators.systems import Signal, System

Array = npt.NDArray[Any]

ANY = Space("any", -1)
"""The space of an identity that has not met another operator yet."""

SUM, PRODUCT, ATOM = 0, 1, 2
"""How tightly the parts of a formula hold together."""


class Operator(ABC):
    """A linear map from vectors of the space `domain` to those of `range`: flat arrays, or columns of a matrix.

    With a batch of configurations, vectors are (*batch, size), or any array that broadcasts to it, and matrices
    (*batch, size, k); so are the results. Vectors may be complex. `x @ operator` takes rows: vectors of `range`, or
    (*batch, k, size). `np.asarray` gives the whole matrix, and SciPy's `aslinearoperator` takes operators as they are.
    """

    domain: Space
    range: Space

    __array_ufunc__ = None  # so that NumPy leaves `array @ operator` and `number * operator` to the operator
    dtype = np.dtype(np.float64)

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """What the operator makes of the columns of x."""

    @abstractmethod
    def realise(self, system: System, signal: Signal) -> Signal:
        """The same as equations: what comes out when `signal` goes in, with new unknowns and equations in `system`."""

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """The direction along the tree, and the cost."""

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The transpose."""

    @property
    def inv(self) -> Operator:
        """The inverse. SingularError, when it meets a vector at the latest, if there is none."""
        from catena.operators.elementary import Inverse

        return Inverse(self)

    @abstractmethod
    def text(self) -> tuple[str, int]:
        """The formula, and how tightly it holds together."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self.range.size, self.domain.size

    def dense(self) -> Array:
        """The whole matrix, one for each configuration of a batch. O(n²) time and memory."""
        if self.domain is ANY:
            raise ShapeError(
                f"{self} fits any space, so its matrix has no size; compose it with another operator first"
            )
        units = np.eye(self.domain.size)
        return self._on_columns(np.broadcast_to(units, (*self.domain.batch, *units.shape)))

    @overload
    def __matmul__(self, other: Operator) -> Operator: ...
    @overload
    def __matmul__(self, other: npt.ArrayLike) -> Array: ...
    def __matmul__(self, other: Operator | npt.ArrayLike) -> Operator | Array:
        if isinstance(other, Operator):
            return Product.of(self, other)
        if isinstance(other, np.ndarray | np.complexfloating | list | tuple) and _is_complex(other):
            whole = np.asarray(other)
            return np.asarray((self @ whole.real) + 1j * (self @ whole.imag))
        x = as_floats(other, f"what {self} is applied to")
        if self.domain is ANY and x.ndim:
            return self.apply(x)
        batch, size = self.domain.batch, self.domain.size
        columns = x.ndim == len(batch) + 2
        try:
            wide = np.broadcast_to(x, (*batch, size, x.shape[-1]) if columns else (*batch, size))
        except (ValueError, IndexError):
            wide = None
        if wide is None or x.ndim == 0 or x.shape[-1 - columns] != size:
            before = "".join(f"{number}, " for number in batch)
            raise ShapeError(
                f"{self} takes vectors of {self.domain.name}, shape ({before}{size}{',' if not batch else ''}) or "
                f"({before}{size}, k); found shape {x.shape}"
            )
        return self._on_columns(wide) if columns else self._on_columns(wide[..., None])[..., 0]

    def __rmatmul__(self, other: npt.ArrayLike) -> Array:
        x = np.asarray(other)
        rows = x.ndim == len(self.range.batch) + 2
        turned = self.T @ (np.swapaxes(x, -1, -2) if rows else x)
        return np.swapaxes(turned, -1, -2) if rows else turned

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self.dense().astype(self.dtype if dtype is None else dtype, copy=False)

    def matvec(self, x: npt.ArrayLike) -> Array:
        """The operator times x, as SciPy's linear operators have it; ShapeError for batches, which are no matrix."""
        if self.domain.batch:
            raise ShapeError(
                f"{self} of a batch of shape {self.domain.batch} is a matrix for each configuration, not one; ask for "
                "the operators of one configuration"
            )
        return self @ x

    def rmatvec(self, x: npt.ArrayLike) -> Array:
        """The transpose times x."""
        return self.T.matvec(x)

    matmat, rmatmat = matvec, rmatvec

    def _on_columns(self, x: Array) -> Array:
        """What the operator makes of the columns of x (*batch, size, k)."""
        flat = self.apply(x.reshape(self.domain.total, x.shape[-1]))
        return flat.reshape(*self.range.batch, self.range.size, x.shape[-1])

    def __add__(self, other: Operator | int) -> Operator:
        if _is_zero(other):  # what sum() starts with
            return self
        return Sum.of(self, other) if isinstance(other, Operator) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Operator) -> Operator:
        return Sum.of(self, -other) if isinstance(other, Operator) else NotImplemented

    def __neg__(self) -> Operator:
        return Scaled(-1.0, self)

    def __mul__(self, factor: SupportsFloat) -> Operator:
        if np.ndim(cast("Any", factor)):
            raise ShapeError(
                f"{self} is applied with @; * takes one number, found shape {np.shape(cast('Any', factor))}"
            )
        return Scaled(float(factor), self) if _is_number(factor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: SupportsFloat) -> Operator:
        return Scaled(1.0 / float(divisor), self) if _is_number(divisor) else NotImplemented

    def __str__(self) -> str:
        return self.text()[0]

    def __repr__(self) -> str:
        size = "" if self.domain is ANY else f", {self.shape[0]} x {self.shape[1]}"
        return f"<{self}: {self.domain.name} -> {self.range.name}{size}; {self.structure}>"

    def bracketed(self, tightness: int) -> str:
        """The formula, in brackets where it would fall apart."""
        text, own = self.text()
        return text if own >= tightness else f"({text})"


class Identity(Operator):
    """I, of whatever space it is used in."""

    domain = range = ANY

    def apply(self, x: Array) -> Array:
        """x itself."""
        return x

    def realise(self, system: System, signal: Signal) -> Signal:
        """The signal itself."""
        return signal

    @property
    def structure(self) -> Structure:
        """Memoryless and free."""
        return Structure(MEMORYLESS)

    @property
    def T(self) -> Operator:
        """I."""
        return self

    @property
    def inv(self) -> Operator:
        """I."""
        return self

    def text(self) -> tuple[str, int]:
        """I."""
        return "I", ATOM


class Product(Operator):
    """The left operator after the right one."""

    def __init__(self, left: Operator, right: Operator) -> None:
        self.left, self.right = left, right
        self.range, self.domain = left.range, right.domain

    @classmethod
    def of(cls, left: Operator, right: Operator) -> Operator:
        """The product, where the identity leaves no trace but the number in front of it."""
        for one, other in ((left, right), (right, left)):
            if one.domain is ANY:
                return other if isinstance(one, Identity) else Scaled(_multiple(one), other)
        if left.domain != right.range:
            raise ShapeError(
                f"{left} takes vectors of {left.domain.name}, but {right} gives vectors of {right.range.name}"
            )
        return cls(left, right)

    def apply(self, x: Array) -> Array:
        """Right, then left."""
        return self.left.apply(self.right.apply(x))

    def realise(self, system: System, signal: Signal) -> Signal:
        """Right, then left."""
        return self.left.realise(system, self.right.realise(system, signal))

    @property
    def structure(self) -> Structure:
        """One after the other."""
        return self.left.structure @ self.right.structure

    @property
    def T(self) -> Operator:
        """The transposes in the opposite order."""
        return Product(self.right.T, self.left.T)

    @property
    def inv(self) -> Operator:
        """The inverses in the opposite order, if both factors are square."""
        square = self.left.range == self.left.domain
        return Product(self.right.inv, self.left.inv) if square else super().inv

    def text(self) -> tuple[str, int]:
        """Side by side."""
        return f"{self.left.bracketed(PRODUCT)} {self.right.bracketed(PRODUCT)}", PRODUCT


class Sum(Operator):
    """Two operators side by side."""

    def __init__(self, left: Operator, right: Operator) -> None:
        self.left, self.right = left, right
        sized = right if left.domain is ANY else left
        self.range, self.domain = sized.range, sized.domain

    @classmethod
    def of(cls, left: Operator, right: Operator) -> Operator:
        """The sum of operators between the same spaces; an identity takes the space of the other, which must be one."""
        for a, b in ((left, right), (right, left)):
            fits = (
                b.domain == b.range
                if a.domain is ANY
                else b.domain is ANY or (a.domain, a.range) == (b.domain, b.range)
            )
            if not fits:
                raise ShapeError(f"{left} and {right} cannot be added: {_spaces(left)} and {_spaces(right)}")
        if left.domain is ANY and right.domain is ANY:  # so that whatever fits any space is a multiple of I
            return Scaled(_multiple(left) + _multiple(right), Identity())
        return cls(left, right)

    def apply(self, x: Array) -> Array:
        """Both, added."""
        total: Array = self.left.apply(x) + self.right.apply(x)
        return total

    def realise(self, system: System, signal: Signal) -> Signal:
        """Both, added."""
        return self.left.realise(system, signal) + self.right.realise(system, signal)

    @property
    def structure(self) -> Structure:
        """Both."""
        return self.left.structure + self.right.structure

    @property
    def T(self) -> Operator:
        """The sum of the transposes."""
        return Sum(self.left.T, self.right.T)

    def text(self) -> tuple[str, int]:
        """With a plus, or a minus."""
        left, right, sign = self.left.bracketed(SUM), self.right, "+"
        if isinstance(right, Scaled) and right.factor < 0:
            right, sign = right.opposite, "-"
        return f"{left} {sign} {right.bracketed(SUM if sign == '+' else PRODUCT)}", SUM


class Scaled(Operator):
    """A number times an operator."""

    def __init__(self, factor: float, inner: Operator) -> None:
        self.factor, self.inner = factor, inner
        self.range, self.domain = inner.range, inner.domain

    def apply(self, x: Array) -> Array:
        """The inner operator's result, scaled."""
        scaled: Array = self.factor * self.inner.apply(x)
        return scaled

    def realise(self, system: System, signal: Signal) -> Signal:
        """The inner operator's result, scaled."""
        return self.inner.realise(system, signal).scaled(self.factor)

    @property
    def structure(self) -> Structure:
        """That of the inner operator."""
        return self.inner.structure

    @property
    def T(self) -> Operator:
        """The transpose, scaled."""
        return Scaled(self.factor, self.inner.T)

    @property
    def inv(self) -> Operator:
        """The inverse, scaled."""
        if self.factor == 0:
            raise SingularError(f"{self} has no inverse: the number in front is zero")
        return Scaled(1.0 / self.factor, self.inner.inv)

    @property
    def opposite(self) -> Operator:
        """The same with the other sign."""
        return self.inner if self.factor == -1 else Scaled(-self.factor, self.inner)

    def text(self) -> tuple[str, int]:
        """The number in front, with all its digits; with a minus it holds no tighter than a sum."""
        short = f"{self.factor:g}"
        number = short if float(short) == self.factor else repr(self.factor)
        in_front = "-" if self.factor == -1 else f"{number} "
        return f"{in_front}{self.inner.bracketed(PRODUCT)}", SUM if self.factor < 0 else PRODUCT


def _multiple(operator: Operator) -> float:
    """The number c of c I: the only operators that fit any space."""
    return operator.factor * _multiple(operator.inner) if isinstance(operator, Scaled) else 1.0


def _is_number(value: Any) -> bool:
    """Whether an operator can be multiplied by it: a real number, Python's or NumPy's, or an array of no dimension."""
    return not isinstance(value, Operator) and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiub"


def _is_zero(value: Any) -> bool:
    return _is_number(value) and cast("float", value) == 0


def _spaces(operator: Operator) -> str:
    return f"{operator.domain.name} -> {operator.range.name}"


def _is_complex(x: Any) -> bool:
    """Whether these are complex numbers; what are no numbers at all is refused elsewhere, by name."""
    try:
        return bool(np.iscomplexobj(x))
    except ValueError:
        return False
