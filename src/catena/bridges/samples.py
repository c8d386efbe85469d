"""Leading dimensions of the arrays of a map: each array has all of them, or none if it is the same for all samples.

The functions here serve arrays of any package that has NumPy's `shape`, `ndim` and `reshape`, and is told how it
broadcasts and moves axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from catena.arguments.arrays import Shape
from catena.bridges.maps import Map

Broadcast = Callable[[Any, Shape], Any]


def leading(of: Map, shapes: Sequence[Shape]) -> Shape:
    """The leading dimensions of arrays each of which has all or none."""
    return max((s[: len(s) - p.rank] for s, p in zip(shapes, of.inputs, strict=True)), key=len)


def common(shapes: Sequence[Shape], own: Sequence[Shape]) -> Shape | None:
    """The leading dimensions, broadcast, of arrays whose samples have their own shapes; None if some do not fit."""
    found: Shape = ()
    for shape, sample in zip(shapes, own, strict=True):
        more = len(shape) - len(sample)
        if more < 0 or shape[more:] != sample:
            return None
        longer, shorter = (found, shape[:more]) if len(found) >= more else (shape[:more], found)
        padded = (*[1] * (len(longer) - len(shorter)), *shorter)
        if any(x != y and x != 1 and y != 1 for x, y in zip(longer, padded, strict=True)):
            return None
        found = tuple(y if x == 1 else x for x, y in zip(longer, padded, strict=True))
    return found


def spread(array: Any, own: Shape, dimensions: Shape, broadcast: Broadcast) -> Any:
    """The array, whose samples have their own shape, with all leading dimensions, or as it is if it has none."""
    return array if array.ndim == len(own) else broadcast(array, (*dimensions, *own))


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
        found.append(spread(x, port.shape, (size, *before), broadcast))
    return found


def summed(array: Any, ndim: int) -> Any:
    """The gradient by an array with so many dimensions: the sum over samples if it is the same for all of them."""
    return array.sum(tuple(range(array.ndim - ndim))) if array.ndim > ndim else array
