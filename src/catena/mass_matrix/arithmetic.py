"""Arithmetic that an operator does not have: refused with the way to what has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from catena.errors import UnsupportedError


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(self: object, *others: Any) -> NoReturn:
        raise UnsupportedError(
            f"a MassMatrix is an operator, not an array, and has no {what}; M.dense() is the array, with which NumPy "
            "computes"
        )

    return refuse


class NotAnArray:
    """An operator that multiplies vectors by `@`; sums, products with numbers, powers and entries are the array's."""

    __slots__ = ()

    __add__ = __radd__ = _refused("sums (+)")
    __sub__ = __rsub__ = _refused("differences (-)")
    __mul__ = __rmul__ = _refused("products entry by entry (*)")
    __truediv__ = __rtruediv__ = _refused("quotients (/)")
    __pow__ = __rpow__ = _refused("powers (**)")
    __neg__ = _refused("negative (-)")
    __abs__ = _refused("absolute value")
    __getitem__ = _refused("entries ([])")
