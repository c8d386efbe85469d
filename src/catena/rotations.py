"""Rotations and rigid motions in parameters, and derivatives along them: Wang & Chirikjian (2006), (10)-(18).

A Jacobian J turns rates of parameters into the angular velocity in the body's own frame, ω = J q̇ (10). The operators
∂/∂ξ_i differentiate a function of a rotation along small turns about the body's axes, ∂f/∂ξ = J⁻ᵀ ∂f/∂q (12), and need
no parameters at all: see :func:`rotation_derivatives`. Everything broadcasts over leading dimensions; rotation comes
first in six-vectors, as everywhere in Catena.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from catena.arguments.arrays import as_floats
from catena.arguments.words import one_of
from catena.errors import ShapeError
from catena.model.lie import pose_matrix, rotation_matrix, skew, turn_about
from catena.slopes import Sloped, collected
from catena.spatial import Mat3, Vec3
from catena.spatial.quaternion import pose_exp
from catena.trace.derivatives import gradient
from catena.trace.graph import Expr, Graph, Operand
from catena.trace.interpret import values

Array = npt.NDArray[Any]

E = skew(np.eye(3))
"""The basis E_1, E_2, E_3 of so(3): Ẽ_i = hat(e_i), (3, 3, 3)."""

EULER = tuple(a + b + c for a in "XYZ" for b in "XYZ" for c in "XYZ" if a != b and b != c)
"""The twelve Euler conventions: turns about the body's own axes, one after the other."""


