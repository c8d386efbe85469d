"""Closed systems that tests share, and a dense solution of their equations with 50 digits that knows no Q and no sweep.

What a constraint holds is written down here once more, as functions of where its two frames are; their derivatives are
differences with 50 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import mpmath
import numpy as np
from scipy.spatial.transform import Rotation
from tests.mechanisms import MOVING

import catena
from catena.algorithms.configurations import INTEGRATE
from catena.algorithms.kinematics import PLACEMENTS
from catena.functions import engine

DIGITS = 50
SOFT = 1e-18
"""Redundant rows of the dense equations may give by so much: far more than rounding, far less than what is compared."""

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


def around(arms: int, kinds: Sequence[str]) -> catena.System:
    """Arms in a circle around one box that they hold in one way after the other; made, and compiled, once."""
    return _around(arms, tuple(kinds))


@cache
def _around(arms: int, kinds: tuple[str, ...]) -> catena.System:
    robot, names = arm(), [f"arm{i}" for i in range(arms)]
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


CLOSED_MODELS: dict[str, Callable[[catena.System], np.ndarray]] = {
    "four_bar": lambda system: np.array([-1.0, 0.3, -1.2]),
    "stewart_platform": lambda system: _raised(system),
    "delta_robot": lambda system: _hanging(system),
}
"""Closed mechanisms among the models, with a configuration near which they close."""


def _raised(system: catena.System) -> np.ndarray:
    """A Stewart platform where the file has it."""
    q = system.neutral()
    q[system.joint("platform_motion").q_slice.start + 2] = 0.8
    return q


def _hanging(system: catena.System) -> np.ndarray:
    """A delta robot with its arms and rods bent down."""
    q = system.neutral()
    for joint in system.joints:
        if "bend" in joint.name:
            q[joint.q_slice] = -1.0
    q[system.joint("platform_motion").q_slice.start + 2] = -0.5
    return q


def closed_model(name: str) -> catena.System:
    return _closed_model(name)


@cache
def _closed_model(name: str) -> catena.System:
    return catena.System.load(catena.robots.path(name))


def looped(seed: int, links: int, kinds: Sequence[str]) -> tuple[catena.System, np.ndarray]:
    """A random tree with loops of these kinds and a coupling, and a configuration that closes them; often redundant."""
    rng = np.random.default_rng(seed)
    tree = catena.random_tree(rng, links, MOVING, 0.4, base="floating" if seed % 2 else "fixed")
    q, held = tree.random_configuration(rng), []
    for number, kind in enumerate(kinds):
        first, second = rng.choice(links, 2, replace=False)
        (R, p), (S, r) = (tree.placement(q, tree.links[i].name) for i in (first, second))
        place, at = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-0.1, 0.1, 3)
        off = 0.25 * S @ place[:, 0] if kind == "Distance" else np.zeros(3)  # as far apart as the rod is long
        here = {"position": R.T @ (r + S @ at - off - p), "rotation": R.T @ S @ place}
        names = [f"{tree.name}/{tree.links[i].name}" for i in (first, second)]
        there = {"second_position": at, "second_rotation": place, "name": f"{kind} {number}"}
        held.append(getattr(catena, kind)(*names, **KINDS[kind], **here, **there))
    single = [f"{tree.name}/{joint.name}" for joint in tree.joints if len(range(tree.nv)[joint.v_slice]) == 1]
    if len(single) > 1:
        at, other = (float(q[tree.joint(name.partition("/")[2]).q_slice.start]) for name in single[:2])
        total = at - 2.0 * other + 0.3 * other**2
        held.append(catena.Coupling({single[0]: 1.0, single[1]: (-2.0, 0.3)}, total))
    return catena.System([tree], constraints=held), q


def ladder(cells: int) -> tuple[catena.System, np.ndarray]:
    """A planar ladder of rails and rungs, all hinged, a loop in each cell; and a configuration that closes it."""
    builder, held = catena.Builder("ladder"), []
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 0.09, 0.09)}
    upright = (0.0, -np.pi / 2, 0.0)
    builder.link("rung0", **bar).revolute("turn0", "base", "rung0", "y", rotation=upright)
    for i in range(1, cells + 1):
        below = f"rail{i - 1}" if i > 1 else "base"
        builder.link(f"rail{i}", **bar).link(f"rung{i}", **bar).link(f"top{i}", **bar)
        builder.revolute(f"bend{i}", below, f"rail{i}", "y", position=(float(i > 1), 0.0, 0.0))
        builder.revolute(f"turn{i}", f"rail{i}", f"rung{i}", "y", position=(1.0, 0.0, 0.0), rotation=upright)
        builder.revolute(f"lid{i}", f"rung{i}", f"top{i}", "y", position=(1.0, 0.0, 0.0), rotation=upright)
        places = {"position": (1.0, 0.0, 0.0), "second_position": (1.0, 0.0, 0.0)}
        held.append(catena.Ball(f"ladder/rung{i - 1}", f"ladder/top{i}", **places, name=f"pin{i}"))
    return catena.System([builder.build()], constraints=held), np.zeros(3 * cells + 1)


def exact(system: catena.System, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations by the dense equations [M −Jᵀ; J 0], solved with 50 digits; rows may be redundant."""
    with mpmath.workdps(DIGITS):
        coordinates = [mpmath.mpf(x) for x in q]
        M = catena.evaluate(system.forest, "mass_matrix", coordinates, scalar=mpmath.mpf)
        b = catena.evaluate(system.forest, "bias", coordinates, v, scalar=mpmath.mpf)
        J = _jacobian(system, coordinates)
        speeds = [mpmath.mpf(x) for x in v]
        h = mpmath.mpf(10) ** -10
        ahead, behind = (_rates(system, _moved(system, coordinates, speeds, s), speeds) for s in (h, -h))
        bias = [(x - y) / (2 * h) for x, y in zip(ahead, behind, strict=True)]
        soft = np.diag(np.full(len(bias), mpmath.mpf(SOFT)))
        right = [*(t - x for t, x in zip(tau, b, strict=True)), *(-x for x in bias)]
        return np.array(_solution(np.block([[M, -J.T], [J, soft]]), right)[: system.nv], dtype=float)


