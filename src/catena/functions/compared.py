"""Two algorithms for one question, run together: results of the first, and none where the second disagrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from catena.functions.function import Function, kind
from catena.scalars import Scalar, absolute, where
from catena.spatial import Dofs
from catena.sweeps import Field, Links
from catena.trace.recorder import RolledLinks


def compared(function: Function, other: Callable[..., Any], share: float) -> Function:
    """The result of a function, in one kernel with another algorithm for it; no finite one where they differ.

    The function gives one number for the robot, or numbers of joints: sample by sample these may differ by no more
    than a share of the largest. Samples that differ by little less may be without numbers, too.
    """
    ((_, kind_name),) = function.outputs.items()
    agreed = _agreed_number if kind(kind_name).per == "robot" else _agreed_joints

    def algorithm(links: Links, *given: Any) -> Field:
        if isinstance(links, RolledLinks):
            links.composed = True  # so that what both algorithms compute is computed once
        return agreed(links, function.algorithm(links, *given), other(links, *given), share)

    return replace(function, name=f"{function.name}/compared", algorithm=algorithm)


def _agreed_number(links: Links, found: Field, other: Field, share: float) -> Field:
    (result,) = links.fields("result")
    x, y = found[links.base], other[links.base]
    result[links.base] = x * _sure(absolute(x - y) <= share * absolute(y))
    return result


def _agreed_joints(links: Links, found: Field, other: Field, share: float) -> Field:
    """By sums of squares, since sums are what sweeps make; of n numbers the largest square is at least an n-th."""
    size, distance, count, result = links.fields("size distance count result")
    size[links.base] = distance[links.base] = count[links.base] = 0
    for k in links.base_to_tip():
        size[k] = sum((x * x for x in other[k]), start=0)
        distance[k] = sum(((x - y) * (x - y) for x, y in zip(found[k], other[k], strict=True)), start=0)
        count[k] = k.joint_type.nv
    for k in links.tip_to_base():
        for field in (size, distance, count):
            field[k.parent] += field[k]
    n, most = count[links.base], size[links.base]
    sure = _sure(distance[links.base] * n < share * share * most + _NOTHING)
    for k in links.base_to_tip():
        result[k] = Dofs([x * sure for x in found[k]])
    return result


def _sure(agreed: Any) -> Scalar:
    """One, or infinite by a division, which processors remember."""
    return 1.0 / where(agreed, 1.0, 0.0)


_NOTHING = 1e-300
"""So that what is zero agrees with itself; squares that overflow agree with nothing."""
