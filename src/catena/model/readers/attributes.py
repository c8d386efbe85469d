"""Attributes of elements: numbers and vectors, finite and in plain decimals."""

from __future__ import annotations

from sys import float_info
from xml.etree.ElementTree import Element

from catena.model.readers.xml import FieldError, shorten

LARGEST = 1e60  # of coordinates, masses, moments: products of a few of them stay finite
FINITE = float_info.max

Vector = tuple[float, float, float]


def number(element: Element | None, name: str, default: float | None, largest: float = FINITE) -> float:
    """Attribute `name` as one finite number; `default` where it is left out, None meaning that it may not be."""
    written = None if element is None else element.get(name)
    if element is not None and written is not None:
        return _read(element, name, written, 1, largest)[0]
    if element is not None and default is None:
        raise FieldError(element, f"needs a number {name!r}")
    return default or 0.0


def vector(element: Element | None, name: str, default: Vector) -> Vector:
    """Attribute `name` as three finite numbers up to LARGEST; `default` where it is left out."""
    written = None if element is None else element.get(name)
    if element is None or written is None:
        return default
    x, y, z = _read(element, name, written, 3, LARGEST)
    return x, y, z


def _read(element: Element, name: str, written: str, count: int, largest: float) -> list[float]:
    """`count` finite decimal numbers up to `largest`, written the same in every locale."""
    try:
        found = list(map(float, written.split()))
    except ValueError:
        found = []
    if len(found) == count and written.isascii() and "_" not in written:  # Python reads more than is plain
        if all(-largest <= x <= largest for x in found):
            return found
        if all(-FINITE <= x <= FINITE for x in found):
            raise FieldError(element, f"{name}={shorten(written)!r}: expected numbers no larger than {largest:g}")
    expected = "one finite number" if count == 1 else f"{count} finite numbers"
    hint = "; expand the file with xacro first" if "${" in written else ""
    raise FieldError(element, f"{name}={shorten(written)!r}: expected {expected}{hint}")
