"""Lee & Chirikjian (2005), section III: planar chains of point masses by Fixman's partition, in banded matrices.

Soft coordinates are the joint angles θ, hard ones the lengths L; the inverse mass matrix H of the chain with free
lengths has blocks with a few diagonals each (24). All entries come from the joint angles alone, in the nonsingular form
of errata.md: with n(i) along link i and t(i) = n(i) turned by 90° over L(i),

    ∂θ(i)/∂x = t(i) (δ(i) − δ(i−1)) − t(i−1) (δ(i−1) − δ(i−2)),    ∂L(i)/∂x = n(i) (δ(i) − δ(i−1))        (18), (21)

so that only scalar products of neighbours are needed: cosines and sines of θ. Straight chains are not special.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from catena.algorithms.block_band import block_functions
from catena.arguments.arrays import as_floats
from catena.errors import ShapeError, SingularError
from catena.functions.store import Compiled
from catena.model.chains import planar_chain

Array = npt.NDArray[Any]


class Solution(NamedTuple):
    """What (13) gives: the accelerations x of the soft coordinates, and the reactions −e along the hard ones."""

    x: Array
    reaction: Array


@dataclass(frozen=True)
class PlanarBlocks:
    """The blocks (22) of H for one configuration or several, as diagonals.

    `theta_theta` holds diagonals 0, 1, 2 of a symmetric matrix, `theta_length` diagonals +1, 0, −1, −2, `length_length`
    diagonals 0, 1 of a symmetric matrix; diagonal d of N x N has N − |d| entries, along the last axis. `log_det_G` is
    the logarithm of the determinant of the mass matrix with free lengths.
    """

    theta_theta: tuple[Array, Array, Array]
    theta_length: tuple[Array, Array, Array, Array]
    length_length: tuple[Array, Array]
    log_det_G: Any

    @property
    def n(self) -> int:
        """Number of links."""
        return int(self.theta_theta[0].shape[-1])

    def dense(self) -> tuple[Array, Array, Array]:
        """H^θθ, H^θL and H^LL as whole matrices, (..., n, n) each."""
        tt, tl, ll = self.theta_theta, self.theta_length, self.length_length
        return (
            _filled(self.n, {0: tt[0], 1: tt[1], -1: tt[1], 2: tt[2], -2: tt[2]}),
            _filled(self.n, dict(zip((1, 0, -1, -2), tl, strict=True))),
            _filled(self.n, {0: ll[0], 1: ll[1], -1: ll[1]}),
        )

    def solve(self, b: npt.ArrayLike) -> Solution:
        """(G^θθ)⁻¹ b by the pipeline (13), for b of shape (..., n), which broadcasts with the batch. O(n) each."""
        b = as_floats(b, "b")
        if b.shape[-1:] != (self.n,):
            raise ShapeError(f"b: expected {self.n} numbers along the last axis, found shape {b.shape}")
        if self.theta_theta[0].ndim > 1:
            b = np.broadcast_to(b, np.broadcast_shapes(b.shape, self.theta_theta[0].shape))
        tt, tl = self.theta_theta, self.theta_length
        c = _times({0: tt[0], 1: tt[1], -1: tt[1], 2: tt[2], -2: tt[2]}, b)
        d = _times(dict(zip((-1, 0, 1, 2), tl, strict=True)), b)
        e = self._length_solve(d)
        return Solution(c - _times(dict(zip((1, 0, -1, -2), tl, strict=True)), e), -e)

    def _length_solve(self, d: Array) -> Array:
        """(H^LL)⁻¹ d: LAPACK's factorization of a positive definite tridiagonal matrix, and its substitution."""
        if self.n == 1:
            return np.asarray(d / self.length_length[0])
        if self.length_length[0].ndim > 1:
            return self._solve_each(d)
        rows = np.asfortranarray(d.reshape(-1, self.n).T)
        _, _, e, info = lapack.dptsv(*self.length_length, rows)
        if info:
            raise SingularError(f"H^LL is not positive definite at link {info}: are all masses positive?")
        return np.asarray(e.T.reshape(d.shape))

    def _blocks(self) -> tuple[Array, Array]:
        """H^LL as 1 x 1 blocks, each coupled to the one before."""
        diagonal, beside = self.length_length
        coupling = np.concatenate([np.zeros((*diagonal.shape[:-1], 1)), beside], axis=-1)
        return diagonal[..., None, None], coupling[..., None, None]

    def _solve_each(self, d: Array) -> Array:
        """(H^LL)⁻¹ d for a batch of configurations, as machine code."""
        inverse, gain, _ = _tridiagonal(self.n)(block_functions(1).factors, *self._blocks())
        return np.asarray(_tridiagonal(self.n)(block_functions(1).solve, inverse, gain, d[..., None])[..., 0])

    def log_determinant(self) -> Any:
        """log det G^θθ by Fixman's theorem (8), with the base's position among the soft coordinates if it floats."""
        pivots = self.length_length[0]
        if pivots.ndim > 1:
            return self.log_det_G + _tridiagonal(self.n)(block_functions(1).factors, *self._blocks())[2]
        if self.n > 1:
            pivots, _, info = lapack.dpttrf(*self.length_length)
            if info:
                raise SingularError(f"H^LL is not positive definite at link {info}: are all masses positive?")
        return self.log_det_G + float(np.sum(np.log(pivots)))


