"""What the emitted call knows of one object: for each question a book of options and procedures.

The tables are laid out as :mod:`catena.kernels.call.words` says. A table that the emitted code may still be reading is
never freed or changed in place: books grow by making a longer one, and keep the old ones, as their readers may too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from catena.kernels.call.words import QUESTIONS, Book, Given
from catena.kernels.machine.compile import Whole

MOST = 256
"""How many entries a book may have; other calls are answered by Python."""


@dataclass(frozen=True)
class Made(Whole):
    """A table, and the objects that it points to."""

    words: np.ndarray
    kept: tuple[Any, ...]

    @property
    def address(self) -> int:
        """Where the table is."""
        return int(self.words.ctypes.data)


class _Entry(NamedTuple):
    made: Made
    keys: tuple[Any, ...]
    usual: int


class BookOfAnswers(Whole):
    """The procedures of one question, by the words that the emitted call looks for.

    Threads, signal handlers and finalizers may add to it at any moment, also in between two steps of each other. Each
    makes a whole book of all entries there are, and looks again whether there are more when it has put it in place.
    """

    def __init__(self, parameters: int) -> None:
        self._width = parameters + 1
        self._entries: list[_Entry] = []
        self._kept: list[np.ndarray] = []

    def add(self, keys: Sequence[Any], made: Made, usual: int, place: Callable[[int], None]) -> None:
        """Have calls with these keys, objects or :class:`Given`, follow a procedure: ``place`` the book with it.

        ``usual`` is the number of arrays that a call needs to be such a one if it gives nothing else; -1 if there is no
        such number.
        """
        if len(self._entries) >= MOST:
            return
        self._entries.append(_Entry(made, tuple(keys), usual))
        placed = -1
        while placed != len(self._entries):
            entries = tuple(self._entries)
            words = self._written(entries)
            self._kept.append(words)
            place(int(words.ctypes.data))
            placed = len(entries)

    def _written(self, entries: Sequence[_Entry]) -> np.ndarray:
        words = np.zeros(Book.SIZE + self._width * len(entries), dtype=np.int64)
        words[Book.ENTRIES] = len(entries)
        for row, entry in zip(words[Book.SIZE :].reshape(-1, self._width), entries, strict=True):
            row[0] = entry.made.address
            row[1:] = [int(k) if isinstance(k, Given) else id(k) for k in entry.keys]
            if entry.usual >= 0 and not words[Book.USUAL]:
                words[[Book.USUAL, Book.ARRAYS]] = entry.made.address, entry.usual
        return words


class _Tables(Whole):
    """The addresses of the books, where the emitted call looks for them."""

    __slots__ = ("_tables",)


class Books(_Tables):
    """The books of one object that is asked questions, by the questions' numbers."""

    __slots__ = ("_books",)

    def __init__(self) -> None:
        self._tables = np.zeros(QUESTIONS, dtype=np.int64)
        self._books: dict[int, BookOfAnswers] = {}

    def remember(self, question: int, keys: Sequence[Any], made: Made, usual: int) -> None:
        """Have the emitted call answer a question with these keys: see :meth:`BookOfAnswers.add`."""
        book = self._books.setdefault(question, BookOfAnswers(len(keys)))
        book.add(keys, made, usual, partial(self._tables.__setitem__, question))
