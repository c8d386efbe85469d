"""What the emitted call knows of one object: for each question a book of options and recipes.

The tables are laid out as :mod:`catena.kernels.call.words` says. A table that the emitted code may still be reading is
never freed or changed in place: books grow by making a longer one, and keep the old ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.kernels.call.words import Book, Given

MOST = 256
"""How many entries a book may have; other calls are answered by Python."""

QUESTIONS = 128
"""How many questions there may be."""


@dataclass(frozen=True)
class Made:
    """A table, and the objects that it points to."""

    words: np.ndarray
    kept: tuple[Any, ...]

    @property
    def address(self) -> int:
        """Where the table is."""
        return int(self.words.ctypes.data)


class BookOfAnswers:
    """The recipes of one question, by the words that the emitted call looks for."""

    def __init__(self, parameters: int) -> None:
        self._width, self._count = parameters + 1, 0
        self.words = np.zeros(Book.SIZE, dtype=np.int64)
        self._kept: list[Any] = []

    def add(self, keys: Sequence[Any], made: Made) -> None:
        """Have calls with these keys, objects or :class:`Given`, follow a recipe."""
        if self._count == MOST:
            return
        size, words = Book.SIZE + self._width * self._count, self.words
        if len(words) < size + self._width:
            self._kept.append(words)
            words = np.zeros(Book.SIZE + 2 * self._width * max(4, self._count), dtype=np.int64)
            words[:size] = self.words[:size]
            self.words = words
        self._kept.append((made, tuple(keys)))
        words[size] = made.address
        words[size + 1 : size + self._width] = [int(k) if isinstance(k, Given) else id(k) for k in keys]
        self._count += 1
        words[Book.ENTRIES] = self._count


class _Tables:
    """The addresses of the books, where the emitted call looks for them."""

    __slots__ = ("_tables",)


class Books(_Tables):
    """The books of one object that is asked questions, by the questions' numbers."""

    __slots__ = ("_books",)

    def __init__(self) -> None:
        self._tables = np.zeros(QUESTIONS, dtype=np.int64)
        self._books: dict[int, BookOfAnswers] = {}

    def remember(self, question: int, keys: Sequence[Any], made: Made) -> None:
        """Have the emitted call answer a question with these keys."""
        book = self._books.setdefault(question, BookOfAnswers(len(keys)))
        book.add(keys, made)
        self._tables[question] = book.words.ctypes.data
