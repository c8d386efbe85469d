"""Dask arrays as arguments: a call is made chunk by chunk, where and when Dask wants, and gives Dask arrays.

Robots travel pickled; machine code comes from the cache of the process that computes. One thread works on a chunk, as
Dask counts on it: its workers have as many threads as they were given cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from catena.arguments.arrays import Port, batch_shape, is_chunked, wrong_shape
from catena.errors import ShapeError
from catena.kernels.call.threads import on_one_thread


def any_chunked(values: Sequence[Any]) -> bool:
    """Whether there is a Dask array among values, or in a mapping among them."""
    return any(any_chunked([*x.values()]) if isinstance(x, Mapping) else is_chunked(x) for x in values if x is not None)


class Call(NamedTuple):
    """What is done with each chunk: `function(asked, arrays, *more)` gives a tuple of arrays; it must be picklable."""

    function: Callable[..., tuple[Any, ...]]
    asked: Any
    more: tuple[Any, ...] = ()

    @property
    def __name__(self) -> str:
        """What Dask calls it in its graphs."""
        return self.function.__name__.strip("_")

    def __call__(self, *arrays: Any) -> Any:
        """The results for one chunk, computed by the thread that asks."""
        with on_one_thread():
            results = self.function(_here(type(self.asked).__qualname__, self.asked), arrays, *self.more)
        return results[0] if len(results) == 1 else tuple(np.asarray(x) for x in results)


@lru_cache(maxsize=16)
def _here(kind: str, asked: Any) -> Any:
    """The same object for all chunks that a process works on: with what was compiled for it."""
    return asked


def over_chunks(
    call: Call, arrays: Sequence[Any], inputs: Sequence[Port], outputs: Sequence[Port], dtypes: Sequence[Any], name: str
) -> tuple[Any, ...]:
    """What a call gives for arrays some of which are Dask's, as Dask arrays that are not computed yet.

    `inputs` and `outputs` say which last dimensions belong to one sample: these are not cut into chunks.
    """
    import dask.array as da
    from dask.array.core import unify_chunks

    given = [da.asarray(x) for x in arrays]
    for x, port in zip(given, inputs, strict=True):
        _check(x, port, name)
    batch_shape(given, inputs, name)
    leading = max(x.ndim - port.rank for x, port in zip(given, inputs, strict=True))
    whole, words = [], []
    for i, (x, port) in enumerate(zip(given, inputs, strict=True)):
        outer = x.ndim - port.rank
        whole += [
            x.rechunk(dict.fromkeys(range(outer, x.ndim), -1)),
            [*range(leading - outer, leading), *((i, k) for k in range(port.rank))],
        ]
        words.append(",".join(f"i{i}d{k}" for k in range(port.rank)))
    _, cut = unify_chunks(*whole)
    sizes = {f"o{i}d{k}": size for i, port in enumerate(outputs) for k, size in enumerate(port.shape)}
    results = [",".join(f"o{i}d{k}" for k in range(port.rank)) for i, port in enumerate(outputs)]
    signature = "->".join(",".join(f"({word})" for word in some) for some in (words, results))
    alone = len(outputs) == 1
    found = da.apply_gufunc(call, signature, *cut, output_dtypes=dtypes[0] if alone else [*dtypes], output_sizes=sizes)
    return (found,) if alone else tuple(found)


def _check(x: Any, port: Port, name: str) -> None:
    """Refuse what no chunk could be of use in."""
    if x.dtype.kind not in "fiub":
        raise ShapeError(f"{name}: {port.name} must hold real numbers, got an array of dtype {x.dtype}")
    if x.ndim < port.rank or x.shape[x.ndim - port.rank :] != port.shape:
        raise wrong_shape(name, port, x.shape)
    if any(size != size for size in x.shape):
        raise ShapeError(f"{name}: the chunks of {port.name} must have known sizes; call its compute_chunk_sizes first")
