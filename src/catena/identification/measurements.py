"""Measured motions and torques as least squares: checked, and condensed to one small triangle for each joint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_samples
from catena.errors import ShapeError
from catena.identification.base import BaseParameters
from catena.parameters.record import LINEAR

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

_PIECE = 2**22  # so many numbers of the regressor at a time


def flat(robot: Robot, question: str, **arrays: npt.ArrayLike) -> tuple[list[Array], tuple[int, ...]]:
    """Arrays of samples by name as rows, broadcast against each other, and their leading dimensions.

    Raises ShapeError, with the name, for an array of the wrong shape, for none at all, and for numbers that are not
    finite.
    """
    shapes = {name: (robot.nq if name == "q" else robot.nv,) for name in arrays}
    found, leading = as_samples(question, shapes, list(arrays.values()))
    for name, array in zip(arrays, found, strict=True):
        if not np.isfinite(array).all():
            sample = np.argwhere(~np.isfinite(array))[0][:-1].tolist()
            raise ShapeError(f"{question}: {name} must be finite, but is not in sample {sample}; leave that out")
    if not np.prod(leading):
        raise ShapeError(f"{question}: there are no samples: the arrays have the leading dimensions {leading}")
    count = math.prod(leading)
    return [x.reshape(count, x.shape[-1]) for x in found], leading


def triangle(A: Array) -> Array:
    """The upper triangular R with RᵀR = AᵀA, for each of the matrices A (..., rows, columns)."""
    return np.asarray(np.linalg.qr(A, mode="r"))


@dataclass(frozen=True)
class Triangles:
    """For each joint the triangle T with |T (β, -1)|² = Σ (Y β − τ)² over all samples, (nv, r + 1, r + 1)."""

    of_joints: Array
    samples: int

    @classmethod
    def of(cls, robot: Robot, base: BaseParameters, q: Array, v: Array, a: Array, tau: Array | None) -> Triangles:
        """Of measurements; parameters that are not looked for are taken from the robot. Cost: O(samples r²)."""
        known = robot.parameters().vector[: 10 * robot.tree.n + len(LINEAR) * robot.nv].copy()
        known[base.columns] = 0.0
        width, r = len(known), len(base)
        step = max(r + 1, _PIECE // (robot.nv * width))
        triangles: Array = np.zeros((robot.nv, 0, r + 1))
        for start in range(0, len(q), step):
            rows = slice(start, start + step)
            Y = robot.regressor(q[rows], v[rows], a[rows], joints=True)
            torques = np.zeros(Y.shape[:2]) if tau is None else tau[rows] - Y @ known
            piece = np.concatenate([Y[..., base.columns[base.independent]], torques[..., None]], axis=-1)
            triangles = triangle(np.concatenate([triangles, np.swapaxes(piece, 0, 1)], axis=1))
        return cls(triangles, len(q))

    def whole(self, noise: Array) -> Array:
        """All joints in one triangle, each divided by the standard deviation of its torques' noise."""
        return triangle((self.of_joints / noise[:, None, None]).reshape(-1, self.of_joints.shape[-1]))


@dataclass(frozen=True)
class Solution:
    """The least-squares estimate of base parameters, its covariance and the noise of each joint's torques.

    `seen` are directions that the data determine, as columns (r, d) of an orthonormal matrix over parameters divided by
    `scale`; the estimate keeps the prior's value in all others.
    """

    estimate: Array
    covariance: Array
    noise: Array
    scale: Array
    seen: Array
    triangle: Array

    @property
    def determined(self) -> Array:
        """Which base parameters the data determine by themselves, (r,)."""
        share = np.sum(self.seen**2, axis=1)
        found: Array = share > 1 - _BLIND
        return found


_BLIND = 1e-6
_SEEN = 1e-9  # of the largest singular value, with columns of length one
_EXACT = 1e-10  # of the largest torques: noise is never less than rounding
_ROUNDS = 10


def solved(data: Triangles, prior: Array) -> Solution:
    """Weighted least squares, with the noise of each joint estimated from what is left over, again and again."""
    nv, r = len(data.of_joints), data.of_joints.shape[-1] - 1
    noise = np.ones(nv)
    for _ in range(_ROUNDS):
        T = data.whole(noise)
        A, b = T[:, :r], T[:, r]
        scale = np.linalg.norm(A, axis=0)
        scale = 1 / np.where(scale > 0, scale, 1.0)
        U, s, Vt = np.linalg.svd(A * scale, full_matrices=False)
        rank = int(np.sum(s > _SEEN * s[0])) if len(s) and s[0] > 0 else 0
        V, s = Vt[:rank].T, s[:rank]
        step = V @ ((U[:, :rank].T @ (b - A @ prior)) / s)
        estimate = prior + scale * step
        root = scale[:, None] * (V / s)
        before, noise = noise, _noise(data, estimate, root, noise)
        if np.allclose(before, noise, rtol=1e-4):
            break
    return Solution(estimate, root @ root.T, noise, scale, V, A)


def _noise(data: Triangles, estimate: Array, root: Array, noise: Array) -> Array:
    """The standard deviation of each joint's residuals; what the fit has used up does not count as a sample."""
    rest = np.sum((data.of_joints @ np.append(estimate, -1.0)) ** 2, axis=-1)
    used = np.sum((data.of_joints[..., :-1] @ root) ** 2, axis=(1, 2)) / noise**2
    free = np.maximum(data.samples - used, 1e-3 * data.samples)
    found = np.sqrt(rest / free)
    largest = np.abs(data.of_joints[..., -1]).max() / np.sqrt(data.samples)  # torques may be all zero, or fit exactly
    return np.asarray(np.maximum(found, _EXACT * largest if largest > 0 else 1.0))
