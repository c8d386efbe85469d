"""Robots from Denavit-Hartenberg parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.assemble import assemble
from catena.model.lie import turn_about
from catena.model.numbers import chosen, each, listed, together
from catena.model.parts import JointPart, Limits, LinkPart
from catena.model.tree import Tree

Array = npt.NDArray[Any]
Convention = Literal["standard", "modified"]

_TYPES = ("revolute", "continuous", "prismatic")
_BALL = 0.4 * 0.05**2  # inertia over mass of a solid ball of 5 cm


def from_dh(
    a: npt.ArrayLike,
    alpha: npt.ArrayLike,
    d: npt.ArrayLike,
    theta: npt.ArrayLike = 0.0,
    *,
    convention: Convention = "standard",
    types: str | Sequence[str] = "revolute",
    masses: npt.ArrayLike = 1.0,
    coms: npt.ArrayLike = (0.0, 0.0, 0.0),
    inertias: npt.ArrayLike | None = None,
    lower: Sequence[Limits] | None = None,
    upper: Sequence[Limits] | None = None,
    armatures: npt.ArrayLike = 0.0,
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
    name: str = "dh_robot",
) -> Tree:
    """Make a serial robot from its Denavit-Hartenberg parameters, in the standard or the modified convention.

        arm = catena.from_dh(a=[0, 0.4, 0.3], alpha=[np.pi / 2, 0, 0], d=[0.3, 0, 0], masses=[3, 2, 1])

    `a` (m), `alpha` (rad), `d` (m) and `theta` (rad) have one entry for each joint; a single number serves all.

    - `convention="standard"`: T(i-1, i) = Rz(θ) Tz(d) Tx(a) Rx(α), joint i on the z axis of frame i - 1.
    - `convention="modified"` (Craig): T(i-1, i) = Rx(α) Tx(a) Rz(θ) Tz(d), where row i has Craig's a(i-1) and α(i-1),
      joint i on the z axis of frame i.

    `types` is "revolute", "continuous" or "prismatic", one for all or one each. The joint's coordinate is added to θ,
    or to d for a prismatic one, so θ and d are what holds at joint zero. In DH frame i: `masses` (kg), `coms` (m, one
    or (n, 3)), `inertias` (kg m² about the centre of mass, one 3x3 or (n, 3, 3); those of a solid ball of 5 cm unless
    given). `lower` and `upper` (rad or m) have one limit, or None, for each joint; `armatures` (kg m² or kg) are the
    drives' inertias at the joints; `gravity` is 3 numbers in the base's frame, m/s².

    Link i is "link{i}" and DH frame i is the frame "dh{i}" on it: the link's own frame in the modified convention, at
    its far end in the standard one. Returns the robot. Cost: O(n).
    """
    chosen("convention", convention, ("standard", "modified"))
    some = None if isinstance(types, str) else len(listed("types", types))
    a, alpha, d, theta = together(some, a=a, alpha=alpha, d=d, theta=theta)
    n = len(a)
    mass, armature = together(n, masses=masses, armatures=armatures)
    com = each("coms", coms, n, 3)
    inertia = _BALL * mass[:, None, None] * np.eye(3) if inertias is None else each("inertias", inertias, n, 3, 3)
    before, after = _placements(convention, a, alpha, d, theta)
    joint_types, low, high = _types(types, n), _limits("lower", lower, n), _limits("upper", upper, n)

    links, joints = [LinkPart("base")], []
    for i in range(n):
        above, link, frame = f"link{i}" if i else "base", f"link{i + 1}", f"dh{i + 1}"
        links += [LinkPart(link), LinkPart(frame, mass[i], com[i], inertia[i])]
        place = before[0][i], before[1][i]
        free: dict[str, Any] = {"lower": low[i], "upper": high[i], "armature": float(armature[i])}
        joints.append(JointPart(f"joint{i + 1}", joint_types[i], above, link, *place, axis=(0, 0, 1), **free))
        joints.append(JointPart(f"{frame}_fixed", "fixed", link, frame, after[0][i], after[1][i]))
    return assemble(links, joints, name=name, gravity=gravity)


def _placements(
    convention: Convention, a: Array, alpha: Array, d: Array, theta: Array
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Poses of each link on the one before, and of each DH frame on its link, at joint zero: rotations, positions."""
    screw = turn_about("z", theta), d[:, None] * np.array([0.0, 0.0, 1.0])
    across = turn_about("x", alpha), a[:, None] * np.array([1.0, 0.0, 0.0])
    one = np.eye(3)[None], np.zeros((1, 3))
    if convention == "modified":
        return _chained(across, screw), (np.repeat(one[0], len(a), axis=0), np.zeros((len(a), 3)))
    previous = np.concatenate([one[0], across[0][:-1]]), np.concatenate([one[1], across[1][:-1]])
    return _chained(previous, screw), across


def _chained(outer: tuple[Array, Array], inner: tuple[Array, Array]) -> tuple[Array, Array]:
    return outer[0] @ inner[0], outer[1] + (outer[0] @ inner[1][..., None])[..., 0]


def _types(types: str | Sequence[str], n: int) -> list[str]:
    joint_types = [types] * n if isinstance(types, str) else listed("types", types)
    for i, joint_type in enumerate(joint_types):
        if not isinstance(joint_type, str) or joint_type not in _TYPES:
            raise ModelError(
                f"types: expected {', '.join(_TYPES)} for joint {i + 1}, found {shown(joint_type)}",
                joint=f"joint{i + 1}",
            )
    return joint_types


def _limits(what: str, limits: Sequence[Limits] | None, n: int) -> list[Limits]:
    values: list[Limits] = [None] * n if limits is None else listed(what, limits)
    if len(values) != n:
        raise ModelError(f"{what}: expected one limit (or None) for each of {n} joints, found {len(values)}")
    return values
