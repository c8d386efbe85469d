"""Attributes of elements that stand for several (layouts.py), read all at once: words, numbers, vectors.

What is read is a column: one word or number for each of the several, or three numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from sys import float_info
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from catena.model.readers.spans import Column
from catena.model.readers.xml import FieldError, shorten

LARGEST = 1e60  # of coordinates, masses, moments: products of a few of them stay finite
FINITE = float_info.max

Array = npt.NDArray[Any]
Vector = tuple[float, float, float]


def written(element: Element | None, name: str) -> Sequence[str] | None:
    """Attribute `name` as it is written, or None where it is left out."""
    column: Any = None if element is None else element.get(name)
    return column  # type: ignore[no-any-return]


def words(element: Element, name: str) -> list[str]:
    """Attribute `name`, which must be there and not be empty."""
    column = list(map(str.strip, written(element, name) or [""]))
    if not all(column):
        raise FieldError(element, f"needs a non-empty attribute {name!r}", column.index(""))
    return column


def numbers(element: Element | None, name: str, several: int, default: float | None, largest: float = FINITE) -> Array:
    """Attribute `name` as one finite number, (n,); `default` where it is left out, None meaning that it may not be."""
    column = written(element, name)
    if element is not None and column is not None:
        return _read(element, name, column, 1, largest)[:, 0]
    if element is not None and default is None:
        raise FieldError(element, f"needs a number {name!r}")
    return np.full(several, default or 0.0)


def vectors(element: Element | None, name: str, several: int, default: Vector) -> Array:
    """Attribute `name` as three finite numbers up to LARGEST, (n, 3); `default` where it is left out."""
    column = written(element, name)
    if element is None or column is None:
        return np.full((several, 3), default)
    return _read(element, name, column, 3, LARGEST)


def with_numbers(column: Sequence[str], count: int) -> list[int]:
    """Which values are `count` words, numbers or not."""
    if isinstance(column, Column):
        return column.with_numbers(count)
    return [i for i, value in enumerate(column) if len(value.split()) == count]


def unread(element: Element, name: str, count: int, largest: float, which: int = 0) -> FieldError:
    """Why attribute `name` is not `count` finite decimal numbers, written the same in every locale, up to `largest`."""
    value = (written(element, name) or [])[which]
    if _floats([value], count, FINITE) is not None:
        return FieldError(element, f"{name}={shorten(value)!r}: expected numbers no larger than {largest:g}", which)
    expected = "one finite number" if count == 1 else f"{count} finite numbers"
    hint = "; expand the file with xacro first" if "${" in value else ""
    return FieldError(element, f"{name}={shorten(value)!r}: expected {expected}{hint}", which)


def _read(element: Element, name: str, column: Sequence[str], count: int, largest: float) -> Array:
    """`count` finite numbers up to `largest` from each value, (n, count)."""
    found = _decimals(column, count, largest) if isinstance(column, Column) else _floats(column, count, largest)
    if found is None:
        which = next(i for i, value in enumerate(column) if _floats([value], count, largest) is None)
        raise unread(element, name, count, largest, which)
    return np.array(found).reshape(-1, count)


def _decimals(column: Column, count: int, largest: float) -> Array | None:
    """The same, or None if a value has something else: those that are plainly written at once, then the others."""
    found, others = column.numbers(count)
    if len(others):
        read = _floats([column[i] for i in others.tolist()], count, largest)
        if read is None:
            return None
        found[others] = np.array(read).reshape(-1, count)
    return found if np.abs(found).max(initial=0.0) <= largest else None


def _floats(values: Sequence[str], count: int, largest: float) -> list[float] | None:
    """The same, one after the other, or None if a value has something else."""
    text = " | ".join(values)
    written = text.split()
    if len(values) > 1:
        between = written[count :: count + 1]
        del written[count :: count + 1]
        if between != ["|"] * (len(values) - 1):
            return None
    if len(written) != count * len(values):
        return None
    try:
        found = list(map(float, written))
    except ValueError:
        return None
    finite = isfinite(sum(found)) or all(map(isfinite, found))
    is_plain = text.isascii() and "_" not in text  # a number in other languages, too
    return found if finite and is_plain and max(map(abs, found)) <= largest else None
