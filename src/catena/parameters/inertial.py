"""The ten inertial numbers of a rigid body: mass, first moment, moments of inertia about the origin of its frame.

In Pinocchio's order: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz. A body is possible when its mass can be spread in space
without negative density, which is so when its pseudo-inertia, the 4 x 4 matrix ∫ (r, 1)(r, 1)ᵀ dm, is positive
semidefinite. Log-Cholesky numbers describe every body whose pseudo-inertia is positive definite, and no other.

Source: C. Rucker, P. M. Wensing, "Smooth parameterization of rigid-body inertia", IEEE Robot. Autom. Lett. 7 (2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""What the ten numbers are called."""

_ROW, _COLUMN = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])  # Ixx, Ixy, Iyy, Ixz, Iyz, Izz
_ROUNDING = 1e-9  # of the largest moment about the origin
_LOG = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))  # places of s12, s23, s13, t1, t2, t3 in the factor


def ten(mass: Array, com: Array, inertia: Array) -> Array:
    """The ten numbers (..., 10) of masses (...), centres of mass (..., 3) and inertias about these (..., 3, 3)."""
    moments = inertia + _parallel(mass, com)
    return np.concatenate([mass[..., None], mass[..., None] * com, moments[..., _ROW, _COLUMN]], axis=-1)


def body(numbers: Array) -> tuple[Array, Array, Array]:
    """Mass, centre of mass and inertia about it; what has no mass has its centre at the origin."""
    mass, first = numbers[..., 0], numbers[..., 1:4]
    com = np.divide(first, mass[..., None], out=np.zeros_like(first), where=mass[..., None] != 0)
    return mass, com, about_origin(numbers) - _parallel(mass, com)


def about_origin(numbers: Array) -> Array:
    """The moments of inertia about the frame's origin as matrices (..., 3, 3)."""
    inertia = np.empty((*numbers.shape[:-1], 3, 3))
    inertia[..., _ROW, _COLUMN] = inertia[..., _COLUMN, _ROW] = numbers[..., 4:]
    return inertia


def _parallel(mass: Array, com: Array) -> Array:
    """What a mass adds to the moments of inertia by being at com."""
    square = np.sum(com * com, axis=-1)[..., None, None] * np.eye(3)
    moved: Array = mass[..., None, None] * (square - com[..., :, None] * com[..., None, :])
    return moved


