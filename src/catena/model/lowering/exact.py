"""The constants of links in a scalar's own arithmetic, for scalars with more digits than floats.

The numbers of a Tree are taken as they are, all digits after a float's being zero. A rotation matrix of floats is one
only to their rounding; it stands for the rotation nearest to it. Frames are those of the joints, none is chosen,
nothing is regrouped and nothing snapped, so that each constant is as exact as the scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.tree import Tree
from catena.scalars import Scalar, absolute, arctan2, sqrt
from catena.spatial import Mat3, RigidInertia, Sym3, Transform, Turn, Vec3

Array = npt.NDArray[Any]
Number = Callable[[float], Scalar]

_FINER = 2.0**-60


def is_finer(number: Number) -> bool:
    """Whether these scalars are real numbers that can hold more digits than floats."""
    one = number(1.0)
    if isinstance(one, int | float):
        return False
    try:
        more = one + number(_FINER) > one
    except TypeError:
        return False
    return isinstance(more, bool | np.bool_) and bool(more)


def exact_constants(tree: Tree, number: Number) -> list[dict[str, Scalar]]:
    """The constants of each link by the names of :class:`~catena.model.lowering.lowered.Lowered`.

    The tree keeps them, for each type of scalar and each precision, which is known by what becomes of a third.
    """
    if not isinstance(number, type):
        return _constants(tree, number)
    return tree.once(("exact constants", number, number(1.0) / number(3.0)), lambda: _constants(tree, number))


def _constants(tree: Tree, number: Number) -> list[dict[str, Scalar]]:
    known: dict[bytes, Mat3] = {}

    def rotation(matrix: Array) -> Mat3:
        key = matrix.tobytes()
        if key not in known:
            known[key] = _nearest_rotation(Mat3(*[number(x) for x in matrix.ravel().tolist()]))
        return known[key]

    constants = []
    for i, parent in enumerate(tree.parent.tolist()):
        own = rotation(tree.joint_rotation[i])
        above = rotation(tree.joint_rotation[parent]) if parent >= 0 else rotation(np.eye(3))
        R = above.T.times(rotation(tree.placement_rotation[i])).times(own)
        p = above.T @ _vector(tree.placement_position[i], number)
        user = {f"F{x}": value for x, value in zip(_pairs(), own.T, strict=True)}
        origin = {f"F{x}": number(0.0) for x in "xyz"}
        inertial = _inertial(tree, i, own, number)
        others = {name: number(float(getattr(tree, name)[i])) for name in ("pitch", "strain")}
        constants.append({**_placed(R, p), **inertial, **user, **origin, **others})
    return constants


def _pairs() -> list[str]:
    return [x + y for x in "xyz" for y in "xyz"]


def _vector(numbers: Array, number: Number) -> Vec3:
    x, y, z = (number(x) for x in numbers.tolist())
    return Vec3(x, y, z)


def _nearest_rotation(R: Mat3) -> Mat3:
    """The orthogonal matrix nearest to R, by Newton's iteration for the polar decomposition."""
    before: Scalar = None
    while True:
        x, y, z = R.rows
        cofactors = y.cross(z), z.cross(x), x.cross(y)
        scale = 1 / x.dot(cofactors[0])
        opposite = [entry * scale for row in cofactors for entry in row]  # the inverse's transpose
        steps = [(b - a) / 2 for a, b in zip(R, opposite, strict=True)]
        change = max(absolute(step) for step in steps)
        if change == 0 or (before is not None and change >= before):
            return R
        R, before = Mat3(*[a + step for a, step in zip(R, steps, strict=True)]), change


def _placed(R: Mat3, p: Vec3) -> dict[str, Scalar]:
    """A placement as Rz(θ) · shift(a, b, d) · Rx(α) · Rz(φ): see :mod:`catena.model.lowering.placement`."""
    tilt = sqrt(R.xz * R.xz + R.yz * R.yz)
    ct, st = (1 + 0 * tilt, 0 * tilt) if tilt == 0 else (-R.yz / tilt, R.xz / tilt)
    cp, sp = ct * R.xx + st * R.yx, -(ct * R.xy + st * R.yy)
    shift = {"a": ct * p.x + st * p.y, "b": ct * p.y - st * p.x, "d": p.z, "r": 0 * p.z}
    return {"ct": ct, "st": st, "ca": R.zz, "sa": tilt, "phi": arctan2(sp, cp), "cp": cp, "sp": sp, **shift}


def _inertial(tree: Tree, i: int, own: Mat3, number: Number) -> dict[str, Scalar]:
    """Mass, first moments and moments of inertia of link i about the origin of its joint's frame."""
    upper = tree.inertia[i][np.triu_indices(3)].tolist()
    at_centre = RigidInertia(number(float(tree.mass[i])), Vec3.zero(), Sym3(*[number(x) for x in upper]))
    to_centre = Transform.of(Turn(own.T)).then(Transform.shift(_vector(tree.com[i], number)))
    M = to_centre.congruence(at_centre)
    names = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    return dict(zip(names, (M.m, *M.h, *M.I), strict=True))
