"""What all questions to a robot share: running a function's kernel, quickly where that is possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.dtypes import checked_dtype
from catena.errors import ShapeError
from catena.functions import engine
from catena.functions.function import Function
from catena.functions.store import UNROLLED, check_shape
from catena.scalars import Scalar

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def ask(
    robot: Robot,
    function: Function,
    *arrays: npt.ArrayLike,
    out: Any = None,
    dtype: npt.DTypeLike = np.float64,
    shape: str | None = None,
    present: tuple[str, ...] = (),
) -> Any:
    """Evaluate a function for a robot: the result, or a tuple of results."""
    return engine.kernel(robot, function, present=present, dtype=dtype, shape=shape)(*arrays, out=out)


class Checked(NamedTuple):
    """The arguments of a call as arrays, their common leading dimensions, and an array (or None) for each result."""

    arrays: list[Array]
    batch: tuple[int, ...]
    outs: list[Array | None]


def checked(
    robot: Robot,
    function: Function,
    *arrays: npt.ArrayLike,
    out: Any = None,
    dtype: npt.DTypeLike = np.float64,
    present: tuple[str, ...] = (),
) -> Checked:
    """Check the arguments of a question that several kernels answer together, as the one of `function` would."""
    from catena.kernels.build import signature as described

    signature = described(robot.tree, function, present, checked_dtype(function.question, dtype))
    given, batch = signature.arguments(arrays)
    return Checked(given, batch, signature.wanted(out, batch))


def is_rolled(robot: Robot, shape: str | None) -> bool:
    """Whether kernels of this robot are loops, which cannot make whole matrices."""
    check_shape(shape)
    return shape == "rolled" or (shape is None and robot.tree.n > UNROLLED)


def components(array: Array, dimensions: int = 1) -> list[Scalar]:
    """The numbers along the last dimensions, each an array over the batch: scalars for algorithms that run on any."""
    batch = array.ndim - dimensions
    return list(np.moveaxis(array.reshape(*array.shape[:batch], math.prod(array.shape[batch:])), -1, 0))


def stacked(parts: Sequence[Any], out: Array | None = None) -> Array:
    """Scalars of :func:`components` as one array again, along a new last dimension."""
    result = np.stack(np.broadcast_arrays(*parts), axis=-1)
    return delivered(result, out)


def delivered(result: Array, out: Array | None) -> Array:
    """The result, written to `out` if that is given."""
    if out is None:
        return result
    if not isinstance(out, np.ndarray) or out.shape != result.shape:
        given = out.shape if isinstance(out, np.ndarray) else type(out).__name__
        raise ShapeError(f"out must be an array of shape {result.shape}, not {given}")
    out[...] = result
    return out
