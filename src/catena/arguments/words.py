"""Words that choose: methods, frames and their like, checked against the words that are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catena.errors import UnsupportedError


def one_of(what: str, value: Any, allowed: Iterable[str], hints: dict[str, str] | None = None) -> str:
    """The word itself; UnsupportedError for one that is not among those allowed, with a hint where there is one."""
    words = list(allowed)
    if isinstance(value, str) and value in words:
        return value
    shown = repr(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    hint = (hints or {}).get(value.upper()) if isinstance(value, str) else None
    also = f"; {hint}" if hint else ""
    raise UnsupportedError(f"no {what} {shown}; expected one of {', '.join(map(repr, words))}{also}")