def _solution(A: np.ndarray, b: list[Any]) -> list[Any]:
    """x of A x = b by Gauss's elimination with pivots, on what is not zero: most of it is, as arms touch in one box."""
    rows = [{j: x for j, x in enumerate(row) if x} | {-1: y} for row, y in zip(A.tolist(), b, strict=True)]
    done = []
    for j in range(len(rows)):
        at = max(range(len(rows)), key=lambda i: abs(rows[i].get(j, 0)))
        pivot = rows.pop(at)
        done.append(pivot)
        for row in rows:
            if (x := row.pop(j, 0)) != 0:
                factor = x / pivot[j]
                for column, y in pivot.items():
                    if column != j:
                        row[column] = row.get(column, 0) - factor * y
    found: list[Any] = [0] * len(done)
    for j, row in reversed(list(enumerate(done))):
        rest = sum(x * found[column] for column, x in row.items() if column > j)
        found[j] = (row[-1] - rest) / row[j]
    return found


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
    """The degrees of freedom between a constraint's frames and the world, or those that a coupling couples."""
    found: set[int] = set()
    if isinstance(constraint, catena.Coupling):
        return {system.joint(name).v_slice.start for name in constraint.terms}
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
    ahead, behind = (_held(system, _moved(system, q, v, s)) for s in (h, -h))
    turning = any(isinstance(constraint, catena.SoftFinger) for constraint in system.constraints)
    here = _held(system, q) if turning else ahead
    found = []
    for constraint, now, after, before in zip(system.constraints, here, ahead, behind, strict=True):
        name = type(constraint).__name__
        rows = HELD[name](*after), HELD[name](*before)
        found += [(x - y) / (2 * h) for x, y in zip(*rows, strict=True)]
        if name == "SoftFinger":
            found.append(_turning(now, after, before, h))
    return found


def _held(system: catena.System, q: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The frames of each constraint on its two sides, in the world: Ra, pa, Rb, pb; of a coupling what it adds up."""
    rotation, position = engine.evaluate(system.tree, PLACEMENTS, {"q": q}, mpmath.mpf).values()
    found: list[tuple[Any, ...]] = []
    for constraint in system.constraints:
        if isinstance(constraint, catena.Coupling):
            at = {name: q[system.joint(name).q_slice.start] for name in constraint.terms}
            found.append(tuple(c * at[n] ** (i + 1) for n, cs in constraint.terms.items() for i, c in enumerate(cs)))
            continue
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
    "Coupling": lambda *terms: [sum(terms)],
}
"""What is constant on each kind of constraint, in terms of the frames' axes and origins."""
