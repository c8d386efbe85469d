"""Built-in functions of which one argument picks the kernel: ``jacobian(q, "tool0")``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from catena.kernels.call.fastcall import Call, built_in
from catena.kernels.call.keyed_ir import FIRST_ENTRY
from catena.kernels.call.layout import python_api

MOST = 32
"""How many values of the argument are served at once; more of them are looked up by ``general``."""


class Keyed:
    """A function like ``general`` that is faster for values of the argument at ``place`` that have been added.

    ``arguments`` is how many positional arguments a call must have to be served at once.
    """

    def __init__(self, general: Callable[..., Any], place: int, arguments: int) -> None:
        self._table = np.zeros(FIRST_ENTRY + 2 * MOST, dtype=np.int64)
        self._table[:4] = id(general), place, arguments, id(sys.intern("out"))
        self._kept: list[Any] = []
        self.function: Callable[..., Any] = general
        if python_api() is not None:
            self.function = built_in("call_keyed", general, "", self._table, self._kept)

    def add(self, key: object, call: Callable[..., Any]) -> None:
        """Have calls with this very object go to ``call``, a function of the other arguments made by fast_call."""
        inner, count = getattr(call, "__self__", None), len(self._kept)
        if not isinstance(inner, Call) or count == MOST or any(known is key for known, _ in self._kept):
            return
        self._kept.append((key, call))
        self._table[FIRST_ENTRY + 2 * count : FIRST_ENTRY + 2 * count + 2] = id(key), id(inner)
        self._table[4] = count + 1
