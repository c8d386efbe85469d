"""Numbers of a robot in which joints follow others, made wider for its whole tree and narrower again.

With G and o of :mod:`catena.model.mimic`, configurations are G q + o and motions G v. Torques of the whole tree are
those of the leaders and nothing at followers; what comes back as torques, gradients or columns of Jacobians is Gᵀ times
it, and what comes back as motions or configurations is that of the leaders. The scalars are of any kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.functions.function import Function, Kind, is_dense, kind
from catena.model.mimic import Followers
from catena.scalars import Scalar

Array = npt.NDArray[Any]

OF_LEADERS = "of leaders"
"""The role of arrays that leaders alone have, going in and coming out: what forces take and remember."""

_OF_JOINTS = ("armature", "damping", "friction", "stiffness", "rest")

LEADING_INPUTS = frozenset(("tau", "b", "kp", "kd", *_OF_JOINTS, OF_LEADERS))
"""Inputs that leaders have and followers have nothing of: torques, gains, numbers of joints and of forces."""

MOVING_INPUTS = frozenset(
    ("q", "q0", "q1", "goal", "target", "v", "v1", "a", "x", "dv", "q_rate", "dv_rate", "v_rate", "a_rate")
)
"""Inputs that followers share with their leaders: configurations and motions."""

CONFIGURATIONS = frozenset(("q", "q0", "q1", "goal", "target"))
"""Those that have offsets."""

LEADING_OUTPUTS = frozenset(("q", "a", "v", "x", "rate", "q_rate", "v_rate", OF_LEADERS))
"""Outputs of which leaders have all: configurations, motions, and what forces remember."""

FELT_OUTPUTS = frozenset(("tau", "y", "gradient", "axes"))
"""Outputs of followers that their leaders feel: torques, gradients, columns of Jacobians."""


def leads(role: str) -> bool | None:
    """Whether leaders alone have an input, or followers have their part of it; None if nobody knows.

    A direction, "dq", is as its input is. A weight is as results depend on it: as what leads if the result does.
    """
    if role in LEADING_INPUTS or role in MOVING_INPUTS:
        return role in LEADING_INPUTS
    if role[:1] == "d":
        return leads(role[1:])
    return is_led(role[1:]) if role[:1] == "w" else None


def is_led(role: str) -> bool | None:
    """Whether leaders have all of an output, or feel that of followers too; None if nobody knows.

    A gradient, "dq", is felt if followers move with the input; by torques, leaders have all of it.
    """
    if role in LEADING_OUTPUTS or role in FELT_OUTPUTS:
        return role in LEADING_OUTPUTS
    return leads(role[1:]) if role[:1] == "d" else None


def understood(function: Function) -> bool:
    """Whether it is known of every array of coordinates or speeds what followers have to do with it."""
    inputs = [function.role(name) for name, of in function.inputs.items() if kind(of).per in ("q", "v")]
    outputs = [name for name, of in function.outputs.items() if not is_dense(of) and kind(of).per in ("q", "v")]
    return None not in [*map(leads, inputs), *[is_led(function.role(name)) for name in outputs]]


def _map(found: Followers, per: str) -> tuple[list[int], list[float], list[int]]:
    """Where coordinates ("q") or speeds ("v") of the whole tree come from, their ratios, and the leaders' places."""
    ratio, source, own = (getattr(found, f"{per}_{name}").tolist() for name in ("ratio", "source", "own"))
    return source, ratio, own


def widened(found: Followers, k: Kind, numbers: Sequence[Scalar], role: str) -> list[Scalar]:
    """An array of coordinates or speeds, `width` numbers each, for the whole tree."""
    source, ratio, own = _map(found, k.per)
    w = k.width
    if leads(role):
        wide: list[Scalar] = [0.0] * (w * len(source))
        for place, i in enumerate(own):
            wide[w * i : w * i + w] = numbers[w * place : w * place + w]
        return wide
    rows = [[_times(s, x) for x in numbers[w * i : w * i + w]] for i, s in zip(source, ratio, strict=True)]
    if k.per == "q" and role in CONFIGURATIONS:
        offsets = found.q_offset.tolist()
        rows = [[x + o if o else x for x in row] for row, o in zip(rows, offsets, strict=True)]
    return [x for row in rows for x in row]


