"""Dynamics of trees in which joints follow others: articulated bodies, with joints that move together freed together.

A joint that no other follows is freed as in :mod:`catena.algorithms.forward_dynamics`. Those that move together, with
one acceleration θ̈_g and torques that add up, are a *group*. It is carried towards the base as it is, and freed where
all its members are beyond. Until then a link k and the groups beyond it obey

    f(k) = P α(k) + Σ_g C_g θ̈_g + z        r_g = C_gᵀ α(k) + Σ_h E_gh θ̈_h

Freeing is elimination in Gᵀ M G, whose pivots are found on the way. M itself is never inverted: links without mass may
follow others. Cost: O(n) where groups are local, as in grippers; otherwise n times the groups that are carried at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from catena.algorithms.newton_euler import at_rest
from catena.algorithms.steps import filtered, free_joint
from catena.scalars import Scalar, log
from catena.spatial import Axes, Columns, Dofs, Force, Motion, SmallSymmetric
from catena.sweeps import Field

Group = int
"""A group goes by the number of the link whose joint leads it."""


class Freed(NamedTuple):
    """A group that was freed: its θ̈ follows from the acceleration of a link, and from groups freed after it."""

    C: Force
    E: dict[Group, Scalar]
    r: Scalar
    pivot: Scalar
    reciprocal: Scalar

    def acceleration(self, lam: Motion, theta: dict[Group, Scalar]) -> Scalar:
        """θ̈ of the group."""
        left = self.r - lam.dot(self.C)
        for group, coupling in self.E.items():
            left = left - coupling * theta[group]
        return left * self.reciprocal


@dataclass
class Groups:
    """The groups of a mechanism while links are swept tip to base."""

    members: dict[Group, list[int]]
    above: dict[int, Group]
    """Groups that are freed when the joint of this link, one of them, has been joined."""
    at: dict[int, list[Group]]
    """Groups that are freed at this link, -1 for the base, before its own joint."""
    E: dict[tuple[Group, Group], Scalar] = field(default_factory=dict)
    r: dict[Group, Scalar] = field(default_factory=dict)
    freed: dict[Group, Freed] = field(default_factory=dict)

    @classmethod
    def of(cls, links: Any) -> Groups:
        """The groups of these links, and where they can be freed: at the last link that carries all members."""
        members: dict[Group, list[int]] = {}
        parents = {}
        for k in links.base_to_tip():
            parents[k.index] = k.parent.index
            if k.leader.index != k.index:
                members.setdefault(k.leader.index, [k.leader.index]).append(k.index)
        above: dict[int, Group] = {}
        at: dict[int, list[Group]] = {}
        for group, joints in members.items():
            carrier = _last_common(parents, joints)
            if carrier in joints:
                above[carrier] = group
            else:
                at.setdefault(carrier, []).append(group)
        return cls(members, above, at)

    def add(self, g: Group, h: Group, x: Scalar) -> None:
        """Add to E_gh."""
        key = _key(g, h)
        self.E[key] = self.E[key] + x if key in self.E else x

    def eliminate(self, g: Group, own: Force, others: Iterable[Group]) -> Freed:
        """Free a group with the column `own`: the equations of the `others` that are carried, without it."""
        couplings = {h: self.E.pop(_key(g, h), 0) for h in others if h != g}
        pivot = self.E.pop((g, g))
        step = self.freed[g] = Freed(own, couplings, self.r.pop(g), pivot, 1 / pivot)
        for h, coupling in couplings.items():
            self.r[h] = self.r[h] - coupling * (step.reciprocal * step.r)
            for i, other in couplings.items():
                if h <= i:
                    self.add(h, i, -(coupling * (step.reciprocal * other)))
        return step

    def free(self, g: Group, P: Any, z: Force, C: dict[Group, Force]) -> tuple[Any, Force, dict[Group, Force]]:
        """Free a group at a link: P, z and C as those feel them who do not see it."""
        step = self.eliminate(g, C[g], C)
        gain = step.C * step.reciprocal
        left = {h: C[h] - gain * coupling for h, coupling in step.E.items()}
        return P - Columns([step.C], Axes([])) @ Columns([gain], Axes([])).T, z + gain * step.r, left


def _key(g: Group, h: Group) -> tuple[Group, Group]:
    return (g, h) if g <= h else (h, g)


def _last_common(parents: dict[int, int], links: list[int]) -> int:
    """The last link, -1 for the base, that is on the ways from all of the links to the base."""
    ways = []
    for k in links:
        way = [k]
        while way[-1] >= 0:
            way.append(parents[way[-1]])
        ways.append(way[::-1])
    together = 0
    while all(len(way) > together + 1 and way[together + 1] == ways[0][together + 1] for way in ways):
        together += 1
    return ways[0][together]


def solved(links: Any, phi: Field, H: Field, z: Field, T: Field) -> tuple[Field, list[Scalar]]:
    """θ̈ of all joints under torques T and bias forces z, and the pivots of Gᵀ M G: two sweeps."""
    groups, pivots = Groups.of(links), list[Scalar]()
    P, C, usual, vdot, lam = links.fields("P C usual vdot lam")
    C[links.base] = {}
    for k in links.base_to_tip():
        P[k], C[k] = k.M.articulated, {}
    for k in links.tip_to_base():
        P_plus, z_plus, carried = P[k], z[k], C[k]
        for g in groups.at.get(k.index, ()):
            P_plus, z_plus, carried = groups.free(g, P_plus, z_plus, carried)
        if k.leader.index in groups.members:
            carried = _joined(groups, k, P_plus, z_plus, carried, H[k], T[k])
            if k.index in groups.above:
                P_plus, z_plus, carried = groups.free(groups.above[k.index], P_plus, z_plus, carried)
        else:
            D, G, P_plus = free_joint(P_plus, H[k], k.armature)
            eps, z_plus = filtered(z_plus, T[k], H[k], G)
            nu = D.inv @ eps
            carried, shares = _passed(groups, carried, H[k], D, G, nu)
            usual[k] = nu, G, shares
            pivots += D.inv.pivots
        P[k.parent] += phi[k].congruence(P_plus)
        z[k.parent] += phi[k] @ z_plus
        C[k.parent] = _added(C[k.parent], {g: phi[k] @ c for g, c in carried.items()})
    for g in groups.at.get(-1, ()):  # members have nothing in common but the base, which does not move
        groups.eliminate(g, Force.zero(), [h for h in C[links.base] if h not in groups.freed])
    _smooth(links, groups, phi, H, usual, vdot, lam)
    return vdot, [*pivots, *[step.pivot for step in groups.freed.values()]]


def _joined(groups: Groups, k: Any, P: Any, z: Force, C: dict[Group, Force], H: Axes, T: Dofs) -> dict[Group, Force]:
    """A joint of a group: what it adds to the group's equation, and C beyond it."""
    g, s = k.leader.index, k.ratio
    (U,) = (P @ H.T).columns
    along = {h: (H @ c)[0] for h, c in C.items()}
    D = s * s * ((H @ U)[0] + k.armature[0])
    groups.add(g, g, D + 2 * s * along[g] if g in along else D)
    for h, x in along.items():
        if h != g:
            groups.add(g, h, s * x)
    groups.r[g] = groups.r.get(g, 0) + s * (T - H @ z)[0]
    return _added(C, {g: U * s})


