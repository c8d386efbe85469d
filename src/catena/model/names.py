"""Names of links and joints: a plain tuple, or a pattern that costs nothing for a million of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import eq
from typing import overload


class Names(Sequence[str]):
    """The names `pattern.format(start)`, `pattern.format(start + 1)`, ...: made when asked for.

    `pattern` holds one `{}` and no digit just before or anywhere after it, so that one list of names has one pattern.
    Equal to any sequence of the same strings, and hashable.
    """

    __slots__ = ("_prefix", "_range", "_suffix")

    def __init__(self, pattern: str, count: int, start: int = 0) -> None:
        self._prefix, self._suffix = pattern.split("{}")
        if re.search("[0-9]$", self._prefix) or re.search("[0-9]", self._suffix):
            raise ValueError(f"the number of {pattern!r} must be its last, and stand apart from other digits")
        self._range = range(start, start + count)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self._make(i) for i in self._range[index])
        return self._make(self._range[index])

    def __iter__(self) -> Iterator[str]:
        made = map(self._prefix.__add__, map(str, self._range))
        return map(str.__add__, made, repeat(self._suffix)) if self._suffix else made

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def index(self, value: str, start: int = 0, stop: int | None = None) -> int:
        """The position of `value`, in O(1); ValueError if it is not there."""
        found = self._find(value)
        if found is None or not start <= found < (len(self) if stop is None else stop):
            raise ValueError(f"{value!r} is not among the names")
        return found

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names) and self._key() == other._key():
            return True
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(map(eq, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Names({self._prefix + '{}' + self._suffix!r}, {len(self)}, start={self._range.start})"

    def _key(self) -> tuple[str, str, range]:
        return self._prefix, self._suffix, self._range

    def _make(self, number: int) -> str:
        return f"{self._prefix}{number}{self._suffix}"

    def _find(self, name: str) -> int | None:
        if not (name.startswith(self._prefix) and name.endswith(self._suffix)):
            return None
        digits = name[len(self._prefix) : len(name) - len(self._suffix)]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            return None
        number = int(digits)
        return number - self._range.start if number in self._range and self._make(number) == name else None


def freeze_names(names: Iterable[str]) -> Sequence[str]:
    """`names` as a sequence nobody can change: Names wherever they follow a pattern, else a tuple."""
    if isinstance(names, Names):
        return names
    plain = tuple(names)
    if not all(issubclass(kind, str) for kind in set(map(type, plain))):
        return plain
    found = re.fullmatch(r"(|.*[^0-9])([0-9]{1,18})([^0-9]*)", plain[0], re.DOTALL) if plain else None
    if found is None or "{}" in found[1] + "|" + found[3]:
        return plain
    pattern = Names(f"{found[1]}{{}}{found[3]}", len(plain), int(found[2]))
    return pattern if pattern == plain else plain