def pseudo_inertia(numbers: Array) -> Array:
    """The matrices ∫ (r, 1)(r, 1)ᵀ dm, (..., 4, 4)."""
    inertia = about_origin(numbers)
    J = np.empty((*numbers.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    J[..., :3, 3] = J[..., 3, :3] = numbers[..., 1:4]
    J[..., 3, 3] = numbers[..., 0]
    return J


def from_pseudo_inertia(J: Array) -> Array:
    """The ten numbers of pseudo-inertias (..., 4, 4); linear in them."""
    second = J[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    return np.concatenate([J[..., 3, 3, None], J[..., :3, 3], inertia[..., _ROW, _COLUMN]], axis=-1)


def fault(numbers: Array) -> str | None:
    """Why ten numbers (10,) belong to no body, or None: no mass below zero, no density below zero anywhere."""
    if not np.isfinite(numbers).all():
        return f"expected finite numbers, found {_row(numbers)}"
    with np.errstate(all="ignore"):
        mass, _, inertia = body(numbers)
    if not np.isfinite(inertia).all():
        return f"expected numbers whose products are finite, found {_row(numbers)}"
    if mass < 0:
        return f"expected a mass of zero or more, found {mass:g} kg"
    if mass == 0:
        return f"a link without mass has no moments, found {_row(numbers[1:])}" if numbers[1:].any() else None
    moments, rounding = np.linalg.eigvalsh(inertia), _ROUNDING * np.abs(numbers[4:]).max()
    if moments[0] < -rounding:
        return (
            "expected a positive semidefinite inertia about the centre of mass, found principal moments "
            f"{_row(moments)} kg m²"
        )
    if moments[0] + moments[1] < moments[2] - rounding:
        return (
            f"no body has one principal moment that exceeds the sum of the others: found {_row(moments)} kg m² about "
            "the centre of mass"
        )
    return None


def impossible(numbers: Array) -> Array:
    """Which of many bodies (..., 10) have a :func:`fault`, (...,). Vectorised; most are cleared by a quick look."""
    wrong = _suspicious(numbers)
    some = np.where(np.isfinite(numbers[wrong]), numbers[wrong], -1.0)  # what is not finite is a fault, too
    with np.errstate(all="ignore"):
        mass, _, inertia = body(some)
    vast: Array = np.asarray(~np.isfinite(inertia).all(axis=(-2, -1)))  # numbers whose products are not finite
    moments, rounding = (
        np.linalg.eigvalsh(np.where(vast[:, None, None], 0.0, inertia)),
        _ROUNDING * np.abs(some[:, 4:]).max(axis=-1, initial=0.0),
    )
    thin = (moments[:, 0] < -rounding) | (moments[:, 0] + moments[:, 1] < moments[:, 2] - rounding)
    massless = (mass == 0) & some[:, 1:].any(axis=-1)
    wrong[wrong] = (mass < 0) | massless | vast | ((mass > 0) & thin) | ~np.isfinite(numbers[wrong]).all(axis=-1)
    return wrong


def _suspicious(numbers: Array) -> Array:
    """Which of many bodies (..., 10) are worth a closer look: the pseudo-inertia is not clearly positive definite."""
    fine: Array = np.asarray(np.isfinite(numbers).all(axis=-1))
    with np.errstate(all="ignore"):
        J = pseudo_inertia(numbers)
        for k in (3, 2, 1, 0):  # the pivots of Gauss's elimination are positive where the matrix is positive definite
            fine = fine & (J[..., k, k] > _ROUNDING * numbers[..., [0, 4, 6, 9]].max(axis=-1) * (k < 3))
            column = J[..., :, k] / J[..., k, k, None]
            J = J - column[..., :, None] * J[..., k, None, :]
    return np.asarray(~fine)


def log_cholesky(numbers: Array) -> Array:
    """The numbers θ = (α, d1, d2, d3, s12, s23, s13, t1, t2, t3) of possible bodies (..., 10).

    The pseudo-inertia is U Uᵀ with U = e^α [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]].
    Raises numpy.linalg.LinAlgError where it is not positive definite.
    """
    J = pseudo_inertia(numbers)
    U = np.linalg.cholesky(J[..., ::-1, ::-1])[..., ::-1, ::-1]  # upper triangular
    scale = U[..., 3, 3]
    U = U / scale[..., None, None]
    logs = [np.log(scale), *[np.log(U[..., i, i]) for i in range(3)]]
    return np.stack([*logs, *[U[..., i, j] for i, j in _LOG]], axis=-1)


def from_log_cholesky(theta: Array) -> Array:
    """The ten numbers (..., 10) of bodies given by log-Cholesky numbers (..., 10)."""
    U = _factor(theta)
    return from_pseudo_inertia(U @ np.swapaxes(U, -1, -2))


def log_cholesky_slopes(theta: Array) -> Array:
    """The derivatives of the ten numbers by the log-Cholesky numbers, (..., 10, 10), entry i, j that of i by j."""
    U = _factor(theta)
    scale = np.exp(theta[..., 0])
    columns = []
    for k in range(10):
        dU = U.copy() if k == 0 else np.zeros_like(U)
        if 1 <= k <= 3:
            dU[..., k - 1, k - 1] = U[..., k - 1, k - 1]
        elif k > 3:
            dU[..., _LOG[k - 4][0], _LOG[k - 4][1]] = scale
        dJ = dU @ np.swapaxes(U, -1, -2)
        columns.append(from_pseudo_inertia(dJ + np.swapaxes(dJ, -1, -2)))
    return np.stack(columns, axis=-1)


def _factor(theta: Array) -> Array:
    """The upper triangular matrix U of which the pseudo-inertia is made."""
    U = np.zeros((*theta.shape[:-1], 4, 4))
    U[..., 3, 3] = 1.0
    for i in range(3):
        U[..., i, i] = np.exp(theta[..., 1 + i])
    for place, x in zip(_LOG, np.moveaxis(theta[..., 4:], -1, 0), strict=True):
        U[..., place[0], place[1]] = x
    scaled: Array = np.exp(theta[..., 0])[..., None, None] * U
    return scaled


def deformed(numbers: Array, theta: Array) -> Array:
    """Bodies stretched, sheared, moved and made heavier, as log-Cholesky numbers θ say beside their own size.

    Whatever θ is, a possible body stays possible; θ = 0 changes nothing. The moves t are in units of the body's size.
    """
    J, A = pseudo_inertia(numbers), _factor(theta)
    mass, com, inertia = body(numbers)
    size = np.sqrt(np.divide(np.trace(inertia, axis1=-2, axis2=-1), 2 * mass, out=np.zeros_like(mass), where=mass > 0))
    A[..., :3, 3] = A[..., :3, 3] * size[..., None]
    # about the centre of mass: to it, deform, and back to where it was
    to, back = (_shift(sign * com) for sign in (-1, 1))
    A = back @ A @ to
    return from_pseudo_inertia(A @ J @ np.swapaxes(A, -1, -2))


def _shift(by: Array) -> Array:
    moved: Array = np.zeros((*by.shape[:-1], 4, 4)) + np.eye(4)
    moved[..., :3, 3] = by
    return moved


def _row(numbers: Array) -> str:
    return " ".join(np.array2string(numbers, precision=6, separator=", ").split())
