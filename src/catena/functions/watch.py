"""Samples at which a matrix has no inverse, found after the call: which ones they are, and which joint is to blame.

Machine code divides by zero there, and what comes out is not finite. Processors remember that they divided by zero, so
that calls in which none did cost nothing more; results of the others are looked at here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.innovations import FACTOR
from catena.algorithms.parameters import with_parameters
from catena.errors import SingularError, SingularWarning, warn
from catena.functions.store import Compiled
from catena.model.topology import listed

Array = npt.NDArray[Any]
Sample = tuple[int, ...]

_TOGETHER = 1000  # samples that are factored at once


class Watch:
    """Looks for singular samples: an error for one sample alone, a warning that says which for those of a batch.

    `kernel` is what answers, `inverted` the matrix that it inverts: "M", or another that can have an inverse only where
    M has one.
    """

    def __init__(self, compiled: Compiled, kernel: Any, inverted: str) -> None:
        self._compiled, self._inverted = compiled, inverted
        self._inputs, self._outputs, self._dtype = kernel.inputs, kernel.outputs, kernel.dtype

    def called(self, leading: int, samples: int, *arrays: Any) -> None:
        """Look at the arrays of an emitted call, the results after the inputs."""
        count = len(self._inputs)
        self.look(arrays[:count], arrays[count:], (samples,) * leading)

    def look(self, inputs: Sequence[Any], results: Sequence[Any], batch: tuple[int, ...]) -> None:
        """Raise SingularError, or warn, if results are not finite since a matrix is singular."""
        with np.errstate(all="ignore"):
            if all(math.isfinite(np.sum(result)) for result in results):
                return
            strange = np.zeros(batch, dtype=bool)
            for result, port in zip(results, self._outputs, strict=True):
                strange |= ~_finite(result, batch, port.rank)
            for given, port in zip(inputs, self._inputs, strict=True):
                if given is not None:
                    strange &= _finite(given, batch, port.rank)
        samples = [*map(tuple, np.argwhere(strange).tolist())]
        if samples:
            given = {port.name: array for port, array in zip(self._inputs, inputs, strict=True)}
            self._report(samples, [*self._culprits(samples, given, batch)], results)

    def _report(self, samples: list[Sample], culprits: list[int | None], results: Sequence[Any]) -> None:
        """Say what is singular, and leave nothing but NaN at samples at which M is."""
        singular = [sample for sample, link in zip(samples, culprits, strict=True) if link is not None]
        if not singular:
            if self._inverted != "M":
                self._say(self._inverted, samples, None)
            return
        self._say("the mass matrix", singular, next(k for k in culprits if k is not None))
        for result in results:
            for sample in singular:
                result[sample] = np.nan

    def _say(self, what: str, samples: list[Sample], link: int | None) -> None:
        tree = self._compiled.tree
        names = {} if link is None else {"link": tree.link_names[link], "joint": tree.joint_names[link]}
        why = f": nothing resists joint {names['joint']!r} of link {names['link']!r} there" if names else ""
        if samples == [()]:
            advice = "; move the joints a little, or give that one an armature" if names else ""
            raise SingularError(f"{what} is singular at this configuration{why}{advice}", **names)
        listing = listed(sample[0] if len(sample) == 1 else sample for sample in samples)
        become = "NaN" if names else "not finite"
        warn(f"{what} is singular, and answers are {become}, for samples {listing}{why}", SingularWarning)

    def _culprits(self, samples: list[Sample], given: dict[str, Any], batch: tuple[int, ...]) -> Iterator[int | None]:
        """The link at whose joint the factorization of M stops, sample by sample; None where it does not."""
        tree, adopts = self._compiled.tree, "parameters" in given
        if "q" not in given:  # a function of factors that were looked at when they were made
            yield from [None] * len(samples)
            return
        kernel = self._compiled.kernel(with_parameters(FACTOR) if adopts else FACTOR, (), self._dtype)
        used = [given[name] for name in (("q", "parameters") if adopts else ("q",))]
        arrays = [np.broadcast_to(array, (*batch, np.shape(array)[-1])) for array in used]
        owner = np.repeat(np.arange(tree.n), np.diff(tree.v_start))
        for start in range(0, len(samples), _TOGETHER):
            rows = samples[start : start + _TOGETHER]
            chosen = [np.stack([array[row] for row in rows]) for array in arrays]
            with np.errstate(all="ignore"):
                G, D = kernel(*chosen)
            stopped = ~np.isfinite(G).all(-1) | ~np.isfinite(D).all(-1) | ~D.any(-1)
            for row in stopped:  # what stops at a joint spoils all before it: the last one is to blame
                yield int(owner[np.flatnonzero(row)[-1]]) if row.any() else None


def _finite(given: Any, batch: tuple[int, ...], rank: int) -> Array:
    """The samples that are finite, of arrays of this rank whose leading dimensions broadcast to the batch."""
    array = np.asarray(given)
    rows: Array = np.isfinite(array).all(axis=tuple(range(array.ndim - rank, array.ndim)))
    return np.broadcast_to(rows, batch)
