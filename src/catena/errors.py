"""What Catena raises: one tree under CatenaError. Messages say what was expected, what was found and what to do."""

from __future__ import annotations

from collections.abc import Iterable


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


class UnsupportedError(CatenaError):
    """Valid input that asks for something Catena does not do."""


class ShapeError(CatenaError, ValueError):
    """An array of the wrong shape or kind, or with entries that make no sense."""


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
        close = get_close_matches(str(name), sample, n=3, cutoff=0.5) or sample[:3]
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "; there is none at all"
        return cls(f"there is no {what} named {name!r}{hint}")
