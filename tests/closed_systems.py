"""Closed systems that tests share, and a dense solution of their equations with 50 digits that knows no Q and no sweep.

What a constraint holds is written down here once more, as functions of where its two frames are; their derivatives are
differences with 50 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

import catena
from catena.algorithms.configurations import INTEGRATE
from catena.algorithms.kinematics import PLACEMENTS
from catena.functions import engine

DIGITS = 50

KINDS: dict[str, dict[str, Any]] = {
    "Weld": {},
    "Ball": {},
    "Hinge": {"axis": "y"},
    "Slider": {"axis": (1, 2, 3)},
    "Universal": {"axis": "y", "axis2": "z"},
    "Distance": {"distance": 0.25},
    "PointOnPlane": {"axis": "x"},
    "FrictionlessPoint": {"axis": (1, 1, 0)},
    "PointWithFriction": {},
    "SoftFinger": {"axis": "-x"},
}
"""Every kind of constraint between frames, with the arguments that it needs."""


def arm(name: str = "arm") -> catena.Robot:
    """A small arm with six joints and a frame at its tip."""
    builder = catena.Builder(name)
    parent, axes = "base", "zyyxyz"
    for i, axis in enumerate(axes):
        builder.link(
            f"link{i}", mass=2.0 - 0.25 * i, com=(0.02, -0.01 * i, 0.1), inertia=(0.02, 0.03, 0.01 + 0.002 * i)
        )
        builder.revolute(f"joint{i}", parent, f"link{i}", axis, position=(0.0, 0.03, 0.25 if i else 0.1))
        parent = f"link{i}"
    return (
        builder.link("tool").fixed("flange", parent, "tool", position=(0.0, 0.0, 0.1), rotation=(0.2, 0.1, 0.3)).build()
    )


def box() -> catena.Robot:
    body = catena.Builder("box").link("body", mass=3.0, com=(0.01, 0.02, -0.03), inertia=(0.05, 0.04, 0.06))
    return body.build(base="floating")


def around(arms: int, kinds: Sequence[str], robot: catena.Robot | None = None) -> catena.System:
    """Arms in a circle around one box that they hold in one way after the other."""
    robot, names = robot or arm(), [f"arm{i}" for i in range(arms)]
    angles = 2 * np.pi * np.arange(arms) / arms
    held = []
    for name, angle, kind in zip(names, angles, [kinds[i % len(kinds)] for i in range(arms)], strict=True):
        place = {"second_position": (0.2 * np.cos(angle), 0.2 * np.sin(angle), 0.0), "second_rotation": (0, 0.4, angle)}
        held.append(getattr(catena, kind)(f"{name}/tool", "box", **KINDS[kind], **place))
    places = {n: ((0.6 * np.cos(t), 0.6 * np.sin(t), -0.3), (0, 0, t)) for n, t in zip(names, angles, strict=True)}
    return catena.System(dict.fromkeys(names, robot), [box()], held, placements=places)


def near(system: catena.System, start: np.ndarray, spread: float, rng: np.random.Generator) -> np.ndarray:
    """A closed configuration near another one: the first of a few guesses that closes."""
    guesses = system.integrate(start, spread * rng.standard_normal((6, system.nv)))
    try:
        return system.close(guesses)[0]
    except catena.ClosureError as error:
        return error.q[~error.failed][0]


def state(
    system: catena.System, rng: np.random.Generator, spread: float = 0.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A closed configuration, a velocity that keeps it closed, and torques."""
    q = near(system, system.neutral(), spread, rng)
    return q, system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)


