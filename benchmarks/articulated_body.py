"""Featherstone's articulated-body recursion over CasADi's scalars, for robots with revolute and prismatic joints.

With accelerations of points in place of spatial ones, which spares the linear velocities; placements are applied turn
by turn. CasADi folds what is constant for a robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from catena.model.joints import BY_NAME
from catena.model.lowering.lowered import Lowered


@dataclass
class Step:
    """A frame in another one: its origin r there, turned about an axis of both by an angle with cosine c and sine s."""

    axis: int
    c: Any
    s: Any
    r: Any

    def __post_init__(self) -> None:
        self.c, self.s, self.R = ca.SX(self.c), ca.SX(self.s), ca.SX.eye(3)
        i, j = (self.axis + 1) % 3, (self.axis + 2) % 3
        self.R[i, i], self.R[i, j], self.R[j, i], self.R[j, j] = self.c, -self.s, self.s, self.c

    def turned(self, M: Any) -> Any:
        """R M Rᵀ, by fewer operations unless they are none at all."""
        if self.c.is_constant() and abs(float(self.c)) in (0, 1):
            return self.R @ M @ self.R.T
        i, j, k = (self.axis + 1) % 3, (self.axis + 2) % 3, self.axis
        mixed, N = self.s * (M[i, i] - M[j, j]) + self.c * (M[i, j] + M[j, i]), ca.SX(M)
        N[:, k], N[k, :] = self.R @ M[:, k], M[k, :] @ self.R.T
        N[i, i], N[i, j] = M[i, i] - self.s * mixed, self.c * mixed - M[j, i]
        N[j, i], N[j, j], N[k, k] = self.c * mixed - M[i, j], M[j, j] + self.s * mixed, M[k, k]
        return N

    def outward(self, M: Any, f: Any) -> tuple[Any, Any]:
        """An articulated inertia (6 x 6) and a force (moment, force), carried to the other frame."""
        A, B, D = (self.turned(x) for x in (M[:3, :3], M[:3, 3:], M[3:, 3:]))
        rx, force = ca.skew(self.r), self.R @ f[3:]
        C = B + rx @ D
        inertia = ca.blockcat([[A + rx @ B.T - C @ rx, C], [C.T, D]])
        return symmetric(inertia), ca.vertcat(self.R @ f[:3] + ca.cross(self.r, force), force)

    def inward(self, a: Any, w: Any = None) -> Any:
        """An acceleration (angular, of the origin) in the other frame, which spins with w, carried to this one."""
        linear = a[3:] + ca.cross(a[:3], self.r) + (0 if w is None else ca.cross(w, ca.cross(w, self.r)))
        return ca.vertcat(self.R.T @ a[:3], self.R.T @ linear)


def symmetric(M: Any) -> Any:
    """The symmetric matrix with the upper triangle of M."""
    return ca.triu2symm(ca.triu(M))


def constants(model: Lowered, link: int) -> dict[str, float]:
    """The numbers of a link, by name."""
    return {name: float(column[link]) for name, column in model.constants.items()}


def steps(k: dict[str, float], slides: bool, q: Any) -> list[Step]:
    """From a link's frame to its parent's; see :mod:`catena.model.lowering.placement` for the numbers k."""
    c, s = ca.cos(q), ca.sin(q)
    if slides:
        c, s = k["cp"], k["sp"]
    elif k["cp"] in (-1, 0, 1):
        c, s = k["cp"] * c - k["sp"] * s, k["sp"] * c + k["cp"] * s
    else:
        c, s = ca.cos(q + k["phi"]), ca.sin(q + k["phi"])
    along, aside = ca.vertcat(0, 0, k["r"] + (q if slides else 0)), ca.SX([k["a"], k["b"], k["d"]])
    return [Step(2, c, s, along), Step(0, k["ca"], k["sa"], aside), Step(2, k["ct"], k["st"], ca.SX.zeros(3))]


def articulated_body(model: Lowered) -> Any:
    """The function a(q, v, tau): velocities and bias to the tips, articulated inertias to the base, accelerations."""
    n, parent = model.n, model.parent.tolist()
    q, v, tau = (ca.SX.sym(name, n) for name in ("q", "v", "tau"))
    if not set(model.joint_type.tolist()) <= {BY_NAME["revolute"].code, BY_NAME["prismatic"].code}:
        raise ValueError("only revolute and prismatic joints")
    slides = [joint_type == BY_NAME["prismatic"].code for joint_type in model.joint_type]
    path = [steps(constants(model, i), slides[i], q[i]) for i in range(n)]
    w, bias, M, f, G, e, a, out = ([ca.SX.zeros(0)] * n for _ in range(8))
    for i, p in enumerate(parent):
        k, w[i], bias[i] = constants(model, i), w[p] if p >= 0 else ca.SX.zeros(3), ca.SX.zeros(6)
        for step in reversed(path[i]):
            bias[i], w[i] = step.inward(bias[i], w[i]), step.R.T @ w[i]
        own = ca.vertcat(0, 0, v[i])
        coriolis = ca.cross(w[i], own)
        bias[i] += ca.vertcat(ca.SX.zeros(3), 2 * coriolis) if slides[i] else ca.vertcat(coriolis, ca.SX.zeros(3))
        w[i] = w[i] if slides[i] else w[i] + own
        h = ca.SX([k["hx"], k["hy"], k["hz"]])
        I = ca.SX(np.reshape([k[f"I{x}"] for x in ("xx", "xy", "xz", "xy", "yy", "yz", "xz", "yz", "zz")], (3, 3)))
        M[i] = ca.densify(ca.blockcat([[I, ca.skew(h)], [-ca.skew(h), k["m"] * ca.SX.eye(3)]]))
        f[i] = ca.vertcat(ca.cross(w[i], I @ w[i]), ca.cross(w[i], ca.cross(w[i], h)))
    for i, p in reversed(list(enumerate(parent))):
        s, armature = 5 if slides[i] else 2, float(model.armature[i])
        U, D, u = M[i][:, s], M[i][s, s] + armature, tau[i] - f[i][s]
        inverse = 1 / D if D.is_constant() else ca.erf(D)  # CasADi would make every product with 1 / D a division
        G[i], e[i] = U * inverse, u * inverse
        rest = symmetric(M[i] - U @ G[i].T)
        if not armature:
            rest[s, :], rest[:, s] = 0, 0
        force = f[i] + rest @ bias[i] + G[i] * u
        for step in path[i] if p >= 0 else ():
            rest, force = step.outward(rest, force)
        if p >= 0:
            M[p], f[p] = M[p] + rest, f[p] + force
    for i, p in enumerate(parent):
        a[i] = a[p] if p >= 0 else ca.vertcat(ca.SX.zeros(3), *-model.gravity)
        for step in reversed(path[i]):
            a[i] = step.inward(a[i])
        a[i] = a[i] + bias[i]
        out[i] = e[i] - ca.dot(G[i], a[i])
        a[i][5 if slides[i] else 2] += out[i]
    return ca.Function("sample", [q, v, tau], [ca.vertcat(*out)], {"cse": True})
