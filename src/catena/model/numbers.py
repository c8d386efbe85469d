"""Arguments of the ready-made robots: words, and one number or one per link, checked and broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, kind_of, shown

Array = npt.NDArray[Any]


BASES = ("fixed", "floating")
"""How the root link of a robot is held: what `base` may be."""


def a_name(what: str, name: Any) -> str:
    """A name itself; ModelError for what is none."""
    if not isinstance(name, str):
        raise ModelError(f"{what}, found {shown(name)}")
    return name


def chosen(what: str, word: Any, allowed: Sequence[str]) -> str:
    """A word that is one of those allowed."""
    if not isinstance(word, str) or word not in allowed:
        raise ModelError(f"{what}: expected {' or '.join(map(repr, allowed))}, found {shown(word)}")
    return word


def number(what: str, value: Any, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """One finite number within these bounds."""
    try:
        found = float(value)
    except Exception:  # whatever the conversion of somebody's object raises
        found = math.nan
    if math.isfinite(found) and found >= least and found > above:
        return found
    bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
    raise ModelError(f"{what}: expected a finite number{bound}, found {shown(value)}")


def listed(what: str, values: Any) -> list[Any]:
    """What is given as a list, a tuple or another sequence, as a list; not text, nor what is no sequence at all."""
    try:
        if not isinstance(values, str | bytes) and len(values) >= 0:
            return list(values)
    except TypeError:  # no size, or no order
        pass
    raise ModelError(f"{what}: expected a list, found {kind_of(values)}")


def floats(value: Any) -> Array:
    """A new array of doubles; ValueError for what is none, whatever its conversion raises."""
    try:
        return np.array(value, dtype=float)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"not numbers: {type(error).__name__}") from error


def count(n: Any) -> int:
    """A number of links."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n < 2**31:
        raise ModelError(f"n: expected a number of links of at least 1, and below 2 ** 31, found {shown(n)}")
    return int(n)


def generator(seed: Any) -> np.random.Generator:
    """The generator of a seed; one that is given stays as it is."""
    if isinstance(seed, np.random.Generator) or (isinstance(seed, int | np.integer) and seed >= 0):
        return np.random.default_rng(seed)
    raise ModelError(f"seed: expected a whole number of zero or more, found {shown(seed)}")


def together(n: int | None = None, **values: npt.ArrayLike) -> list[Array]:
    """One-dimensional float arrays of one length: n, or that of the longest. Numbers are broadcast, arrays copied."""
    arrays = {what: _finite(what, value) for what, value in values.items()}
    for what, array in arrays.items():
        if array.ndim > 1:
            raise ModelError(f"{what}: expected one number or a list of them, found an array of shape {array.shape}")
    size = max((len(a) for a in arrays.values() if a.ndim), default=1) if n is None else n
    if size < 1:
        raise ModelError(f"{' and '.join(values)}: expected at least one link, found none")
    return [_broadcast(what, array, (size,)) for what, array in arrays.items()]


def each(what: str, value: npt.ArrayLike, n: int, *shape: int) -> Array:
    """One array of `shape` per link, (n, *shape), from one for all or one each."""
    return _broadcast(what, _finite(what, value), (n, *shape))


def require(good: Array, values: Array, what: str, expected: str) -> None:
    """ModelError for the first of the values that is not `good`."""
    if not good.all():
        i = int(np.argmin(good))
        raise ModelError(f"{what}: expected numbers {expected}, found {values[i]} at position {i}", link=f"link{i + 1}")


def _finite(what: str, value: npt.ArrayLike) -> Array:
    try:
        array = floats(value)
    except ValueError as error:
        raise ModelError(f"{what}: expected numbers, found {shown(value)}") from error
    if not np.isfinite(array).all():
        raise ModelError(f"{what}: expected finite numbers, found {array[~np.isfinite(array)].flat[0]}")
    return array


def _broadcast(what: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape not in (shape, shape[1:]):
        raise ModelError(
            f"{what}: expected shape {shape[1:]} or {shape}, found {array.shape}; give one for all or one each"
        )
    return np.broadcast_to(array, shape)
