"""Samples at which a matrix has no inverse, found after the call: which ones they are, and which joint is to blame.

Machine code divides by zero there, and what comes out is not finite. Processors remember that they divided by zero, so
that calls in which none did cost nothing more; results of the others are looked at here.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.composite_body import MASS_MATRIX
from catena.algorithms.innovations import FACTOR
from catena.algorithms.parameters import with_parameters
from catena.errors import SingularError, SingularWarning, warn
from catena.functions.function import Function
from catena.functions.store import Compiled
from catena.model.mimic import followers
from catena.model.topology import listed
from catena.model.tree import Tree

Array = npt.NDArray[Any]
Sample = tuple[int, ...]

_TOGETHER = 1000  # samples that are factored at once
_MOST_DENSE = 200  # degrees of freedom of which the eigenvalues of M are looked at

SPACE = "J M⁻¹ Jᵀ"
"""What operational space inverts."""

_UNSEEN = "f_ext"
"""What calls of machine code do not hand over if it was a mapping; no matrix depends on it."""

_INSTEAD = {SPACE: "; what is asked about cannot move in all directions there; see operational_mobility"}


class Watch:
    """Looks for singular samples: an error for one sample alone, a warning that says which for those of a batch.

    `kernel` is what answers, `inverted` the matrix that it inverts: "M", or another that can have an inverse only where
    M has one. `mender` takes the same arrays, and answers samples that `kernel` has left without numbers.
    """

    def __init__(self, compiled: Compiled, kernel: Any, inverted: str, mender: Any = None) -> None:
        self._compiled = weakref.ref(compiled)  # which owns this: robots are freed as soon as nobody holds them
        self._tree, self._inverted = compiled.tree, inverted
        self._inputs, self._outputs, self._dtype = kernel.inputs, kernel.outputs, kernel.dtype
        self._mender = mender

    @property
    def mends(self) -> bool:
        """Whether samples without numbers are answered in another way."""
        return self._mender is not None

    def called(self, leading: int, samples: int, *arrays: Any) -> None:
        """Look at the arrays of an emitted call with so many leading dimensions, the results after the inputs."""
        count = len(self._inputs)
        self.look(arrays[:count], arrays[count:], arrays[count].shape[:leading])

    def look(self, inputs: Sequence[Any], results: Sequence[Any], batch: tuple[int, ...]) -> None:
        """Raise SingularError, or warn, if results are not finite since a matrix is singular."""
        with np.errstate(all="ignore"):
            if all(math.isfinite(np.sum(result)) for result in results):
                return
            strange = self._strange(inputs, results, batch)
            if self._mender is not None and strange.any():
                self._mend(strange, inputs, results)
                strange = self._strange(inputs, results, batch)
        samples = [*map(tuple, np.argwhere(strange).tolist())]
        if samples:
            given = {port.name: array for port, array in zip(self._inputs, inputs, strict=True)}
            self._report(samples, self._culprits(samples, given, batch), results)

    def _strange(self, inputs: Sequence[Any], results: Sequence[Any], batch: tuple[int, ...]) -> Array:
        """The samples whose results are not finite although what was given is."""
        strange = np.zeros(batch, dtype=bool)
        for result, port in zip(results, self._outputs, strict=True):
            strange |= ~_finite(result, batch, port.rank)
        for given, port in zip(inputs, self._inputs, strict=True):
            if given is not None and (port.name != _UNSEEN or self._mender is not None):
                strange &= _finite(given, batch, port.rank)
        return strange

    def _mend(self, strange: Array, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Answer these samples in the other way."""
        rows = []
        for given, port in zip(inputs, self._inputs, strict=True):
            array = np.asarray(given)
            rows.append(np.broadcast_to(array, strange.shape + array.shape[array.ndim - port.rank :])[strange])
        found = self._mender(*rows)
        for result, mended in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
            result[strange] = mended

    def _report(self, samples: list[Sample], culprits: list[int | None], results: Sequence[Any]) -> None:
        """Say what is singular, and leave nothing but NaN at samples at which M is."""
        singular = [sample for sample, link in zip(samples, culprits, strict=True) if link is not None]
        if not singular:
            if self._inverted != "M":
                self._say(self._inverted, samples, None)
                for result in results:
                    for sample in samples:
                        if not np.isfinite(result[sample]).all():
                            result[sample] = np.nan
            return
        self._say("the mass matrix", singular, next(k for k in culprits if k is not None))
        for result in results:
            for sample in singular:
                result[sample] = np.nan

    def _say(self, what: str, samples: list[Sample], link: int | None) -> None:
        tree = self._tree
        names = {} if link is None else {"link": tree.link_names[link], "joint": tree.joint_names[link]}
        why = "" if link is None else unresisted(tree, link)
        if samples == [()]:
            advice = "; move the joints a little, or give that one an armature" if names else _INSTEAD.get(what, "")
            raise SingularError(f"{what} is singular at this configuration{why}{advice}", **names)
        warn(f"{what} is singular, and answers are NaN, for samples {numbered(samples)}{why}", SingularWarning)

    def _culprits(self, samples: list[Sample], given: dict[str, Any], batch: tuple[int, ...]) -> list[int | None]:
        """The link at whose joint the factorization of M stops, sample by sample; None where it does not."""
        compiled = self._compiled()
        if compiled is None or "q" not in given:  # a function of factors that were looked at when they were made
            return [None] * len(samples)
        used = [given[name] for name in ("q", "parameters") if name in given]
        arrays = [np.broadcast_to(array, (*batch, np.shape(array)[-1])) for array in used]
        links: list[int | None] = []
        for start in range(0, len(samples), _TOGETHER):
            rows = samples[start : start + _TOGETHER]
            stacked = [np.stack([array[row] for row in rows]) for array in arrays]
            links += singular_links(compiled, self._dtype, *stacked)
        lost = [i for i, link in enumerate(links) if link is None and self._inverted != SPACE]
        for i in range(0, len(lost), _TOGETHER):
            some = lost[i : i + _TOGETHER]
            stacked = [np.stack([array[samples[k]] for k in some]) for array in arrays]
            for k, link in zip(some, links_lost_in_rounding(compiled, self._dtype, *stacked), strict=True):
                links[k] = link
        return links


