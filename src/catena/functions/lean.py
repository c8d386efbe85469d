"""The lean way of a call in Python, for calls that machine code does not answer by itself.

What a combination of options needs is found out once. Then the arrays of a call go to a desk
(:mod:`catena.kernels.call.desk`) that was laid out for their shapes. What fits none is declined, and goes the way that
knows every case and has words for every mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.arrays import MOST_LEADING, Shape, is_chunked
from catena.arguments.wrenches import placed_frames

if TYPE_CHECKING:
    from catena.functions.question import Answer
    from catena.kernels.call.desk import Desk

DECLINED = object()
"""What is no answer."""

_MOST = 16  # layouts of calls whose desks are kept
_LAYOUT = attrgetter("shape", "dtype")
Layouts = tuple[tuple[Shape, np.dtype[Any]], ...]


class Lean:
    """How calls with one combination of options are answered.

    `places` says where each input is among the `count` values of a call and, after these, the asked one's own arrays;
    `out` where that is, None if it is not given; `mapped` which input is a mapping of wrenches, None if none is, and
    `frames` the link and place of each of its keys. `plain` says that all inputs are NumPy's arrays in every such call.
    """

    def __init__(
        self,
        found: Answer,
        count: int,
        places: Sequence[int],
        out: int | None,
        mapped: int | None,
        frames: Sequence[Any],
        plain: bool,
    ) -> None:
        from catena.kernels.call.desk import Unfit

        self._found, self._out, self._mapped, self._frames, self._plain = found, out, mapped, frames, plain
        self._taken = itemgetter(*places) if len(places) > 1 else lambda values: tuple(values[i] for i in places)
        self._straight = [*places] == [*range(count)]
        self._watch, self._single, self._unfit = found.watch, len(found.signature.outputs) == 1, Unfit
        self._desks: dict[Layouts, list[Desk]] = {}  # that nobody uses now; each operation is whole or not done at all

    def answer(self, own: Sequence[Any], values: Sequence[Any]) -> Any:
        """The answer, or `DECLINED`."""
        given = values if self._straight else self._taken((*values, *own))
        if not self._plain:
            if (mapped := self._mapped) is not None:
                given = (*given[:mapped], *given[mapped + 1 :], *given[mapped].values())
            given = [x if type(x) is np.ndarray else _as_array(x) for x in given]
        layouts = (*map(_LAYOUT, given),)
        out = None if self._out is None else values[self._out]
        try:
            spare = self._desks.get(layouts)
            if spare is None:
                spare = self._room(layouts)
            try:
                desk = spare.pop()
            except IndexError:  # another call is at it
                desk = self._laid_out(layouts)
            try:
                wanted = None if out is None else self._found.signature.wanted(out, desk.batch)
                results = desk.answer(given, wanted, self._watch)
            finally:
                spare.append(desk)
        except self._unfit:
            return DECLINED
        if out is not None:
            results = self._found.signature.given_back(out, results)
        return results[0] if self._single else self._found.returned(results)

    def _room(self, layouts: Layouts) -> list[Desk]:
        """Where desks for arrays like these are kept, with the first of them."""
        spare = [self._laid_out(layouts)]
        if len(self._desks) >= _MOST:
            self._desks = {}
        self._desks[layouts] = spare
        return spare

    def _laid_out(self, layouts: Layouts) -> Desk:
        """A desk for arrays like these; if they have a mistake, others will say what it is."""
        from catena.arguments.wrenches import carrying
        from catena.kernels.call.desk import Desk, Unfit, Wrenches

        kernel, mapped, count = self._found.kernel, self._mapped, len(self._frames)
        shapes = [shape for shape, _ in layouts]
        samples = [p.shape for i, p in enumerate(kernel.inputs) if i != mapped] + [(6,)] * count
        leading = [s[: len(s) - len(sample)] for s, sample in zip(shapes, samples, strict=True)]
        if any(dtype.kind not in "fiub" for _, dtype in layouts):
            raise Unfit
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
        return Desk(kernel, shapes, batch, wrenches)


def _as_array(x: Any) -> np.ndarray:
    """Anything as an array, of objects where it is none or Dask's."""
    if not is_chunked(x):
        try:
            return np.asarray(x)
        except Exception:  # whatever the conversion of somebody's object raises
            pass
    return np.empty((), dtype=object)


def lean(found: Answer, asked: Any, given: Sequence[str], values: Sequence[Any]) -> Callable[..., Any] | None:
    """The lean way of calls like this one, with values for the parameters in `given`, None if there is none."""
    from catena.kernels.call.kernel import Kernel

    if not isinstance(found.kernel, Kernel):
        return None
    places = [len(values) + x if isinstance(x, int) else given.index(x) for x in found.sources]
    inputs: list[Any] = [values[place] if place < len(values) else None for place in places]
    mapped = [i for i, x in enumerate(inputs) if isinstance(x, Mapping)]
    frames = placed_frames(asked, tuple(inputs[mapped[0]])) if mapped else ()
    if len(mapped) > 1 or (mapped and not frames):
        return None
    out, plain = given.index("out") if "out" in given else None, all(type(x) is np.ndarray for x in inputs)
    return Lean(found, len(values), places, out, mapped[0] if mapped else None, frames, plain).answer
