"""What all questions to a robot share: running a function's kernel, quickly where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError, UnsupportedError
from catena.functions import engine
from catena.functions.function import Function
from catena.model.singular import check_leaves

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
    if dtype is np.float64 and shape is None and not present:
        run = quick(robot, function)
        return run(*arrays) if out is None else run(*arrays, out=out)
    return engine.kernel(robot, function, present=present, dtype=dtype, shape=shape)(*arrays, out=out)


def quick(robot: Robot, function: Function) -> Any:
    """The function in float64 with all defaults, ready to be called with arrays alone."""
    known = robot.__dict__.get("_quick")
    if known is None:
        known = robot.__dict__.setdefault("_quick", {})
    found = known.get(function.name)
    if found is None:
        from catena.kernels.call.fastcall import fast_call

        kernel = engine.kernel(robot, function)
        found = known[function.name] = fast_call(kernel, kernel)
    return found


def serve_at_once(robot: Any, question: str, link: str, call: Any) -> None:
    """From now on have ``robot.question(q, link)`` go to ``call(q)`` without Python in between."""
    from catena.kernels.call.keyed import Keyed

    known = robot.__dict__.setdefault("_keyed", {})
    if question not in known:
        known[question] = Keyed(getattr(robot, question), place=1, arguments=2)
        robot.__dict__[question] = known[question].function
    known[question].add(link, call)


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
    signature = engine.signature(robot, function, present, dtype)
    given, batch = signature.arguments(arrays)
    return Checked(given, batch, signature.wanted(out, batch))


def check_held(robot: Robot) -> None:
    """Refuse, by name, a link that makes every mass matrix of the robot singular; it is looked for once."""
    if "_held" not in robot.__dict__:
        check_leaves(robot.tree)
        robot.__dict__["_held"] = True


def one_of(what: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed."""
    if value not in allowed:
        raise UnsupportedError(f"no {what} {value!r}; expected one of {', '.join(map(repr, allowed))}")


def delivered(result: Array, out: Array | None) -> Array:
    """The result, written to `out` if that is given."""
    if out is None:
        return result
    if not isinstance(out, np.ndarray) or out.shape != result.shape:
        given = out.shape if isinstance(out, np.ndarray) else type(out).__name__
        raise ShapeError(f"out must be an array of shape {result.shape}, not {given}")
    out[...] = result
    return out
