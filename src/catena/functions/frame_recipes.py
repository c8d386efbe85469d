"""The same questions about chosen frames for long chains: from what loops give for all links, with NumPy.

Everything is linear in the motion of the link that carries a frame: a matrix X, 6 x 6, of each frame says what is seen
of that motion. J is X times the link's own Jacobian, and wrenches go the other way by Xᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.coriolis import CORIOLIS_TIMES
from catena.algorithms.energy import GRAVITY_TORQUE
from catena.algorithms.frame_derivatives import column_slope, order, rotation_slope
from catena.algorithms.innovations import FACTOR
from catena.algorithms.kinematics import JOINT_AXES, LINK_ACCELERATIONS, LINK_VELOCITIES, PLACEMENTS, WRENCH_TORQUES
from catena.algorithms.operational_space import RESPONSE
from catena.functions.recipes import Ask, inverses, parts, stacked, times
from catena.model.joints import JOINT_TYPES
from catena.model.tree import Frame
from catena.spatial import Mat3, Motion

Array = npt.NDArray[Any]
_ONE = np.eye(3)


class Carried:
    """Frames on links, or on the base (link -1): m of them, with motions asked for in `frame`.

    The methods are recipes: of the arrays of a call, `q` is (..., nq) and `point`, if any, (..., m, 3).
    """

    def __init__(self, frames: Sequence[Frame], frame: str) -> None:
        self.frame, self.count = frame, len(frames)
        self.link = np.array([at.link for at in frames], dtype=np.intp)
        self.turn = np.array([at.rotation for at in frames], dtype=float).reshape(-1, 3, 3)
        self.shift = np.array([at.position for at in frames], dtype=float).reshape(-1, 3)

    def placements(self, ask: Ask, q: Array, point: Array | None = None) -> tuple[Array, Array]:
        """Rotations (..., m, 3, 3) and origins (..., m, 3)."""
        R, p = self._carriers(ask, q)
        return R @ self.turn, p + times(R, self._offset(point))

    def placement(self, ask: Ask, q: Array, point: Array | None = None) -> tuple[Array, Array]:
        """Rotation (..., 3, 3) and origin (..., 3) of the only one."""
        R, p = self.placements(ask, q, point)
        return R[..., 0, :, :], p[..., 0, :]

    def placement_derivatives(self, ask: Ask, q: Array, point: Array | None = None) -> tuple[Array, Array]:
        """The derivatives (..., 3, 3, nv) and (..., 3, nv) of the placement of the only one, whose frame is "mixed"."""
        R, J = self.placement(ask, q, point)[0], self.jacobian(ask, q, point)
        entries = rotation_slope(Mat3(*parts(R.reshape(*R.shape[:-2], 1, 9))), Motion.of(parts(np.swapaxes(J, -1, -2))))
        rotation = stacked(entries, axis=-2)
        return rotation.reshape(*rotation.shape[:-2], 3, 3, rotation.shape[-1]), J[..., 3:, :]

    def jacobian_derivatives(self, ask: Ask, q: Array, point: Array | None = None) -> Array:
        """The derivatives (..., 6 m, nv, nv) of J."""
        J, tree = self.jacobian(ask, q, point), ask.tree
        joints = zip(range(tree.n), tree.joint_type.tolist(), strict=True)
        dofs = [(k, i, JOINT_TYPES[code]) for k, code in joints for i in range(JOINT_TYPES[code].nv)]
        after = np.array([[order(of, by) for by in dofs] for of in dofs]).reshape(tree.nv, tree.nv)
        blocks = np.swapaxes(J.reshape(*J.shape[:-2], self.count, 6, tree.nv), -1, -2)
        of, by = Motion.of(parts(blocks[..., :, None, :])), Motion.of(parts(blocks[..., None, :, :]))
        slopes = stacked(column_slope(self.frame, of, by, after).components, axis=-3)
        return slopes.reshape(*J.shape, tree.nv)

    def jacobian(self, ask: Ask, q: Array, point: Array | None = None) -> Array:
        """J (..., 6 m, nv), from the axes of all joints in the base's frame: those between each frame and the base."""
        axes, X = ask(JOINT_AXES, q), self._of_the_base(ask, q, point)
        batch = np.broadcast_shapes(axes.shape[:-2], X.shape[:-3])
        J = np.zeros((*batch, 6 * self.count, ask.tree.nv), axes.dtype)
        start = ask.tree.v_start
        for i, link in enumerate(self.link.tolist()):
            moving = [j for k in _path(ask.tree.parent, link) for j in range(start[k], start[k + 1])]
            J[..., 6 * i : 6 * i + 6, moving] = X[..., i, :, :] @ np.swapaxes(axes[..., moving, :], -1, -2)
        return J

    def jacobian_times(self, ask: Ask, q: Array, x: Array, point: Array | None = None) -> Array:
        """J x (..., 6 m)."""
        V = self._at(ask(LINK_VELOCITIES["link"], q, x))
        return self._flat(times(self._seen(ask, q, point), V))

    def jacobian_dot_times(self, ask: Ask, q: Array, v: Array, point: Array | None = None) -> Array:
        """J̇ v (..., 6 m)."""
        V, A = self._at(ask(LINK_VELOCITIES["link"], q, v)), self._at(ask(LINK_ACCELERATIONS["link"], q, v))
        seen = times(self._seen(ask, q, point), A)
        if self.frame == "mixed":
            w = V[..., :3]
            turning = np.cross(w, V[..., 3:] + np.cross(w, self._offset(point)))
            seen[..., 3:] = seen[..., 3:] + times(self._carriers(ask, q)[0], turning)
        return self._flat(seen)

    def jacobian_transpose_times(self, ask: Ask, q: Array, f: Array, point: Array | None = None) -> Array:
        """Jᵀ f (..., nv) of wrenches f (..., 6 m)."""
        X = self._seen(ask, q, point)
        wrenches = times(np.swapaxes(X, -1, -2), f.reshape(*f.shape[:-1], self.count, 6))
        total = np.zeros((*wrenches.shape[:-2], ask.tree.n, 6))
        for i, link in enumerate(self.link.tolist()):
            if link >= 0:
                total[..., link, :] += wrenches[..., i, :]
        return np.asarray(ask(WRENCH_TORQUES, q, total))

    def operational_mobility(self, ask: Ask, q: Array, point: Array | None = None) -> Array:
        """Ω = J M⁻¹ Jᵀ (..., 6 m, 6 m)."""
        return self._responses(ask, q, point)[1]

    def operational_inertia(self, ask: Ask, q: Array, point: Array | None = None) -> tuple[Array, Array]:
        """Λ and Ω."""
        Omega = self._responses(ask, q, point)[1]
        return inverses(Omega, ask.dtype), Omega

    def operational_dynamics(
        self, ask: Ask, q: Array, v: Array, point: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Λ (..., 6 m, 6 m), μ and p (..., 6 m)."""
        weighted, Omega = self._responses(ask, q, point)
        inertia = inverses(Omega, ask.dtype)
        swung = times(weighted, ask(CORIOLIS_TIMES, q, v, v)) - self.jacobian_dot_times(ask, q, v, point)
        return inertia, times(inertia, swung), times(inertia, times(weighted, ask(GRAVITY_TORQUE, q)))

    def dynamically_consistent_inverse(self, ask: Ask, q: Array, point: Array | None = None) -> Array:
        """J̄ = M⁻¹ Jᵀ Λ (..., nv, 6 m)."""
        weighted, Omega = self._responses(ask, q, point)
        return np.swapaxes(inverses(Omega, ask.dtype) @ weighted, -1, -2)

    def _responses(self, ask: Ask, q: Array, point: Array | None) -> tuple[Array, Array]:
        """J M⁻¹ and Ω, from what unit wrenches on one frame after the other do to all links."""
        X, wide = self._seen(ask, q, point), q[..., None, :]
        if not self.count:
            return np.zeros((*X.shape[:-3], 0, ask.tree.nv)), np.zeros((*X.shape[:-3], 0, 0))
        factors = [f[..., None, :, :] for f in ask(FACTOR, q)]
        weighted, Omega = [], []
        for i, link in enumerate(self.link.tolist()):
            f = np.zeros((*X.shape[:-3], 6, ask.tree.n, 6))
            f[..., link, :] = X[..., i, :, :]  # unit wrenches on the frame as wrenches on the link: Xᵀ, a row each
            vdot, alpha = ask(RESPONSE, wide, *factors, f)
            weighted.append(vdot)
            seen = np.einsum("...sab,...isb->...isa", X, alpha[..., self.link, :])
            Omega.append(seen.reshape(*seen.shape[:-2], 6 * self.count))
        return np.concatenate(weighted, axis=-2), np.swapaxes(np.concatenate(Omega, axis=-2), -1, -2)

    def _offset(self, point: Array | None) -> Array:
        """The frames' origins, or points of them, in the frames of their links: (..., m, 3)."""
        return self.shift if point is None else self.shift + times(self.turn, point)

    def _at(self, motions: Array) -> Array:
        """Of motions (..., links, 6) those of the links that carry the frames, (..., m, 6)."""
        found: Array = motions[..., self.link, :]
        found[..., self.link < 0, :] = 0.0
        return found

    def _carriers(self, ask: Ask, q: Array) -> tuple[Array, Array]:
        """Rotations (..., m, 3, 3) and origins (..., m, 3) of the links that carry the frames."""
        rotation, position = ask(PLACEMENTS, q)
        R, p = rotation[..., self.link, :, :], position[..., self.link, :]
        R[..., self.link < 0, :, :], p[..., self.link < 0, :] = _ONE, 0.0
        return R, p

    def _seen(self, ask: Ask, q: Array, point: Array | None) -> Array:
        """X (..., m, 6, 6): from the motion of a link in its own frame to what is seen of it."""
        offset = self._offset(point)
        if self.frame == "link":
            return _motions(np.swapaxes(self.turn, -1, -2), offset)
        R, p = self._carriers(ask, q)
        return _motions(R, offset if self.frame == "mixed" else -times(np.swapaxes(R, -1, -2), p))

    def _of_the_base(self, ask: Ask, q: Array, point: Array | None) -> Array:
        """The same from the motion of the body given in the base's frame."""
        if self.frame == "world":
            return np.broadcast_to(np.eye(6), (self.count, 6, 6))
        R, p = self.placements(ask, q, point)
        return _motions(np.swapaxes(R, -1, -2) if self.frame == "link" else _ONE, p)

    def _flat(self, motions: Array) -> Array:
        return motions.reshape(*motions.shape[:-2], 6 * self.count)


def _path(parent: Array, link: int) -> list[int]:
    """The numbers of the links from the base to `link`."""
    found = []
    while link >= 0:
        found.append(link)
        link = int(parent[link])
    return found[::-1]


def _motions(T: Array, at: Array) -> Array:
    """What is seen of motions by axes that T, (..., 3, 3), turns into, at the points `at`, (..., 3): (..., 6, 6)."""
    X = np.zeros((*np.broadcast_shapes(T.shape[:-2], at.shape[:-1]), 6, 6), np.result_type(T, at))
    X[..., :3, :3] = X[..., 3:, 3:] = T
    X[..., 3:, :3] = T @ np.cross(at[..., None, :], _ONE)  # its rows are at x e: what -at x ω makes of ω
    return X
