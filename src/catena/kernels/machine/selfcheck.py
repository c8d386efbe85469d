"""New machine code is compared once with the graph it was made from, before anybody relies on it.

Code generators meet processors that nobody tried them on. A few odd samples tell right from wrong code; they are not
meant to judge the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from catena.arguments.arrays import Port
from catena.functions.function import Repeated
from catena.functions.linkwise import Traced
from catena.kernels.call.kernel import Kernel, repeated_ports
from catena.kernels.machine.compile import load
from catena.trace.graph import Operand
from catena.trace.interpret import values

TOLERANCE = {8: 1e-6, 4: 1e-2}
"""The largest difference that still counts as agreement, by bytes of the type, beside a sample's largest result."""

NUDGE, FIRM = {8: 1e-13, 4: 1e-5}, 0.1
"""A sample is firm, and is judged, if so small a change of its inputs makes less than this share of the tolerance."""

SMALL = 2.0**-10


def agrees(
    code: bytes,
    traced: Traced,
    dtype: np.dtype[Any],
    positive: Collection[str] = (),
    repeated: Repeated | None = None,
) -> bool:
    """Whether machine code gives what the graph says, in lanes, with lanes left over, and for single samples.

    Inputs that are `positive` are small, as steps in time are: large ones would make too much of the last digits. Code
    that is `repeated` takes two turns. Every firm sample must agree, and there must be as many of them as lanes.
    """
    sizes, outputs = traced
    ins = tuple(Port(name, (size,)) for name, size in sizes.items())
    outs = tuple(Port(name, (len(x),)) for name, x in outputs.items())
    context: tuple[int, ...] = ()
    if repeated is not None:
        (ins, outs), context = repeated_ports(repeated, ins, outs, 1, 2), (1, 2)
    kernel = Kernel("check", load(code), ins, outs, dtype=dtype, context=context)
    samples = {port.name: _samples(i, (4 * kernel.lanes + 3, *port.shape)) for i, port in enumerate(ins)}
    samples.update({name: SMALL * np.abs(samples[name]) for name in positive if name in samples})
    with np.errstate(all="ignore"):
        expected = _expected(outputs, samples, repeated)
        batch = _joined(kernel, [*samples.values()], [*map(len, outputs.values())])
        singles = [_joined(kernel, [x[i] for x in samples.values()], [*map(len, outputs.values())]) for i in (0, 1)]
        finite = np.isfinite(expected)
        most = TOLERANCE[dtype.itemsize] * np.abs(expected).max(axis=-1, keepdims=True, initial=1.0, where=finite)
        wrong = (finite & ~(np.abs(batch - expected) <= most)).any(axis=-1)
        if wrong.any():  # which samples hang on the last digits, the graph says, never the code that is judged
            nudged = _expected(outputs, _nudged(samples, NUDGE[dtype.itemsize]), repeated)
            firm = (~finite | (np.abs(nudged - expected) <= FIRM * most)).all(axis=-1)
            wrong = wrong & firm | (firm.sum() < kernel.lanes)  # a few that are firm tell nothing
    return bool(not wrong.any() and np.array_equal(singles, batch[:2], equal_nan=True))


def _nudged(samples: Mapping[str, np.ndarray], share: float) -> dict[str, np.ndarray]:
    """Samples of which each number is changed by a share of itself, one up, another down."""
    return {
        name: x * (1.0 + share * np.sign(_samples(i + 0.5, x.shape))) for i, (name, x) in enumerate(samples.items())
    }


def _expected(
    outputs: Mapping[str, Sequence[Operand]], samples: Mapping[str, np.ndarray], repeated: Repeated | None
) -> np.ndarray:
    """What the graph says, of one turn or of two."""
    wanted, each = [x for output in outputs.values() for x in output], () if repeated is None else repeated.each
    given = {name: x[:, 0] if name in each else x for name, x in samples.items()}
    found = values(wanted, given)
    if repeated is None:
        return found
    ends = np.cumsum([len(output) for output in outputs.values()])[:-1]
    carried = dict(zip(outputs, np.split(found, ends, axis=-1), strict=True))
    return values(wanted, {**given, **carried, **{name: samples[name][:, 1] for name in each}})


def _samples(seed: float, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers between -2 and 2 that have nothing to do with each other; numpy.random takes long to import."""
    return 2.0 * np.sin(np.square(np.arange(float(math.prod(shape))) + 100.7 * (seed + 1)).reshape(shape))


def _joined(kernel: Kernel, arrays: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """The results of a call, so many numbers of each, side by side; of rows that are kept, the last."""
    results = kernel(*arrays)
    several = results if isinstance(results, tuple) else (results,)
    flat = [x.reshape(*x.shape[: x.ndim - p.rank], -1) for x, p in zip(several, kernel.outputs, strict=True)]
    return np.concatenate([x[..., x.shape[-1] - n :] for x, n in zip(flat, sizes, strict=True)], axis=-1)