def narrowed(found: Followers, k: Kind, numbers: Sequence[Scalar], role: str) -> list[Scalar]:
    """An array of the whole tree's coordinates or speeds, `width` numbers each, for those of the robot."""
    source, ratio, own = _map(found, k.per)
    w = k.width
    if is_led(role):
        return [x for i in own for x in numbers[w * i : w * i + w]]
    sums: list[list[Scalar]] = [list(numbers[w * i : w * i + w]) for i in own]
    for i in sorted(set(range(len(source))) - set(own)):
        row = sums[source[i]]
        row[:] = [a + _times(ratio[i], b) for a, b in zip(row, numbers[w * i : w * i + w], strict=True)]
    return [x for row in sums for x in row]


def narrowed_matrix(found: Followers, kind_name: str, matrix: Array) -> Array:
    """A whole matrix with Gᵀ applied along every dimension that has the size nv: Gᵀ M G, J G and so on."""
    for axis, word in enumerate(kind_name.partition(":")[2].split(",")):
        if word == "nv":
            matrix = narrowed_along(found, matrix, axis)
    return matrix


def narrowed_along(found: Followers, array: Array, axis: int, per: str = "v") -> Array:
    """Gᵀ applied along one dimension of an array."""
    source, ratio, own = _map(found, per)
    moved = np.moveaxis(array, axis, 0)
    sums = moved[own].copy()
    for i in sorted(set(range(len(source))) - set(own)):
        if ratio[i]:
            sums[source[i]] = sums[source[i]] + ratio[i] * moved[i]
    return np.moveaxis(sums, 0, axis)


def widened_array(found: Followers, k: Kind, array: Array, role: str) -> Array:
    """The same as :func:`widened` for arrays with leading dimensions."""
    if k.pieces:
        sizes = found.whole.n, len(found.q_own), len(found.v_own)
        return _piecewise(k, array, sizes, lambda piece, x, name: widened_array(found, piece, x, name))
    if k.per not in ("q", "v"):
        return array
    axis = -1 - len(k.shape)
    moved = np.moveaxis(array, axis, -1)
    source, ratio, own = _map(found, k.per)
    if leads(role):
        wide = np.zeros((*moved.shape[:-1], len(source)), moved.dtype)
        wide[..., own] = moved
    else:
        wide = moved[..., source] * np.asarray(ratio, moved.dtype)
        if k.per == "q" and role in CONFIGURATIONS:
            wide = wide + found.q_offset.astype(moved.dtype)
    return np.moveaxis(wide, -1, axis)


def narrowed_array(found: Followers, k: Kind, array: Array, role: str) -> Array:
    """The same as :func:`narrowed` for arrays with leading dimensions; pieces are gradients by these."""
    if k.pieces:
        sizes = found.whole.n, found.whole.nq, found.whole.nv
        return _piecewise(k, array, sizes, lambda piece, x, name: narrowed_array(found, piece, x, f"d{name}"))
    if k.per not in ("q", "v"):
        return array
    axis = array.ndim - 1 - len(k.shape)
    if is_led(role):
        return np.take(array, _map(found, k.per)[2], axis=axis)
    return narrowed_along(found, array, axis, k.per)


def _piecewise(
    k: Kind, array: Array, sizes: tuple[int, int, int], change: Callable[[Kind, Array, str], Array]
) -> Array:
    """A row of several arrays, of a mechanism of these sizes (links, nq, nv), each changed by itself."""
    shapes = {name: piece.full_shape(*sizes) for name, piece in k.pieces.items()}
    ends = list(itertools.accumulate(int(np.prod(shape)) for shape in shapes.values()))
    parts = np.split(array, ends[:-1], axis=-1)
    changed = []
    for (name, piece), part in zip(k.pieces.items(), parts, strict=True):
        given = part.reshape(*array.shape[:-1], *shapes[name])
        changed.append(change(piece, given, name).reshape(*array.shape[:-1], -1))
    return np.concatenate(changed, axis=-1)


def _times(ratio: float, x: Scalar) -> Scalar:
    return x if ratio == 1.0 else ratio * x
