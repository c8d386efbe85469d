"""Fixman's partition for trees of rigid bodies: Wang & Chirikjian (2006), in the relative twists of errata.md.

Cut every joint: a link then moves as it likes, V(k) = φᵀ V(parent) + S q̇ + T ḃ, with soft coordinates q along the
joint's axes S and hard ones b along their complement T; [S T]⁻¹ = [A; B]. The inverse of the mass matrix of the cut
system is sparse, H = [A; B] Y [A; B]ᵀ with Y(k,k) = M⁻¹(k) + φᵀ M⁻¹(parent) φ, Y(k,parent) = −φᵀ M⁻¹(parent), and
Y(j,k) = φᵀ M⁻¹ φ between links on one parent. Setting ḃ = 0 again takes forces −e along T with Hᵇᵇ e = d (13): the
bearing loads.

Hᵇᵇ is factored leaves first. Taking link k out leaves a system of the same form in which the parent's mobility is
W − C (Hᵇᵇ)⁻¹ Cᵀ in place of W, with C = W φ Bᵀ: that is block Cholesky without fill, on any tree. W(k) ends as the
inverse of the articulated inertia P(k) of Rodriguez & Kreutz: this is their recursion with the inverse of everything.

A rotor (armature R) is one more body, held to its joint by one more hard coordinate: a row √R A, and a 1 on the
diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.kinds import Function
from catena.scalars import Scalar, is_zero, sqrt
from catena.spatial import Axes, Dofs, Force, Motion
from catena.spatial.cut import CutMobility, Directions
from catena.sweeps import Field, Links


@dataclass
class Cut:
    """The mechanism with every joint cut: transforms, soft rows A, hard rows Z, and the mobility of each link.

    N is the link's own mobility, u what it does when left alone, a what its joint does by velocities alone. N and u
    stay as they are; W and w take in, at the parent, what holding a joint's hard directions does to it.
    """

    phi: Field
    A: Field
    Z: Field
    a: Field
    N: Field
    u: Field
    W: Field
    w: Field

    @classmethod
    def of(cls, links: Links, gravity: Motion) -> Cut:
        """Empty fields, with a base that accelerates against gravity and that nothing moves."""
        cut = cls(*links.fields("phi A Z a N u W w"))
        cut.N[links.base] = cut.W[links.base] = CutMobility.zero()
        cut.u[links.base] = cut.w[links.base] = -gravity
        return cut


def reactions(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> tuple[Field, Field]:
    """Joint accelerations, and the wrench through each joint: torques along its axes, bearing loads across them.

    Wrenches are on the link, at its own frame and in its axes (the user's). Three sweeps, O(n).
    """
    cut, (V,) = Cut.of(links, links.gravity), links.fields("V")
    V[links.base] = Motion.zero()
    for k in links.base_to_tip():
        cut.phi[k], H = k.joint(q[k])
        cut.A[k], cut.Z[k] = parted(H, k.armature)
        V[k] = cut.phi[k].T @ V[k.parent] + H.T @ v[k]
        cut.a[k] = k.bias_acceleration(V[k], H, q[k], v[k])
        load = -V[k].cross(k.M @ V[k])
        if f_ext is not None:
            load = load + k.frame @ f_ext[k]
        cut.N[k] = cut.W[k] = CutMobility.of_body(k.M)
        cut.u[k] = cut.w[k] = cut.N[k] @ load
    x, wrench = joined(links, cut, tau)
    return x, _in_user_frames(links, wrench)


def forward_dynamics(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Joint accelerations alone."""
    return reactions(links, q, v, tau, f_ext)[0]


def solve(links: Links, q: Field, b: Field) -> tuple[Field, Field]:
    """x = M⁻¹ b (9), and the wrench through each joint: forward dynamics at rest, with no gravity."""
    cut = Cut.of(links, Motion.zero())
    for k in links.base_to_tip():
        cut.phi[k], H = k.joint(q[k])
        cut.A[k], cut.Z[k] = parted(H, k.armature)
        cut.N[k] = cut.W[k] = CutMobility.of_body(k.M)
        cut.u[k] = cut.w[k] = cut.a[k] = Motion.zero()
    x, wrench = joined(links, cut, b)
    return x, _in_user_frames(links, wrench)


def joined(links: Links, cut: Cut, b: Field) -> tuple[Field, Field]:
    """Close the cut joints again (13): driven by b along their axes, held by −e across them.

    Gives the soft accelerations and the wrench through each joint on its link, in internal frames.
    """
    phi, A, Z, W, w = cut.phi, cut.A, cut.Z, cut.W, cut.w
    C, E, y, s, alpha, x, wrench = links.fields("C E y s alpha x wrench")
    s[links.base], alpha[links.base] = Force.zero(), cut.u[links.base]
    chain = on_chain(links)
    for k in links.tip_to_base():
        drive = A[k].T @ b[k]
        W_parent = (cut.N if chain else W)[k.parent].to_child(phi[k])
        w_parent = phi[k].T @ (cut.u if chain else w)[k.parent] - W_parent @ drive
        d = Z[k] @ (w[k] + W[k] @ drive - w_parent - cut.a[k])  # (13): Hᵇᵃ b, and what the cut links do anyway
        E[k] = Z[k].congruence(W[k] + W_parent).inv  # Hᵇᵇ(k,k), factored
        C[k], y[k] = Z[k].moved_by(W_parent), E[k] @ d
        W[k.parent] += -C[k].weighted(E[k]).to_parent(phi[k])
        w[k.parent] += phi[k].inv.T @ (C[k] @ y[k] - W_parent @ drive)
    for k in links.base_to_tip():
        e = y[k] - E[k] @ C[k].transposed_times(phi[k].inv @ s[k.parent])  # (13): e = (Hᵇᵇ)⁻¹ d
        s[k] = A[k].T @ b[k] - Z[k].T @ e
        if not chain:
            s[k.parent] += -(phi[k] @ s[k])
        alpha[k] = w[k] + W[k] @ s[k]
        x[k] = A[k] @ (alpha[k] - phi[k].T @ alpha[k.parent] - cut.a[k])  # (12): x = Hᵃᵃ b − Hᵃᵇ e
        wrench[k] = A[k].T @ b[k] - Z[k].T @ e
    return x, wrench


def _in_user_frames(links: Links, wrench: Field) -> Field:
    seen: Field
    (seen,) = links.fields("seen")
    for k in links.base_to_tip():
        seen[k] = k.frame.inv @ wrench[k]
    return seen


def on_chain(links: Links) -> bool:
    """Whether links are symbolic links of a chain, where a parent's sums cannot be read before they are complete.

    A chain does not need to: only one child ever touches a parent, and finds it as it was.
    """
    return bool(getattr(links, "chain", False))


def parted(H: Axes, armature: Dofs) -> tuple[Directions, Directions]:
    """A, and the hard rows: B, then √R A for each axis with a rotor.

    A joint's axes are orthogonal to one another, and each has one component or two; where it has two, the direction
    across it lies in the same plane. So K = [S T] is as orthogonal as can be, which keeps four digits that a random
    complement would lose.
    """
    soft: list[Force] = []
    hard: list[Force] = []
    taken: set[int] = set()
    for column in H.columns:
        used = [i for i, x in enumerate(column.components) if not is_zero(x)]
        taken.update(used)
        size = squared_length(column)
        soft.append(Force.of([x / size if i in used else 0 for i, x in enumerate(column.components)]))
        if len(used) == 2:
            hard.append(_across(column.components, used[0], used[1], 1 if is_one(size) else sqrt(size)))
    hard += [Force.of([int(i == j) for j in range(6)]) for i in range(6) if i not in taken]
    rotors = [row * sqrt(r) for row, r in zip(soft, armature, strict=True) if not is_zero(r)]
    return Directions(soft, []), Directions(hard + rotors, [0] * len(hard) + [1] * len(rotors))


def _across(components: list[Scalar], i: int, j: int, length: Scalar) -> Force:
    row: list[Any] = [0] * 6
    row[i], row[j] = -components[j] / length, components[i] / length
    return Force.of(row)


def squared_length(column: Motion) -> Scalar:
    """S·S of one axis: 1 exactly for turns about a unit vector, whatever its rounding."""
    if is_zero(column.linear.x) and is_zero(column.linear.y) and is_zero(column.linear.z):
        return 1
    return sum((x * x for x in column.components if not is_zero(x)), start=0)


def is_one(x: Scalar) -> bool:
    """Whether x is known to be 1 whatever the state."""
    return isinstance(x, int | float) and x == 1


_STATE = {"q": "q", "v": "v", "tau": "v", "f_ext": "force"}

FIXMAN = Function("forward_dynamics/fixman", forward_dynamics, _STATE, {"a": "v"}, optional=("f_ext",), regroup=False)
REACTIONS = Function("reactions", reactions, _STATE, {"a": "v", "wrench": "force"}, optional=("f_ext",), regroup=False)
SOLVE = Function("solve/fixman", solve, {"q": "q", "b": "v"}, {"x": "v", "wrench": "force"}, regroup=False)
