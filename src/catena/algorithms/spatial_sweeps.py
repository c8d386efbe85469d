"""Sums along the tree with given 6 x 6 steps between links: φ x, ψ x and their transposes for any steps.

`inward` is (I − SΔ)⁻¹ x, (a.10) and (a.11) of Rodriguez & Kreutz (1988); `outward` its transpose. Each is one sweep.
"""

from __future__ import annotations

from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Dofs
from catena.sweeps import Field, Links


def inward(links: Links, step: Field, x: Field) -> Field:
    """y(k) = x(k) + Σ step(i) y(i) over the children i of link k."""
    y: Field
    (y,) = links.fields("y")
    for k in links.base_to_tip():
        y[k] = Dofs(x[k])
    for k in links.tip_to_base():
        y[k.parent] += Dofs([_dot(step[k][6 * i : 6 * i + 6], y[k]) for i in range(6)])
    return y


def outward(links: Links, step: Field, x: Field) -> Field:
    """y(k) = x(k) + step(k)ᵀ y(parent)."""
    y: Field
    (y,) = links.fields("y")
    y[links.base] = Dofs([0] * 6)
    for k in links.base_to_tip():
        y[k] = Dofs([a + _dot(step[k][i::6], y[k.parent]) for i, a in enumerate(x[k])])
    return y


def _dot(a: list[Scalar], b: Dofs) -> Scalar:
    return sum((x * y for x, y in zip(a[1:], b.values[1:], strict=True)), start=a[0] * b[0])


_KINDS = {"step": "link:6,6", "x": "link:6"}
INWARD = Function("spatial_sweep/inward", inward, _KINDS, {"y": "link:6"})
OUTWARD = Function("spatial_sweep/outward", outward, _KINDS, {"y": "link:6"})