def planar_blocks(
    theta: npt.ArrayLike, lengths: npt.ArrayLike, masses: npt.ArrayLike, base_mass: npt.ArrayLike | None = None
) -> PlanarBlocks:
    """The blocks of the inverse mass matrix of a planar chain of point masses whose lengths are free to change (23).

        x = catena.fixman.planar_blocks(theta, lengths, masses).solve(tau).x  # accelerations of catena.planar_chain

    `theta` (..., n) are the joint angles, rad, of one configuration or a batch; `lengths` (m) and `masses` (kg) are one
    number for all, or broadcast to them. The base does not move, so that sums start at l = 1; with `base_mass` (kg, a
    number or one for each configuration) it is one more point mass that moves freely, and theta[0] is measured from a
    direction at rest. Returns :class:`PlanarBlocks`, which solves and gives the determinant by Fixman's theorem in
    O(n). Cost: O(n).
    """
    angle = as_floats(theta, "theta")
    if angle.ndim < 1:
        raise ShapeError(f"theta: expected one angle for each link, found shape {angle.shape}")
    n = angle.shape[-1]
    L, m = _broadcast("lengths", lengths, angle.shape), _broadcast("masses", masses, angle.shape)
    free = None if base_mass is None else _broadcast("base_mass", base_mass, angle.shape[:-1])
    for what, array in (("lengths", L), ("masses", m), ("base_mass", free)):
        if array is not None and not (array > 0).all():
            at = "" if what == "base_mass" else f" at link {int(array.argmin()) % n + 1}"
            raise SingularError(f"{what}: expected numbers above zero, found {array.min():g}{at}")
    c, s = np.cos(angle), np.sin(angle)
    w, k = 1 / m, 1 / L  # of link i
    w0 = np.zeros(angle.shape[:-1]) if free is None else 1 / free  # of the base
    w1, k1 = _before(w, w0), _before(k)  # of link i − 1
    w2 = _before(w1)
    cross = c * k * k1  # t(i) · t(i−1)
    after, none = cross[..., 1:], np.empty((*angle.shape[:-1], 0))
    theta_theta = (
        k**2 * w + (k**2 + k1**2 + 2 * cross) * w1 + k1**2 * w2,
        -(after + k[..., :-1] ** 2) * w[..., :-1] - (k[..., :-1] ** 2 + cross[..., :-1]) * w1[..., :-1],
        after[..., :-1] * w[..., :-2] if n > 2 else none,
    )
    theta_length = (
        -s[..., 1:] * k[..., :-1] * w[..., :-1],
        s * k1 * w1,
        (s * k * w1)[..., 1:],
        -s[..., 1:-1] * k[..., 1:-1] * w[..., :-2] if n > 2 else none,
    )
    length_length = (w + w1, -c[..., 1:] * w[..., :-1])
    log_det = 2 * np.sum(np.log(m) + np.log(L), axis=-1) + (0.0 if free is None else 2 * np.log(free))
    return PlanarBlocks(theta_theta, theta_length, length_length, log_det if angle.ndim > 1 else float(log_det))


def _broadcast(what: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    array = as_floats(value, what)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        each = "each link" if what != "base_mass" else "each configuration"
        raise ShapeError(f"{what}: expected one number, or one for {each} {shape}, found shape {array.shape}") from None


@lru_cache(maxsize=8)
def _tridiagonal(n: int) -> Callable[..., Any]:
    """What runs functions of :mod:`catena.algorithms.block_band` on matrices of n rows."""
    compiled = Compiled(planar_chain(np.ones(n), 1.0))
    return lambda function, *arrays: compiled.kernel(function, kernel_shape="rolled")(*arrays)


def _before(x: Array, base: Any = 0.0) -> Array:
    """x(i−1) at place i, and what the base has at the first."""
    first = np.broadcast_to(np.asarray(base, dtype=float)[..., None], (*x.shape[:-1], 1))
    return np.concatenate([first, x[..., :-1]], axis=-1)


def _filled(n: int, diagonals: dict[int, Array]) -> Array:
    total = np.zeros((*diagonals[0].shape[:-1], n, n))
    for offset, entries in diagonals.items():
        if abs(offset) < n:
            rows = np.arange(max(0, -offset), n - max(0, offset))
            total[..., rows, rows + offset] += entries
    return total


def _times(diagonals: dict[int, Array], x: Array) -> Array:
    """A banded matrix times x along the last axis: diagonal d has entries (i, i + d)."""
    y, n = np.zeros_like(x), x.shape[-1]
    for d, entries in diagonals.items():
        if abs(d) < n:
            rows, columns = slice(max(0, -d), n - max(0, d)), slice(max(0, d), n + min(0, d))
            y[..., rows] += entries * x[..., columns]
    return y
