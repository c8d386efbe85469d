"""Derivatives of forward dynamics along a direction, and of its weighted sums: ∂FD = −M⁻¹ ∂ID.

Forward dynamics solves ID(q, v, θ̈) = τ for θ̈, so its derivatives follow from those of inverse dynamics at the
accelerations found, and M⁻¹ comes at the price of two sweeps with the factors that FD3 leaves behind:

    forward     θ̈' = M⁻¹ (τ' − ∂ID/∂q q' − ∂ID/∂v v')
    in reverse  λ = M⁻¹ w;   τ̄ = λ,   q̄ = −(∂ID/∂q)ᵀ λ,   v̄ = −(∂ID/∂v)ᵀ λ

and likewise by wrenches and by the robot's parameters, in which ID is linear.

Against the derivative of FD3 itself that saves a tenth to a sixth of the operations, because articulated inertias need
not be differentiated. Everything is O(n). It is for robots, not for long chains: there inverse dynamics adds up large
moments that cancel, which the filter of FD3, and with it the derivative of FD3, never forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena.algorithms.forward_dynamics import FD3, FD3_WITH_FACTORS
from catena.algorithms.innovations import solve
from catena.algorithms.newton_euler import INVERSE_DYNAMICS
from catena.algorithms.parameters import with_parameters
from catena.functions.derived import in_coordinates, jvp, vjp
from catena.functions.function import Function
from catena.spatial import Dofs
from catena.sweeps import Field, Links

Acting = Callable[[Function], Function]
"""What makes dynamics with joint losses, springs or both of plain ones."""
Solve = Callable[[Field], Field]
"""M⁻¹ times a field of torques."""
Torques = Callable[[Mapping[str, Any]], Any] | None
"""The derivative of inverse dynamics for inputs by name; None where only torques move."""


def plain(function: Function) -> Function:
    """Dynamics in which joints have nothing but their torques."""
    return function


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


def forward_dynamics_jvp(by: Sequence[str], acting: Acting = plain, coordinates: bool = False) -> Function:
    """How joint accelerations change as the inputs `by`, of q, v, tau, f_ext and parameters, move in given directions.

    `acting` makes dynamics with joint losses or springs of plain ones; with `coordinates`, derivatives by q are by its
    numbers, see :func:`~catena.functions.derived.in_coordinates`. Inputs and outputs are those of
    :func:`catena.functions.derived.jvp` of forward dynamics.
    """

    def changes(solve: Solve, torques: Torques, known: Mapping[str, Any]) -> Field:
        needed: Any = known.get("dtau")
        if torques is not None:
            needed = _Minus(torques(known), needed)
        return solve(needed)

    return _product(jvp, changes, by, acting, coordinates)


def forward_dynamics_vjp(by: Sequence[str], acting: Acting = plain, coordinates: bool = False) -> Function:
    """The gradients of the weighted sum of joint accelerations by the inputs `by`, of q, v, tau, f_ext and parameters.

    `acting` makes dynamics with joint losses or springs of plain ones; with `coordinates`, derivatives by q are by its
    numbers, see :func:`~catena.functions.derived.in_coordinates`. Inputs and outputs are those of
    :func:`catena.functions.derived.vjp` of forward dynamics.
    """

    def gradients(solve: Solve, torques: Torques, known: Mapping[str, Any]) -> Any:
        lam = solve(known["wa"])
        found = () if torques is None else torques({**known, "wtau": _Minus(lam)})
        rest = iter(found if isinstance(found, tuple) else (found,))
        results = tuple(lam if name == "tau" else next(rest) for name in by)
        return results if len(results) > 1 else results[0]

    return _product(vjp, gradients, by, acting, coordinates)


def _product(
    derivative: Callable[[Function, Sequence[str]], Function],
    combined: Callable[[Solve, Torques, Mapping[str, Any]], Any],
    by: Sequence[str],
    acting: Acting,
    coordinates: bool,
) -> Function:
    """A derivative of forward dynamics, `combined` of M⁻¹ and of the same derivative of inverse dynamics."""
    forward, inverse = _dynamics(acting, coordinates, "parameters" in by)
    described = derivative(replace(forward, outputs=FD3.outputs), by)
    others = [name for name in by if name != "tau"]
    torques = derivative(inverse, others)

    def algorithm(links: Links, *given: Any) -> Any:
        known = dict(zip(described.inputs, given, strict=True))
        known["a"], G, D = forward.algorithm(links, *[known[name] for name in forward.inputs])
        return combined(
            lambda x: solve(links, known["q"], G, D, x),
            (lambda known: torques.algorithm(links, *[known.get(name) for name in torques.inputs])) if others else None,
            known,
        )

    return replace(described, algorithm=algorithm)


def _dynamics(acting: Acting, coordinates: bool, parameters: bool) -> tuple[Function, Function]:
    """Forward dynamics with the factors of M, and inverse dynamics."""

    def wrapped(function: Function) -> Function:
        function = with_parameters(acting(function)) if parameters else acting(function)
        return in_coordinates(function) if coordinates else function

    return wrapped(FD3_WITH_FACTORS), wrapped(INVERSE_DYNAMICS)
