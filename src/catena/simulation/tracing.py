"""Functions of users, written with NumPy, run on traced scalars: arrays of expressions that NumPy's functions know."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena import scalars
from catena.errors import UnsupportedError, kind_of
from catena.trace.graph import LEAF, Comparison, Expr, Graph, live

Array = npt.NDArray[Any]


def _elementwise(function: Any) -> Any:
    return np.frompyfunc(function, len(inspect.signature(function).parameters), 1)


_UFUNCS: Mapping[str, Any] = {
    name: _elementwise(function)
    for name, function in {
        "sin": lambda x: scalars.sincos(x)[0],
        "cos": lambda x: scalars.sincos(x)[1],
        "tan": lambda x: scalars.sincos(x)[0] / scalars.sincos(x)[1],
        "sqrt": lambda x: scalars.sqrt(x),
        "exp": lambda x: scalars.exp(x),
        "log": lambda x: scalars.log(x),
        "tanh": lambda x: scalars.tanh(x),
        "arctan2": lambda y, x: scalars.arctan2(y, x),
        "minimum": lambda x, y: scalars.minimum(x, y),
        "maximum": lambda x, y: scalars.maximum(x, y),
        "sign": lambda x: scalars.sign(x),
        "absolute": lambda x: scalars.absolute(x),
        "floor": lambda x: scalars.floor(x),
        "rint": lambda x: scalars.nearest(x),
        "square": lambda x: x * x,
        "reciprocal": lambda x: 1.0 / x,
        "power": lambda x, n: _power(x, n),
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
        "bitwise_or": lambda x, y: _truth(x) + _truth(y) > 0,
        "bitwise_and": lambda x, y: _truth(x) * _truth(y) > 0,
        "invert": lambda x: _truth(x) <= 0,
    }.items()
}
"""NumPy's functions on traced scalars; arithmetic works by itself."""

_UFUNCS = {
    **_UFUNCS,
    "logical_or": _UFUNCS["bitwise_or"],
    "logical_and": _UFUNCS["bitwise_and"],
    "logical_not": _UFUNCS["invert"],
}
_REDUCED = ("minimum", "maximum", "logical_or", "logical_and")
"""Those that numbers or comparisons along an axis are taken together with: `min`, `max`, `any`, `all`."""


def _truth(x: Any) -> Any:
    """A comparison as a number: one if it holds, otherwise zero."""
    return scalars.where(x, 1.0, 0.0) if isinstance(x, Comparison) else float(bool(x))


def _power(x: Any, n: Any) -> Any:
    if not isinstance(n, int | float) or n != int(n) or not 0 <= n <= 64:
        raise TypeError("of traced numbers, powers can be taken only to whole numbers from 0 to 64")
    result, base, left = 1.0, x, int(n)
    while left:
        result = result * base if left & 1 else result
        base, left = (base * base, left >> 1) if left > 1 else (base, 0)
    return result


class Traced(np.ndarray):
    """An array of expressions."""

    library = np

    def __getitem__(self, index: Any) -> Any:
        return _wrapped(super().__getitem__(index))

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [_plain(x) for x in inputs]
        if ufunc.__name__ in _UFUNCS and method == "__call__":
            return _wrapped(_UFUNCS[ufunc.__name__](*plain))
        if ufunc.__name__ in _REDUCED and method == "reduce":
            along = {name: options[name] for name in ("axis", "keepdims") if name in options}
            return _wrapped(_UFUNCS[ufunc.__name__].reduce(plain[0], **along))
        if options.get("out") is not None:
            options["out"] = tuple(_plain(x) for x in options["out"])
        return _wrapped(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3 and not kwargs:
            return _wrapped(_where(*[_plain(x) for x in args]))
        if function is np.clip and not kwargs and isinstance(args[0], Traced):
            return args[0].clip(*args[1:])
        return _wrapped(super().__array_function__(function, types, args, kwargs))

    def clip(self, low: Any = None, high: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Within bounds, either of which may be left out."""
        result = self if low is None else np.maximum(self, low)
        return result if high is None else np.minimum(result, high)


_where = np.frompyfunc(scalars.where, 3, 1)


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Traced) else x


def _wrapped(x: Any) -> Any:
    """Arrays of expressions, and expressions alone, as traced arrays; everything else as it is."""
    if isinstance(x, Expr | Comparison):
        alone = np.empty((), object)
        alone[()] = x
        return alone.view(Traced)
    if isinstance(x, np.ndarray) and x.dtype == object and not isinstance(x, Traced):
        return x.view(Traced)
    return x


def traced(values: Iterable[Any]) -> Traced:
    """Scalars as an array that NumPy's functions take."""
    numbers = list(values)
    array = np.empty(len(numbers), object)
    array[:] = numbers
    return array.view(Traced)


def alone(value: Any) -> Any:
    """A scalar as an array without dimensions."""
    return _wrapped(value) if isinstance(value, Expr) else value


def numbers_of(result: Any, shape: tuple[int, ...], what: str) -> list[Any]:
    """What a function of the user gave, as a list of expressions and numbers; TypeError if it has another shape."""
    array = np.asarray(_plain(result), object)
    if array.shape != shape:
        raise TypeError(f"{what} gave an array of shape {array.shape}, expected {shape}")
    found = [x.item() if isinstance(x, np.ndarray | np.generic) else x for x in array.ravel().tolist()]
    for x in found:
        if not isinstance(x, Expr | int | float):
            raise TypeError(f"{what} gave {kind_of(x)}, expected numbers")
    return [x if isinstance(x, Expr) else float(x) for x in found]


def flag_of(result: Any, what: str) -> Any:
    """One truth value that a function of the user gave, as the number one or zero; numbers hold from zero on."""
    array = np.asarray(_plain(result), object)
    value = array.item() if not array.shape else None
    if isinstance(value, Comparison | bool | np.bool_):
        return _truth(value)
    (number,) = numbers_of(array, (), what)
    return scalars.where(number >= 0, 1.0, 0.0) if isinstance(number, Expr) else float(number >= 0)


def digest(results: Sequence[Any]) -> str:
    """What tells expressions apart, the same in every process."""
    state, number = hashlib.blake2b(digest_size=16), dict[int, int]()

    def name(x: Any) -> str:
        return f"#{number[x.id]}" if isinstance(x, Expr) else repr(x)

    for node in live(results):
        number[node.id] = len(number)
        state.update(f"{node.op}({', '.join(map(repr if node.op == LEAF else name, node.args))});".encode())
    state.update(", ".join(map(name, results)).encode())
    return state.hexdigest()


def arity(function: Callable[..., Any], most: int) -> int:
    """How many positional arguments a function takes, at most so many; refused if it insists on more."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return most
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return most
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.default is p.empty for p in placed[most:]):
        shown, given = ", ".join(p.name for p in placed), getattr(function, "__name__", "the function")
        raise UnsupportedError(
            f"{given}({shown}) wants {len(placed)} arguments, there are {most}; leave the others out"
        )
    return min(most, len(placed))


__all__ = ["Graph", "Traced", "alone", "arity", "digest", "flag_of", "numbers_of", "traced"]
