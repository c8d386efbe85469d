"""Derivatives of forward dynamics: those of inverse dynamics at the acceleration found, times −M⁻¹.

Inverse dynamics undoes forward dynamics, τ = ID(q, v, FD(q, v, τ)), so that

    ∂FD/∂q = −M⁻¹ ∂ID/∂q,   ∂FD/∂v = −M⁻¹ ∂ID/∂v,   ∂FD/∂τ = M⁻¹

M comes with the derivatives of inverse dynamics, entry by entry. It is factored by reverse Gaussian elimination, Saha
(1995), which fills no zero of a tree, and each column is solved for: O(n³) for a chain, O(n d²) where branches part
early. For unrolled kernels only.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from catena.algorithms.changes import accelerated, moving
from catena.algorithms.composite_body import mass_matrix
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.innovations import FACTOR, SOLVE
from catena.algorithms.inverse_dynamics_derivatives import TORQUE_SLOPES, Matrix, derivatives_at, torque_columns
from catena.algorithms.joint_losses import losses_at, with_joint_losses
from catena.algorithms.newton_euler import bias
from catena.algorithms.reverse_gaussian_elimination import eliminate, inverse, substitute
from catena.functions.function import Function
from catena.functions.recipes import Ask
from catena.scalars import Scalar
from catena.spatial import Dofs
from catena.sweeps import Field

Factors = tuple[Matrix, list[Scalar]]
"""U and D of M = U D Uᵀ."""


def forward_dynamics_derivatives(
    links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None = None, *, losses: bool = False
) -> tuple[Matrix, Matrix, Matrix]:
    """The derivatives of the accelerations by q (in the tangent space), by v and by tau, which is M⁻¹: nv rows each."""
    return accelerations_and_derivatives(links, q, v, tau, f_ext, losses)[1]


def accelerations_and_derivatives(
    links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None, losses: bool
) -> tuple[Field, tuple[Matrix, Matrix, Matrix]]:
    """The accelerations, and their derivatives by q, v and tau."""
    factors = eliminate(mass_matrix(links, q))
    vdot = _accelerations(links, factors, _driving(links, q, v, tau, f_ext, losses))
    state = accelerated(links, moving(links, q, v, None, f_ext), vdot)
    dq, dv, _ = derivatives_at(links, state, losses)
    return vdot, (_solved(factors, dq), _solved(factors, dv), inverse(*factors))


def _driving(links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None, losses: bool) -> list[Scalar]:
    """The torques that are left to accelerate the joints."""
    used = bias(links, q, v, f_ext)
    left = [tau[k] - used[k] - losses_at(k, v[k]) if losses else tau[k] - used[k] for k in links.base_to_tip()]
    return [x for dofs in left for x in dofs]


def _accelerations(links: Any, factors: Factors, torques: list[Scalar]) -> Field:
    """M⁻¹ torques, as a field."""
    vdot: Field
    (vdot,), found = links.fields("vdot"), substitute(*factors, torques)
    for k in links.base_to_tip():
        vdot[k] = Dofs(found[k.v_start : k.v_start + k.joint_type.nv])
    return vdot


def _solved(factors: Factors, matrix: Matrix) -> Matrix:
    """−M⁻¹ times a matrix, column by column."""
    columns = [substitute(*factors, [-x for x in column]) for column in zip(*matrix, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _forward_dynamics_derivatives(losses: bool) -> Function:
    forward = with_joint_losses(FD3) if losses else FD3

    def rolled(ask: Ask, q: Any, v: Any, tau: Any, *f_ext: Any) -> tuple[Any, Any, Any]:
        a, factors = ask(forward, q, v, tau, *f_ext), [x[..., None, :, :] for x in ask(FACTOR, q)]
        by_q, by_v = torque_columns(ask, TORQUE_SLOPES[losses], q, v, a, *f_ext)

        def solved(rows: Any) -> Any:
            return np.swapaxes(ask(SOLVE, q[..., None, :], *factors, rows), -1, -2)

        return solved(-np.swapaxes(by_q, -1, -2)), solved(-np.swapaxes(by_v, -1, -2)), solved(np.eye(ask.tree.nv))

    return Function(
        "forward_dynamics_derivatives" + ("/joint_losses" if losses else ""),
        partial(forward_dynamics_derivatives, losses=losses),
        {"q": "q", "v": "v", "tau": "v", "f_ext": "force"},
        {"dq": "dense:nv,nv", "dv": "dense:nv,nv", "dtau": "dense:nv,nv"},
        optional=("f_ext",),
        recipe=rolled,
    )


FORWARD_DYNAMICS_DERIVATIVES = {losses: _forward_dynamics_derivatives(losses) for losses in (False, True)}
"""Without and with joint losses."""
