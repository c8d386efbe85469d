"""Derivatives of kinetic energy and momentum, from composite bodies.

When coordinate i of joint k changes, all links beyond it change their velocities, in their own frames, by one motion u
(:mod:`catena.algorithms.changes`). Kinetic energy then changes by p · u, where p is the momentum of all that lies
beyond, and p itself by M u, besides being turned along with the axis h: h ×* p.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.changes import moved_axes
from catena.algorithms.energy import TOTAL_INERTIA, about, mean_velocity, middle, momentum, total_inertia
from catena.functions.function import Function
from catena.functions.recipes import Ask, parts, stacked
from catena.scalars import Scalar
from catena.spatial import Dofs, Force, Motion, RigidInertia, Sym3, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links

Matrix = list[list[Scalar]]


def kinetic_energy_gradient(links: Links, q: Field, v: Field) -> tuple[Field, Field]:
    """The derivatives of ½ vᵀ M(q) v by q (in the tangent space) and by v, which is M v: two sweeps."""
    phi, H, V, arriving, p, dq, dv = links.fields("phi H V arriving p dq dv")
    V[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        arriving[k] = phi[k].T @ V[k.parent]
        V[k] = arriving[k] + H[k].T @ v[k]
        p[k] = k.M @ V[k]
    for k in links.tip_to_base():
        dq[k] = Dofs([u.dot(p[k]) for u in _changes(k, q[k], v[k], arriving[k], H[k].columns)])
        dv[k] = H[k] @ p[k] + k.armature * v[k]
        p[k.parent] += phi[k] @ p[k]
    return dq, dv


def momentum_slopes(links: Links, q: Field, v: Field) -> tuple[Field, Field]:
    """For each degree of freedom, the derivatives of the momentum about the base's origin by q and by v."""
    phi, H, V, arriving, p, M, X, dq, dv = links.fields("phi H V arriving p M X dq dv")
    V[links.base], X[links.base] = Motion.zero(), Pose.identity()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        arriving[k], X[k] = phi[k].T @ V[k.parent], X[k.parent].then(phi[k])
        V[k] = arriving[k] + H[k].T @ v[k]
        M[k], p[k] = k.M, k.M @ V[k]
    for k in links.tip_to_base():
        changes = _changes(k, q[k], v[k], arriving[k], H[k].columns)
        pairs = zip(H[k].columns, changes, strict=True)
        dq[k] = [X[k].force_out(h.cross(p[k]) + M[k] @ u) for h, u in pairs]
        dv[k] = [X[k].force_out(M[k] @ h) for h in H[k].columns]
        p[k.parent] += phi[k] @ p[k]
        M[k.parent] += phi[k].congruence(M[k])
    return dq, dv


def _changes(k: Any, q: Dofs, v: Dofs, arriving: Motion, axes: list[Motion]) -> list[Motion]:
    """u for each coordinate of joint k: V × h, where V arrives from the parent, and what the axes' own change adds."""
    moved = [moved_axes(k, q, i).T @ v for i in range(len(axes))]
    return [arriving.cross(h) + more for h, more in zip(axes, moved, strict=True)]


def momentum_derivatives(links: Any, q: Field, v: Field) -> tuple[Matrix, Matrix]:
    """The derivatives of the momentum about the base's origin: six rows each. For unrolled kernels only."""
    dq, dv = momentum_slopes(links, q, v)
    return _rows([f for k in links for f in dq[k]]), _rows([f for k in links for f in dv[k]])


def momentum_about_derivatives(links: Any, q: Field, v: Field, point: list[Scalar]) -> tuple[Matrix, Matrix]:
    """The same about a point in the base's frame."""
    at, slopes = Vec3(*point), momentum_slopes(links, q, v)
    dq, dv = ([about(at, f) for k in links for f in field[k]] for field in slopes)
    return _rows(dq), _rows(dv)


def centroidal_momentum_derivatives(links: Any, q: Field, v: Field) -> tuple[Matrix, Matrix]:
    """The same about the centre of mass, which moves with q."""
    total, p = total_inertia(links, q)[links.base], momentum(links, q, v)[links.base]
    by_q, by_v = momentum_slopes(links, q, v)
    pairs = [pair for k in links for pair in zip(by_q[k], by_v[k], strict=True)]
    found = [_centroidal(total, p, *pair) for pair in pairs]
    return _rows([dq for dq, _ in found]), _rows([dv for _, dv in found])


def _centroidal(total: RigidInertia, p: Force, dq: Force, dv: Force) -> tuple[Force, Force]:
    """Slopes about the centre of mass c, from those about the origin; c moves with q as it does at unit speed."""
    c, moving = middle(total), mean_velocity(total, dv)
    turned = about(c, dq)
    return Force(turned.angular - moving.cross(p.linear), turned.linear), about(c, dv)


def _rows(columns: list[Force]) -> Matrix:
    return [list(row) for row in zip(*[f.components for f in columns], strict=True)]


_QV = {"q": "q", "v": "v"}
_OUTPUTS = {"dq": "dense:6,nv", "dv": "dense:6,nv"}

KINETIC_ENERGY_GRADIENT = Function("kinetic_energy_gradient", kinetic_energy_gradient, _QV, {"dq": "tau", "dv": "tau"})
MOMENTUM_SLOPES = Function("momentum_slopes", momentum_slopes, _QV, {"dq": "axes", "dv": "axes"})


def _slopes(ask: Ask, q: Any, v: Any) -> tuple[Force, Force]:
    """The slopes of the momentum about the origin, over arrays along the speeds."""
    by_q, by_v = (Force.of(parts(x)) for x in ask(MOMENTUM_SLOPES, q, v))
    return by_q, by_v


def _stacked(*slopes: Force) -> tuple[Any, ...]:
    return tuple(stacked(f.components, axis=-2) for f in slopes)


def _rolled_about(ask: Ask, q: Any, v: Any, point: Any) -> tuple[Any, ...]:
    at = Vec3(*parts(point[..., None, :]))
    return _stacked(*[about(at, f) for f in _slopes(ask, q, v)])


def _rolled_centroidal(ask: Ask, q: Any, v: Any) -> tuple[Any, ...]:
    m, hx, hy, hz, *moments = parts(ask(TOTAL_INERTIA, q[..., None, :]))
    by_q, by_v = _slopes(ask, q, v)
    p = Force.of([(x * v).sum(axis=-1, keepdims=True) for x in by_v.components])
    return _stacked(*_centroidal(RigidInertia(m, Vec3(hx, hy, hz), Sym3(*moments)), p, by_q, by_v))


MOMENTUM_DERIVATIVES = {
    "base": Function(
        "momentum_derivatives", momentum_derivatives, _QV, _OUTPUTS, recipe=lambda *given: _stacked(*_slopes(*given))
    ),
    "center_of_mass": Function(
        "momentum_derivatives/centroidal",
        centroidal_momentum_derivatives,
        _QV,
        _OUTPUTS,
        regroup=False,
        recipe=_rolled_centroidal,
    ),
}
"""By the points that a momentum can be asked about by name."""

MOMENTUM_ABOUT_DERIVATIVES = Function(
    "momentum_derivatives/about",
    momentum_about_derivatives,
    {**_QV, "about": "robot:3"},
    _OUTPUTS,
    recipe=_rolled_about,
)
