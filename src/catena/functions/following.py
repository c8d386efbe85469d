"""Numbers of a robot in which joints follow others, made wider for its whole tree and narrower again.

With G and o of :mod:`catena.model.mimic`, configurations are G q + o and motions G v. Torques of the whole tree are
those of the leaders and nothing at followers; what comes back as torques, gradients or columns of Jacobians is Gᵀ times
it, and what comes back as motions or configurations is that of the leaders. Which of these an array is, its kind says.
The scalars are of any kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.functions.function import Function, Kind, is_dense, kind
from catena.model.mimic import Followers
from catena.scalars import Scalar

Array = npt.NDArray[Any]


def understood(function: Function) -> bool:
    """Whether it is known of every array of coordinates or speeds what followers have to do with it."""
    given, found = function.inputs.values(), [of for of in function.outputs.values() if not is_dense(of)]
    return all(k.variance for k in map(kind, [*given, *found]) if k.per in ("q", "v"))


def _are_of_leaders(k: Kind) -> bool:
    """Whether followers have nothing of such numbers where they go in."""
    return k.variance in ("force", "joint")


def _map(found: Followers, per: str) -> tuple[list[int], list[float], list[int]]:
    """Where coordinates ("q") or speeds ("v") of the whole tree come from, their ratios, and the leaders' places."""
    ratio, source, own = (getattr(found, f"{per}_{name}").tolist() for name in ("ratio", "source", "own"))
    return source, ratio, own


def widened(found: Followers, k: Kind, numbers: Sequence[Scalar]) -> list[Scalar]:
    """An array of coordinates or speeds, `width` numbers each, for the whole tree."""
    source, ratio, own = _map(found, k.per)
    w = k.width
    if _are_of_leaders(k):
        wide: list[Scalar] = [0.0] * (w * len(source))
        for place, i in enumerate(own):
            wide[w * i : w * i + w] = numbers[w * place : w * place + w]
        return wide
    rows = [[_times(s, x) for x in numbers[w * i : w * i + w]] for i, s in zip(source, ratio, strict=True)]
    if k.variance == "configuration":
        offsets = found.q_offset.tolist()
        rows = [[x + o if o else x for x in row] for row, o in zip(rows, offsets, strict=True)]
    return [x for row in rows for x in row]


def narrowed(found: Followers, k: Kind, numbers: Sequence[Scalar]) -> list[Scalar]:
    """An array of the whole tree's coordinates or speeds, `width` numbers each, for those of the robot."""
    source, ratio, own = _map(found, k.per)
    w = k.width
    if k.variance != "force":
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


def widened_array(found: Followers, k: Kind, array: Array) -> Array:
    """The same as :func:`widened` for arrays with leading dimensions."""
    if k.pieces:
        sizes = found.whole.n, len(found.q_own), len(found.v_own)
        return _piecewise(k, array, sizes, partial(widened_array, found))
    if k.per not in ("q", "v"):
        return array
    axis = -1 - len(k.shape)
    moved = np.moveaxis(array, axis, -1)
    source, ratio, own = _map(found, k.per)
    if _are_of_leaders(k):
        wide = np.zeros((*moved.shape[:-1], len(source)), moved.dtype)
        wide[..., own] = moved
    else:
        wide = moved[..., source] * np.asarray(ratio, moved.dtype)
        if k.variance == "configuration":
            wide = wide + found.q_offset.astype(moved.dtype)
    return np.moveaxis(wide, -1, axis)


def narrowed_array(found: Followers, k: Kind, array: Array) -> Array:
    """The same as :func:`narrowed` for arrays with leading dimensions; pieces are gradients by these."""
    if k.pieces:
        sizes = found.whole.n, found.whole.nq, found.whole.nv
        return _piecewise(k, array, sizes, partial(narrowed_array, found))
    if k.per not in ("q", "v"):
        return array
    axis = array.ndim - 1 - len(k.shape)
    if k.variance != "force":
        return np.take(array, _map(found, k.per)[2], axis=axis)
    return narrowed_along(found, array, axis, k.per)


def _piecewise(k: Kind, array: Array, sizes: tuple[int, int, int], change: Callable[[Kind, Array], Array]) -> Array:
    """A row of several arrays, of a mechanism of these sizes (links, nq, nv), each changed by itself."""
    shapes = {name: piece.full_shape(*sizes) for name, piece in k.pieces.items()}
    ends = list(itertools.accumulate(int(np.prod(shape)) for shape in shapes.values()))
    parts = np.split(array, ends[:-1], axis=-1)
    changed = []
    for (name, piece), part in zip(k.pieces.items(), parts, strict=True):
        given = part.reshape(*array.shape[:-1], *shapes[name])
        changed.append(change(piece, given).reshape(*array.shape[:-1], -1))
    return np.concatenate(changed, axis=-1)


def _times(ratio: float, x: Scalar) -> Scalar:
    return x if ratio == 1.0 else ratio * x
