"""The quick way of a call in Python, for where machine code may not call Python: one sample, at a desk.

A desk is memory with its addresses in place: arguments are copied to it, results from it. A call that differs in
anything from the one that its way was made for is declined, and goes the general way.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from catena.functions.question import Answer
    from catena.kernels.call.kernel import Kernel

DECLINED = object()
"""What is no answer."""

_WORDS = frozenset((str, bool, type, type(None)))
_ARRAYS: Mapping[type, Hashable] = {np.ndarray: (), float: (0,)}
"""What may stand for an array, and its mark in patterns, which is like no word."""


def pattern(question: object, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Hashable, ...] | None:
    """What calls have in common that are answered in one way; None if one holds anything but arrays and words."""
    found: list[Hashable] = [question, len(args), *named]
    for x in (*args[1:], *named.values()):
        kind = type(x)
        if kind in _WORDS:
            found.append(x)
        elif kind in _ARRAYS:
            found.append(_ARRAYS[kind])
        else:
            return None
    return tuple(found)


class _Desk(NamedTuple):
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    flat: tuple[tuple[np.ndarray, np.ndarray], ...]  # the results and as many zeros
    run: Any
    kept: tuple[Any, ...]


class Lean:
    """How one kind of call is answered. `places` says which value each input is, the asked one's own below 0."""

    def __init__(self, found: Answer, places: Sequence[int]) -> None:
        self._found, self._watched = found, found.watch is not None
        self._ports = [(place, p.shape, p.positive) for place, p in zip(places, found.kernel.inputs, strict=True)]
        self._desks: list[_Desk] = []  # that nobody uses now; one operation on it is whole or not done at all

    def __call__(self, own: Sequence[Any], values: Sequence[Any]) -> Any:
        """The answer, or `DECLINED`."""
        try:
            desk = self._desks.pop()
        except IndexError:
            desk = _desk(self._found.kernel)
        results = self._at(desk, own, values)
        self._desks.append(desk)
        return results if results is DECLINED else self._found.returned(results)

    def _at(self, desk: _Desk, own: Sequence[Any], values: Sequence[Any]) -> Any:
        for (place, shape, positive), memory in zip(self._ports, desk.inputs, strict=True):
            x = values[place] if place >= 0 else own[~place]
            if type(x) is np.ndarray:
                if x.shape != shape or positive or x.dtype.kind not in "fiub":
                    return DECLINED
            elif type(x) is not float or shape or (positive and not 0.0 < x < math.inf):
                return DECLINED
            memory[...] = x
        desk.run()
        if self._watched and not all(math.isfinite(x.dot(zeros)) for x, zeros in desk.flat):
            return DECLINED
        return [x.copy() if x.ndim else x[()] for x in desk.outputs]


def _desk(kernel: Kernel) -> _Desk:
    from catena.kernels.call.procedures import aligned
    from catena.kernels.call.scratch import ALIGNMENT

    inputs, outputs = ([np.empty(p.shape, kernel.dtype) for p in ports] for ports in (kernel.inputs, kernel.outputs))
    rows, results = (np.array([x.ctypes.data for x in some], dtype=np.int64) for some in (inputs, outputs))
    scratch = np.empty(kernel.single_scratch + ALIGNMENT, dtype=np.uint8)
    single = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 4)(kernel.single_entry)
    run = partial(single, kernel.context_address, rows.ctypes.data, results.ctypes.data, aligned(scratch))
    flat = tuple((x.reshape(-1), np.zeros(x.size, x.dtype)) for x in outputs)
    return _Desk(tuple(inputs), tuple(outputs), flat, run, (kernel, rows, results, scratch))


def lean(found: Answer, args: Sequence[Any], named: Mapping[str, Any], names: Sequence[str]) -> Lean | None:
    """The quick way of calls like this one, if there is one: `names` are those of all parameters."""
    from catena.kernels.call.job import SHARED_WORK
    from catena.kernels.call.kernel import Kernel
    from catena.kernels.call.procedures import MAX_SCRATCH

    kernel = found.kernel
    if not isinstance(kernel, Kernel) or kernel.single_scratch > MAX_SCRATCH or kernel.operations >= SHARED_WORK:
        return None
    given = [*names[: len(args) - 1], *named]
    values = dict(zip(given, (*args[1:], *named.values()), strict=True))
    sources = set(found.sources)
    if "out" in values or any(type(x) in _ARRAYS for name, x in values.items() if name not in sources):
        return None
    if any(isinstance(x, str) and type(values.get(x)) not in _ARRAYS for x in sources):
        return None
    return Lean(found, [~x if isinstance(x, int) else given.index(x) for x in found.sources])
