"""Newton and Euler at any number of digits, in the base's axes, written from the definition of a Tree alone."""

from __future__ import annotations

from typing import Any

import mpmath
from mpmath import mp, mpf

from catena.model.joints import JOINT_TYPES
from catena.model.tree import Tree

Matrix = Any


def nearest_rotation(entries: Any) -> Matrix:
    """R (RᵀR)^(-1/2) as a series in RᵀR − 1, which is of the size of a float's rounding."""
    R = mpmath.matrix(entries.tolist())
    E, power, root, factor = R.T * R - mpmath.eye(3), mpmath.eye(3), mpmath.eye(3), mpf(1)
    for k in range(1, 8):
        power, factor = power * E, factor * (mpf(1) / 2 - k) / k
        root += factor * power
    return R * root


def cross(a: Matrix, b: Matrix) -> Matrix:
    return mpmath.matrix([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def dot(a: Matrix, b: Matrix) -> Any:
    return (a.T * b)[0]


def turn(axis: str, angle: Any) -> Matrix:
    c, s = mpmath.cos(angle), mpmath.sin(angle)
    rows = [[1, 0, 0], [0, c, -s], [0, s, c]] if axis == "x" else [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    return mpmath.matrix(rows)


def turn_of(quaternion: list[Any]) -> Matrix:
    length = mpmath.sqrt(sum(x * x for x in quaternion))
    *vector, w = [x / length for x in quaternion]
    v = mpmath.matrix(vector)
    columns = [e + 2 * w * cross(v, e) + 2 * cross(v, cross(v, e)) for e in units()]
    return mpmath.matrix(3, 3) + mpmath.matrix([[columns[j][i] for j in range(3)] for i in range(3)])


def units() -> list[Matrix]:
    return [mpmath.matrix([int(i == j) for j in range(3)]) for i in range(3)]


def joint(name: str, q: list[Any], v: list[Any], pitch: Any) -> tuple[Matrix, Matrix, list[Any], list[Any]]:
    """Rotation and shift of a joint, its axes (ω, v) and their rates, in the moved canonical frame."""
    O, (x, y, z) = mpmath.matrix(3, 1), units()
    still = [(O, O)] * len(v)
    if name in ("revolute", "continuous"):
        return turn("z", q[0]), O, [(z, O)], still
    if name == "prismatic":
        return mpmath.eye(3), q[0] * z, [(O, z)], still
    if name == "helical":
        return turn("z", q[0]), pitch * q[0] * z, [(z, pitch * z)], still
    if name == "cylindrical":
        return turn("z", q[0]), q[1] * z, [(z, O), (O, z)], still
    if name == "universal":
        first = turn("x", q[1]).T * z
        return turn("z", q[0]) * turn("x", q[1]), O, [(first, O), (x, O)], [(-v[1] * cross(x, first), O), (O, O)]
    if name == "planar":
        return turn("z", q[2]), q[0] * x + q[1] * y, [(O, x), (O, y), (z, O)], still
    if name == "spherical":
        return turn_of(q), O, [(e, O) for e in (x, y, z)], still
    return turn_of(q[3:]), mpmath.matrix(q[:3]), [(e, O) for e in (x, y, z)] + [(O, e) for e in (x, y, z)], still


def inverse_dynamics(tree: Tree, q: list[Any], v: list[Any], a: list[Any]) -> list[Any]:
    """The torques of Newton's and Euler's equations: every quantity in the base's axes, of points in the world."""
    ground = -mpmath.matrix(tree.gravity.tolist())
    states: list[Any] = []
    for i, parent in enumerate(tree.parent.tolist()):
        zero = mpmath.matrix(3, 1)
        R, p, w, dw, acc = states[parent][:5] if parent >= 0 else (mpmath.eye(3), zero, zero, zero, ground)
        Q, own = nearest_rotation(tree.joint_rotation[i]), slice(int(tree.v_start[i]), int(tree.v_start[i + 1]))
        qs, vs, accs = q[int(tree.q_start[i]) : int(tree.q_start[i + 1])], v[own], a[own]
        name, pitch = JOINT_TYPES[int(tree.joint_type[i])].name, mpf(float(tree.pitch[i]))
        turned, shift, axes, rates = joint(name, qs, vs, pitch)
        at = R * nearest_rotation(tree.placement_rotation[i]) * Q
        arm = R * mpmath.matrix(tree.placement_position[i].tolist()) + at * shift
        out = at * turned
        spin, slide, dspin, dslide = (mpmath.matrix(3, 1) for _ in range(4))
        for axis, rate, speed, acceleration in zip(axes, rates, vs, accs, strict=True):
            spin, slide = spin + out * axis[0] * speed, slide + out * axis[1] * speed
            dspin += out * (axis[0] * acceleration + rate[0] * speed)
            dslide += out * (axis[1] * acceleration + rate[1] * speed)
        w_new, dw_new = w + spin, dw + dspin + cross(w, spin)
        acc_new = acc + cross(dw, arm) + cross(w, cross(w, arm)) + 2 * cross(w, slide) + dslide + cross(spin, slide)
        states.append((out * Q.T, p + arm, w_new, dw_new, acc_new, [(out * x, out * y) for x, y in axes]))
    forces = []
    for i, (R, _, w, dw, acc, _) in enumerate(states):
        c, m = R * mpmath.matrix(tree.com[i].tolist()), mpf(float(tree.mass[i]))
        I = R * mpmath.matrix(tree.inertia[i].tolist()) * R.T
        f = m * (acc + cross(dw, c) + cross(w, cross(w, c)))
        forces.append([I * dw + cross(w, I * w) + cross(c, f), f])
    tau: list[Any] = [None] * tree.nv
    for i in reversed(range(tree.n)):
        (moment, force), parent = forces[i], int(tree.parent[i])
        for k, (turning, sliding) in enumerate(states[i][5], int(tree.v_start[i])):
            tau[k] = dot(turning, moment) + dot(sliding, force) + mpf(float(tree.armature[k])) * a[k]
        if parent >= 0:
            forces[parent][0] += moment + cross(states[i][1] - states[parent][1], force)
            forces[parent][1] += force
    return tau


def forward_dynamics(tree: Tree, q: list[Any], v: list[Any], tau: list[Any]) -> list[Any]:
    """Accelerations from the whole mass matrix, by elimination with pivots."""
    zero = [mp.zero] * tree.nv
    bias, rest = inverse_dynamics(tree, q, v, zero), inverse_dynamics(tree, q, zero, zero)
    columns = [inverse_dynamics(tree, q, zero, [mpf(i == j) for j in range(tree.nv)]) for i in range(tree.nv)]
    M = mpmath.matrix([[columns[j][i] - rest[i] for j in range(tree.nv)] for i in range(tree.nv)])
    return list(mpmath.lu_solve(M, mpmath.matrix([t - b for t, b in zip(tau, bias, strict=True)])))
