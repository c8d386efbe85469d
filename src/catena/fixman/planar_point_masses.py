"""Lee & Chirikjian (2005), section III: planar chains of point masses by Fixman's partition, in banded matrices.

Soft coordinates are the joint angles θ, hard ones the lengths L; the inverse mass matrix H of the chain with free
lengths has blocks with a few diagonals each (24). All entries come from the joint angles alone, in the nonsingular form
of errata.md: with n(i) along link i and t(i) = n(i) turned by 90° over L(i),

    ∂θ(i)/∂x = t(i) (δ(i) − δ(i−1)) − t(i−1) (δ(i−1) − δ(i−2)),    ∂L(i)/∂x = n(i) (δ(i) − δ(i−1))        (18), (21)

so that only scalar products of neighbours are needed: cosines and sines of θ. Straight chains are not special.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from catena.arguments.arrays import as_floats
from catena.errors import ShapeError, SingularError

Array = npt.NDArray[Any]


class Solution(NamedTuple):
    """What (13) gives: the accelerations x of the soft coordinates, and the reactions −e along the hard ones."""

    x: Array
    reaction: Array


@dataclass(frozen=True)
class PlanarBlocks:
    """The blocks (22) of H for one configuration, as diagonals.

    `theta_theta` holds diagonals 0, 1, 2 of a symmetric matrix, `theta_length` diagonals +1, 0, −1, −2, `length_length`
    diagonals 0, 1 of a symmetric matrix; diagonal d of N x N has N − |d| entries. `log_det_G` is the logarithm of the
    determinant of the mass matrix with free lengths.
    """

    theta_theta: tuple[Array, Array, Array]
    theta_length: tuple[Array, Array, Array, Array]
    length_length: tuple[Array, Array]
    log_det_G: float

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.theta_theta[0])

    def dense(self) -> tuple[Array, Array, Array]:
        """H^θθ, H^θL and H^LL as whole matrices, n x n each."""
        tt, tl, ll = self.theta_theta, self.theta_length, self.length_length
        return (
            _filled(self.n, {0: tt[0], 1: tt[1], -1: tt[1], 2: tt[2], -2: tt[2]}),
            _filled(self.n, dict(zip((1, 0, -1, -2), tl, strict=True))),
            _filled(self.n, {0: ll[0], 1: ll[1], -1: ll[1]}),
        )

    def solve(self, b: npt.ArrayLike) -> Solution:
        """(G^θθ)⁻¹ b by the pipeline (13), for b of shape (..., n). O(n) each."""
        b = as_floats(b, "b")
        if b.shape[-1:] != (self.n,):
            raise ShapeError(f"b: expected {self.n} numbers along the last axis, found shape {b.shape}")
        tt, tl = self.theta_theta, self.theta_length
        c = _times({0: tt[0], 1: tt[1], -1: tt[1], 2: tt[2], -2: tt[2]}, b)
        d = _times(dict(zip((-1, 0, 1, 2), tl, strict=True)), b)
        e = self._length_solve(d)
        return Solution(c - _times(dict(zip((1, 0, -1, -2), tl, strict=True)), e), -e)

    def _length_solve(self, d: Array) -> Array:
        """(H^LL)⁻¹ d: LAPACK's factorization of a positive definite tridiagonal matrix, and its substitution."""
        if self.n == 1:
            return np.asarray(d / self.length_length[0])
        rows = np.asfortranarray(d.reshape(-1, self.n).T)
        _, _, e, info = lapack.dptsv(*self.length_length, rows)
        if info:
            raise SingularError(f"H^LL is not positive definite at link {info}: are all masses positive?")
        return np.asarray(e.T.reshape(d.shape))

    def log_determinant(self) -> float:
        """log det G^θθ by Fixman's theorem (8)."""
        pivots = self.length_length[0]
        if self.n > 1:
            pivots, _, info = lapack.dpttrf(*self.length_length)
            if info:
                raise SingularError(f"H^LL is not positive definite at link {info}: are all masses positive?")
        return self.log_det_G + float(np.sum(np.log(pivots)))


def planar_blocks(theta: npt.ArrayLike, lengths: npt.ArrayLike, masses: npt.ArrayLike) -> PlanarBlocks:
    """The blocks of the inverse mass matrix of a planar chain of point masses whose lengths are free to change (23).

        x = catena.fixman.planar_blocks(theta, lengths, masses).solve(tau).x  # accelerations of catena.planar_chain

    `theta` (n,) are the joint angles, rad; `lengths` (m) and `masses` (kg) are (n,) or one number for all. The base
    does not move: sums start at l = 1. Returns :class:`PlanarBlocks`, which solves and gives the determinant by
    Fixman's theorem in O(n). Cost: O(n).
    """
    angle = as_floats(theta, "theta")
    if angle.ndim != 1:
        raise ShapeError(f"theta: expected one angle for each link, found shape {angle.shape}")
    n = len(angle)
    L, m = as_floats(lengths, "lengths"), as_floats(masses, "masses")
    for what, array in (("lengths", L), ("masses", m)):
        if array.shape not in ((), (1,), (n,)):
            raise ShapeError(f"{what}: expected one number, or one for each link ({n},), found shape {array.shape}")
        if not (array > 0).all():
            at = int(array.argmin()) + 1
            raise SingularError(f"{what}: expected numbers above zero, found {array.min():g} at link {at}")
    L, m = np.broadcast_to(L, (n,)), np.broadcast_to(m, (n,))
    c, s = np.cos(angle), np.sin(angle)
    w, k = 1 / m, 1 / L  # of link i
    w1, k1 = _before(w), _before(k)  # of link i − 1: zero where that is the base
    w2 = _before(w1)
    cross = c * k * k1  # t(i) · t(i−1)
    after = cross[1:]
    theta_theta = (
        k**2 * w + (k**2 + k1**2 + 2 * cross) * w1 + k1**2 * w2,
        -(after + k[:-1] ** 2) * w[:-1] - (k[:-1] ** 2 + cross[:-1]) * w1[:-1],
        after[:-1] * w[:-2] if n > 2 else np.empty(0),
    )
    theta_length = (
        -s[1:] * k[:-1] * w[:-1],
        s * k1 * w1,
        (s * k * w1)[1:],
        -s[1:-1] * k[1:-1] * w[:-2] if n > 2 else np.empty(0),
    )
    length_length = (w + w1, -c[1:] * w[:-1])
    return PlanarBlocks(theta_theta, theta_length, length_length, float(2 * np.sum(np.log(m) + np.log(L))))


def _before(x: Array) -> Array:
    """x(i−1) at place i, zero at the base."""
    return np.concatenate([[0.0], x[:-1]])


def _filled(n: int, diagonals: dict[int, Array]) -> Array:
    total = np.zeros((n, n))
    for offset, entries in diagonals.items():
        if abs(offset) < n:
            total += np.diag(entries, offset)
    return total


def _times(diagonals: dict[int, Array], x: Array) -> Array:
    """A banded matrix times x along the last axis: diagonal d has entries (i, i + d)."""
    y, n = np.zeros_like(x), x.shape[-1]
    for d, entries in diagonals.items():
        if abs(d) < n:
            rows, columns = slice(max(0, -d), n - max(0, d)), slice(max(0, d), n + min(0, d))
            y[..., rows] += entries * x[..., columns]
    return y
