"""New machine code is compared once with the graph it was made from, before anybody relies on it.

Code generators meet processors that nobody tried them on. A few odd samples tell right from wrong code; they are not
meant to judge the last digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from catena.arguments.arrays import Port
from catena.functions.linkwise import Traced
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import load
from catena.trace.interpret import values

TOLERANCE = {8: 1e-6, 4: 1e-2}
"""The largest difference that still counts as agreement, by bytes of the type, beside the largest result."""


def agrees(code: bytes, traced: Traced, dtype: np.dtype[Any]) -> bool:
    """Whether machine code gives what the graph says, in lanes, with lanes left over, and for single samples."""
    sizes, outputs = traced
    ports = [Port(name, (size,)) for name, size in sizes.items()], [Port(n, (len(x),)) for n, x in outputs.items()]
    kernel = Kernel("check", load(code), *ports, dtype=dtype)
    samples = {name: _samples(i, (kernel.lanes + 3, size)) for i, (name, size) in enumerate(sizes.items())}
    with np.errstate(all="ignore"):
        expected = values([x for output in outputs.values() for x in output], samples)
        batch = _joined(kernel(*samples.values()))
        singles = np.stack([_joined(kernel(*[x[i] for x in samples.values()])) for i in (0, 1)])
        scale = TOLERANCE[dtype.itemsize] * np.abs(expected).max(initial=1.0, where=np.isfinite(expected))
        close = np.abs(batch - expected) <= scale
    return bool(np.all(close | ~np.isfinite(expected)) and np.array_equal(singles, batch[:2], equal_nan=True))


def _samples(seed: int, shape: tuple[int, int]) -> np.ndarray:
    """Numbers between -2 and 2 that have nothing to do with each other; numpy.random takes long to import."""
    return 2.0 * np.sin(np.square(np.arange(float(math.prod(shape))) + 100.7 * (seed + 1)).reshape(shape))


def _joined(results: Any) -> np.ndarray:
    """The outputs of a call, side by side."""
    return np.concatenate(results if isinstance(results, tuple) else (results,), axis=-1)
