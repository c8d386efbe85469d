"""The arrays of a call, checked: shapes, types, leading dimensions that broadcast, arrays for results."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from catena.errors import ShapeError, UnsupportedError, kind_of, shown

Shape = tuple[int, ...]

MOST_LEADING = 28
"""Leading dimensions that an argument may have: with what samples add, NumPy 1 and 2 can still broadcast them.

Kernels take one more, which recipes add for the columns of matrices."""


@dataclass(frozen=True)
class Port:
    """An argument or result of a kernel: its name, the shape of one sample, and whether it must be above zero."""

    name: str
    shape: Shape
    positive: bool = False

    @cached_property
    def rank(self) -> int:
        """Dimensions per sample."""
        return len(self.shape)

    @cached_property
    def width(self) -> int:
        """Elements per sample."""
        return math.prod(self.shape)


class Signature(NamedTuple):
    """What a question is called, what goes in and what comes out: enough to check the arguments of a call."""

    question: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    dtype: np.dtype[Any]

    def arguments(self, arrays: Sequence[Any], most_leading: int = MOST_LEADING) -> tuple[list[np.ndarray], Shape]:
        """The arguments as arrays of real numbers, and their common leading dimensions."""
        if len(arrays) != len(self.inputs):
            names = ", ".join(p.name for p in self.inputs)
            raise TypeError(f"{self.question} takes {len(self.inputs)} arrays ({names}), not {len(arrays)}")
        given = [as_array(a, p, self.question, most_leading) for a, p in zip(arrays, self.inputs, strict=True)]
        return given, batch_shape(given, self.inputs, self.question)

    def wanted(self, out: Any, batch: Shape) -> list[np.ndarray | None]:
        """The arrays to write to, None where a new one is to be made."""
        if out is None:
            return [None] * len(self.outputs)
        if len(self.outputs) == 1:
            (only,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
            return [check_out(only, self.outputs[0], batch, self.dtype, f"{self.question}: out")]
        if not isinstance(out, tuple) or len(out) != len(self.outputs):
            names = ", ".join(p.name for p in self.outputs)
            found = f"{len(out)}" if isinstance(out, tuple) else kind_of(out)
            raise ShapeError(f"{self.question}: out must be a tuple of arrays ({names}), got {found}")
        arrays = [
            None if o is None else check_out(o, p, batch, self.dtype, f"{self.question}: out for {p.name}")
            for o, p in zip(out, self.outputs, strict=True)
        ]
        given = [(p.name, o) for p, o in zip(self.outputs, arrays, strict=True) if o is not None]
        for (name, x), (other, y) in itertools.combinations(given, 2):
            if _share_memory(x, y):
                raise ShapeError(f"{self.question}: the arrays in out for {name} and {other} overlap; give two apart")
        return arrays

    def given_back(self, out: Any, results: Sequence[Any]) -> list[Any]:
        """The results, as the very arrays that were given for them where there are such."""
        given = out if isinstance(out, tuple) else (out,) * len(results)
        return [r if o is None else o for r, o in zip(results, given, strict=True)]


def as_samples(question: str, shapes: Mapping[str, Shape], values: Sequence[Any]) -> tuple[list[np.ndarray], Shape]:
    """Arguments as arrays of doubles, whose samples have these shapes, by name, and their common leading dimensions.

    Each array has all of these; what is broadcast is shared, not copied.
    """
    ports = tuple(Port(name, shape) for name, shape in shapes.items())
    given, batch = Signature(question, ports, (), np.dtype(float)).arguments(values)
    doubles = [x.astype(float, copy=False) for x in given]
    return [np.broadcast_to(x, batch + p.shape) for x, p in zip(doubles, ports, strict=True)], batch


def as_array(value: Any, port: Port, function: str, most_leading: int = MOST_LEADING) -> np.ndarray:
    """The argument as an array of real numbers whose last dimensions are the port's; shared, not copied."""
    array = value
    if type(value) is not np.ndarray:
        if is_chunked(value):
            raise UnsupportedError(
                f"{function}: {port.name} is a Dask array, which questions, rollout and simulate take, and this does "
                "not; give what its compute() gives, or map it over its blocks"
            )
        try:
            array = np.asarray(value)
        except ValueError as error:  # lists within lists that do not make an array
            uneven = ", whose rows differ in size" if isinstance(value, list | tuple) else ""
            raise ShapeError(
                f"{function}: {port.name} must have shape {_expected(port)}, got {shown(value)}{uneven}"
            ) from error
        except Exception as error:  # whatever the conversion of somebody's object raises
            raise ShapeError(f"{function}: {port.name} must hold real numbers, got {shown(value)}") from error
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{function}: {port.name} must hold real numbers, got {_numbers_of(value)}")
    leading = array.ndim - port.rank
    if leading < 0 or array.shape[leading:] != port.shape:
        raise wrong_shape(function, port, array.shape)
    if leading > most_leading:
        raise ShapeError(
            f"{function}: {port.name} must have at most {most_leading} leading dimensions, got {leading}; reshape it, "
            f"for example to {_example(port)}"
        )
    if port.positive:
        once = array[tuple(slice(1 if step == 0 else None) for step in array.strides)]  # of what is broadcast
        if not ((once > 0) & np.isfinite(once)).all():
            raise ShapeError(f"{function}: {port.name} must be finite and above zero, got {_worst(once)}")
    return array  # type: ignore[no-any-return]


