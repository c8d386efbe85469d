"""A chain in pieces: what a piece does to the link before it and to the link after it, for solves parallel in n.

Fixman's partition with pieces in place of links. Cut between pieces, each has an articulated inertia P at its base and
a mobility Φ at its tip, and passes accelerations of its base on to its tip and wrenches on its tip to its base, by T:

    wrench on what carries it  = P α(base) + z + T t
    acceleration of its tip    = Φ t + β − Tᵀ α(base)                t: the wrench on its tip

Every piece is one sample of a batch, so that lanes and threads work on one chain. The recursion inside a piece is that
of Rodriguez & Kreutz (4.4)-(4.6), (5.15), with six more right-hand sides for the tip.
"""

from __future__ import annotations

from dataclasses import dataclass

from catena.kinds import Function
from catena.scalars import Scalar
from catena.spatial import ArticulatedInertia, Axes, Columns, Dofs, Force, Mat3, Motion, Sym3
from catena.spatial.directions import Motions
from catena.spatial.mobility import Mobility
from catena.sweeps import Field, Links


@dataclass(slots=True)
class Forces:
    """Forces side by side: the columns of a 6 x 6 matrix."""

    columns: list[Force]

    def __add__(self, o: Forces) -> Forces:
        return Forces([a + b for a, b in zip(self.columns, o.columns, strict=True)])


def _units(scale: Scalar) -> list[Force]:
    return [Force.of([scale if i == j else 0 for i in range(6)]) for j in range(6)]


def gather(links: Links, q: Field, b: Field, last: Field) -> tuple[Field, ...]:
    """Tip to base: gains and innovations of every joint, and P, z, T, Φ, β of the piece, kept at the base.

    `last` is 1 at the last link of the piece and 0 elsewhere. Wrenches and motions at the tip are in the user's frame.
    """
    phi, H, P, z, T, Phi, beta, G, nu, nu_tip = links.fields("phi H P z T Phi beta G nu nu_tip")
    P[links.base] = ArticulatedInertia(Sym3.scalar(0), Mat3(*[0] * 9), Sym3.scalar(0))
    z[links.base], T[links.base] = Force.zero(), Forces(_units(0))
    Phi[links.base], beta[links.base] = Mobility.zero(), Motion.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        P[k], z[k], T[k] = k.M.articulated, Force.zero(), Forces(_units(0))
        Phi[k], beta[k] = Mobility.zero(), Motion.zero()
    for k in links.tip_to_base():
        U = P[k] @ H[k].T
        D = (H[k] @ U).plus_diagonal(k.armature)  # (4.6)
        G[k] = U @ D.inv  # (5.12)
        eps = b[k] - H[k] @ z[k]
        T_k = T[k] + Forces([k.frame @ unit * -last[k] for unit in _units(1)])
        eps_tip = [-(H[k] @ column) for column in T_k.columns]
        nu[k] = D.inv @ eps
        nu_tip[k] = _by_axis([D.inv @ e for e in eps_tip])
        P[k.parent] += phi[k].congruence(P[k] - U @ G[k].T)  # (4.5)
        z[k.parent] += phi[k] @ (z[k] + G[k] @ eps)  # (5.15)
        T[k.parent] += Forces([phi[k] @ (column + G[k] @ e) for column, e in zip(T_k.columns, eps_tip, strict=True)])
        rows = Motions([Motion.of(list(row)) for row in zip(*eps_tip, strict=True)])
        Phi[k.parent] += Phi[k] + rows.weighted(D.inv)
        beta[k.parent] += beta[k] + rows @ nu[k]
    return G, nu, nu_tip, P, z, T, Phi, beta


def _by_axis(columns: list[Dofs]) -> Columns:
    """One force for each axis of the joint, from one number for each axis for each of six columns."""
    return Columns([Force.of(list(row)) for row in zip(*columns, strict=True)], Axes([]))


def spread(
    links: Links, q: Field, G: Field, nu: Field, nu_tip: Field, first: Field, alpha: list[Scalar], t: list[Scalar]
) -> Field:
    """Base to tip: joint accelerations, now that the piece's base accelerates with alpha and its tip is pulled by t.

    `first` is 1 at the first link of the piece and 0 elsewhere; alpha and t are six numbers in the user's frames.
    """
    x: Field
    a, x = links.fields("a x")
    a[links.base] = Motion.zero()
    start, pull = Motion.of(alpha), Motion.of(t)
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        a_in = phi.T @ (a[k.parent] + start * first[k])
        by_tip = Dofs([pull.dot(row) for row in nu_tip[k].columns])
        x[k] = nu[k] + by_tip - G[k].T @ a_in  # (5.17)
        a[k] = a_in + H.T @ x[k]
    return x


GATHER = Function(
    "pieces/gather",
    gather,
    {"q": "q", "b": "v", "last": "link"},
    {"G": "axes", "nu": "v", "nu_tip": "axes"}
    | {"P": "robot:21", "z": "robot:6", "T": "robot:36", "Phi": "robot:21", "beta": "robot:6"},
    regroup=False,
)
SPREAD = Function(
    "pieces/spread",
    spread,
    {"q": "q", "G": "axes", "nu": "v", "nu_tip": "axes", "first": "link", "alpha": "robot:6", "t": "robot:6"},
    {"x": "v"},
    regroup=False,
)
