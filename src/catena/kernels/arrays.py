"""What a caller may hand to a kernel, checked and laid out as rows.

Samples are numbered along the broadcast leading dimensions in C order. An input is *direct* when row i lies at
``address + i * stride``; any other layout, byte order or type is copied piece by piece as the computation proceeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from catena.errors import ShapeError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Port:
    """An argument or result of a kernel: its name and the shape of one sample."""

    name: str
    shape: Shape

    @cached_property
    def rank(self) -> int:
        """Dimensions per sample."""
        return len(self.shape)

    @cached_property
    def width(self) -> int:
        """Elements per sample."""
        return math.prod(self.shape)


class Tile(NamedTuple):
    """The samples from number ``first`` on that ``array[box]`` holds, where ``box`` ends in an ellipsis."""

    box: tuple[Any, ...]
    first: int
    samples: int


def as_array(value: Any, port: Port, function: str) -> np.ndarray:
    """The argument as an array of real numbers whose last dimensions are the port's; shared, not copied."""
    if type(value) is not np.ndarray:
        try:
            value = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise ShapeError(f"{function}: {port.name} is not an array of numbers: {error}") from error
    if value.dtype.kind not in "fiub":
        raise ShapeError(f"{function}: {port.name} must hold real numbers, but its dtype is {value.dtype}")
    leading = value.ndim - port.rank
    if leading < 0 or value.shape[leading:] != port.shape:
        raise ShapeError(f"{function}: {port.name} must have shape {_expected(port)}, got {value.shape}")
    return value  # type: ignore[no-any-return]


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


def check_out(value: Any, port: Port, batch: Shape, dtype: np.dtype[Any], function: str) -> np.ndarray:
    """An array given to receive a result."""
    if not isinstance(value, np.ndarray):
        raise ShapeError(f"{function}: out for {port.name} must be a NumPy array, not {type(value).__name__}")
    if value.shape != batch + port.shape:
        raise ShapeError(f"{function}: out for {port.name} must have shape {batch + port.shape}, got {value.shape}")
    if value.dtype != dtype:
        raise ShapeError(f"{function}: out for {port.name} must have dtype {dtype}, got {value.dtype}")
    if not value.flags.writeable:
        raise ShapeError(f"{function}: out for {port.name} is read-only")
    return value


def row_stride(array: np.ndarray, batch: Shape, port: Port, dtype: np.dtype[Any]) -> int | None:
    """Elements from one row to the next if the array is direct for this batch, else None."""
    if array.dtype != dtype or not array.flags.aligned:
        return None
    leading = array.ndim - port.rank
    if array.flags.c_contiguous and array.shape[:leading] == batch:
        return port.width
    size = dtype.itemsize
    if _walk(array.shape[leading:], array.strides[leading:], size) is None:
        return None
    own = [0 if n == 1 else s for n, s in zip(array.shape[:leading], array.strides[:leading], strict=True)]
    stride = _walk(batch, (0,) * (len(batch) - leading) + tuple(own), None)
    return None if stride is None or stride % size else stride // size


def tiles(batch: Shape, rows: int) -> Iterator[Tile]:
    """Cut the batch into pieces of about ``rows`` samples that are boxes of the leading dimensions, in C order."""
    if not batch:
        yield Tile((...,), 0, 1)
        return
    inner = math.prod(batch[1:])
    if inner > rows:
        for i in range(batch[0]):
            for tile in tiles(batch[1:], rows):
                yield Tile((i, *tile.box), i * inner + tile.first, tile.samples)
        return
    step = max(1, rows // max(1, inner))
    for start in range(0, batch[0], step):
        stop = min(start + step, batch[0])
        yield Tile((slice(start, stop), ...), start * inner, (stop - start) * inner)


def _walk(shape: Shape, strides: Shape, stride: int | None) -> int | None:
    """The one stride in bytes with which C order walks these dimensions (``stride`` if given), or None."""
    expected = stride
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if expected is None:
                stride = expected = s
            if s != expected:
                return None
            expected *= n
    return stride or 0


def _expected(port: Port) -> str:
    return f"({', '.join(['...', *map(str, port.shape)])})"
