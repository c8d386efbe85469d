"""The lean way of a call in Python, for calls that machine code does not answer by itself.

What a combination of options needs is found out once. Then the arrays of a call go to a desk
(:mod:`catena.kernels.call.desk`) that was laid out for their shapes. What fits none is declined, and goes the way that
knows every case and has words for every mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.arrays import MOST_LEADING, Shape, is_chunked
from catena.arguments.wrenches import placed_frames

if TYPE_CHECKING:
    from catena.functions.question import Answer
    from catena.kernels.call.desk import Desk

DECLINED = object()
"""What is no answer."""

_MOST = 16  # shapes of calls whose desks are kept


class Lean:
    """How calls with one combination of options are answered.

    `places` says which value each input is, the asked one's own below 0; `out` where that is, None if it is not given;
    `mapped` which input is a mapping of wrenches, None if none is, and `frames` the link and place of each of its keys.
    """

    def __init__(
        self, found: Answer, places: Sequence[int], out: int | None, mapped: int | None, frames: Sequence[Any]
    ) -> None:
        from catena.kernels.call.desk import Unfit

        self._found, self._places, self._out, self._mapped, self._frames = found, places, out, mapped, frames
        self._unfit = Unfit
        self._desks: dict[
            tuple[Shape, ...], list[Desk]
        ] = {}  # that nobody uses now; one operation on it is whole or not done at all

    def __call__(self, own: Sequence[Any], values: Sequence[Any]) -> Any:
        """The answer, or `DECLINED`."""
        arrays, shapes, found = [], [], self._found
        given = [values[place] if place >= 0 else own[~place] for place in self._places]
        if self._mapped is not None:
            given += given.pop(self._mapped).values()
        for x in given:
            if type(x) is not np.ndarray:
                x = _as_array(x)
            if x.dtype.kind not in "fiub":
                return DECLINED
            arrays.append(x)
            shapes.append(x.shape)
        key = tuple(shapes)
        try:
            try:
                desk = self._desks[key].pop()
            except (KeyError, IndexError):
                desk = self._laid_out(key)
            results = desk.answer(arrays, None if self._out is None else values[self._out], found.watch)
        except self._unfit:
            return DECLINED
        self._desks[key].append(desk)
        return results[0] if len(results) == 1 else found.returned(results)

    def _laid_out(self, shapes: tuple[Shape, ...]) -> Desk:
        """A desk for arrays of these shapes; if they have a mistake, others will say what it is."""
        from catena.arguments.wrenches import carrying
        from catena.kernels.call.desk import Desk, Unfit, Wrenches

        kernel, mapped, count = self._found.kernel, self._mapped, len(self._frames)
        samples = [p.shape for i, p in enumerate(kernel.inputs) if i != mapped] + [(6,)] * count
        leading = [s[: len(s) - len(sample)] for s, sample in zip(shapes, samples, strict=True)]
        if any(a + b != s or len(a) > MOST_LEADING for a, b, s in zip(leading, samples, shapes, strict=True)):
            raise Unfit
        try:
            batch = np.broadcast_shapes(*leading)
        except ValueError:
            raise Unfit from None
        if 0 in batch:
            raise Unfit
        wrenches = None
        if mapped is not None:
            over = batch if any(leading[len(leading) - count :]) else ()
            wrenches = Wrenches(carrying(), mapped, self._frames, kernel.inputs[mapped].shape[0], over)
        desk = Desk(kernel, shapes, batch, wrenches)
        if len(self._desks) >= _MOST:
            self._desks = {}
        self._desks.setdefault(shapes, [])
        return desk


def _as_array(x: Any) -> np.ndarray:
    """Anything as an array, of objects where it is none or Dask's."""
    if not is_chunked(x):
        try:
            return np.asarray(x)
        except Exception:  # whatever the conversion of somebody's object raises
            pass
    return np.empty((), dtype=object)


def lean(found: Answer, asked: Any, given: Sequence[str], values: Sequence[Any]) -> Lean | None:
    """The lean way of calls like this one, with values for the parameters in `given`, None if there is none."""
    from catena.kernels.call.kernel import Kernel

    if not isinstance(found.kernel, Kernel):
        return None
    places = [~x if isinstance(x, int) else given.index(x) for x in found.sources]
    mapped = [i for i, place in enumerate(places) if place >= 0 and isinstance(values[place], Mapping)]
    frames = placed_frames(asked, tuple(values[places[mapped[0]]])) if mapped else ()
    if len(mapped) > 1 or (mapped and not frames):
        return None
    return Lean(found, places, given.index("out") if "out" in given else None, mapped[0] if mapped else None, frames)
