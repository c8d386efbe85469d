"""Functions of users, written with NumPy, run on traced scalars: arrays of expressions that NumPy's functions know."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena import scalars
from catena.errors import UnsupportedError
from catena.simulation import traced_numbers as number
from catena.simulation.traced_numbers import Number, refused
from catena.trace.digest import digest
from catena.trace.graph import Expr, Graph

Array = npt.NDArray[Any]


def _elementwise(function: Any, count: int) -> Any:
    return np.frompyfunc(function, count, 1)


_OF_ONE: Mapping[str, Any] = {
    "sin": lambda x: scalars.sincos(x)[0],
    "cos": lambda x: scalars.sincos(x)[1],
    "tan": lambda x: scalars.sincos(x)[0] / scalars.sincos(x)[1],
    "sqrt": scalars.sqrt,
    "exp": scalars.exp,
    "log": scalars.log,
    "tanh": scalars.tanh,
    "sign": number.sign,
    "absolute": scalars.absolute,
    "fabs": scalars.absolute,
    "floor": scalars.floor,
    "ceil": lambda x: -scalars.floor(-x),
    "rint": scalars.nearest,
    "square": lambda x: x * x,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "arctan": lambda x: scalars.arctan2(x, 1.0),
    "deg2rad": lambda x: x * (math.pi / 180),
    "radians": lambda x: x * (math.pi / 180),
}
_UFUNCS: Mapping[str, Any] = {
    **{name: _elementwise(number.of_one(name, function), 1) for name, function in _OF_ONE.items()},
    **{
        name: _elementwise(function, 2)
        for name, function in {
            "add": number.ADD,
            "subtract": number.SUBTRACT,
            "multiply": number.MULTIPLY,
            "divide": number.DIVIDE,
            "power": number.power,
            "arctan2": number.function(scalars.arctan2),
            "minimum": number.extreme(scalars.minimum),
            "maximum": number.extreme(scalars.maximum),
            "less": number.LESS,
            "less_equal": number.LESS_EQUAL,
            "greater": number.GREATER,
            "greater_equal": number.GREATER_EQUAL,
            "equal": number.EQUAL,
            "not_equal": number.NOT_EQUAL,
            "bitwise_or": number.either,
            "bitwise_and": number.both,
            "bitwise_xor": number.one_alone,
            "logical_or": number.either,
            "logical_and": number.both,
            "logical_xor": number.one_alone,
        }.items()
    },
    "reciprocal": _elementwise(lambda x: number.DIVIDE(1.0, x), 1),
    "invert": _elementwise(number.negated, 1),
    "logical_not": _elementwise(lambda x: number.negated(x, wherever=True), 1),
}
"""NumPy's functions on traced numbers."""

_REDUCED = ("add", "multiply", "minimum", "maximum", "logical_or", "logical_and")
"""Those that numbers or truth values along an axis are taken together with: `sum`, `prod`, `min`, `any`, ..."""

_FUNCTIONS = frozenset(
    [
        "concatenate",
        "stack",
        "hstack",
        "vstack",
        "column_stack",
        "append",
        "reshape",
        "ravel",
        "transpose",
        "expand_dims",
        "squeeze",
        "broadcast_to",
        "broadcast_arrays",
        "sum",
        "prod",
        "dot",
        "inner",
        "outer",
        "cross",
        "min",
        "max",
        "amin",
        "amax",
        "any",
        "all",
        "copy",
        "roll",
        "flip",
        "flipud",
        "fliplr",
        "tile",
        "repeat",
        "split",
        "array_split",
        "take",
        "diag",
        "diagonal",
        "trace",
        "moveaxis",
        "swapaxes",
        "atleast_1d",
        "atleast_2d",
        "ndim",
        "shape",
        "size",
        "diff",
        "block",
    ]
)
"""Those of NumPy's functions that only move numbers about, or are written with the operations above."""


