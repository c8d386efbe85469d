"""Constant placements in the form the kernels like: Rz(θ) · shift(a, b, d) · Rx(α) · screw_z(φ, r).

Any rigid placement has this form, with one number to spare: either b = 0, and the shift r along the child's own z axis
reaches the foot of the common normal (Denavit and Hartenberg's choice), or r = 0. Two turns of a plane cost less than a
turn by a matrix, and φ and r vanish into joints that turn about or slide along z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROUNDING = 4e-15
"""Numbers of order one that are closer than this to 0 or ±1 differ from it by rounding only."""

_TILTED = 0.05
"""Below this sine of the angle between two axes their common normal is too far away to be of use."""


def snapped(x: Array, scale: Array | float = 1.0) -> Array:
    """x with what is zero or ±`scale` up to rounding set to exactly that."""
    x = np.where(np.abs(x) < ROUNDING * scale, 0.0, x)
    return np.where(np.abs(np.abs(x) - scale) < ROUNDING * scale, np.copysign(scale, x), x)


def factored(R: Array, p: Array) -> dict[str, Array]:
    """The numbers ct, st (of θ), a, b, d, ca, sa (of α), phi, cp, sp and r of placements (..., 3, 3), (..., 3)."""
    R = snapped(R)
    tilt = np.hypot(R[..., 0, 2], R[..., 1, 2])
    parallel = tilt == 0
    # α may be taken positive or negative: turn by θ between -90° and 90° where there is a choice
    sign = np.where((R[..., 1, 2] > 0) | ((R[..., 1, 2] == 0) & (R[..., 0, 2] < 0)), -1.0, 1.0)
    safe = np.where(parallel, 1.0, sign * tilt)
    ct = np.where(parallel, 1.0, -R[..., 1, 2] / safe)
    st = np.where(parallel, 0.0, R[..., 0, 2] / safe)
    ca, sa = R[..., 2, 2], np.where(parallel, 0.0, safe)
    ct, st, ca, sa = _unit(ct, st) + _unit(ca, sa)
    # the first row of Rz(θ)ᵀ R: so φ makes up for what θ cannot tell when the axes are nearly parallel
    cp, sp = _unit(ct * R[..., 0, 0] + st * R[..., 1, 0], -(ct * R[..., 0, 1] + st * R[..., 1, 1]))
    x, y, z = ct * p[..., 0] + st * p[..., 1], ct * p[..., 1] - st * p[..., 0], p[..., 2]
    size = np.maximum(np.linalg.norm(p, axis=-1), 1e-3)
    steep = np.abs(sa) > _TILTED
    r = np.where(steep, -y / np.where(steep, sa, 1.0), 0.0)
    normal = {"a": x, "b": np.where(steep, 0.0, y), "d": z - r * ca, "r": r}
    level = np.where(parallel, ca * z, 0.0)  # the axes are parallel: shift along the child's
    plain = {"a": x, "b": y, "d": np.where(parallel, 0.0, z), "r": level}
    normal, plain = ({k: snapped_length(v, size) for k, v in form.items()} for form in (normal, plain))
    better = _nonzero(normal) < _nonzero(plain)
    shifts = {k: np.where(better & ~parallel, normal[k], plain[k]) for k in normal}
    angles = {"ct": ct, "st": st, "ca": ca, "sa": sa, "phi": np.arctan2(sp, cp), "cp": cp, "sp": sp}
    return {**angles, **shifts}


def snapped_length(x: Array, size: Array) -> Array:
    """x with what is zero beside `size` up to rounding set to zero."""
    return np.where(np.abs(x) < ROUNDING * size, 0.0, x)


def _nonzero(shifts: dict[str, Array]) -> Array:
    count: Array = np.sum([np.asarray(x) != 0 for x in shifts.values()], axis=0)
    return count


def _unit(c: Array, s: Array) -> tuple[Array, Array]:
    c, s = snapped(c), snapped(s)
    length = np.hypot(c, s)
    return snapped(c / length), snapped(s / length)
