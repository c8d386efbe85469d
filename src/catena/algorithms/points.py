"""Points of links: how they move, and inertias that act there. What laws of resistance at links are made of."""

from __future__ import annotations

from collections.abc import Sequence

from catena.scalars import Scalar, where
from catena.spatial import ArticulatedInertia, Mat3, Motion, RigidInertia, Sym3, Transform, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links


def motions(links: Links, q: Field, v: Field) -> tuple[Field, Field]:
    """The poses of all links in the base, and their velocities, in the internal frames of links."""
    X, V = links.fields("X V")
    X[links.base], V[links.base] = Pose.identity(), Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        X[k], V[k] = X[k.parent].then(phi), phi.T @ V[k.parent] + H.T @ v[k]
    return X, V


def inside(frame: Transform, centre: Sequence[float]) -> Vec3:
    """A point of the frame that users know, in the internal frame of the same link."""
    return Pose.identity().then(frame.then(Transform.shift(Vec3(*centre)))).p


def outside(frame: Transform, point: Vec3) -> Vec3:
    """A point of the internal frame of a link, in the frame that users know."""
    at = Pose.identity().then(frame)
    return at.R.T @ (point - at.p)


def mean(weights: Sequence[Scalar], points: Sequence[Vec3]) -> Vec3:
    """The mean of points by weights that are not negative; zero if all are zero."""
    total = sum(weights[1:], weights[0])
    share = where(total > 0.0, 1.0 / where(total > 0.0, total, 1.0), 0.0)
    return sum((p * (w * share) for w, p in zip(weights, points, strict=True)), start=Vec3.zero())


def point_mass(m: Scalar, c: Vec3) -> ArticulatedInertia:
    """The inertia of a mass m at the point c."""
    x, y, z = c
    moments = Sym3(y * y + z * z, -(x * y), -(x * z), x * x + z * z, -(y * z), x * x + y * y)
    return RigidInertia(m, c * m, Sym3(*[m * i for i in moments])).articulated


def squared(b: Scalar, u: Vec3, n: Vec3) -> ArticulatedInertia:
    """B w wᵀ for a wrench w of moment u and force n."""
    (bx, by, bz), (fx, fy, fz) = u * b, n * b
    J = Sym3(bx * u.x, bx * u.y, bx * u.z, by * u.y, by * u.z, bz * u.z)
    H = Mat3(*[p * q for p in (bx, by, bz) for q in n])
    return ArticulatedInertia(J, H, Sym3(fx * n.x, fx * n.y, fx * n.z, fy * n.y, fy * n.z, fz * n.z))
