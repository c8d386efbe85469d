"""Random closed systems, redundant and not, beside dense equations with 50 digits that know no sweep.

    python -m tests.closed_soak --count 500 --seed 1

Ranks, accelerations, constraint forces and operators are compared: right to 1e-6, or refused where constraints are
redundant and an inverse was asked for; systems whose contact systems have a condition above 1e10 are left out. A case
is made up from the seed and its number; `--first` goes on where an earlier run stopped. What is wrong is printed, and
makes the status other than zero. Most of the time goes into compiling: `--loops` asks for machine code with loops over
the links, which many systems share.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from scipy.spatial.transform import Rotation
from tests.closed_systems import DIGITS, HELD, KINDS, _held, _moved, _rates, _solution, _turning
from tests.mechanisms import MOVING

import catena
from catena.functions import store

RIGHT, CONDITION = 1e-6, 1e10
ZERO = 1e-11
"""Configurations have 16 digits: what is redundant where loops close exactly has singular values up to this."""


@dataclass
class Case:
    """A closed system, and a configuration that closes it."""

    system: catena.System
    q: np.ndarray
    what: str


def random_case(seed: int, number: int) -> Case:
    """A random tree with loops. Every other tree is planar, some on a turntable; loops may come twice."""
    rng = np.random.default_rng([seed, number])
    links, planar, turned = int(rng.integers(2, 5)), bool(number % 2), number % 3 == 0
    tree = _planar(rng, links, turned) if planar else _any(rng, links, number)
    q, held, kinds = tree.random_configuration(rng), [], []
    for i in range(int(rng.integers(1, 4))):
        kind = str(rng.choice([name for name in KINDS if not planar or name != "Slider"]))
        kinds.append(kind)
        held.append(_loop(tree, q, kind, rng, planar, f"{kind} {i}"))
        if rng.random() < 0.25:  # the same points again
            again = {"Ball": "Hinge", "Hinge": "Ball"}.get(kind, kind)
            kinds.append(again)
            held.append(
                getattr(catena, again)(*_names(held[-1]), **KINDS[again], **_places(held[-1]), name=f"{i} again")
            )
    held += _coupling(tree, q) if rng.random() < 0.4 else []
    system = catena.System([tree], constraints=held)
    return Case(system, q, f"{'planar ' * planar}{'turned ' * turned}{tree.nv} dof: {', '.join(kinds)}")


def _any(rng: np.random.Generator, links: int, number: int) -> catena.Robot:
    base = "floating" if number % 4 == 0 else "fixed"
    return catena.random_tree(rng, links, MOVING, 0.4, base=base)


def _planar(rng: np.random.Generator, links: int, turned: bool) -> catena.Robot:
    """Bars on parallel hinges, perhaps on a table that turns: loops of theirs are always redundant."""
    builder, below = catena.Builder("bars"), ["base"]
    if turned:
        builder.link("table", mass=5.0, inertia=(0.1, 0.2, 0.3)).revolute("turn", "base", "table", "z")
        below = ["table"]
    for i in range(links):
        mass = float(rng.uniform(0.5, 2))
        builder.link(f"bar{i}", mass=mass, com=(0.2, 0.0, 0.05), inertia=mass * np.array([0.01, 0.02, 0.03]))
        at = (float(rng.uniform(-0.5, 0.5)), 0.0, float(rng.uniform(-0.5, 0.5)))
        builder.revolute(f"hinge{i}", str(rng.choice(below)), f"bar{i}", "y", position=at)
        below.append(f"bar{i}")
    return builder.build()


def _loop(tree: catena.Robot, q: np.ndarray, kind: str, rng: np.random.Generator, planar: bool, name: str) -> Any:
    """A constraint of this kind between two links that q meets."""
    first, second = rng.choice(len(tree.links), 2, replace=False)
    (R, p), (S, r) = (tree.placement(q, tree.links[i].name) for i in (first, second))
    turn = np.eye(3) if planar else Rotation.random(random_state=rng).as_matrix()
    at = rng.uniform(-0.1, 0.1, 3) * ([1, 0, 1] if planar else [1, 1, 1])
    off = 0.25 * S @ turn[:, 0] if kind == "Distance" else np.zeros(3)  # as far apart as the rod is long
    here = {"position": R.T @ (r + S @ at - off - p), "rotation": R.T @ S @ turn}
    names = [f"{tree.name}/{tree.links[i].name}" for i in (first, second)]
    there = {"second_position": at, "second_rotation": turn}
    return getattr(catena, kind)(*names, **KINDS[kind], **here, **there, name=name)


def _names(constraint: Any) -> list[str]:
    return [side.frame for side in constraint.sides]


def _places(constraint: Any) -> dict[str, Any]:
    a, b = constraint.sides
    return {
        "position": a.position,
        "rotation": a.rotation,
        "second_position": b.position,
        "second_rotation": b.rotation,
    }


def _coupling(tree: catena.Robot, q: np.ndarray) -> list[Any]:
    single = [joint for joint in tree.joints if len(range(tree.nv)[joint.v_slice]) == 1]
    if len(single) < 2:
        return []
    at, other = (float(q[joint.q_slice.start]) for joint in single[:2])
    names = [f"{tree.name}/{joint.name}" for joint in single[:2]]
    return [catena.Coupling({names[0]: 1.0, names[1]: (-2.0, 0.3)}, at - 2.0 * other + 0.3 * other**2)]


@dataclass
class Exact:
    """Dense equations with 50 digits: J, M, the condition of Ω with a diagonal of ones, accelerations, Jᵀλ."""

    J: np.ndarray
    rank: int
    doubtful: bool
    condition: float
    M: np.ndarray
    a: np.ndarray
    size: float
    pushed: np.ndarray
    twists: np.ndarray

    @property
    def redundant(self) -> bool:
        return self.rank < len(self.J)


def exact(case: Case, v: np.ndarray, tau: np.ndarray) -> Exact:
    """What is right for a case."""
    system = case.system
    with mpmath.workdps(DIGITS):
        q, speeds = [mpmath.mpf(x) for x in case.q], [mpmath.mpf(x) for x in v]
        M = np.array(catena.evaluate(system.forest, "mass_matrix", q, scalar=mpmath.mpf))
        b = np.array(catena.evaluate(system.forest, "bias", q, v, scalar=mpmath.mpf))
        J, twists = _slopes(system, q)
        h = mpmath.mpf(10) ** -10
        ahead, behind = (_rates(system, _moved(system, q, speeds, s), speeds) for s in (h, -h))
        bias = np.array([(x - y) / (2 * h) for x, y in zip(ahead, behind, strict=True)])
        free = np.array(_solution(M, [mpmath.mpf(t) - x for t, x in zip(tau, b, strict=True)]))
        white = np.array(mpmath.cholesky(mpmath.matrix(M.tolist())).tolist()).reshape(M.shape)
        B = np.array([_solution(white, list(row)) for row in J], dtype=float)
        s = np.linalg.svd(_counted(B), compute_uv=False)
        kept = s > ZERO * 1e2 * s.max(initial=0.0)
        soft = np.diag(np.full(len(bias), mpmath.mpf(10) ** -18))
        right = [*(mpmath.mpf(t) - x for t, x in zip(tau, b, strict=True)), *(-bias)]
        a = np.array(_solution(np.block([[M, -J.T], [J, soft]]), right)[: system.nv])
        pushed = M.dot(a) + b - np.array([mpmath.mpf(t) for t in tau])
    doubtful = bool(((s > ZERO * s.max(initial=0.0)) & (s < 1e-7 * s.max(initial=0.0))).any())
    condition = float((s[kept].max(initial=1.0) / s[kept].min(initial=1e300)) ** 2) if kept.any() else 1.0
    size = max(float(np.abs(x).max(initial=0.0)) for x in (a, free))
    floats = [x.astype(float) for x in (J, M, a, pushed, twists)]
    return Exact(floats[0], int(kept.sum()), doubtful, condition, floats[1], floats[2], size, floats[3], floats[4])


def _counted(B: np.ndarray) -> np.ndarray:
    """Rows of length one, without those that are nothing beside the largest."""
    size = np.linalg.norm(B, axis=1)
    counted = size > ZERO * size.max(initial=0.0)
    return B[counted] / size[counted, None]


def _slopes(system: catena.System, q: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """J, and the motion of each constraint's second frame relative to the first's body, (c, 6, nv)."""
    h, now = mpmath.mpf(10) ** -15, _held(system, q)
    rows, motions = [], []
    for j in range(system.nv):
        unit = [mpmath.mpf(int(i == j)) for i in range(system.nv)]
        after, before = (_held(system, _moved(system, q, unit, s)) for s in (h, -h))
        column, twist = [], []
        for c, here, x, y in zip(system.constraints, now, after, before, strict=True):
            name = type(c).__name__
            column += [(a - b) / (2 * h) for a, b in zip(HELD[name](*x), HELD[name](*y), strict=True)]
            column += [_turning(here, x, y, h)] if name == "SoftFinger" else []
            coupled = [column[-1], *[mpmath.mpf(0)] * 5]
            twist.append(coupled if name == "Coupling" else _twist(c.sides[1], here, x, y, h))
        rows.append(column)
        motions.append(twist)
    return np.array(rows).T, np.moveaxis(np.array(motions), 0, -1)


def _twist(side: Any, now: Any, after: Any, before: Any, h: Any) -> list[Any]:
    spin, move = [], []
    for i in (0, 2):
        W = ((after[i] - before[i]) / (2 * h)).dot(now[i].T)
        spin.append(np.array([W[2, 1], W[0, 2], W[1, 0]]))
        move.append((after[i + 1] - before[i + 1]) / (2 * h))
    carried = move[0] + np.cross(spin[0], now[3] - now[1])  # the body of the first frame, where the second one is
    turn, shift = side.rotation, now[2].dot(side.rotation.T.dot(side.position))  # from the frame that has a name
    spin_of, move_of = spin[1] - spin[0], move[1] - carried
    axes = now[2].dot(turn.T)
    return [*axes.T.dot(spin_of), *axes.T.dot(move_of - np.cross(spin_of, shift))]


def faults(case: Case, rng: np.random.Generator) -> list[str]:
    """What is wrong with a case's answers."""
    system, q = case.system, case.q
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    right, found = exact(case, v, tau), system.forward_dynamics(q, v, tau)
    if right.doubtful or right.condition > CONDITION:
        return []
    wrong = []

    def compare(what: str, x: np.ndarray, y: np.ndarray, size: float) -> None:
        off = float(np.abs(x - y).max(initial=0.0)) / max(size, 1e-300)
        if not off < RIGHT:
            wrong.append(f"{what} off by {off:.1e}")

    rank = system.redundancy(q).rank
    if rank != right.rank:
        wrong.append(f"rank {rank}, right is {right.rank}")
    compare("a", found.a, right.a, right.size)
    torques = np.einsum("cij,ci->j", right.twists, found.forces)
    compare("forces", torques, right.pushed, max(np.abs(right.pushed).max(initial=0.0), 1.0))
    o, J = system.operators(q, v=v), np.asarray(system.constraint_jacobian(q))
    span = np.linalg.svd(right.J, full_matrices=False)[2][: right.rank]  # rows may be other combinations
    compare("J", J, J @ span.T @ span, np.abs(J).max(initial=0.0))
    compare("o.J", o.J.dense(), J, np.abs(J).max(initial=0.0))
    omega = J @ np.linalg.solve(right.M, J.T)
    compare("Omega", o.Omega.dense(), omega, np.abs(omega).max(initial=0.0))
    try:
        contact = o.contact(tau)
    except catena.SingularError:
        if not right.redundant:
            wrong.append(f"contact refused at condition {right.condition:.0e}")
    else:
        if right.redundant:
            wrong.append("contact: no error")
        compare("contact", contact.acceleration, right.a, right.size)
    return [f"{text} (condition {right.condition:.0e}, rank {right.rank} of {len(right.J)})" for text in wrong]


def run(seed: int, numbers: range) -> list[str]:
    """The faults of some cases, with what a case was."""
    found = []
    for number in numbers:
        case = random_case(seed, number)
        found += [f"case {number}, {case.what}: {text}" for text in faults(case, np.random.default_rng(number))]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Random closed systems beside dense equations with 50 digits.")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loops", action="store_true")
    given = parser.parse_args()
    if given.loops:
        store.UNROLLED = 0
    wrong = 0
    for number in range(given.first, given.first + given.count):
        for text in run(given.seed, range(number, number + 1)):
            wrong += 1
            print(text, flush=True)
    print(f"{given.count} systems, {wrong} faults")
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
