"""Numbers that links and joints may and may not have. Vectorised; a culprit is named, the rest cost nothing extra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.numbers import floats
from catena.model.parts import JointPart, LinkPart, Parts
from catena.model.topology import listed

Array = npt.NDArray[Any]

RELATIVE = 1e-9  # what counts as rounding in an inertia, of its largest moment ...
ABSOLUTE = 1e-15  # ... and of the mass at this square of a length (m²)
MANY = 100  # inertias, from which on it is worth while to look at them before their eigenvalues are found


def link_fault(link: LinkPart, expected: str, found: object, advice: str) -> ModelError:
    """The error for a number of `link`."""
    return ModelError(f"link {link.name!r}: expected {expected}, found {found}; {advice}", link=link.name)


def joint_fault(joint: JointPart, expected: str, found: object, advice: str) -> ModelError:
    """The error for a number of `joint`."""
    return ModelError(f"joint {joint.name!r}: expected {expected}, found {found}; {advice}", joint=joint.name)


def stacked(values: Sequence[Any], shape: tuple[int, ...], fault: Callable[[int], ModelError]) -> Array:
    """The values as one float array (len(values), *shape); `fault(i)` is raised for the first that does not fit."""
    if not len(values):
        return np.zeros((0, *shape))
    array = _as_floats(values)
    if array is not None and array.shape == (len(values), *shape) and np.isfinite(array).all():
        return array
    for i, value in enumerate(values):
        single = _as_floats(value)
        if single is None or single.shape != shape or not np.isfinite(single).all():
            raise fault(i)
    return np.array([_as_floats(value) for value in values])


def _as_floats(value: Any) -> Array | None:
    try:
        return floats(value)
    except ValueError:
        return None


def link_numbers(links: Parts[LinkPart], strict: bool, warnings: list[str]) -> tuple[Array, Array, Array]:
    """Masses, centres of mass and inertias of all links, checked one by one; oddities are added to `warnings`."""
    kg = "give it in kg (0 for a link without mass)"
    mass = stacked(links.column("mass"), (), lambda i: link_fault(links[i], "a finite mass", shown(links[i].mass), kg))
    if (mass < 0).any():
        i = int(np.argmax(mass < 0))
        raise link_fault(links[i], "a mass of zero or more", mass[i], kg)
    com = stacked(
        links.column("com"),
        (3,),
        lambda i: link_fault(
            links[i], "a centre of mass of 3 finite numbers", shown(links[i].com), "give x, y, z in m"
        ),
    )
    inertia = stacked(
        links.column("inertia"),
        (3, 3),
        lambda i: link_fault(
            links[i], "an inertia of 3x3 finite numbers", shown(links[i].inertia), "give it in kg m², about the com"
        ),
    )
    return mass, com, _checked_inertia(links, mass, inertia, strict, warnings)


def _checked_inertia(links: Parts[LinkPart], mass: Array, inertia: Array, strict: bool, warnings: list[str]) -> Array:
    transposed = np.swapaxes(inertia, -1, -2)
    rounding = RELATIVE * np.abs(inertia).max(axis=(1, 2), initial=0.0) + ABSOLUTE * mass
    lopsided = np.abs(inertia - transposed).max(axis=(1, 2), initial=0.0) > rounding
    if lopsided.any():
        i = int(np.argmax(lopsided))
        raise link_fault(links[i], "a symmetric inertia", _rows(inertia[i]), "make ixy = iyx and so on")
    inertia = np.where(inertia == transposed, inertia, inertia / 2 + transposed / 2)
    negative = np.diagonal(inertia, axis1=1, axis2=2).min(axis=1, initial=np.inf) < -rounding
    moments = _moments(inertia)
    indefinite = moments[:, 0] < -rounding
    fatal = indefinite if strict else negative
    if fatal.any():
        i = int(np.argmax(fatal))
        raise indefinite_inertia(links[i].name, moments[i])
    if indefinite.any():
        names = _names(links, indefinite)
        warnings.append(f"inertia not positive semidefinite about the centre of mass: {listed(names)}")
    odd = ~indefinite & (moments[:, 0] + moments[:, 1] < moments[:, 2] * (1 - 1e-6) - 2 * rounding)
    if odd.any():
        names = _names(links, odd)
        warnings.append(
            f"inertia that no real body has (one principal moment exceeds the sum of the others): {listed(names)}"
        )
    return inertia


def _moments(inertia: Array) -> Array:
    """Principal moments, (n, 3), ascending; of what is plainly a real body's inertia, some that one could have.

    The eigenvalues of 100,000 matrices take longer to find than to tell that they are positive, and that none exceeds
    the sum of the others: then the inertia and half its trace less itself are positive definite.
    """
    if len(inertia) < MANY:
        return np.asarray(np.linalg.eigvalsh(inertia))
    half = np.trace(inertia, axis1=1, axis2=2)[:, None, None] / 2
    doubtful = np.flatnonzero(~(plainly_definite(inertia) & plainly_definite(half * np.eye(3) - inertia)))
    moments = np.ones((len(inertia), 3))
    moments[doubtful] = np.linalg.eigvalsh(inertia[doubtful])
    return moments


def plainly_definite(matrices: Array) -> Array:
    """Whether symmetric matrices, (n, 3, 3), are positive definite beyond rounding: by their leading minors."""
    (a, b, c), (_, d, e), (_, _, f) = np.moveaxis(matrices, 0, -1)
    size = np.maximum(np.maximum(a, d), f)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        minor, determinant = a * d - b * b, a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)
        return np.asarray((a > RELATIVE * size) & (minor > RELATIVE * size**2) & (determinant > RELATIVE * size**3))


def _names(links: Parts[LinkPart], chosen: Array) -> list[str]:
    names = links.column("name")
    return [names[i] for i in np.flatnonzero(chosen).tolist()]


def indefinite_inertia(name: str, moments: Array) -> ModelError:
    """The error for a link whose inertia is not positive semidefinite."""
    return ModelError(
        f"link {name!r}: expected a positive semidefinite inertia, found principal moments {_rows(moments)} kg m²; "
        "check the signs and that it is taken about the centre of mass",
        link=name,
    )


def joint_placements(joints: Parts[JointPart]) -> tuple[Array, Array]:
    """Rotations and positions of all joints' child frames in their parents'."""
    position = stacked(
        joints.column("position"),
        (3,),
        lambda i: joint_fault(joints[i], "a position of 3 finite numbers", shown(joints[i].position), "give them in m"),
    )
    advice = "give a 3x3 rotation matrix"
    rotation = stacked(
        joints.column("rotation"),
        (3, 3),
        lambda i: joint_fault(joints[i], "a rotation of 3x3 finite numbers", shown(joints[i].rotation), advice),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        off = ~(np.abs(rotation @ np.swapaxes(rotation, -1, -2) - np.eye(3)).max(axis=(1, 2), initial=0.0) < 1e-6)
        off |= ~(np.linalg.det(rotation) > 0)
    if off.any():
        i = int(np.argmax(off))
        raise joint_fault(joints[i], "an orthonormal, right-handed rotation", _rows(rotation[i]), advice)
    return rotation, position


def joint_axes(joints: Parts[JointPart], second: bool = False) -> Array:
    """Axes of the joints, not zero, as given; `second` asks for `axis2`."""
    what = "axis2" if second else "axis"
    given = joints.column(what)
    advice = "give a direction such as (0, 0, 1)"
    axis = stacked(
        given, (3,), lambda i: joint_fault(joints[i], f"an {what} of 3 finite numbers", shown(given[i]), advice)
    )
    zero = ~axis.any(axis=1)
    if zero.any():
        i = int(np.argmax(zero))
        raise joint_fault(joints[i], f"an {what} that is not zero", _rows(axis[i]), advice)
    return axis


def per_coordinate(joints: Parts[JointPart], field: str, sizes: Array, unlimited: float) -> Array:
    """One number per coordinate of all joints from their scalars, sequences or None (`unlimited`); never NaN."""
    given = joints.column(field)
    numbers = given if isinstance(given, np.ndarray) else None
    if numbers is None and set(map(type, given)) <= {float, type(None)}:
        numbers = np.array([unlimited if value is None else value for value in given], dtype=float)
    if numbers is not None and not np.isnan(numbers).any():  # the usual cases, quickly
        return np.repeat(numbers, sizes)
    pieces = []
    for i, (value, size) in enumerate(zip(given, sizes.tolist(), strict=True)):
        piece = _as_floats(unlimited if value is None else value)
        if piece is None or piece.shape not in ((), (size,)) or np.isnan(piece).any():
            raise joint_fault(joints[i], f"{field} to be one number or {size}", shown(value), "give numbers or None")
        pieces.append(np.broadcast_to(piece, size))
    return np.concatenate(pieces)


def require(good: Array, values: Array, owner: Array, joints: Parts[JointPart], expected: str, advice: str) -> None:
    """Raises for the first coordinate that is not `good`; `owner` gives each coordinate's joint."""
    if not good.all():
        i = int(np.argmin(good))
        raise joint_fault(joints[owner[i]], expected, values[i], advice)


def _rows(array: Array) -> str:
    return " ".join(np.array2string(array, precision=6, separator=", ").split())