def hat(v: npt.ArrayLike) -> Array:
    """The matrix of a vector: (..., 3) to the skew ones ṽ (..., 3, 3), ṽ x = v × x; a twist (..., 6) to (..., 4, 4).

    The matrix of a twist (ω, v) is [ω̃ v; 0 0], an element of se(3).
    """
    x = _last("v", v, 3, 6)
    if x.shape[-1] == 3:
        return skew(x)
    matrix = np.zeros((*x.shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3] = skew(x[..., :3]), x[..., 3:]
    return matrix


def vee(matrix: npt.ArrayLike) -> Array:
    """The vector of a matrix, the inverse of :func:`hat`: (..., 3, 3) to (..., 3), (..., 4, 4) to (..., 6).

    Of a matrix that is not skew, the skew part is taken.
    """
    A = _square("matrix", matrix, 3, 4)
    pairs = ((2, 1), (0, 2), (1, 0))
    turn = np.stack([0.5 * (A[..., i, j] - A[..., j, i]) for i, j in pairs], axis=-1)
    return turn if A.shape[-1] == 3 else np.concatenate([turn, A[..., :3, 3]], axis=-1)


def exp(v: npt.ArrayLike) -> Array:
    """The rotation (..., 3, 3) that a vector (..., 3), rad, generates; the motion (..., 4, 4) of a twist (..., 6)."""
    x = _last("v", v, 3, 6)
    shift = x[..., 3:] if x.shape[-1] == 6 else np.zeros(x.shape)
    turn, moved = pose_exp(*[Vec3(*np.moveaxis(part, -1, 0)) for part in (x[..., :3], shift)])
    R = rotation_matrix(np.stack([*turn], axis=-1))
    return R if x.shape[-1] == 3 else pose_matrix(R, np.stack([*moved], axis=-1))


def log(matrix: npt.ArrayLike) -> Array:
    """The vector (..., 3) of a rotation (..., 3, 3), of length π at most; the twist (..., 6) of a motion (..., 4, 4).

    It is the inverse of :func:`exp`. A turn by π has two such vectors, of which one is given.
    """
    A = _square("matrix", matrix, 3, 4)
    R, turn = A[..., :3, :3], np.full((*A.shape[:-2], 3), np.nan)
    good = np.isfinite(R).all(axis=(-1, -2))
    if good.any():
        turn[good] = Rotation.from_matrix(R[good]).as_rotvec()
    if A.shape[-1] == 3:
        return np.asarray(turn)
    J = exponential_jacobian(-turn)  # exp moves by J(−ω) v
    return np.concatenate([turn, np.linalg.solve(J, A[..., :3, 3:])[..., 0]], axis=-1)


def axis_turn(axis: str, angle: npt.ArrayLike) -> Array:
    """The rotation by an angle (...), rad, about the axis "X", "Y" or "Z": (..., 3, 3)."""
    return turn_about(one_of("axis", axis, "XYZ").lower(), angle)


def euler_rotation(convention: str, angles: npt.ArrayLike) -> Array:
    """The rotation matrix (..., 3, 3) of Euler angles (..., 3), rad, in one of the conventions :data:`EULER`.

    "ZXZ" turns about z, then about the new x, then about the new z.
    """
    a, angle = _euler(convention, angles)
    return np.asarray(axis_turn(a[0], angle[..., 0]) @ axis_turn(a[1], angle[..., 1]) @ axis_turn(a[2], angle[..., 2]))


def euler_jacobian(convention: str, angles: npt.ArrayLike) -> Array:
    """The Jacobian (..., 3, 3) from rates of Euler angles (..., 3) to angular velocity, ω = J q̇; (11) is "ZXZ".

    Singular where the first and the last axis fall in line: at sin β = 0 for "ZXZ", at cos β = 0 for "ZYX".
    """
    axes, angle = _euler(convention, angles)
    first, second, third = axes[0], axes[1], axes[2]
    last = np.swapaxes(axis_turn(third, angle[..., 2]), -1, -2)
    both = last @ np.swapaxes(axis_turn(second, angle[..., 1]), -1, -2)
    unit = {axis: np.eye(3)[i] for i, axis in enumerate("XYZ")}
    end = np.broadcast_to(unit[third], last.shape[:-1])
    return np.stack([both @ unit[first], last @ unit[second], end], axis=-1)


def _euler(convention: str, angles: npt.ArrayLike) -> tuple[str, Array]:
    return one_of("Euler convention", convention, EULER), _last("angles", angles, 3)


def quaternion_jacobian(quaternion: npt.ArrayLike) -> Array:
    """The Jacobian (..., 3, 4) from rates of a quaternion (..., 4), x, y, z, w, to angular velocity, ω = J q̇.

    The quaternion may have any length but zero; rates along it do not turn.
    """
    q = _last("quaternion", quaternion, 4)
    x, y, z, w = np.moveaxis(2 * q / np.sum(q * q, axis=-1, keepdims=True), -1, 0)
    rows = [[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_rates(quaternion: npt.ArrayLike) -> Array:
    """The matrix (..., 4, 3) from angular velocity ω to rates of a quaternion (..., 4) at constant length.

    It is the right inverse of :func:`quaternion_jacobian`.
    """
    q = _last("quaternion", quaternion, 4)
    length2 = np.sum(q * q, axis=-1)[..., None, None]
    return np.asarray(np.swapaxes(quaternion_jacobian(q), -1, -2) * length2 / 4)


def exponential_jacobian(omega: npt.ArrayLike) -> Array:
    """The Jacobian (..., 3, 3) from rates of a rotation vector w (..., 3), rad, to angular velocity, ω = J ẇ.

    The rotation is exp(w̃); J is singular at |w| = 2π, 4π and so on.
    """
    w = -_last("omega", omega, 3)
    turn, zeros = Vec3(*np.moveaxis(w, -1, 0)), np.zeros(w.shape[:-1])
    columns = [pose_exp(turn, Vec3(*[zeros + x for x in unit]))[1] for unit in np.eye(3)]
    return np.stack([np.stack([*column], axis=-1) for column in columns], axis=-1)


def motion_exponential_jacobian(twist: npt.ArrayLike) -> Array:
    """The Jacobian 𝒥 (..., 6, 6) from rates of a twist (w, u), (..., 6), to velocities (ω, v) of exp(twist)."""
    x = _last("twist", twist, 6)
    W, U = skew(x[..., :3]), skew(x[..., 3:])
    big = np.zeros((*x.shape[:-1], 12, 12))
    big[..., 0:3, 0:3] = big[..., 3:6, 3:6] = -W
    big[..., 3:6, 0:3] = -U
    big[..., :6, 6:] = np.eye(6)
    return np.asarray(expm(big)[..., :6, 6:])  # ∫ exp(−s ad) ds from 0 to 1


def motion_jacobian(rotation_jacobian: npt.ArrayLike, rotation: npt.ArrayLike) -> Array:
    """The Jacobian 𝒥 = J ⊕ Rᵀ (15) of a motion, (..., 6, 3 + k): rotation in any k parameters, Cartesian position b.

    `rotation_jacobian` J is (..., 3, k), `rotation` R is (..., 3, 3); the linear velocity is v = Rᵀ ḃ.
    """
    J, R = as_floats(rotation_jacobian, "rotation_jacobian"), _square("rotation", rotation, 3)
    if J.shape[-2:-1] != (3,):
        raise ShapeError(f"rotation_jacobian: expected 3 x k matrices, found shape {J.shape}")
    batch, k = np.broadcast_shapes(J.shape[:-2], R.shape[:-2]), J.shape[-1]
    total = np.zeros((*batch, 6, k + 3))
    total[..., :3, :k], total[..., 3:, k:] = J, np.swapaxes(R, -1, -2)
    return total


def along_axes(slopes: npt.ArrayLike, jacobian: npt.ArrayLike) -> Array:
    """Turn slopes (..., k) along parameters into slopes along the body's axes, ∂f/∂ξ = J⁻ᵀ ∂f/∂q (12), (16)."""
    J, g = as_floats(jacobian, "jacobian"), as_floats(slopes, "slopes")
    if J.ndim < 2 or g.shape[-1:] != J.shape[-1:]:
        raise ShapeError(f"slopes, jacobian: expected shapes (..., k) and (..., 3, k), found {g.shape} and {J.shape}")
    if J.shape[-1] == J.shape[-2]:
        return np.asarray(np.linalg.solve(np.swapaxes(J, -1, -2), g[..., None])[..., 0])
    return np.asarray(np.einsum("...ji,...j->...i", np.linalg.pinv(J), g))


def parameter_jacobian(A: Callable[[Any], Any], q: npt.ArrayLike) -> Array:
    """The Jacobian of a parametrisation A(q) of the caller's, ω = J q̇ (10): (..., 3, k) for q (..., k).

        def tilted(q):
            c, s = np.cos(q[0]), np.sin(q[0])
            return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ tilt(q[1])

        J = parameter_jacobian(tilted, q)

    `A` takes k numbers and gives a rotation matrix (3, 3), or the matrix (4, 4) of a motion: then the result is
    (..., 6, k), turns before shifts, (ω, v) in the body's frame (15). It is called once for each q, with numbers that
    carry their slopes along (:mod:`catena.slopes`), so it may use arithmetic and NumPy's functions. Exact.
    """
    points = as_floats(q, "q")
    if points.ndim < 1:
        raise ShapeError("q: expected numbers along the last axis, found a single number")
    k = points.shape[-1]
    found = [_column_slopes(A, x) for x in points.reshape(-1, k)]
    rows = found[0].shape[0] if found else 3
    return np.array(found).reshape(*points.shape[:-1], rows, k)


def _column_slopes(A: Callable[[Any], Any], q: Array) -> Array:
    """J (3, k) or (6, k) at one q."""
    moved = collected(A(Sloped(q, np.eye(len(q)))), len(q))
    if moved.shape not in ((3, 3), (4, 4)):
        raise ShapeError(f"A: expected a function that gives a matrix (3, 3) or (4, 4), found shape {moved.shape}")
    body = np.linalg.inv(moved.value) @ np.moveaxis(moved.slope, -1, 0)
    return np.swapaxes(vee(body), 0, 1)


def rotation_derivatives(f: Callable[[Any], Any], rotation: npt.ArrayLike) -> Array:
    """The derivatives ∂f/∂ξ_i, i = 1 … 3, of a function of a rotation along turns about the body's axes (12): (..., 3).

    They say how f changes as R (..., 3, 3) becomes R exp(ε Ẽ_i), and are exact.

    `f` takes a :class:`~catena.spatial.Mat3` and computes with its entries by arithmetic and :mod:`catena.scalars`: it
    is traced once for all rotations. Or it takes an array (3, 3), uses `R[i, j]` and NumPy, and gives a real or a
    complex number, or an array of them, whose dimensions come before the last of the result: it is called for each
    rotation, with numbers that carry their slopes along (:mod:`catena.slopes`).
    """
    R = _square("rotation", rotation, 3)
    slopes = _slopes(_of_rotation, f, R.reshape(*R.shape[:-2], 9))
    return _turning(R, slopes)


def motion_derivatives(f: Callable[[Any, Any], Any], rotation: npt.ArrayLike, position: npt.ArrayLike) -> Array:
    """The derivatives ∂f/∂ξ̃_i, i = 1 … 6, of a function of a motion (16), (17): (..., 6).

    First along turns about, then along shifts along the body's own axes. `f` takes a :class:`~catena.spatial.Mat3` and
    a :class:`~catena.spatial.Vec3`, or arrays (3, 3) and (3,), as in :func:`rotation_derivatives`.
    """
    R, b = np.broadcast_arrays(_square("rotation", rotation, 3), _last("position", position, 3)[..., None])
    b = b[..., 0]
    slopes = _slopes(_of_motion, f, np.concatenate([R.reshape(*R.shape[:-2], 9), b], axis=-1))
    Q = R.reshape(*R.shape[:-2], *(1,) * (slopes.ndim - R.ndim + 1), 3, 3)
    along = np.einsum("...ji,...j->...i", Q, slopes[..., 9:])
    return np.concatenate([_turning(R, slopes[..., :9]), along], axis=-1)


def _of_rotation(f: Callable[..., Any], x: Any) -> Any:
    return f(x[:9].reshape(3, 3) if isinstance(x, Sloped) else Mat3(*x))


def _of_motion(f: Callable[..., Any], x: Any) -> Any:
    return f(x[:9].reshape(3, 3), x[9:]) if isinstance(x, Sloped) else f(Mat3(*x[:9]), Vec3(*x[9:]))


@lru_cache(maxsize=64)
def _traced(call: Callable[..., Any], f: Callable[..., Any], size: int) -> list[Operand] | None:
    """The slopes of f as expressions; None if f cannot be traced, because it needs arrays or complex numbers."""
    graph = Graph()
    leaves = [graph.input("x", i) for i in range(size)]
    try:
        result = call(f, leaves)
    except Exception:  # whatever a function written for arrays says to something else
        return None
    if isinstance(result, complex) or not isinstance(result, Expr | int | float):
        return None
    found = gradient(result)
    return [found.get(leaf, 0.0) for leaf in leaves]


def _slopes(call: Callable[..., Any], f: Callable[..., Any], x: Array) -> Array:
    size = x.shape[-1]
    traced = _traced(call, f, size)
    if traced is not None:
        return values(traced, {"x": x})
    found = [collected(call(f, Sloped(y, np.eye(size))), size).slope for y in x.reshape(-1, size)]
    shape = found[0].shape if found else (size,)
    return np.array(found).reshape(*x.shape[:-1], *shape)


def _turning(R: Array, slopes: Array) -> Array:
    """Σ (R Ẽ_i) · ∂f/∂R for i = 1 … 3: the axial part of Rᵀ ∂f/∂R."""
    extra = slopes.ndim - R.ndim + 1  # dimensions of what the function gives
    Q = R.reshape(*R.shape[:-2], *(1,) * extra, 3, 3)
    A = np.swapaxes(Q, -1, -2) @ slopes.reshape(*slopes.shape[:-1], 3, 3)
    entries = [A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]]
    return np.stack(entries, axis=-1)


def _last(what: str, x: npt.ArrayLike, *sizes: int) -> Array:
    array = as_floats(x, what)
    if array.ndim < 1 or array.shape[-1] not in sizes:
        expected = " or ".join(map(str, sizes))
        raise ShapeError(f"{what}: expected {expected} numbers along the last axis, found shape {array.shape}")
    return array


def _square(what: str, x: npt.ArrayLike, *sizes: int) -> Array:
    array = as_floats(x, what)
    if array.shape[-2:] not in [(size, size) for size in sizes]:
        expected = " or ".join(f"{size} x {size}" for size in sizes)
        raise ShapeError(f"{what}: expected {expected} matrices, found shape {array.shape}")
    return array