def _options(name: str, options: dict[str, Any], allowed: Sequence[str] = ()) -> dict[str, Any]:
    """Options that are given, without those that say nothing; TypeError for others than the allowed ones."""
    silent = {"where": (True,), "keepdims": (False,), "subok": (True,), "order": ("K",), "casting": ("same_kind",)}
    kept = {}
    for key, value in options.items():
        if value is None or value is _NO_VALUE or any(value is x or value == x for x in silent.get(key, ())):
            continue
        if key not in allowed:
            refused(f"{key}= of np.{name}")
        kept[key] = value
    return kept


_NO_VALUE = getattr(np, "_NoValue", None)


class Traced(np.ndarray):
    """An array of traced numbers and truth values."""

    library = np

    def __getitem__(self, index: Any) -> Any:
        return _wrapped(super().__getitem__(index))

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain, name = [_plain(x) for x in inputs], "power" if ufunc is np.float_power else ufunc.__name__
        if ufunc is np.matmul and method == "__call__":
            _options(name, options)
            return _wrapped(np.matmul(*[np.asarray(x, object) for x in plain]))
        if name == "logical_or" or name == "logical_and":
            options = {key: x for key, x in options.items() if key != "dtype" or x is not np.dtype(bool)}
        if name in _UFUNCS and method == "__call__":
            target = options.pop("out", None)
            _options(name, options)
            found = _UFUNCS[name](*plain)
            return _wrapped(found) if target is None else _written(target, found)
        if name in _REDUCED and method in ("reduce", "accumulate"):
            along = _options(name, options, ("axis", "keepdims"))
            along.setdefault("axis", options.get("axis", 0))
            if not plain[0].size:
                refused(f"np.{name} of no numbers")
            return _wrapped(getattr(_UFUNCS[name], method)(plain[0], **along))
        return refused(f"np.{name}" + ("" if method == "__call__" else f".{method}"))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name: str = function.__name__
        if function is np.where and len(args) == 3 and not kwargs:
            return _wrapped(_where(*[_plain(x) for x in args]))
        if function in _OWN:
            return _OWN[function](*args, **kwargs)
        if name not in _FUNCTIONS or getattr(np, name, None) is not function:
            return refused(f"np.{name}")
        known: Any = function
        return _wrapped(super().__array_function__(known, types, args, kwargs))

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Within bounds, either of which may be left out."""
        _options("clip", options)
        result = self if min is None else np.maximum(self, min)
        return result if max is None else np.minimum(result, max)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Rounded to so many digits after the point, as NumPy does it."""
        _options("round", {"out": out})
        if isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0:
            refused("rounding to tens")
        return np.rint(self * 10.0**decimals) / 10.0**decimals if decimals else np.rint(self)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """The mean of all numbers, or along an axis."""
        kept = _options("mean", {"dtype": dtype, "out": out, **options}, ("keepdims",))
        total = np.sum(self, axis=axis, **kept)
        return total / (self.size / max(np.size(total), 1))

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Sums of all numbers up to each."""
        _options("cumsum", {"dtype": dtype, "out": out})
        return np.add.accumulate(self.ravel() if axis is None else self, axis=axis or 0)

    def _refused(self, *given: Any, **options: Any) -> Any:
        """Methods that look at values, or change an array by them."""
        return refused("a method that looks at values")

    argmax = argmin = argsort = sort = searchsorted = nonzero = partition = argpartition = std = var = _refused
    choose = compress = put = itemset = tobytes = dump = dumps = tofile = byteswap = conj = conjugate = _refused


class Alone(Traced):
    """A traced number alone: as a number of NumPy's or Python's, `+=` makes another one."""


for _name in ("add", "sub", "mul", "truediv", "pow", "and", "or", "xor", "matmul"):
    setattr(Alone, f"__i{_name}__", getattr(operator, f"__{_name}__"))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    _options("clip", {"out": out, **{x: y for x, y in options.items() if x not in ("min", "max")}})
    low, high = options.get("min", a_min), options.get("max", a_max)
    return _as_traced(a).clip(None if low is _NO_VALUE else low, None if high is _NO_VALUE else high)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = _as_traced(x)
    if ord not in (None, 2) or (ord == 2 and axis is None and array.ndim != 1) or isinstance(axis, tuple):
        refused("this norm")
    return np.sqrt(np.sum(array * array, axis=axis, keepdims=keepdims))


def _array_equal(a1: Any, a2: Any) -> Any:
    first, second = _as_traced(a1), _as_traced(a2)
    return np.all(first == second) if first.shape == second.shape else False


def _rounded(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return _as_traced(a).round(decimals, out)


def _method(name: str) -> Any:
    return lambda a, *args, **kwargs: getattr(_as_traced(a), name)(*args, **kwargs)


def _filled(name: str, value: float) -> Any:
    """Arrays of the shape of another, filled with a number; of floats, as that one's are where it is called."""

    def like(a: Any, *given: Any, **options: Any) -> Any:
        fill = (float(number.value_of(given[0])),) if name == "full_like" and len(given) == 1 else (value,)
        if _options(name, options) or len(given) > (name == "full_like"):
            refused(f"options of np.{name}")
        return np.full(np.shape(a), fill[0], object).view(Traced)

    return like


