"""What a sampler of polymers gives: shapes, the share accepted, and how many samples are independent."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError

if TYPE_CHECKING:
    from catena.polymers.polymer import Polymer

Array = npt.NDArray[Any]


class Samples:
    """Shapes of a polymer.

    `positions` are (samples, ..., atoms, 3), with the leading dimensions of the configurations that chains started
    from; `acceptance` is the share of trajectories that were accepted, `unsolved` the share of those rejected because
    their constraints could not be solved or because they did not lead back.
    """

    def __init__(self, polymer: Polymer, positions: Array, acceptance: float, unsolved: float) -> None:
        self.polymer, self.positions, self.acceptance, self.unsolved = polymer, positions, acceptance, unsolved

    @cached_property
    def q(self) -> Array:
        """Internal coordinates (samples, ..., nq)."""
        return self.polymer.configuration(self.positions)

    def effective_sample_size(self, values: npt.ArrayLike | None = None) -> float:
        """How many independent samples the mean of `values` (samples, ...) is worth.

        There may be fewer values than samples, one after another: those that are left where the first were dropped.
        Without `values`, the least of those of the squared distances between all next but one and next but two atoms
        along the chain. From the autocorrelation of all chains together, summed up to where it is lost (Geyer 1992).
        """
        if values is not None:
            x = np.asarray(values, dtype=float)
            samples, *chains = self.positions.shape[:-2]
            if not x.ndim or x.shape[1:] != tuple(chains) or not 0 < len(x) <= samples:
                raise ShapeError(
                    f"values: expected shape {self.positions.shape[:-2]}, or fewer samples if the first were dropped; "
                    f"found {x.shape}"
                )
            return _effective(x.reshape(len(x), -1))
        x = self.positions
        spans = [x[..., k:, :] - x[..., :-k, :] for k in (2, 3) if x.shape[-2] > k]
        if not spans:
            return float(np.prod(x.shape[:-2]))
        squares = np.concatenate([np.sum(span**2, axis=-1) for span in spans], axis=-1)
        flat = squares.reshape(len(squares), -1, squares.shape[-1])
        return min(_effective(flat[..., i]) for i in range(flat.shape[-1]))

    def __repr__(self) -> str:
        count = int(np.prod(self.positions.shape[:-2]))
        return f"<{count} samples, acceptance {self.acceptance:.2f}, effective {self.effective_sample_size():.0f}>"


def _effective(x: Array) -> float:
    """The effective number of samples x (samples, chains)."""
    n, chains = x.shape
    centred = x - x.mean()
    variance = float(np.mean(centred**2))
    if variance <= np.finfo(float).eps * float(np.mean(x**2)):
        return float(n * chains)
    spectrum = np.fft.rfft(centred, 2 * n, axis=0)
    lagged = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:n].mean(axis=1) / np.arange(n, 0, -1) / variance
    pairs = lagged[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    end = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    time = max(2 * float(np.sum(pairs[:end])) - 1, 1e-3) if n > 1 else 1.0
    return float(n * chains / time)
