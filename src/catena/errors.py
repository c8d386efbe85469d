"""What Catena raises, under CatenaError, and warns of, under CatenaWarning.

Messages of errors say what was expected, what was found and what to do.
"""

from __future__ import annotations

import os
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import numpy as np


class CatenaError(Exception):
    """Anything Catena refuses; catch this to catch all of it."""


class ModelError(CatenaError):
    """A mechanism that cannot be. `link` and `joint` name the culprit where there is one."""

    def __init__(self, message: str, *, link: str | None = None, joint: str | None = None) -> None:
        super().__init__(message)
        self.link = link
        self.joint = joint


class LoadError(ModelError):
    """A file or text that cannot be read as a mechanism."""


class SingularError(ModelError):
    """A mass matrix without an inverse; `link` is the one that nothing holds back."""


class ClosureError(CatenaError):
    """Constraints that cannot be met. `constraint` names the worst, `error` is how far it is off (m or rad).

    `q` are the configurations that come nearest, `failed` says which of them do not meet the constraints.
    """

    def __init__(self, message: str, constraint: str, error: float, q: Any = None, failed: Any = None) -> None:
        super().__init__(message)
        self.constraint, self.error, self.q, self.failed = constraint, error, q, failed


class UnsupportedError(CatenaError):
    """Valid input that asks for something Catena does not do."""


class ShapeError(CatenaError, ValueError):
    """An array of the wrong shape or kind, or with entries that make no sense."""


class DataError(CatenaError, ValueError):
    """Measurements that say nothing about what was asked of them."""


class UnknownNameError(CatenaError, KeyError):
    """A link, joint or frame that the robot does not have; the message suggests names that it has."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __str__(self) -> str:
        """The plain message (KeyError would show its repr)."""
        return str(self.args[0])

    @classmethod
    def among(cls, what: str, name: object, known: Iterable[str]) -> UnknownNameError:
        """The error for a `what` called `name` that is not in `known`, with the nearest known names."""
        from difflib import get_close_matches
        from itertools import islice

        sample = list(islice(known, 10_000))
        close = get_close_matches(str(name), sample, n=3, cutoff=0.5) if isinstance(name, str) else []
        close = close or sample[:3]
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "; there is none at all"
        return cls(f"there is no {what} named {shown(name)}{hint}")


class CatenaWarning(UserWarning):
    """The parent of all warnings of Catena: filter this category to silence or to refuse all of them."""


class ModelWarning(CatenaWarning):
    """Something odd but usable in a file that was loaded; `robot.warnings` keeps the same messages."""


class PrecisionWarning(CatenaWarning):
    """A result that has lost digits; the message says how many are left and which method keeps them."""


class CacheWarning(CatenaWarning):
    """Machine code is not kept on disk, since its directory cannot be trusted; the message says why."""


class SingularWarning(CatenaWarning):
    """Samples of a batch at which the mass matrix has no inverse; the message says which, and they are NaN."""


class DivergenceWarning(CatenaWarning):
    """Samples of a rollout whose states are not finite, or faster than asked for; the message says which, and when."""


class StepWarning(CatenaWarning):
    """Steps that are too long for the stiffest spring or damper, or that hold what depends on q over their stages.

    The message says how long they may be, or what to do.
    """


class SpeedWarning(CatenaWarning):
    """Calls take longer than they could here, with the same answers; the message says why."""


def shown(value: Any) -> str:
    """A value as messages show it: itself where that is short, otherwise what it is."""
    try:
        text = repr(value[()] if isinstance(value, np.ndarray) and not value.ndim else value)
    except Exception:  # somebody's object need not be printable
        text = ""
    if 0 < len(text) < 60 and "\n" not in text:
        return text
    is_array = isinstance(value, np.ndarray)
    if is_array and text and value.size < 10:  # an inertia, say
        return f"{np.asarray(value).tolist()}"
    return f"an array of dtype {value.dtype} and shape {value.shape}" if is_array else kind_of(value)


def kind_of(value: Any) -> str:
    """What a value is, as messages name it: "a list", "an int", "None"."""
    name = type(value).__name__
    article = "an" if name.startswith(tuple("AEIOaeio")) or name == "ndarray" else "a"
    return "None" if value is None else f"{article} {name}"


def check_place(path: Any) -> None:
    """Refuse what no file can be written to: a folder, a path into a folder that is not there, what is no path."""
    if not isinstance(path, str | os.PathLike):
        raise CatenaError(f"expected the path of a file to write, got {kind_of(path)}")
    try:
        place = os.path.abspath(os.fsdecode(path))
    except FileNotFoundError:
        raise _unwritable(path, "the current folder is gone; change to another, or give a path from the root") from None
    if os.path.isdir(place):
        raise _unwritable(path, "it is a folder; give the name of a file in it")
    if not os.path.isdir(os.path.dirname(place)):
        raise _unwritable(path, f"the folder {os.path.dirname(place)!r} does not exist; make it first")


@contextmanager
def writing(path: Any) -> Iterator[None]:
    """What is done inside writes a file; a CatenaError that names it and says what to do if that fails.

    A file that was begun when that fails, or is interrupted, is removed.
    """
    check_place(path)
    before = _stamp(path)
    try:
        yield
    except BaseException as error:
        if _stamp(path) != before:
            with suppress(OSError):
                os.unlink(path)
        if isinstance(error, CatenaError) or not isinstance(error, OSError | ValueError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise _unwritable(path, f"{reason}; choose another path, or mend that and try again") from error


def _stamp(path: Any) -> tuple[int, int, int] | None:
    """What changes when a regular file is written; None for anything else, and where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _unwritable(path: Any, reason: str) -> CatenaError:
    return CatenaError(f"{os.fsdecode(path)!r} cannot be written: {reason}")


def warn(message: str, category: type[CatenaWarning]) -> None:
    """Give a warning at the line of the user's code that led to it: the nearest one outside this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "catena":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
