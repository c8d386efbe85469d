"""Weights carried from coordinates to speeds and back, on expressions.

`rates` and `speeds` of a joint type (:mod:`catena.model.spaces`) take directions from the tangent space to the
coordinates and back. Gradients go the other way, by the transposed maps, which are derived from those two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catena.model.joints import JointType
from catena.scalars import Scalar
from catena.spatial import Dofs
from catena.trace.derivatives import cotangents
from catena.trace.graph import Expr, Graph, Operand

Map = Callable[[Dofs, Dofs], Dofs]


def pulled_rates(joint_type: type[JointType], q: Dofs, gradient: Sequence[Operand]) -> list[Operand]:
    """The gradient by speeds (nv), given that by coordinates (nq) at the configuration q."""
    return list(gradient) if joint_type.flat else _pulled(joint_type.rates, q, joint_type.nv, gradient)


def pulled_speeds(joint_type: type[JointType], q: Dofs, weights: Sequence[Operand]) -> list[Operand]:
    """The weights of coordinates (nq), given those of speeds (nv) at the configuration q."""
    return list(weights) if joint_type.flat else _pulled(joint_type.speeds, q, joint_type.nq, weights)


def _pulled(linear: Map, q: Dofs, count: int, weights: Sequence[Operand]) -> list[Operand]:
    """The transpose of linear(q, ·), a map from `count` numbers, applied to weights."""
    graph = _graph([*q, *weights])
    if graph is None:
        return [0.0] * count
    leaves = [graph.input("tangent", i) for i in range(count)]
    slopes = cotangents(linear(q, Dofs(leaves)).values, list(weights))
    return [slopes.get(leaf, 0.0) for leaf in leaves]


def _graph(scalars: Sequence[Scalar]) -> Graph | None:
    return next((x.graph for x in scalars if isinstance(x, Expr)), None)
