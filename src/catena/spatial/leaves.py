"""Spatial objects taken apart into scalars and put together again, so that fields can live in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from catena.scalars import Scalar

_STATIC = (str, bool)


def leaves(value: Any) -> list[Scalar]:
    """The scalars of a spatial object, in a fixed order."""
    if isinstance(value, _STATIC):
        return []
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    if is_dataclass(value):
        return [leaf for name in _parts(value) for leaf in leaves(getattr(value, name))]
    return [value]


def rebuilt(template: Any, scalars: Iterator[Scalar]) -> Any:
    """An object like the template with other scalars, taken in the order of :func:`leaves`."""
    if isinstance(template, _STATIC):
        return template
    if isinstance(template, list | tuple):
        return type(template)([rebuilt(part, scalars) for part in template])
    if is_dataclass(template) and not isinstance(template, type):
        return type(template)(**{name: rebuilt(getattr(template, name), scalars) for name in _parts(template)})
    return next(scalars)


def _parts(value: Any) -> list[str]:
    return [f.name for f in fields(value) if not f.name.startswith("_")]
