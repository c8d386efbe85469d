"""Derivatives of inverse dynamics from composite bodies: Carpentier & Mansard (2018), Singh, Russell & Wensing (2022).

When a coordinate or a speed of joint j changes, the motion of all links beyond it changes by one u and one w, as
:mod:`catena.algorithms.changes` says, and the torques change by

    δτ(j) = H(j) F + ∂H(j) f(j)           F = M w + 2 B u, M and B of all that lies beyond j, f the force on it
    δτ(i) = H(i) φ(i, j) (F + h ×* f(j))  at a joint i towards the base: f is turned along with the axis h of joint j
    δτ(k) = H(k) F(k)                     at a joint k beyond j

In the last line the forces M H and 2 Bᵀ H of joint k travel in to j, rather than u and w out to k. One sweep to the
tips, then for each joint a walk to the base with four forces: O(n d) for a tree of depth d. For unrolled kernels only;
for long chains, :func:`torque_slopes` sums up u and w of all joints along one direction, O(n) for each column.

Sources: J. Carpentier, N. Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS 2018; S. Singh,
R. P. Russell, P. M. Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra",
IEEE Robot. Autom. Lett. 7 (2022). With twelve numbers of B instead of their 36, and in the frames of the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from catena.algorithms.aligned import AlignedLinks
from catena.algorithms.changes import Change, State, changes_at, changes_by, doubled_turning, moved_axes, moving, unit
from catena.algorithms.composite_body import MASS_MATRIX
from catena.algorithms.joint_losses import AT_JOINTS, AtJoints
from catena.algorithms.springs import springs_slope
from catena.functions.function import Function
from catena.functions.recipes import Ask, slopes_along
from catena.scalars import Scalar
from catena.spatial import Axes, Dofs, Motion, Vec3
from catena.sweeps import Field, Links

Matrix = list[list[Scalar]]


def inverse_dynamics_derivatives(
    links: Any, q: Field, v: Field, vdot: Field, f_ext: Field | None = None, *, acting: AtJoints
) -> tuple[Matrix, Matrix, Matrix]:
    """The derivatives of the torques by q (in the tangent space), by v and by vdot, which is M: nv rows each."""
    links = AlignedLinks(links, q)
    state = moving(links, q, v, vdot, f_ext)
    return derivatives_at(links, state, changes_at(links, state), acting)


def bias_derivatives(links: Any, q: Field, v: Field, f_ext: Field | None = None) -> tuple[Matrix, Matrix]:
    """The derivatives of the bias torques by q (in the tangent space) and by v."""
    links = AlignedLinks(links, q)
    state = moving(links, q, v, None, f_ext)
    dq, dv, _ = derivatives_at(links, state, changes_at(links, state), AtJoints())
    return dq, dv


def derivatives_at(links: Any, state: State, changes: Field, acting: AtJoints) -> tuple[Matrix, Matrix, Matrix]:
    """The derivatives of the torques at a state by q, v and v̇, from what each number of a joint changes beyond it.

    Springs add to the first, damping to the second.
    """
    phi, H, (M, B2, f) = state.phi, state.H, links.fields("M B2 f")
    for k in links.base_to_tip():
        M[k], B2[k], f[k] = k.M, doubled_turning(k, state.V[k]), state.f[k]
    dq, dv, da = ([[0] * links.nv for _ in range(links.nv)] for _ in range(3))
    for k in links.tip_to_base():
        for j, (h, (by_q, by_v)) in enumerate(zip(H[k].columns, changes[k], strict=True)):
            column, MH, BH = k.v_start + j, M[k] @ h, B2[k].transpose_times(h)
            Fq, Fv = by_q.force(M[k], B2[k]), by_v.force(M[k], B2[k])
            held, lost = _own_slopes(k, state, unit(k, j), unit(k, j), acting)
            _put(dq, k, column, H[k] @ Fq + moved_axes(k, state.q[k], j) @ f[k] + held)
            _put(dv, k, column, H[k] @ Fv + lost)
            _put(da, k, column, H[k] @ MH + k.armature * unit(k, j))
            Fq, i = Fq + h.cross(f[k]), k
            while i.parent is not links.base:
                MH, BH, Fq, Fv = (phi[i] @ force for force in (MH, BH, Fq, Fv))
                i = i.parent
                _put(dq, i, column, H[i] @ Fq)
                _put(dv, i, column, H[i] @ Fv)
                _put(da, i, column, H[i] @ MH)
                _put_across(dq, i, column, [by_q.along(MH, BH) for by_q, _ in changes[i]])
                _put_across(dv, i, column, [by_v.along(MH, BH) for _, by_v in changes[i]])
                _put_across(da, i, column, H[i] @ MH)
        M[k.parent] += phi[k].congruence(M[k])
        B2[k.parent] += B2[k].to_parent(phi[k])
        f[k.parent] += phi[k] @ f[k]
    return dq, dv, da


def torque_slopes(
    links: Links, q: Field, v: Field, vdot: Field, dq: Field, dv: Field, f_ext: Field | None = None, *, acting: AtJoints
) -> Field:
    """How the torques change when q (in the tangent space) changes at the rate dq and v at the rate dv: two sweeps."""
    w, turn, f, F, tau = links.fields("w turn f F tau")
    state = moving(links, q, v, vdot, f_ext)
    w[links.base], turn[links.base] = Motion.zero(), Motion.zero()
    for k in links.base_to_tip():
        w[k], turn[k] = state.phi[k].T @ w[k.parent], state.phi[k].T @ turn[k.parent]
        for i in range(k.joint_type.nv):
            for change, rate in zip(changes_by(k, state, i), (dq[k][i], dv[k][i]), strict=True):
                w[k], turn[k] = w[k] + change.w * rate, turn[k] + Motion(change.turn, Vec3.zero()) * rate
        F[k] = Change(w[k], turn[k].angular).force(k.M, doubled_turning(k, state.V[k]))
        f[k] = state.f[k]
    for k in links.tip_to_base():
        moved = Axes(k.joint_type.axis_rates(q[k], dq[k]))
        held, lost = _own_slopes(k, state, dq[k], dv[k], acting)
        tau[k] = state.H[k] @ F[k] + moved @ f[k] + held + lost
        F[k.parent] += state.phi[k] @ (F[k] + (state.H[k].T @ dq[k]).cross(f[k]))
        f[k.parent] += state.phi[k] @ f[k]
    return tau


def _own_slopes(k: Any, state: State, dq: Dofs, dv: Dofs, acting: AtJoints) -> tuple[Dofs, Dofs]:
    """What q and v that change at these rates add to the torques of joint k by what acts there, and by rotors."""
    held = springs_slope(k, state.q[k], dq) if acting.springs else Dofs([0] * k.joint_type.nv)
    lost: Dofs = k.rotor_bias_slope(state.H[k], state.v[k], dv)
    return held, lost + k.damping * dv if acting.losses else lost


def _put(matrix: Matrix, k: Any, column: int, values: Sequence[Scalar]) -> None:
    """Put what belongs to joint k into a column."""
    for row, x in enumerate(values, k.v_start):
        matrix[row][column] = x


def _put_across(matrix: Matrix, k: Any, row: int, values: Sequence[Scalar]) -> None:
    """Put what belongs to joint k into a row."""
    for column, x in enumerate(values, k.v_start):
        matrix[row][column] = x


def torque_derivatives(ask: Ask, acting: AtJoints, *f_ext: Any, **state: Any) -> tuple[Any, Any]:
    """The derivatives of the torques by q and by v, for long chains: a product of :func:`torque_slopes` a column."""
    state |= dict(zip(("f_ext",), f_ext, strict=False))
    function, nv = TORQUE_SLOPES[acting], ask.tree.nv
    return slopes_along(ask, function, nv, "dq", **state), slopes_along(ask, function, nv, "dv", **state)


def _torque_slopes(acting: AtJoints) -> Function:
    return Function(
        f"torque_slopes{acting.suffix}",
        partial(torque_slopes, acting=acting),
        {"q": "q", "v": "v", "a": "v", "dq": "v", "dv": "v", "f_ext": "force"},
        {"tau": "tau"},
        optional=("f_ext",),
    )


TORQUE_SLOPES = {acting: _torque_slopes(acting) for acting in AT_JOINTS}
"""Products with the derivatives of inverse dynamics, by what acts at joints."""


def _inverse_dynamics_derivatives(acting: AtJoints) -> Function:
    def rolled(ask: Ask, q: Any, v: Any, a: Any, *f_ext: Any) -> tuple[Any, ...]:
        return *torque_derivatives(ask, acting, *f_ext, q=q, v=v, a=a), ask(MASS_MATRIX, q)

    return Function(
        f"inverse_dynamics_derivatives{acting.suffix}",
        partial(inverse_dynamics_derivatives, acting=acting),
        {"q": "q", "v": "v", "a": "v", "f_ext": "force"},
        {"dq": "dense:nv,nv", "dv": "dense:nv,nv", "da": "dense:nv,nv"},
        optional=("f_ext",),
        recipe=rolled,
        steepness=1,
    )


INVERSE_DYNAMICS_DERIVATIVES = {acting: _inverse_dynamics_derivatives(acting) for acting in AT_JOINTS}
"""By what acts at joints."""

BIAS_DERIVATIVES = Function(
    "bias_derivatives",
    bias_derivatives,
    {"q": "q", "v": "v", "f_ext": "force"},
    {"dq": "dense:nv,nv", "dv": "dense:nv,nv"},
    optional=("f_ext",),
    recipe=lambda ask, q, v, *f_ext: torque_derivatives(ask, AtJoints(), *f_ext, q=q, v=v),
    steepness=1,
)
