"""Fixman's partition for trees of rigid bodies: Wang & Chirikjian (2006), in the relative twists of errata.md.

Cut every joint: a link then moves as it likes, V(k) = φᵀ V(parent) + S q̇ + T ḃ, with soft coordinates q along the
joint's axes S and hard ones b along their complement T; [S T]⁻¹ = [A; B]. The inverse of the mass matrix of the cut
system is sparse, H = [A; B] Y [A; B]ᵀ with Y(k,k) = M⁻¹(k) + φᵀ M⁻¹(parent) φ, Y(k,parent) = −φᵀ M⁻¹(parent), and
Y(j,k) = φᵀ M⁻¹ φ between links on one parent. Setting ḃ = 0 again takes forces −e along T with Hᵇᵇ e = d (13): the
bearing loads.

Hᵇᵇ is factored leaves first. Taking link k out leaves a system of the same form in which the parent's mobility is
W − C (Hᵇᵇ)⁻¹ Cᵀ in place of W, with C = W φ Bᵀ: that is block Cholesky without fill, on any tree. W(k) ends as the
inverse of the articulated inertia P(k) of Rodriguez & Kreutz: this is their recursion with the inverse of everything.
On the way back a link's e follows from the acceleration α of its parent, which holds e of all links before it:

    (B W Bᵀ) e = B (w + W Aᵀ b − φᵀ α(parent) − a)
             x = A (w + W (Aᵀ b − Bᵀ e) − φᵀ α(parent) − a) = ν − G φᵀ α(parent)

so that G and ν, a few numbers for each degree of freedom, are all that is kept between the sweeps.

A rotor (armature R) is one more body, held to its joint by one more hard coordinate: a row √R A, and a 1 on the
diagonal.

Links whose own inertia has no inverse (point masses, thin rods) cannot be cut loose. Their joints stay *whole*: such a
link has its articulated inertia P and a bias wrench z in place of W and w, passes P⁺ and z⁺ on to its parent as in the
articulated recursion, and a parent that has a mobility takes them in as (W⁻¹ + P⁺)⁻¹. A link with a mobility on a
parent without one passes P⁺ = Zᵀ (Z W Zᵀ)⁻¹ Z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.algorithms.steps import free_joint
from catena.functions.function import Function
from catena.spatial import ArticulatedInertia, Dofs, Force, Motion
from catena.spatial.axes import InverseOfSmall
from catena.spatial.cut import RigidMobility, carrying
from catena.spatial.directions import Directions, Motions, parted
from catena.spatial.mobility import Mobility
from catena.sweeps import Field, Links


@dataclass
class Cut:
    """The mechanism with its joints cut: transforms, axes H, soft rows A, hard rows Z, and the mobility of each link.

    N is the link's own mobility, u what it does when left alone, a what its joint does by velocities alone. N and u
    stay as they are; W takes in, at the parent, what holding a joint's hard directions does to its mobility, and w what
    it does to u. Links without a mobility have an inertia P and a bias wrench z instead.
    """

    phi: Field
    H: Field
    A: Field
    Z: Field
    a: Field
    N: Field
    u: Field
    W: Field
    w: Field
    P: Field
    z: Field

    @classmethod
    def of(cls, links: Links, gravity: Motion) -> Cut:
        """Empty fields, with a base that accelerates against gravity and that nothing moves."""
        cut = cls(*links.fields("phi H A Z a N u W w P z"))
        cut.N[links.base], cut.W[links.base] = RigidMobility.zero(), Mobility.zero()
        cut.u[links.base], cut.w[links.base] = -gravity, Motion.zero()
        return cut

    def loosen(self, k: Any, load: Force) -> None:
        """Link k by itself, with a load on it."""
        if k.solid:
            self.A[k], self.Z[k] = parted(self.H[k], k.armature)
            self.N[k] = RigidMobility.of(k.M)
            self.W[k] = self.N[k].blocks
            self.u[k], self.w[k] = self.N[k] @ load, Motion.zero()
        else:
            self.P[k], self.z[k] = k.M.articulated, -load


def reactions(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> tuple[Field, Field]:
    """Joint accelerations, and the wrench through each joint: torques along its axes, bearing loads across them.

    Wrenches are on the link, at its own frame and in its axes (the user's). Three sweeps, O(n).
    """
    (seen,) = links.fields("seen")
    x, wrench = joined(links, *_in_motion(links, q, v, tau, f_ext))
    for k in links.base_to_tip():
        seen[k] = k.frame.inv @ wrench[k]
    return x, seen


def forward_dynamics(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Joint accelerations alone."""
    return joined(links, *_in_motion(links, q, v, tau, f_ext))[0]


def solve(links: Links, q: Field, b: Field) -> Field:
    """x = M⁻¹ b (9): forward dynamics at rest, with no gravity."""
    cut = Cut.of(links, Motion.zero())
    for k in links.base_to_tip():
        cut.phi[k], cut.H[k] = k.joint(q[k])
        cut.a[k] = Motion.zero()
        cut.loosen(k, Force.zero())
    return joined(links, cut, b)[0]


def _in_motion(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None) -> tuple[Cut, Field]:
    """The links cut loose, each with the load that its velocity makes and the one from outside, and what drives them.

    That is tau less the torques that rotors need by velocities alone.
    """
    cut, (V, left) = Cut.of(links, links.gravity), links.fields("V left")
    V[links.base] = Motion.zero()
    for k in links.base_to_tip():
        cut.phi[k], cut.H[k] = k.joint(q[k])
        V[k] = cut.phi[k].T @ V[k.parent] + cut.H[k].T @ v[k]
        cut.a[k] = k.bias_acceleration(V[k], cut.H[k], q[k], v[k])
        load = -V[k].cross(k.M @ V[k])
        if f_ext is not None:
            load = load + k.frame @ f_ext[k]
        cut.loosen(k, load)
        left[k] = tau[k] - k.rotor_bias(cut.H[k], v[k])
    return cut, left


def joined(links: Links, cut: Cut, b: Field) -> tuple[Field, Field]:
    """Close the cut joints again (13): driven by b along their axes, held by −e across them.

    Gives the soft accelerations and the wrench through each joint on its link, in internal frames.
    """
    A, Z, P, z = cut.A, cut.Z, cut.P, cut.z
    G, nu, free, hold, alpha, x, wrench = links.fields("G nu free hold alpha x wrench")
    alpha[links.base] = cut.u[links.base]
    for k in links.tip_to_base():
        if not k.solid:
            G[k], nu[k] = _whole(cut, k, b[k])
            continue
        drive, W = A[k].T @ b[k], cut.W[k]
        free[k] = cut.u[k] + cut.w[k] + W @ drive - cut.a[k]
        hold[k] = Z[k].congruence(W).inv
        G[k] = held(A[k], Z[k].moved_by(W), hold[k], Z[k])
        nu[k] = G[k] @ free[k]
        if k.on_solid:
            _close(cut, k, drive, free[k])
        else:
            pull = Z[k].T @ (hold[k] @ (Z[k] @ free[k]))
            _fasten(cut, k, Z[k].weighted(hold[k]), drive - pull)
    for k in links.base_to_tip():
        alpha_in = cut.phi[k].T @ alpha[k.parent]
        x[k] = nu[k] - G[k] @ alpha_in  # (12): x = Hᵃᵃ b − Hᵃᵇ e
        alpha[k] = alpha_in + cut.a[k] + cut.H[k].T @ x[k]
        if k.solid:
            e = hold[k] @ (Z[k] @ (free[k] - alpha_in))
            wrench[k] = A[k].T @ b[k] - Z[k].T @ e
        else:
            wrench[k] = P[k] @ alpha[k] + z[k]
    return x, wrench


def _close(cut: Cut, k: Any, drive: Force, free: Motion) -> None:
    """Take link k out of Hᵇᵇ: what holding its hard directions does to its parent."""
    phi, Z = cut.phi[k], cut.Z[k]
    W, w = at_parent(cut, k)
    W = W.carried(phi)
    w = phi.T @ w - W @ drive
    E = Z.congruence(cut.W[k] + W).inv  # Hᵇᵇ(k,k), factored
    C = Z.moved_by(W)
    y = E @ (Z @ (free - w))  # (13): d = Hᵇᵃ b, and what the cut links do anyway
    cut.W[k.parent] += -C.weighted(E).carried_back(phi)
    cut.w[k.parent] += phi.inv.T @ (C @ y - W @ drive)


def _whole(cut: Cut, k: Any, b: Dofs) -> tuple[Directions, Dofs]:
    """A link without a mobility: Rodriguez & Kreutz (5.13)-(5.17); G and ν as for the others."""
    H, P, a = cut.H[k], cut.P[k], cut.a[k]
    D, gain, P_plus = free_joint(P, H, k.armature)
    eps = b - H @ cut.z[k]  # (5.16)
    _fasten(cut, k, P_plus, cut.z[k] + P_plus @ a + gain @ eps)  # (5.16)
    return Directions(gain.columns, []), D.inv @ eps - gain.T @ a


def _fasten(cut: Cut, k: Any, P: ArticulatedInertia, z: Force) -> None:
    """The parent feels an inertia P and a bias wrench z through the joint of link k."""
    P, z = cut.phi[k].congruence(P), cut.phi[k] @ z
    if not k.on_solid:
        cut.P[k.parent] += P
        cut.z[k.parent] += z
        return
    W, w = at_parent(cut, k)
    together, _ = carrying(W.blocks, P)
    cut.W[k.parent] += together - W.blocks
    cut.w[k.parent] += -(together @ (P @ w + z))


def held(A: Directions, moved: Motions, hold: InverseOfSmall, Z: Directions) -> Directions:
    """G = A − A W Zᵀ (Z W Zᵀ)⁻¹ Z: what a joint's axes feel of a motion when the hard directions are held."""
    return Directions([row - Z.T @ (hold @ moved.transposed_times(row)) for row in A], [])


def at_parent(cut: Cut, k: Any) -> tuple[Any, Motion]:
    """Mobility and acceleration of the parent before link k is joined to it, in its own frame."""
    if k.only_child:  # finds it as it was
        return cut.N[k.parent], cut.u[k.parent]
    return cut.W[k.parent], cut.u[k.parent] + cut.w[k.parent]


_STATE = {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"}


def _function(name: str, algorithm: Any, inputs: dict[str, str], outputs: dict[str, str], *optional: str) -> Function:
    return Function(name, algorithm, inputs, outputs, optional=optional, regroup=False, cut=True)


FIXMAN = _function("forward_dynamics/fixman", forward_dynamics, _STATE, {"a": "v"}, "f_ext")
REACTIONS = _function("reactions", reactions, _STATE, {"a": "v", "wrench": "force"}, "f_ext")
SOLVE = _function("solve/fixman", solve, {"q": "q", "b": "tau"}, {"x": "v"})
