"""Numbers with slopes: functions written with NumPy, real or complex, differentiated as they run.

An array of numbers carries its derivatives by k parameters along, as one more axis at its end. What is computed with it
by arithmetic and NumPy's functions has the derivatives of the result. Arrays that users make of single numbers,
``np.array([[np.cos(q[0]), 0], ...])``, are arrays of objects, which :func:`collected` takes together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import UnsupportedError

Array = npt.NDArray[Any]

_SLOPES: dict[str, Callable[..., Any]] = {
    "negative": lambda x: -1.0,
    "positive": lambda x: 1.0,
    "sin": np.cos,
    "cos": lambda x: -np.sin(x),
    "tan": lambda x: 1 / np.cos(x) ** 2,
    "arcsin": lambda x: 1 / np.sqrt(1 - x * x),
    "arccos": lambda x: -1 / np.sqrt(1 - x * x),
    "arctan": lambda x: 1 / (1 + x * x),
    "sinh": np.cosh,
    "cosh": np.sinh,
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "exp": np.exp,
    "log": lambda x: 1 / x,
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "square": lambda x: 2 * x,
    "reciprocal": lambda x: -1 / (x * x),
}
"""Functions of one number, with their slopes."""

_PAIRS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "add": lambda x, y: (1.0, 1.0),
    "subtract": lambda x, y: (1.0, -1.0),
    "multiply": lambda x, y: (y, x),
    "divide": lambda x, y: (1 / y, -x / (y * y)),
    "arctan2": lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
    "hypot": lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y)),
    "power": lambda x, n: (n * x ** (n - 1), 0.0),
}
"""Functions of two numbers, with their slopes by both; powers are to constants."""

_MAT3 = {a + b: (i, j) for i, a in enumerate("xyz") for j, b in enumerate("xyz")}


class Sloped(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers `value` (...) with their derivatives `slope` (..., k)."""

    def __init__(self, value: npt.ArrayLike, slope: npt.ArrayLike) -> None:
        self.value, self.slope = np.asarray(value), np.asarray(slope)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """How many dimensions the numbers have."""
        return self.value.ndim

    @property
    def T(self) -> Sloped:
        """The transpose."""
        return Sloped(self.value.T, np.moveaxis(self.slope.T, 0, -1))

    @property
    def real(self) -> Sloped:
        """The real parts."""
        return Sloped(self.value.real, self.slope.real)

    @property
    def imag(self) -> Sloped:
        """The imaginary parts."""
        return Sloped(self.value.imag, self.slope.imag)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Sloped]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Sloped:
        places = np.arange(self.value.size).reshape(self.shape)[index]
        return Sloped(self.value[index], self.slope.reshape(-1, self.slope.shape[-1])[places])

    def __getattr__(self, name: str) -> Any:
        if name in _MAT3 and self.shape == (3, 3):
            return self[_MAT3[name]]
        if name in _SLOPES or name in ("conjugate", "absolute"):  # NumPy asks the objects of an array for these
            return lambda: getattr(np, name)(self)
        raise AttributeError(f"numbers with slopes have no {name!r}")

    def sum(self, axis: Any = None) -> Sloped:
        """The sum, of all numbers or along axes."""
        axes = range(self.ndim) if axis is None else np.atleast_1d(axis) % max(self.ndim, 1)
        return Sloped(self.value.sum(axis), self.slope.sum(tuple(int(i) for i in axes)))

    def trace(self) -> Sloped:
        """The trace of a matrix."""
        return Sloped(np.trace(self.value), np.trace(self.slope))

    def dot(self, other: Any) -> Any:
        """The product of matrices, or of vectors."""
        return self @ other

    def reshape(self, *shape: Any) -> Sloped:
        """The same numbers in another shape."""
        value = self.value.reshape(*shape)
        return Sloped(value, self.slope.reshape(*value.shape, -1))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc is np.add:
            return self.sum(options.get("axis", 0))
        if any(isinstance(x, np.ndarray) and x.dtype == object for x in inputs):
            inputs = tuple(collected(x) for x in inputs)
        if method != "__call__" or options:
            raise _unknown(f"np.{ufunc.__name__}.{method}")
        return _called(ufunc, [_sloped(x, self.slope.shape[-1]) for x in inputs])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = _FUNCTIONS.get(function.__name__)
        if known is None:
            raise _unknown(f"np.{function.__name__}")
        return known(*args, **kwargs)