def _passed(
    groups: Groups, C: dict[Group, Force], H: Axes, D: SmallSymmetric, G: Columns, nu: Dofs
) -> tuple[dict[Group, Force], dict[Group, Dofs]]:
    """A joint that is freed while groups are carried past it: C beyond it, and how it gives way to each of them."""
    along = {g: H @ c for g, c in C.items()}
    shares = {g: D.inv @ x for g, x in along.items()}
    for g, x in along.items():
        groups.r[g] = groups.r[g] - x.dot(nu)
        for h, share in shares.items():
            if g <= h:
                groups.add(g, h, -x.dot(share))
    return {g: c - G @ along[g] for g, c in C.items()}, shares


def _added(C: dict[Group, Force], more: dict[Group, Force]) -> dict[Group, Force]:
    return {**C, **{g: C[g] + c if g in C else c for g, c in more.items()}}


def _smooth(links: Any, groups: Groups, phi: Field, H: Field, usual: Field, vdot: Field, lam: Field) -> None:
    """Sweep back to the tips: groups first where they were freed last."""
    theta: dict[Group, Scalar] = {}
    lam[links.base] = Motion.zero()
    for g in reversed(groups.at.get(-1, ())):
        theta[g] = groups.freed[g].acceleration(Motion.zero(), theta)
    for k in links.base_to_tip():
        lam_in = phi[k].T @ lam[k.parent]
        if k.index in groups.above:
            g = groups.above[k.index]
            theta[g] = groups.freed[g].acceleration(lam_in, theta)
        if k.leader.index in groups.members:
            vdot[k] = Dofs([k.ratio * theta[k.leader.index]])
        else:
            nu, G, along = usual[k]
            vdot[k] = nu - G.T @ lam_in
            for g, y in along.items():
                vdot[k] = vdot[k] - Dofs([x * theta[g] for x in y])
        lam[k] = lam_in + H[k].T @ vdot[k]
        for g in reversed(groups.at.get(k.index, ())):
            theta[g] = groups.freed[g].acceleration(lam[k], theta)


def forward_dynamics(links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """θ̈ of all joints, those that follow included, in three sweeps: FD3 with groups."""
    phi, H, zeta, z, T = links.fields("phi H zeta z T")
    zeta[links.base] = at_rest(links)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        zeta[k] = zeta[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))
        z[k] = zeta[k].wrench(k.M)
        if f_ext is not None:
            z[k] = z[k] - k.frame @ f_ext[k]
        T[k] = tau[k] - k.rotor_bias(H[k], v[k])
    return solved(links, phi, H, z, T)[0]


def solve(links: Any, q: Field, b: Field) -> Field:
    """(Gᵀ M G)⁻¹ Gᵀ b at the joints, those that follow included."""
    return _at_rest(links, q, b)[0]


def log_determinant(links: Any, q: Field) -> Field:
    """log det Gᵀ M G, kept at the base: the logarithms of the pivots."""
    nothing, total = links.fields("nothing total")
    for k in links.base_to_tip():
        nothing[k] = Dofs([0] * k.joint_type.nv)
    total[links.base] = sum((log(x) for x in _at_rest(links, q, nothing)[1]), start=0)
    return total  # type: ignore[no-any-return]


def _at_rest(links: Any, q: Field, b: Field) -> tuple[Field, list[Scalar]]:
    phi, H, z = links.fields("phi H z")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        z[k] = Force.zero()
    return solved(links, phi, H, z, b)