def exact(system: catena.System, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations by the dense equations [M −Jᵀ; J 0], solved with 50 digits."""
    with mpmath.workdps(DIGITS):
        coordinates = [mpmath.mpf(x) for x in q]
        M = catena.evaluate(system.forest, "mass_matrix", coordinates, scalar=mpmath.mpf)
        b = catena.evaluate(system.forest, "bias", coordinates, v, scalar=mpmath.mpf)
        J = _jacobian(system, coordinates)
        speeds = [mpmath.mpf(x) for x in v]
        h = mpmath.mpf(10) ** -10
        ahead, behind = (_rates(system, _moved(system, coordinates, speeds, s), speeds) for s in (h, -h))
        bias = [(x - y) / (2 * h) for x, y in zip(ahead, behind, strict=True)]
        k, nv = len(bias), system.nv
        K = mpmath.zeros(nv + k)
        for i in range(nv):
            for j in range(nv):
                K[i, j] = M[i, j]
        for i in range(k):
            for j in range(nv):
                K[nv + i, j], K[j, nv + i] = J[i, j], -J[i, j]
        right = mpmath.matrix([t - x for t, x in zip(tau, b, strict=True)] + [-x for x in bias])
        return np.array(mpmath.lu_solve(K, right)[:nv], dtype=float)


def _jacobian(system: catena.System, q: Sequence[Any]) -> np.ndarray:
    """The rates along unit velocities; joints that no constraint feels together move together."""
    feels = [_felt(system, constraint) for constraint in system.constraints]
    owner = np.repeat(range(len(feels)), [constraint.holds for constraint in system.constraints])
    J = np.full((len(owner), system.nv), mpmath.mpf(0))
    left = list(range(system.nv))
    while left:
        together: list[int] = []
        for j in left:
            if not any(j in felt and set(together) & felt for felt in feels):
                together.append(j)
        left = [j for j in left if j not in together]
        rates = _rates(system, q, [mpmath.mpf(int(i in together)) for i in range(system.nv)])
        for row, rate in enumerate(rates):
            for j in feels[owner[row]] & set(together):
                J[row, j] = rate
    return J


def _felt(system: catena.System, constraint: Any) -> set[int]:
    """The degrees of freedom between a constraint's frames and the world."""
    found: set[int] = set()
    for side in constraint.sides:
        link = system.frame(side.frame).link
        while link >= 0:
            found.update(range(system.tree.v_start[link], system.tree.v_start[link + 1]))
            link = int(system.tree.parent[link])
    return found


def _moved(system: catena.System, q: Sequence[Any], v: Sequence[Any], h: Any) -> list[Any]:
    moved = engine.evaluate(system.tree, INTEGRATE, {"q": q, "dv": [x * h for x in v]}, mpmath.mpf)
    return list(next(iter(moved.values())))


def _rates(system: catena.System, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """How what the constraints hold changes along v."""
    h = mpmath.mpf(10) ** -15
    here, ahead, behind = (_poses(system, _moved(system, q, v, s) if s else q) for s in (0, h, -h))
    found = []
    for constraint, now, after, before in zip(system.constraints, here, ahead, behind, strict=True):
        name = type(constraint).__name__
        rows = HELD[name](*after), HELD[name](*before)
        found += [(x - y) / (2 * h) for x, y in zip(*rows, strict=True)]
        if name == "SoftFinger":
            found.append(_turning(now, after, before, h))
    return found


def _poses(system: catena.System, q: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The frames of each constraint on its two sides, in the world: Ra, pa, Rb, pb."""
    rotation, position = engine.evaluate(system.tree, PLACEMENTS, {"q": q}, mpmath.mpf).values()
    found = []
    for constraint in system.constraints:
        poses: list[Any] = []
        for side in constraint.sides:
            at = system.frame(side.frame)
            R, p = (rotation[at.link], position[at.link]) if at.link >= 0 else (np.eye(3), np.zeros(3))
            p = p + R.dot(at.position + at.rotation @ side.position)
            poses += [R.dot(_sharp(at.rotation @ side.rotation)), p]
        found.append(tuple(poses))
    return found


def _sharp(R: np.ndarray) -> np.ndarray:
    """A rotation matrix as exact numbers; Gram and Schmidt with all digits."""
    x, y, _ = (np.array([mpmath.mpf(float(c)) for c in column]) for column in R.T)
    x = x / mpmath.sqrt(x.dot(x))
    y = y - x * x.dot(y)
    y = y / mpmath.sqrt(y.dot(y))
    return np.array([x, y, [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]]).T


def _turning(now: Any, after: Any, before: Any, h: Any) -> Any:
    """The relative angular velocity along the first frame's z axis."""
    total = 0
    for i, sign in ((0, -1), (2, 1)):
        W = ((after[i] - before[i]) / (2 * h)).dot(now[i].T)
        total += sign * sum(n * w for n, w in zip(now[0][:, 2], (W[2, 1], W[0, 2], W[1, 0]), strict=True))
    return total


def _aligned(Ra: Any, Rb: Any) -> list[Any]:
    return [Ra[:, i].dot(Rb[:, (i + 1) % 3]) for i in range(3)]


HELD: dict[str, Callable[..., list[Any]]] = {
    "Weld": lambda Ra, pa, Rb, pb: [*(pb - pa), *_aligned(Ra, Rb)],
    "Ball": lambda Ra, pa, Rb, pb: [*(pb - pa)],
    "Hinge": lambda Ra, pa, Rb, pb: [*(pb - pa), Ra[:, 0].dot(Rb[:, 2]), Ra[:, 1].dot(Rb[:, 2])],
    "Slider": lambda Ra, pa, Rb, pb: [Ra[:, 0].dot(pb - pa), Ra[:, 1].dot(pb - pa), *_aligned(Ra, Rb)],
    "Universal": lambda Ra, pa, Rb, pb: [*(pb - pa), Ra[:, 2].dot(Rb[:, 0])],
    "Distance": lambda Ra, pa, Rb, pb: [mpmath.sqrt((pb - pa).dot(pb - pa))],
    "PointOnPlane": lambda Ra, pa, Rb, pb: [Ra[:, 2].dot(pb - pa)],
    "FrictionlessPoint": lambda Ra, pa, Rb, pb: [Ra[:, 2].dot(pb - pa)],
    "PointWithFriction": lambda Ra, pa, Rb, pb: [*(pb - pa)],
    "SoftFinger": lambda Ra, pa, Rb, pb: [*(pb - pa)],
    "FixedToWorld": lambda Ra, pa, Rb, pb: [*(pb - pa), *_aligned(Ra, Rb)],
}
"""What is constant on each kind of constraint, in terms of the frames' axes and origins."""