def _called(ufunc: np.ufunc, x: Sequence[Sloped]) -> Sloped:
    name, values = ufunc.__name__, [y.value for y in x]
    if name == "matmul":
        return _product(x[0], x[1])
    result = ufunc(*values)
    if name == "conjugate":
        return Sloped(result, x[0].slope.conjugate())
    if name == "absolute":
        unit = values[0] / result
        return Sloped(result, (unit.conjugate()[..., None] * x[0].slope).real)
    if name in _SLOPES:
        return Sloped(result, np.asarray(_SLOPES[name](values[0]))[..., None] * x[0].slope)
    if name not in _PAIRS or (name == "power" and x[1].slope.any()):
        raise _unknown(f"np.{name}")
    slopes = _PAIRS[name](*values)
    parts = [np.asarray(s)[..., None] * y.slope for s, y in zip(slopes, _alike(x, result.ndim), strict=True)]
    return Sloped(result, parts[0] + parts[1])


def _alike(x: Sequence[Sloped], ndim: int) -> list[Sloped]:
    """The same with as many dimensions, so that slopes broadcast as numbers do."""
    return [y.reshape((1,) * (ndim - y.ndim) + y.shape) for y in x]


def _product(x: Sloped, y: Sloped) -> Sloped:
    left = np.stack([d @ y.value for d in np.moveaxis(x.slope, -1, 0)], axis=-1)
    right = np.stack([x.value @ d for d in np.moveaxis(y.slope, -1, 0)], axis=-1)
    return Sloped(x.value @ y.value, left + right)


def _einsum(subscripts: str, *operands: Any) -> Sloped:
    size = next(x.slope.shape[-1] for x in operands if isinstance(x, Sloped))
    x = [_sloped(y, size) for y in operands]
    values = [y.value for y in x]
    columns = [
        sum(np.einsum(subscripts, *values[:i], y.slope[..., j], *values[i + 1 :]) for i, y in enumerate(x))
        for j in range(size)
    ]
    return Sloped(np.einsum(subscripts, *values), np.stack(columns, axis=-1))


def _inverse(x: Sloped) -> Sloped:
    inverse = np.linalg.inv(x.value)
    return Sloped(inverse, -np.stack([inverse @ d @ inverse for d in np.moveaxis(x.slope, -1, 0)], axis=-1))


def _determinant(x: Sloped) -> Sloped:
    size = np.linalg.det(x.value)
    return Sloped(size, size * np.einsum("ji,ijk->k", np.linalg.inv(x.value), x.slope))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, axis=None: x.sum(axis),
    "trace": lambda x: x.trace(),
    "transpose": lambda x: x.T,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "reshape": lambda x, *shape: x.reshape(*shape),
    "ravel": lambda x: x.reshape(-1),
    "dot": lambda x, y: x @ y,
    "einsum": _einsum,
    "inv": _inverse,
    "det": _determinant,
    "stack": lambda x, axis=0: _stacked(list(x), axis),
    "array": lambda x: collected(x),
}
"""NumPy's other functions."""


def _stacked(x: list[Any], axis: int) -> Sloped:
    size = next(y.slope.shape[-1] for y in x if isinstance(y, Sloped))
    parts = [_sloped(y, size) for y in x]
    at = axis % (parts[0].ndim + 1)
    return Sloped(np.stack([y.value for y in parts], at), np.stack([y.slope for y in parts], at))


def _sloped(x: Any, size: int) -> Sloped:
    """Numbers as numbers with slopes, which are zero if they had none."""
    if isinstance(x, Sloped):
        return x
    value = np.asarray(x)
    return Sloped(value, np.zeros((*value.shape, size)))


def collected(x: Any, size: int | None = None) -> Any:
    """An array of objects, of which some have slopes, as one array with slopes; lists likewise."""
    if isinstance(x, Sloped):
        return x
    array = np.asarray(x)
    if array.dtype != object:
        return x if size is None else _sloped(x, size)
    entries = array.ravel().tolist()
    size = next(y.slope.shape[-1] for y in entries if isinstance(y, Sloped))
    parts = [_sloped(y, size) for y in entries]
    return Sloped(
        np.array([y.value[()] for y in parts]).reshape(array.shape),
        np.array([y.slope for y in parts]).reshape(*array.shape, size),
    )


def _unknown(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} has no slope here: expected arithmetic, products of matrices, np.sum, np.trace, np.einsum, "
        f"np.linalg.inv, np.linalg.det, or one of np.{', np.'.join(sorted({*_SLOPES, *_PAIRS}))}"
    )
