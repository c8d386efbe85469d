"""A step of Euler's where joints that turn in space are carried by links that move themselves.

The speeds of such a joint are seen from a link that turns and moves: their rates hold what the turning axes of both
links make of them, centrifugal and Coriolis' accelerations among it. A whole step of these leads along tangents and
makes a body faster that flies free. Here the link's own velocity changes, in axes that stand still for what moves its
origin and in its own for what turns it, and its origin moves on with that. The joint's coordinates and speeds are what
this leaves to be done beyond its parent, wherever that has gone by then. Without forces a body goes straight on, as
fast as ever, whatever it was hung from.

How links turn is said by :func:`catena.model.spaces.spun`.
"""

from __future__ import annotations

import numpy as np

from catena.functions.function import Function
from catena.model.joints import JOINT_TYPES
from catena.model.spaces import spun
from catena.model.tree import Tree
from catena.scalars import Scalar
from catena.spatial import Dofs, Force, Motion
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links


def is_carried(tree: Tree) -> bool:
    """Whether there are joints that turn in space behind others."""
    codes = np.unique(tree.joint_type[tree.parent >= 0]).tolist()
    return not all(JOINT_TYPES[code].flat for code in codes)


def carried(links: Links, q: Field, v: Field, a: Field, dt: Scalar) -> tuple[Field, Field]:
    """The state that accelerations a lead to in dt, with the new speeds in q."""
    X, V, A, X1, V1, q1, v1 = links.fields("X V A X1 V1 q1 v1")
    X[links.base], V[links.base], A[links.base] = Pose.identity(), Motion.zero(), Motion.zero()
    X1[links.base], V1[links.base] = Pose.identity(), Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        X[k], V[k] = X[k.parent].then(phi), phi.T @ V[k.parent] + H.T @ v[k]
        A[k] = phi.T @ A[k.parent] + k.bias_acceleration(V[k], H, q[k], v[k]) + H.T @ a[k]
        q1[k], v1[k] = k.joint_type.advance(q[k], v[k], a[k], dt)
        if not k.joint_type.flat:
            moving = X[k].R @ (V[k].linear + (A[k].linear + V[k].angular.cross(V[k].linear)) * dt)
            hung = X1[k.parent].then(k.joint(Dofs(k.joint_type.neutral().tolist()))[0])
            q1[k] = k.joint_type.shifted(q1[k], hung.R.T @ (X[k].p + moving * dt - hung.p))
        phi1, H1 = k.joint(q1[k])
        X1[k] = X1[k.parent].then(phi1)
        if not k.joint_type.flat:
            own = Motion(spun(V[k].angular, A[k].angular, dt), X1[k].R.T @ moving)
            v1[k] = H1 @ Force.of((own - phi1.T @ V1[k.parent]).components)  # axes are unit vectors
        V1[k] = phi1.T @ V1[k.parent] + H1.T @ v1[k]
    return q1, v1


CARRIED = Function(
    "advance/carried", carried, inputs={"q": "q", "v": "v", "a": "v", "dt": "robot"}, outputs={"q": "q", "v": "v"}
)
