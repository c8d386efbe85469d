"""The variational midpoint rule: a step from Hamilton's principle, whose energy stays bounded for as long as it runs.

With the discrete Lagrangian h L(q₀ + ½ h u, u), u = (q₁ − q₀) / h, momenta at both ends of a step are

    p₀ = ∂L/∂u − h (∂L/∂q + ½ τ),   p₁ = ∂L/∂u + ½ h τ,

the derivatives taken of L as a function of q₀ and u. The first is an equation for u (Marsden & West 2001, 2.3.2), which
Newton's method solves: see :mod:`catena.simulation.variational`.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.energy import kinetic_energy, potential_energy
from catena.algorithms.joint_losses import losses_at
from catena.functions.function import Function
from catena.scalars import Scalar
from catena.sweeps import Field, Links
from catena.trace.derivatives import gradient, tangents


def equation(losses: bool, springs: bool) -> Function:
    """What Newton's method needs at u: the residual p₀(u) − p₀, its derivative by u, and p₁.

    On traced scalars only, for joints whose speeds are the rates of their coordinates.
    """

    def algorithm(links: Any, q: Field, u: Field, p: Field, tau: Field, dt: Scalar) -> tuple[Any, ...]:
        places, speeds = _flat(links, q), _flat(links, u)
        slopes = gradient(_lagrangian(links, q, u, dt, springs))
        acting = _flat(links, _Driven(tau, u, losses))
        along_q, along_u = ([slopes.get(x, 0.0) for x in leaves] for leaves in (places, speeds))
        start = [b - dt * (a + 0.5 * t) for a, b, t in zip(along_q, along_u, acting, strict=True)]
        columns = [tangents(start, {x: 1.0}) for x in speeds]
        end = [b + (0.5 * dt) * t for b, t in zip(along_u, acting, strict=True)]
        residual = [x - y for x, y in zip(start, _flat(links, p), strict=True)]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return links.coordinates(residual, "v"), rows, links.coordinates(end, "v")

    name = "/".join(["variational", *(["losses"] if losses else []), *(["springs"] if springs else [])])
    inputs = {"q": "q", "u": "v", "p": "v", "tau": "v", "dt": "robot"}
    outputs = {"residual": "v", "slope": "dense:nv,nv", "p": "v"}
    return Function(name, algorithm, inputs, outputs, positive=("dt",))


class _Driven:
    """The torques tau, less losses at the speeds u."""

    def __init__(self, tau: Field, u: Field, losses: bool) -> None:
        self._tau, self._u, self._losses = tau, u, losses

    def __getitem__(self, k: Any) -> Any:
        return self._tau[k] - losses_at(k, self._u[k]) if self._losses else self._tau[k]


def _lagrangian(links: Links, q: Field, u: Field, dt: Scalar, springs: bool) -> Scalar:
    """Kinetic less potential energy in the middle of the step."""
    (middle,) = links.fields("middle")
    spring: Scalar = 0.0
    half = dt * 0.5
    for k in links.base_to_tip():
        middle[k] = k.joint_type.integrate(q[k], type(u[k])([half * x for x in u[k]]))
        if springs:
            for stiffness, rest, x in zip(k.stiffness, k.rest, middle[k], strict=True):
                spring = spring + 0.5 * stiffness * (x - rest) * (x - rest)
    kinetic, potential = kinetic_energy(links, middle, u)[links.base], potential_energy(links, middle)[links.base]
    return kinetic - potential - spring


def _flat(links: Any, values: Any) -> list[Scalar]:
    return [x for k in links for x in values[k]]