def numbered(samples: Sequence[Sample]) -> str:
    """Samples for a message: plain numbers where a batch has one dimension."""
    return listed(sample[0] if len(sample) == 1 else sample for sample in samples)


def unresisted(tree: Tree, link: int) -> str:
    """The end of a message: which joint makes M singular."""
    return f": nothing resists joint {tree.joint_names[link]!r} of link {tree.link_names[link]!r} there"


def singular_links(compiled: Compiled, dtype: Any, q: Array, parameters: Array | None = None) -> list[int | None]:
    """The link at whose joint the factorization of M(q) stops, for q (count, nq); None where it does not."""
    whole = followers(compiled.tree) is not None  # joints that are freed together are not factored joint by joint
    function, stops = (MASS_MATRIX, _unresisted) if whole else (FACTOR, _stopped)
    return _links_where(compiled, dtype, function, stops, q, parameters)


def links_lost_in_rounding(
    compiled: Compiled, dtype: Any, q: Array, parameters: Array | None = None
) -> list[int | None]:
    """The link whose joint M(q) resists no more than rounding does, by its eigenvalues; None where it resists all.

    Factors joint by joint keep digits that elimination in M as a whole, an array, loses. O(n³).
    """
    if compiled.tree.nv > _MOST_DENSE:
        return [None] * len(q)
    return _links_where(compiled, dtype, MASS_MATRIX, _unresisted, q, parameters)


def _links_where(
    compiled: Compiled, dtype: Any, function: Function, stops: Any, q: Array, parameters: Array | None
) -> list[int | None]:
    tree = compiled.tree
    kernel = compiled.kernel(function if parameters is None else with_parameters(function), (), dtype)
    with np.errstate(all="ignore"):
        found = stops(kernel(*((q,) if parameters is None else (q, parameters))))
    owner = np.repeat(np.arange(tree.n), np.diff(tree.v_start))
    # what stops at a joint spoils all before it: the last one is to blame
    return [int(owner[np.flatnonzero(row)[-1]]) if row.any() else None for row in found]


def _stopped(factors: tuple[Array, Array]) -> Array:
    """At which degrees of freedom the factors of M are no numbers, or vanish."""
    G, D = factors
    return np.asarray(~np.isfinite(G).all(-1) | ~np.isfinite(D).all(-1) | ~D.any(-1))


def _unresisted(M: Array) -> Array:
    """Which degree of freedom, if any, has the most to do with a motion that M does not resist."""
    size = np.sqrt(np.maximum(np.diagonal(M, axis1=-2, axis2=-1), np.finfo(M.dtype).tiny))
    moments, motions = np.linalg.eigh(np.nan_to_num(M / (size[..., :, None] * size[..., None, :])))
    singular = np.isfinite(M).all(axis=(-1, -2)) & (moments[..., 0] <= 16 * M.shape[-1] * np.finfo(M.dtype).eps)
    most = np.argmax(np.abs(motions[..., 0]), axis=-1)
    return np.asarray(singular[..., None] & (np.arange(M.shape[-1]) == most[..., None]))


def _finite(given: Any, batch: tuple[int, ...], rank: int) -> Array:
    """The samples that are finite, of arrays of this rank whose leading dimensions broadcast to the batch."""
    array = np.asarray(given)
    rows: Array = np.isfinite(array).all(axis=tuple(range(array.ndim - rank, array.ndim)))
    return np.broadcast_to(rows, batch)
