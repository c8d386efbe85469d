"""Derivatives of forward dynamics along a direction, and of its weighted sums: ∂FD = −M⁻¹ ∂ID.

Forward dynamics solves ID(q, v, θ̈) = τ for θ̈, so its derivatives follow from those of inverse dynamics at the
accelerations found, and M⁻¹ comes at the price of two sweeps with the factors that FD3 leaves behind:

    forward     θ̈' = M⁻¹ (τ' − ∂ID/∂q q' − ∂ID/∂v v')
    in reverse  λ = M⁻¹ w;   τ̄ = λ,   q̄ = −(∂ID/∂q)ᵀ λ,   v̄ = −(∂ID/∂v)ᵀ λ

Against the derivative of FD3 itself that saves a tenth to a sixth of the operations, because articulated inertias need
not be differentiated. Everything is O(n). It is for robots, not for long chains: there inverse dynamics adds up large
moments that cancel, which the filter of FD3, and with it the derivative of FD3, never forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena.algorithms.forward_dynamics import FD3, FD3_WITH_FACTORS
from catena.algorithms.innovations import solve
from catena.algorithms.joint_losses import with_joint_losses
from catena.algorithms.newton_euler import INVERSE_DYNAMICS
from catena.functions.derived import in_coordinates, jvp, vjp
from catena.functions.function import Function
from catena.spatial import Dofs
from catena.sweeps import Field, Links


@dataclass(frozen=True)
class _Minus:
    """Minus a field of joint numbers, or what is left of another one less it."""

    y: Field
    x: Field | None = None

    def __getitem__(self, k: Any) -> Dofs:
        less: Dofs = -self.y[k] if self.x is None else self.x[k] - self.y[k]
        return less

    def __setitem__(self, k: Any, value: Any) -> None:
        raise TypeError("a difference of fields can only be read")


def forward_dynamics_jvp(by: Sequence[str], joint_losses: bool = False, coordinates: bool = False) -> Function:
    """How joint accelerations change as the inputs `by`, of q, v, tau and f_ext, move in given directions.

    With `joint_losses`, torques lose what damping and friction take; with `coordinates`, derivatives by q are by its
    numbers, see :func:`~catena.functions.derived.in_coordinates`. Inputs and outputs are those of
    :func:`catena.functions.derived.jvp` of forward dynamics.
    """
    forward, inverse = _dynamics(joint_losses, coordinates)
    others = [name for name in by if name != "tau"]
    torques, described = jvp(inverse, others), jvp(replace(FD3, name=forward.name, inputs=forward.inputs), by)

    def algorithm(links: Links, *given: Any) -> Field:
        known = dict(zip(described.inputs, given, strict=True))
        known["a"], G, D = forward.algorithm(links, *[known[name] for name in forward.inputs])
        needed: Any = known.get("dtau")
        if others:
            needed = _Minus(torques.algorithm(links, *[known.get(name) for name in torques.inputs]), needed)
        return solve(links, known["q"], G, D, needed)

    return replace(described, algorithm=algorithm)


def forward_dynamics_vjp(by: Sequence[str], joint_losses: bool = False, coordinates: bool = False) -> Function:
    """The gradients of the weighted sum of joint accelerations by the inputs `by`, of q, v, tau and f_ext.

    With `joint_losses`, torques lose what damping and friction take; with `coordinates`, derivatives by q are by its
    numbers, see :func:`~catena.functions.derived.in_coordinates`. Inputs and outputs are those of
    :func:`catena.functions.derived.vjp` of forward dynamics.
    """
    forward, inverse = _dynamics(joint_losses, coordinates)
    others = [name for name in by if name != "tau"]
    torques, described = vjp(inverse, others), vjp(replace(FD3, name=forward.name, inputs=forward.inputs), by)

    def algorithm(links: Links, *given: Any) -> Any:
        known = dict(zip(described.inputs, given, strict=True))
        known["a"], G, D = forward.algorithm(links, *[known[name] for name in forward.inputs])
        lam = solve(links, known["q"], G, D, known["wa"])
        known["wtau"] = _Minus(lam)
        found = torques.algorithm(links, *[known.get(name) for name in torques.inputs]) if others else ()
        gradients = {"tau": lam, **dict(zip(others, found if isinstance(found, tuple) else (found,), strict=True))}
        results = tuple(gradients[name] for name in by)
        return results if len(results) > 1 else results[0]

    return replace(described, algorithm=algorithm)


def _dynamics(joint_losses: bool, coordinates: bool) -> tuple[Function, Function]:
    """Forward dynamics with the factors of M, and inverse dynamics."""
    both = FD3_WITH_FACTORS, INVERSE_DYNAMICS
    if joint_losses:
        both = with_joint_losses(both[0]), with_joint_losses(both[1])
    return (in_coordinates(both[0]), in_coordinates(both[1])) if coordinates else both
