"""Operations on files that fail once: which one, and how, is up to the test."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

CODES = ["ENOSPC", "EACCES", "EMFILE", "ESTALE", "ENOENT", "EIO"]
Error = Callable[[], Exception]
ERRORS: dict[str, Error] = {name: partial(OSError, getattr(errno, name), "injected") for name in CODES}
ERRORS["memory"] = MemoryError


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/dev/fd"))


class Counter:
    """Lets one call fail: the one with this number."""

    def __init__(self, number: int, error: Error) -> None:
        self.left, self.error = number, error

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted; closing does what it should before it fails, as the kernel of a system does."""

        def counted(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                if getattr(function, "__name__", "") in ("close", "__exit__"):
                    function(*arguments, **options)
                raise self.error()
            found = function(*arguments, **options)
            is_open = hasattr(found, "__exit__") and not isinstance(found, Opened)
            return Opened(self, found) if is_open else found

        return counted


class Opened:
    """An open file, a directory that is listed or an entry of one, whose methods are counted."""

    def __init__(self, counter: Counter, file: Any) -> None:
        self._counter, self._file = counter, file

    def __enter__(self) -> Opened:
        self._file.__enter__()
        return self

    def __exit__(self, *about: Any) -> Any:
        return self._counter.of(self._file.__exit__)(*about)

    def __iter__(self) -> Iterator[Any]:
        for item in self._file:
            yield self._counter.of(Opened)(self._counter, item)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        return self._counter.of(found) if callable(found) else found


def system(counter: Counter) -> SimpleNamespace:
    """The module `os` with functions that are counted."""
    functions = {name: counter.of(getattr(os, name)) for name in COUNTED}
    return SimpleNamespace(**{**vars(os), **functions, "supports_dir_fd": {functions["open"]}})


COUNTED = ["close", "fstat", "open", "replace", "scandir", "stat", "unlink", "urandom", "utime"]
