"""Equality constraints of MJCF as constraints between frames and couplings of joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.model.constraints import AnyConstraint, Ball, Coupling, Weld

Array = npt.NDArray[np.float64]

CONNECT, WELD, JOINT = range(3)  # mjtEq
_SITE = 6  # mjtObj
_OTHERS = {3: "tendons", 4: "flexes", 5: "flexes", 6: "flexes", 7: "distances"}


class _End(NamedTuple):
    """One end of a constraint: a body, and where it is held there."""

    body: str
    rotation: Array
    position: Array


def equalities(model: Any, bodies: Sequence[str], joints: Sequence[str]) -> tuple[list[AnyConstraint], list[str]]:
    """The constraints that <connect>, <weld> and <joint> make, and warnings about those that are left out.

    Args:
        model: MuJoCo's MjModel.
        bodies: the names of its bodies.
        joints: the names of its joints.
    """
    found: list[AnyConstraint] = []
    left_out: Counter[str] = Counter()
    used: set[str] = set()
    for i in range(model.neq):
        kind = int(model.eq_type[i])
        if kind not in (CONNECT, WELD, JOINT):
            left_out[f"equalities of {_OTHERS.get(kind, 'other kinds')}"] += 1
        elif not model.eq_active0[i]:
            left_out["equalities that are not active"] += 1
        else:
            name = _unused(model.equality(i).name or f"equality {i}", used)
            found.append(_coupling(model, i, joints, name) if kind == JOINT else _held(model, i, bodies, kind, name))
    return found, [f"left out, not part of a system: {n} {what}" for what, n in left_out.items()]


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def _held(model: Any, i: int, bodies: Sequence[str], kind: int, name: str) -> AnyConstraint:
    """A <connect> or a <weld>, between bodies or between sites."""
    from catena.model.readers.mjcf_shapes import rotation_of

    numbers = (int(model.eq_obj1id[i]), int(model.eq_obj2id[i]))
    if int(model.eq_objtype[i]) == _SITE:
        ends = [
            _End(bodies[model.site_bodyid[s]], rotation_of(model.site_quat[s]), model.site_pos[s].copy())
            for s in numbers
        ]
    else:
        data = np.array(model.eq_data[i], dtype=float)
        points = (data[:3], data[3:6]) if kind == CONNECT else (data[3:6], data[:3])
        turn = rotation_of(data[6:10]) if kind == WELD else np.eye(3)
        turns = (turn, np.eye(3))
        ends = [_End(bodies[b], turn, point) for b, turn, point in zip(numbers, turns, points, strict=True)]
    first, second = ends
    made = Weld if kind == WELD else Ball
    return made(
        first.body,
        second.body,
        first.position,
        first.rotation,
        second_position=second.position,
        second_rotation=second.rotation,
        name=name,
    )


def _coupling(model: Any, i: int, joints: Sequence[str], name: str) -> Coupling:
    """A <joint> equality: q₁ − ref₁ = Σ c_k (q₂ − ref₂)^k, the powers multiplied out."""
    first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    ref = float(model.qpos0[model.jnt_qposadr[first]])
    c = [float(x) for x in model.eq_data[i][:5]]
    if second < 0:
        return Coupling({joints[first]: 1.0}, ref + c[0], name=name)
    shift = -float(model.qpos0[model.jnt_qposadr[second]])
    powers = [sum(c[k] * comb(k, j) * shift ** (k - j) for k in range(j, 5)) for j in range(5)]
    if not any(powers[1:]):
        return Coupling({joints[first]: 1.0}, ref + powers[0], name=name)
    while not powers[-1]:
        powers.pop()
    return Coupling({joints[first]: 1.0, joints[second]: [-x for x in powers[1:]]}, ref + powers[0], name=name)
