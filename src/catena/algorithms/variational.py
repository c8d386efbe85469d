"""The variational midpoint rule: a step from Hamilton's principle, whose energy stays bounded for as long as it runs.

With the discrete Lagrangian h L(q₀ + ½ h u, u), u = (q₁ − q₀) / h, momenta at both ends of a step are

    p₀ = ∂L/∂u − h (∂L/∂q + ½ τ),   p₁ = ∂L/∂u + ½ h τ,

the derivatives taken of L as a function of q₀ and u (Marsden & West 2001, 2.3.2). The first is an equation for u,
which Newton's method solves. Derivatives come from the graph, so all this is for traced scalars only, and for joints
whose speeds are the rates of their coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.algorithms.energy import kinetic_energy, potential_energy
from catena.algorithms.joint_losses import losses_at
from catena.algorithms.rollouts import NOTHING, Law
from catena.functions.function import Function, Repeated
from catena.scalars import Scalar, equal, largest, where
from catena.spatial import Dofs
from catena.sweeps import Field, Links, at_base
from catena.trace.derivatives import gradient, tangents

ITERATIONS = 5
"""Newton's iterations in every step: three or four reach the last digits, one is to spare."""

SUMS = ("phase", "count", "worst")
"""Numbers that go from turn to turn besides the state: iterations done in this step, steps done, and the largest change
of a last iteration, beside the largest speed."""


def newton(control: Law = NOTHING, losses: bool = False, springs: bool = True) -> Repeated:
    """One iteration as the turn of a rollout: every :data:`ITERATIONS` turns make a step.

    The state is q and the momentum p; u and tau, which belong to a step, are carried along. A controller is asked at
    the start of a step, with the speed u of the step before.
    """
    outputs = {"q": "q", "p": "tau", "u": "v", "tau": "tau", **dict.fromkeys(SUMS, "robot")}
    inputs = {**outputs, "dt": "robot", **control.inputs}

    def algorithm(links: Any, *given: Any) -> tuple[Any, ...]:
        at = dict(zip(inputs, given, strict=True))
        q, u, dt = at["q"], at["u"], at["dt"]
        asked = control.algorithm(links, at["count"] * dt, q, u, *[at[name] for name in control.inputs])
        first, last = equal(at["phase"], 0.0), equal(at["phase"], ITERATIONS - 1.0)
        tau = [where(first, x, y) for x, y in zip(_flat(links, asked), _flat(links, at["tau"]), strict=True)]
        start, slope, end = _momenta(links, q, u, tau, dt, losses, springs)
        change = _eliminated(slope, [x - y for x, y in zip(start, _flat(links, at["p"]), strict=True)])
        speeds = [x - y for x, y in zip(_flat(links, u), change, strict=True)]
        moved = [where(last, x + dt * y, x) for x, y in zip(_flat(links, q), speeds, strict=True)]
        momenta = [where(last, x, y) for x, y in zip(end, _flat(links, at["p"]), strict=True)]
        size = largest(change) / (1.0 + largest(speeds))
        sums = (
            where(last, 0.0, at["phase"] + 1.0),
            where(last, at["count"] + 1.0, at["count"]),
            where(last, where(size <= at["worst"], at["worst"], size), at["worst"]),
        )
        fields = [links.coordinates(x, "v") for x in (moved, momenta, speeds, tau)]
        return (*fields, *[at_base(links, x) for x in sums])

    words = [*(["losses"] if losses else []), *(["springs"] if springs else [])]
    name = "/".join(["simulate", "variational", control.name, *words])
    return Repeated(Function(name, algorithm, inputs, outputs, positive=("dt",)), last=("u", "tau", *SUMS))


def _momenta(
    links: Any, q: Field, u: Field, tau: Sequence[Scalar], dt: Scalar, losses: bool, springs: bool
) -> tuple[list[Scalar], list[list[Scalar]], list[Scalar]]:
    """p₀, its derivative by u, row by row, and p₁."""
    places, speeds = _flat(links, q), _flat(links, u)
    slopes = gradient(_lagrangian(links, q, u, dt, springs))
    lost = [x for k in links for x in losses_at(k, u[k])] if losses else [0.0] * len(speeds)
    half = [(dt * 0.5) * (x - y) for x, y in zip(tau, lost, strict=True)]
    along_q, along_u = ([slopes.get(x, 0.0) for x in leaves] for leaves in (places, speeds))
    start = [b - dt * a - h for a, b, h in zip(along_q, along_u, half, strict=True)]
    columns = [tangents(start, {x: 1.0}) for x in speeds]
    return start, [list(row) for row in zip(*columns, strict=True)], [b + h for b, h in zip(along_u, half, strict=True)]


def _lagrangian(links: Links, q: Field, u: Field, dt: Scalar, springs: bool) -> Scalar:
    """Kinetic less potential energy in the middle of the step."""
    (middle,) = links.fields("middle")
    spring: Scalar = 0.0
    for k in links.base_to_tip():
        middle[k] = q[k] + Dofs([(dt * 0.5) * x for x in u[k]])
        if springs:
            stretch = middle[k] - k.rest
            spring = spring + 0.5 * stretch.dot(k.stiffness * stretch)
    kinetic, potential = kinetic_energy(links, middle, u)[links.base], potential_energy(links, middle)[links.base]
    return kinetic - potential - spring


def _eliminated(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """The solution of a system of equations, by elimination: the matrix is nearly that of masses, so no pivots."""
    A, b = [list(row) for row in matrix], list(right)
    for i in range(len(b)):
        for j in range(i + 1, len(b)):
            factor = A[j][i] / A[i][i]
            A[j] = [x - factor * y if k > i else x for k, (x, y) in enumerate(zip(A[j], A[i], strict=True))]
            b[j] = b[j] - factor * b[i]
    for i in reversed(range(len(b))):
        for j in range(i + 1, len(b)):
            b[i] = b[i] - A[i][j] * b[j]
        b[i] = b[i] / A[i][i]
    return b


def _flat(links: Any, values: Any) -> list[Scalar]:
    return [x for k in links for x in values[k]]
