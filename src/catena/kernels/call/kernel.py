"""Kernels as functions of arrays: the general path, which accepts whatever NumPy does."""

from __future__ import annotations

import math
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.arguments.arrays import MOST_LEADING, Port, Shape, Signature
from catena.errors import UnsupportedError
from catena.functions.function import Repeated
from catena.kernels.call import scratch
from catena.kernels.call.batch import run_batch
from catena.kernels.call.results import new_result
from catena.kernels.call.share_ir import MAX_ARRAYS
from catena.kernels.machine.compile import Module, Whole


class Computing(Whole, ABC):
    """What is called with arrays and gives arrays, with any leading dimensions: a signature, and how to compute."""

    signature: Signature

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """The result, or a tuple of results, of shape ``(*leading dimensions, *shape of the output)``.

        Results are new arrays, or those given as ``out`` (an array, or a tuple with an array or None per output), which
        may overlap the arguments.
        """
        given, batch = self.signature.arguments(arrays, MOST_LEADING + 1)
        results = self.compute(given, self.signature.wanted(out, batch), batch, keep=out is not None)
        results = self.signature.given_back(out, results)
        return results[0] if len(results) == 1 else tuple(results)

    @abstractmethod
    def compute(
        self, given: list[np.ndarray], wanted: list[np.ndarray | None], batch: Shape, *, keep: bool = False
    ) -> list[Any]:
        """The results for checked arguments, in the arrays that are wanted or in new ones.

        New ones without dimensions become numbers, unless `keep` says that the caller has arrays.
        """


class Kernel(Computing):
    """A compiled function: arrays in, arrays out, any leading dimensions.

    Args:
        name: what to call it in messages, a question that users ask.
        module: the machine code.
        inputs: names and shapes of the arguments.
        outputs: names and shapes of the results.
        dtype: what the machine code computes in.
        links: what the per-link sizes of a rolled kernel are multiplied with.
        context: arrays whose addresses, and integers which, make up the table that ``context`` points to.
        turns: how often the machine code is repeated in one call.

    Raises:
        ShapeError: from a call, if an argument has the wrong shape or does not hold real numbers.
    """

    def __init__(
        self,
        name: str,
        module: Module,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        *,
        dtype: Any = np.float64,
        links: int = 0,
        context: Sequence[np.ndarray | int] = (),
        turns: int = 1,
    ) -> None:
        if max(len(inputs), len(outputs)) > MAX_ARRAYS:
            raise UnsupportedError(f"{name}: a kernel has at most {MAX_ARRAYS} inputs and as many outputs")
        self.name, self.module, self.inputs, self.outputs = name, module, tuple(inputs), tuple(outputs)
        self.dtype = np.dtype(dtype)
        self.signature = Signature(name, self.inputs, self.outputs, self.dtype)
        (self.lanes,) = module.integers("lanes")
        self.operations = module.integers("operations")[0] * max(1, links) * turns
        sizes = module.integers("scratch_bytes", 4)
        self.batch_scratch, self.single_scratch = sizes[0] + links * sizes[1], sizes[2] + links * sizes[3]
        self.batch_entry, self.single_entry = module.address("batch"), module.address("single")
        self._context_arrays = tuple(context)
        self._context = np.array([c if isinstance(c, int) else c.ctypes.data for c in context], dtype=np.int64)
        self.context_address = int(self._context.ctypes.data)
        self._widths = np.array([p.width for p in outputs], dtype=np.int64)
        self.widths_address = int(self._widths.ctypes.data)
        if max(self.batch_scratch, self.single_scratch) >= scratch.LARGE:
            weakref.finalize(self, scratch.release_large).atexit = False

    def compute(
        self, given: list[np.ndarray], wanted: list[np.ndarray | None], batch: Shape, *, keep: bool = False
    ) -> list[Any]:
        """The results for checked arguments: the same bit by bit whatever the number of samples and threads."""
        results = [
            new_result(batch + p.shape, self.dtype) if w is None or _in_the_way(w, given) else w
            for w, p in zip(wanted, self.outputs, strict=True)
        ]
        if math.prod(batch):
            run_batch(self, given, results, batch)
        for i, w in enumerate(wanted):
            if w is not None and w is not results[i]:
                np.copyto(w, results[i])
                results[i] = w
        return [r if r.ndim or keep else r[()] for r in results]


def _in_the_way(out: np.ndarray, arrays: list[np.ndarray]) -> bool:
    """Whether writing to ``out`` might change an argument before it has been read."""
    return any(np.may_share_memory(out, a) for a in arrays)


def repeated_ports(
    repeated: Repeated, inputs: Sequence[Port], outputs: Sequence[Port], rows: int, between: int
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """What goes in and comes out if so many rows are kept after the first, with so many turns between two."""
    ins = [replace(p, shape=(rows * between, *p.shape)) if p.name in repeated.each else p for p in inputs]
    outs = [replace(p, shape=(rows + 1, *p.shape)) if repeated.kept(p.name) else p for p in outputs]
    return tuple(ins), tuple(outs)