_OWN: dict[Any, Callable[..., Any]] = {
    np.clip: _clip,
    np.linalg.norm: _norm,
    np.array_equal: _array_equal,
    np.round: _rounded,
    np.around: _rounded,
}
_OWN |= {np.mean: _method("mean"), np.cumsum: _method("cumsum"), np.full_like: _filled("full_like", 0.0)}
_OWN |= {np.zeros_like: _filled("zeros_like", 0.0), np.ones_like: _filled("ones_like", 1.0)}
"""Functions that are written here anew, with exactly the arguments that they serve."""

_where = np.frompyfunc(number.chosen, 3, 1)


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Traced) else x


def _as_traced(x: Any) -> Traced:
    return np.asarray(_plain(x), object).view(Traced)


def _written(target: Any, found: Any) -> Any:
    """A result written into an array of traced numbers, as `+=` does."""
    (array,) = target
    if not isinstance(array, np.ndarray) or array.dtype != object:
        refused("out= of numbers")
    array[...] = found
    return array


def _wrapped(x: Any) -> Any:
    """Arrays of traced numbers, and such numbers alone, as traced arrays; everything else as it is."""
    if isinstance(x, number.TRACED):
        alone = np.empty((), object)
        alone[()] = x
        alone.flags.writeable = False
        return alone.view(Alone)
    if isinstance(x, np.ndarray) and x.dtype == object and not isinstance(x, Traced):
        return x.view(Traced)
    if isinstance(x, list | tuple):
        return type(x)(map(_wrapped, x)) if type(x) in (list, tuple) else x
    return x


def traced(values: Iterable[Any]) -> Traced:
    """Scalars as an array that NumPy's functions take, and that nothing can be written into."""
    numbers = [Number(x) if isinstance(x, Expr) else float(x) for x in values]
    array = np.empty(len(numbers), object)
    array[:] = numbers
    array.flags.writeable = False
    return array.view(Traced)


def alone(value: Any) -> Any:
    """A scalar as an array without dimensions; where functions are called it is a float of Python's."""
    return _wrapped(Number(value, python=True)) if isinstance(value, Expr) else value


def numbers_of(result: Any, shape: tuple[int, ...], what: str) -> list[Any]:
    """What a function of the user gave, as a list of expressions and numbers; TypeError if it has another shape."""
    array = np.asarray(_plain(result), object)
    if array.shape != shape:
        raise TypeError(f"{what} gave an array of shape {array.shape}, expected {shape}")
    try:
        return [number.value_of(x) for x in array.ravel().tolist()]
    except TypeError as error:
        raise TypeError(f"{what} gave something else than numbers ({error})") from None


def flag_of(result: Any, what: str) -> Any:
    """One truth value that a function of the user gave, as the number one or zero; numbers hold from zero on."""
    array = np.asarray(_plain(result), object)
    value = array.item() if not array.shape else None
    if isinstance(value, number.Truth | bool | np.bool_):
        return number.value_of(value)
    (found,) = numbers_of(array, (), what)
    return scalars.where(found >= 0, 1.0, 0.0) if isinstance(found, Expr) else float(found >= 0)


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
