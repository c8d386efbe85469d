"""Words that choose: methods, frames and their like, checked against the words that are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from catena.algorithms.kinematics import FRAMES
from catena.errors import UnsupportedError, kind_of, shown

FRAME_HINTS = {
    "LOCAL": "what Pinocchio calls LOCAL is 'link'",
    "BODY": "a body's own axes are 'link'",
    "BASE": "the base's axes are 'world' or, for the velocity of the body's origin, 'mixed'",
    "LOCAL_WORLD_ALIGNED": "what Pinocchio calls LOCAL_WORLD_ALIGNED is 'mixed'",
}
"""What users of other libraries may look for."""

METHOD_HINTS = {
    "ABA": "the articulated-body algorithm is 'innovations' (FD3), the default",
    "CRBA": "the composite-body algorithm with elimination is 'dense'",
    "CHOLESKY": "'dense' takes Cholesky's factors of the whole matrix, 'udu' sparse ones without square roots",
    "RNEA": "the recursive Newton-Euler algorithm is robot.inverse_dynamics",
}
"""The same for formulations."""


def one_of(what: str, value: Any, allowed: Iterable[str], hints: dict[str, str] | None = None) -> str:
    """The word itself; UnsupportedError for one that is not among those allowed, with a hint where there is one."""
    words = list(allowed)
    if isinstance(value, str):
        value = word = str.__str__(value)  # of class str: others may compare and hash as they like
        if word in words:
            return word
    hint = _hint(value, words, hints or {}) if isinstance(value, str) else ""
    expected = ", ".join(map(repr, words)) + (f"; {hint}" if hint else "")
    raise UnsupportedError(f"no {what} {shown(value)}; expected one of {expected}")


def some_of(what: str, value: Any, allowed: Iterable[str]) -> tuple[str, ...]:
    """The words of a list, or one word by itself; UnsupportedError for what is no list, and for unknown words."""
    words = list(allowed)
    several = (value,) if isinstance(value, str) else value
    if not isinstance(several, list | tuple):
        expected = ", ".join(map(repr, words))
        raise UnsupportedError(f"expected a list of words for {what}, among {expected}; got {kind_of(value)}")
    return tuple(one_of(what, word, words) for word in several)


def _hint(value: str, words: list[str], hints: dict[str, str]) -> str:
    if value.lower() in words:
        return f"did you mean {value.lower()!r}?"
    return hints.get(value.upper(), "")


def truth(what: str, value: Any) -> bool:
    """A yes or no; UnsupportedError for what is neither, such as an array."""
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, int) and value in (0, 1)):
        raise UnsupportedError(f"{what} must be True or False, got {kind_of(value)}")
    return bool(value)


def frame_word(frame: Any) -> str:
    """The word for whose axes, and which point, motions are asked for in; UnsupportedError if it is none."""
    return one_of("frame", frame, FRAMES, FRAME_HINTS)
