"""Stretches of bytes inside a longer text, many at a time: which of them are the same, and what is written in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from catena.model.readers.decimals import MARGIN, decimals

Array = npt.NDArray[Any]

_MIXING = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio
WIDTHS = 24, 80  # bytes of values of one number, and of several
WIDEST = WIDTHS[-1] + 1
TOGETHER = 8192  # values that are read at a time: few enough to stay in the caches
_BETWEEN = 10
_BEGINNINGS = np.isin(np.arange(256), list(b" +-.0123456789"))  # of numbers


class TooMany(Exception):
    """There are more kinds of spans, or longer ones, than are worth while."""


@dataclass(frozen=True)
class Values:
    """Spans of a text, which is UTF-8. Behind the last there are WIDEST bytes more."""

    text: bytes
    start: Array
    end: Array

    @cached_property
    def numbers(self) -> tuple[Array, Array, Array, Array]:
        """The decimal numbers in the spans and which are odd (decimals.py); the first of each span, and how many."""
        first, count = np.zeros((2, len(self.start)), dtype=np.int64)
        found, odd, length, done = [np.zeros(1)], [np.ones(1, dtype=bool)], self.end - self.start, 1
        numeric = _BEGINNINGS[np.frombuffer(self.text, dtype=np.uint8)[self.start]]
        for least, most in pairwise((-1, *WIDTHS)):
            every = np.flatnonzero((length > least) & (length <= most) & numeric)
            for which in np.split(every, range(TOGETHER, len(every), TOGETHER)):
                rows = self.rows(which, most + 1)
                text = np.zeros(MARGIN + rows.size, dtype=np.uint8)
                text[MARGIN:] = rows.reshape(-1)
                numbers, start, unread = decimals(text)
                each = np.bincount((start - MARGIN) // (most + 1), minlength=len(which))
                count[which], first[which] = each, done + np.cumsum(each) - each
                found.append(numbers)
                odd.append(unread)
                done += len(numbers)
        return np.concatenate(found), np.concatenate(odd), first, count

    def rows(self, which: Array, width: int) -> Array:
        """Some of the spans as rows of bytes, (n, width), with zeros behind them."""
        rows = np.ndarray(len(self.text) - width + 1, dtype=f"V{width}", buffer=self.text, strides=(1,))
        found: Array = rows[self.start[which]].view(np.uint8).reshape(len(which), width)
        length = (self.end[which] - self.start[which]).astype(np.uint8)
        found *= (np.arange(width, dtype=np.uint8) < length[:, None]).view(np.uint8)
        return found


class Column(Sequence[str]):
    """Values of an attribute, one for each of several elements."""

    def __init__(self, values: Values, which: Array) -> None:
        self._values, self._which = values, which

    def __len__(self) -> int:
        return len(self._which)

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice) -> Column: ...
    def __getitem__(self, which: int | slice) -> str | Column:
        if isinstance(which, slice):
            return Column(self._values, self._which[which])
        values, place = self._values, self._which[which]
        return values.text[values.start[place] : values.end[place]].decode()

    def __iter__(self) -> Iterator[str]:
        start, end = self._values.start[self._which], self._values.end[self._which]
        widest = int((end - start).max(initial=0))
        if widest < WIDEST:  # all of them in one text, with what values do not have between them
            rows = self._values.rows(self._which, widest + 1)
            rows[np.arange(len(rows)), end - start] = _BETWEEN
            return iter(rows.tobytes().translate(None, b"\0").decode().split(chr(_BETWEEN))[:-1])
        text = self._values.text
        return (text[i:j].decode() for i, j in zip(start.tolist(), end.tolist(), strict=True))

    def some(self, which: Sequence[int] | Array) -> Column:
        """Those with these numbers."""
        return Column(self._values, self._which[which])

    def numbers(self, count: int) -> tuple[Array, Array]:
        """The numbers in the values, (n, count), and which values could not be read as such."""
        found, odd, first, counts = self._values.numbers
        place, wrong = first[self._which][:, None], (counts[self._which] != count)[:, None]
        if wrong.any():
            place = np.where(wrong, 0, place + np.arange(count))
        elif count > 1:
            place = place + np.arange(count)
        return found[place], np.flatnonzero(odd[place].any(axis=1))

    def with_numbers(self, count: int) -> list[int]:
        """Which values are `count` numbers, or words."""
        counts, length = self._values.numbers[3], self._values.end - self._values.start
        doubtful = np.flatnonzero((counts[self._which] == count) | (length[self._which] >= WIDEST))
        return [i for i in doubtful.tolist() if len(self[i].split()) == count]

    def alone(self) -> Column:
        """The same with a text of its own that has nothing else in it."""
        length = (self._values.end - self._values.start)[self._which]
        widest = int(length.max(initial=1))
        if widest >= WIDEST:
            text, start = "".join(self).encode(), np.cumsum(length) - length
        else:
            text, start = self._values.rows(self._which, widest).tobytes(), np.arange(len(self)) * widest
        return Column(Values(text + bytes(WIDEST), start, start + length), np.arange(len(self)))


def some_of(values: Sequence[str], which: Sequence[int]) -> Sequence[str]:
    """Those with these numbers."""
    return values.some(which) if isinstance(values, Column) else [values[i] for i in which]


class Kinds:
    """Spans that were met before, numbered; two have one number if they are the same, byte by byte."""

    def __init__(self, longest: int, most: int) -> None:
        """`longest` is the length in bytes that a span may have, `most` the number of different ones."""
        self._longest, self._most = longest, most
        self._hashes = np.zeros(0, dtype=np.uint64)  # sorted
        self._numbers = np.zeros(0, dtype=np.int64)  # of the kinds that have these hashes
        self._lengths = np.zeros(0, dtype=np.int64)  # by number, as is what follows
        self._words = np.zeros((0, 0), dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._lengths)

    def numbered(self, text: bytes, start: Array, end: Array, new: Callable[[bytes], None]) -> Array:
        """The numbers of spans. `new` is called with every kind that was not met before, in the order of numbers.

        Spans must not begin within the first 8 bytes of the text. Raises TooMany.
        """
        length = end - start
        if int(length.max(initial=0)) > self._longest:
            raise TooMany
        hashes = length.astype(np.uint64)
        pieces = list(_words(text, start, end))
        for which, words in pieces:
            mixed = (hashes[which] ^ words) * _MIXING
            hashes[which] = mixed ^ (mixed >> np.uint64(32))
        found = self._found(hashes)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            first = np.sort(unknown[np.unique(hashes[unknown], return_index=True)[1]])
            self._add(text, start[first], end[first], hashes[first])
            for i in first.tolist():
                new(text[start[i] : end[i]])
            found = self._found(hashes)
        if (self._lengths[found] != length).any():
            raise TooMany
        for place, (which, words) in enumerate(pieces):
            if (self._words[found[which], place] != words).any():
                raise TooMany
        return found

    def _found(self, hashes: Array) -> Array:
        """The numbers of the kinds with these hashes, -1 where there is none."""
        if not len(self._hashes):
            return np.full(len(hashes), -1)
        place = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        return np.where(self._hashes[place] == hashes, self._numbers[place], -1)

    def _add(self, text: bytes, start: Array, end: Array, hashes: Array) -> None:
        """Numbers spans that differ in their hashes."""
        count, wide = len(self), self._words.shape[1]
        if count + len(start) > self._most:
            raise TooMany
        words = np.zeros((count + len(start), max(wide, -(-int((end - start).max()) // 8))), dtype=np.uint64)
        words[:count, :wide] = self._words
        for place, (which, found) in enumerate(_words(text, start, end)):
            words[count:][which, place] = found
        self._words, self._lengths = words, np.append(self._lengths, end - start)
        every = np.append(self._hashes, hashes)
        order = np.argsort(every)
        self._hashes = every[order]
        self._numbers = np.append(self._numbers, np.arange(count, len(self)))[order]


def _words(text: bytes, start: Array, end: Array) -> Iterator[tuple[Array | slice, Array]]:
    """The spans eight bytes at a time: the numbers of those that go on, and the next bytes of them as integers."""
    words = np.ndarray(max(len(text) - 7, 0), dtype="<u8", buffer=text, strides=(1,))
    length = end - start
    which: Array | slice = slice(None)
    for done in range(0, int(length.max(initial=0)), 8):
        if done or not length.all():
            which = np.flatnonzero(length > done) if isinstance(which, slice) else which[length[which] > done]
        missing = np.maximum(done + 8 - length[which], 0)
        found = words[start[which] + (done - missing)]
        found >>= (missing * 8).view(np.uint64)
        yield which, found