def is_chunked(value: Any) -> bool:
    """Whether this is an array of Dask's, which is computed chunk by chunk."""
    dask = sys.modules.get("dask.array")
    return dask is not None and isinstance(value, dask.Array)


def wrong_shape(function: str, port: Port, shape: Shape) -> ShapeError:
    """The error for an argument whose last dimensions are not the port's."""
    return ShapeError(f"{function}: {port.name} must have shape {_expected(port)}, got {shape}")


def as_floats(value: Any, what: str) -> np.ndarray:
    """An argument of any shape as an array of doubles; shared, not copied, if it is one. `what` names it in errors.

    NumPy's own limits of dimensions differ from function to function.
    """
    if is_chunked(value):
        raise UnsupportedError(f"{what} is a Dask array, which is not taken here; give what its compute() gives")
    try:
        array = np.asarray(value)
    except Exception as error:  # whatever the conversion of somebody's object raises
        raise ShapeError(f"{what} must hold real numbers, got {shown(value)}") from error
    if array.dtype.kind not in "fiub":
        raise ShapeError(f"{what} must hold real numbers, got {_numbers_of(value)}")
    if array.ndim > MOST_LEADING + 2:
        raise ShapeError(f"{what} must have at most {MOST_LEADING + 2} dimensions, got {array.ndim}; reshape it")
    return array.astype(np.float64, copy=False)


def batch_shape(arrays: Sequence[np.ndarray], ports: Sequence[Port], function: str) -> Shape:
    """The common leading dimensions of the arguments, broadcast as NumPy does."""
    leading = [a.shape[: a.ndim - p.rank] for a, p in zip(arrays, ports, strict=True)]
    if leading.count(leading[0]) == len(leading):
        return leading[0]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        given = ", ".join(f"{p.name} {a.shape}" for a, p in zip(arrays, ports, strict=True))
        raise ShapeError(f"{function}: the leading dimensions of {given} do not broadcast together") from None


def check_out(given: Any, port: Port, batch: Shape, dtype: np.dtype[Any], what: str) -> np.ndarray:
    """An array given to receive a result, `what` in messages; of any class, whatever that says of itself."""
    if not isinstance(given, np.ndarray):
        raise ShapeError(f"{what} must be a NumPy array, not {type(given).__name__}")
    value: np.ndarray = given if type(given) is np.ndarray else np.ndarray.view(given, np.ndarray)
    if value.shape != batch + port.shape:
        raise ShapeError(f"{what} must have shape {batch + port.shape}, got {value.shape}")
    if value.dtype != dtype:
        raise ShapeError(f"{what} must have dtype {dtype}, got {value.dtype}")
    if not value.flags.writeable:
        raise ShapeError(f"{what} is read-only; give a copy of it")
    if not value.flags.c_contiguous and _overlaps_itself(value):
        raise ShapeError(f"{what} has elements that share their memory (strides {value.strides}); give a copy of it")
    return value


def _share_memory(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays have memory in common; yes where that is too hard to tell."""
    try:
        return np.shares_memory(x, y, max_work=10_000)  # type: ignore[arg-type]
    except Exception:  # NumPy's TooHardError, which has moved from one module to another
        return True


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements lie over each other, as where a dimension has the stride zero."""
    if not array.size:
        return False
    reach = array.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:  # dimensions may still be interlaced
            places = sum(np.ix_(*(np.arange(n) * s for s, n in zip(array.strides, array.shape, strict=True))))
            return bool((np.diff(np.sort(places, axis=None)) < array.itemsize).any())
        reach += stride * (size - 1)
    return False


def _numbers_of(value: Any) -> str:
    """What is given in place of real numbers, of arrays their dtype: that is what is wrong with them."""
    return f"an array of dtype {value.dtype}" if isinstance(value, np.ndarray) and value.ndim else shown(value)


def _worst(array: np.ndarray) -> str:
    """The first number of an array that is not finite and above zero."""
    worst = array[~((array > 0) & np.isfinite(array))][0]
    return f"{worst:g}" + (f" in an array of shape {array.shape}" if array.ndim else "")


def _example(port: Port) -> str:
    return f"({', '.join(['-1', *map(str, port.shape)])})"


def _expected(port: Port) -> str:
    return f"({', '.join(['...', *map(str, port.shape)])})"
