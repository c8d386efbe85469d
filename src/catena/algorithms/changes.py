"""What a change of one joint does to the motion of all links beyond it, for derivatives of the dynamics.

Seen from the frames of the links, which go along, their velocities change by one and the same motion u. The
acceleration of each of their particles changes by that of one motion w, plus 2 u_ω × ṙ, where u_ω is the angular part
of u and ṙ the particle's own velocity. So the force on a link changes by M w + 2 B u, with the B of
:mod:`catena.algorithms.coriolis`; for the force on several of them, M and B are those of the composite body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from catena.algorithms.coriolis import Turning
from catena.algorithms.newton_euler import at_rest
from catena.scalars import Scalar
from catena.spatial import Axes, Dofs, Force, Motion, RigidInertia, Vec3
from catena.spatial.rates import Rates
from catena.sweeps import Field


@dataclass(slots=True)
class State:
    """How the links move and what moves them: fields in the links' frames.

    V is the velocity of each link; `arriving` is that of its parent, and `before` the rates of its parent, both carried
    to the link. `f` is the force on each link by itself.
    """

    phi: Field
    H: Field
    q: Field
    v: Field
    vdot: Field | None
    V: Field
    arriving: Field
    before: Field
    f: Field


@dataclass(slots=True)
class Change:
    """What happens beyond a joint when one of its numbers changes: w, and the change `turn` of angular velocity."""

    w: Motion
    turn: Vec3

    def force(self, M: RigidInertia, B2: Turning) -> Force:
        """M w + 2 B u; B2 is 2 B."""
        return M @ self.w + B2 @ Motion(self.turn, Vec3.zero())

    def along(self, MH: Force, BH: Force) -> Scalar:
        """The same, along an axis whose forces M H and 2 Bᵀ H are given; the latter is a pure moment."""
        return self.w.dot(MH) + self.turn.dot(BH.angular)


def moving(links: Any, q: Field, v: Field, vdot: Field | None, f_ext: Field | None = None) -> State:
    """The state in which joints have the accelerations vdot, none where they are left out: (2.1)-(2.10)."""
    phi, H, V, arriving, before, after, f = links.fields("phi H V arriving before after f")
    V[links.base], after[links.base] = Motion.zero(), at_rest(links)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        arriving[k], before[k] = phi[k].T @ V[k.parent], after[k.parent].through(phi[k])
        V[k] = arriving[k] + H[k].T @ v[k]
        driven = k.joint_type.axes_rate(q[k], v[k])
        after[k] = before[k].joined(H[k], v[k], driven if vdot is None else driven + H[k].T @ vdot[k])
        f[k] = after[k].wrench(k.M)
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
    return State(phi, H, q, v, vdot, V, arriving, before, f)


def accelerated(links: Any, state: State, vdot: Field) -> State:
    """The state with joint accelerations vdot, from one that has none: λ = φᵀHᵀ v̇ adds to accelerations, M λ to f."""
    lam, before, f = links.fields("lam before f")
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        added, rates = state.phi[k].T @ lam[k.parent], state.before[k]
        lam[k] = added + state.H[k].T @ vdot[k]
        before[k] = Rates(rates.w, rates.wdot + added.angular, rates.a + added.linear)
        f[k] = state.f[k] + k.M @ lam[k]
    return replace(state, vdot=vdot, before=before, f=f)


def doubled_turning(k: Any, V: Motion) -> Turning:
    """2 B of link k, which moves with V: that of a body twice as heavy, so that doubling costs nothing."""
    return Turning.of(k.M + k.M, V)


def changes_at(links: Any, state: State) -> Field:
    """For each degree of freedom of each joint, what its coordinate and what its speed changes beyond the joint."""
    (changes,) = links.fields("changes")
    found: Field = changes
    for k in links.base_to_tip():
        found[k] = [changes_by(k, state, i) for i in range(k.joint_type.nv)]
    return found


def changes_by(k: Any, state: State, i: int) -> tuple[Change, Change]:
    """What coordinate i of joint k changes beyond it, and what its speed i does.

    Along an axis h that stays where it is in the child's frame, where V is the velocity arriving there, a the
    acceleration of the frame's origin and U = ω̃̇ + ω̃ ω̃:

        by q:  u = V × h,  w = (U h_ω, U h_v + a × h_ω + v × 2 u_ω)
        by v:  u = h,      w = 2 V × h + (Hᵀ v) × h
    """
    h, V, rates = state.H[k].columns[i], state.arriving[k], state.before[k]
    U, u = rates.tensor, V.cross(h)
    twice = u + u
    pushed = U @ h.linear + rates.a.cross(h.angular) + V.linear.cross(twice.angular)
    by_q = Change(Motion(U @ h.angular, pushed), u.angular)
    by_v = Change(twice + (state.H[k].T @ state.v[k]).cross(h), h.angular)
    return _with_moving_axes(k, state, i, by_q, by_v) if k.joint_type.moving_axes else (by_q, by_v)


def _with_moving_axes(k: Any, state: State, i: int, by_q: Change, by_v: Change) -> tuple[Change, Change]:
    """The same with axes that move in the child's frame: Hᵀv, Hᵀv̇ and Ḣᵀv change by q, Ḣᵀv by v as well."""
    q, v, joint_type = state.q[k], state.v[k], k.joint_type
    moved = moved_axes(k, q, i).T
    faster = joint_type.axes_rate_slopes(q, v)[i] + (state.arriving[k] + state.V[k]).cross(moved @ v)
    if state.vdot is not None:
        faster = faster + moved @ state.vdot[k]
    by_q = Change(by_q.w + faster, by_q.turn + (moved @ v).angular)
    return by_q, Change(by_v.w + moved @ v + joint_type.axis_rates(q, v)[i], by_v.turn)


def moved_axes(k: Any, q: Dofs, i: int) -> Axes:
    """∂H of joint k at q along its coordinate i, in the child's frame."""
    return Axes(k.joint_type.axis_rates(q, unit(k, i)))


def unit(k: Any, i: int) -> Dofs:
    """One for degree of freedom i of joint k, zero for the others."""
    return Dofs([int(i == j) for j in range(k.joint_type.nv)])
