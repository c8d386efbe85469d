"""Leading dimensions of the arrays of a map: each array has all of them, or none if it is the same for all samples.

The functions here serve arrays of any package that has NumPy's `shape`, `ndim` and `reshape`, and is told how it
broadcasts and moves axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from catena.arguments.arrays import Port, Shape
from catena.bridges.maps import Map

Broadcast = Callable[[Any, Shape], Any]


def leading(of: Map, shapes: Sequence[Shape]) -> Shape:
    """The leading dimensions of arrays each of which has all or none."""
    return max((s[: len(s) - p.rank] for s, p in zip(shapes, of.inputs, strict=True)), key=len)


def spread(array: Any, port: Port, dimensions: Shape, broadcast: Broadcast) -> Any:
    """The array with all leading dimensions, or as it is if it has none."""
    return array if array.ndim == port.rank else broadcast(array, (*dimensions, *port.shape))


def with_one_more(
    of: Map, arrays: Sequence[Any], axes: Sequence[int | None], moveaxis: Callable[..., Any], broadcast: Broadcast
) -> list[Any]:
    """The arrays with one more leading dimension, along their axes; those without any stay as they are."""
    size = next(x.shape[axis] for x, axis in zip(arrays, axes, strict=True) if axis is not None)
    front = [x if axis is None else moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)]
    before = leading(of, [x.shape if axis is None else x.shape[1:] for x, axis in zip(front, axes, strict=True)])
    found = []
    for x, axis, port in zip(front, axes, of.inputs, strict=True):
        if axis is not None and x.ndim - 1 == port.rank:
            x = x.reshape((size, *[1] * len(before), *port.shape))
        found.append(spread(x, port, (size, *before), broadcast))
    return found


def summed(array: Any, ndim: int) -> Any:
    """The gradient by an array with so many dimensions: the sum over samples if it is the same for all of them."""
    return array.sum(tuple(range(array.ndim - ndim))) if array.ndim > ndim else array
