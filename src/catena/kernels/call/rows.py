"""Arrays as rows, one for each sample, and batches cut into pieces.

Samples are numbered along the broadcast leading dimensions in C order. An input is *direct* when row i lies at
``address + i * stride``; any other layout, byte order or type is copied piece by piece as the computation proceeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from catena.arguments.arrays import Port, Shape


class Tile(NamedTuple):
    """The samples from number ``first`` on that ``array[box]`` holds, where ``box`` ends in an ellipsis."""

    box: tuple[Any, ...]
    first: int
    samples: int


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
