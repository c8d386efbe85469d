"""Random closed systems, redundant and not, beside dense equations with 50 digits that know no sweep.

    python -m tests.closed_soak --count 500 --seed 1

Ranks, accelerations, constraint forces (also that they have the least norm), by machine code of both shapes, and the
operators J, Ω, its inverse and the contact system are compared: right to 1e-6, or refused where constraints are
redundant and an inverse was asked for, and only there. Systems whose contact systems have a condition above 1e10 are
counted and left out. A case is made up from the seed and its number; `--first` goes on where an earlier run stopped.
What is wrong is printed, and makes the status other than zero. Most of the time goes into compiling: `--loops` asks for
machine code with loops over the links only, which many systems share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
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
SHAPES = ("unrolled", "rolled")
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


@dataclass
class Findings:
    """What is wrong, and how many cases were compared, refused (an inverse of Ω), or too badly conditioned for both."""

    wrong: list[str]
    compared: int = 0
    refused: int = 0
    left_out: int = 0

    def compare(self, what: str, x: np.ndarray, y: np.ndarray, size: float) -> None:
        """Note what differs by more than RIGHT, relative to a size."""
        off = float(np.abs(x - y).max(initial=0.0)) / max(size, 1e-300)
        if not off < RIGHT:
            self.wrong.append(f"{what} off by {off:.1e}")


def faults(case: Case, rng: np.random.Generator, shapes: Sequence[str] = SHAPES) -> Findings:
    """What is wrong with a case's answers, by machine code of these shapes."""
    system, q = case.system, case.q
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    right, found = exact(case, v, tau), Findings([])
    if right.doubtful or right.condition > CONDITION:
        return Findings([], left_out=1)
    redundancy = system.redundancy(q)
    if (redundancy.rank, redundancy.freedom) != (right.rank, system.nv - right.rank):
        found.wrong.append(f"rank {redundancy.rank}, right is {right.rank}")
    o, J = system.operators(q, v=v), np.asarray(system.constraint_jacobian(q))
    span = np.linalg.svd(right.J, full_matrices=False)[2][: right.rank]  # rows may be other combinations
    found.compare("J", J, J @ span.T @ span, np.abs(J).max(initial=0.0))
    wrenches = o.Q.dense()
    for shape in shapes:
        answer = system.forward_dynamics(q, v, tau, kernel=shape)
        found.compare(f"a, {shape}", answer.a, right.a, right.size)
        _compare_forces(found, shape, case, right, answer.forces, J, wrenches)
    _compare_operators(found, right, o, J, tau)
    text = f"(condition {right.condition:.0e}, rank {right.rank} of {len(right.J)})"
    found.wrong, found.compared = [f"{each} {text}" for each in found.wrong], 1
    return found


def _compare_forces(
    found: Findings, shape: str, case: Case, right: Exact, forces: np.ndarray, J: np.ndarray, wrenches: np.ndarray
) -> None:
    """What forces do to the joints; and that no others of smaller norm, in J's own rows, do the same."""
    size = max(float(np.abs(right.pushed).max(initial=0.0)), 1.0)
    found.compare(f"forces, {shape}", np.einsum("cij,ci->j", right.twists, forces), right.pushed, size)
    lam, row, pair = np.zeros(len(J)), 0, 0
    for constraint, force in zip(case.system.constraints, forces, strict=True):
        rows = slice(row, row + constraint.holds)
        if isinstance(constraint, catena.Coupling):
            lam[rows] = force[0]
        else:
            held = _carried(constraint.sides[1], wrenches[12 * pair + 6 : 12 * pair + 12, rows])
            lam[rows], pair = np.linalg.lstsq(held, force, rcond=None)[0], pair + 1
            found.compare(f"direction of forces, {shape}", held @ lam[rows], force, max(np.abs(force).max(), 1.0))
        row = rows.stop
    U = np.linalg.svd(J)[0][:, : right.rank] if right.redundant else np.eye(len(J))
    found.compare(f"least norm of forces, {shape}", lam, U @ (U.T @ lam), max(float(np.abs(lam).max(initial=0.0)), 1.0))


def _carried(side: Any, wrenches: np.ndarray) -> np.ndarray:
    """Wrenches (6, k) at the place of a constraint, seen from the frame that has a name."""
    moment, force = side.rotation @ wrenches[:3], side.rotation @ wrenches[3:]
    return np.concatenate([moment + np.cross(side.position, force, axisb=0, axisc=0), force])


def _compare_operators(found: Findings, right: Exact, o: Any, J: np.ndarray, tau: np.ndarray) -> None:
    """J, Ω, its inverse and the contact system; the last two are refused where Ω is singular, and only there."""
    found.compare("o.J", o.J.dense(), J, np.abs(J).max(initial=0.0))
    with mpmath.workdps(DIGITS):
        exactly = [np.array([[mpmath.mpf(x) for x in row] for row in A]).reshape(A.shape) for A in (right.M, J)]
        Y = np.array([_solution(exactly[0], list(row)) for row in exactly[1]])
        omega = exactly[1].dot(Y.T)
        given = np.array([mpmath.mpf(x) for x in (-1.0) ** np.arange(len(J))])
        solved = None if right.redundant else np.array(_solution(omega, list(given)), dtype=float)
    found.compare("Omega", o.Omega.dense(), omega.astype(float), float(np.abs(omega).max(initial=0.0)))
    try:
        found_inverse, contact = o.Omega.inv @ given.astype(float), o.contact(tau)
    except catena.SingularError:
        found.refused += 1
        if not right.redundant:
            found.wrong.append("contact refused")
        return
    if right.redundant:
        found.wrong.append("contact: no error")
        return
    found.compare("Omega.inv", found_inverse, np.asarray(solved), float(np.abs(solved).max()))
    found.compare("contact", contact.acceleration, right.a, right.size)
    found.compare("multipliers", J.T @ contact.lam, right.pushed, max(float(np.abs(right.pushed).max()), 1.0))


def run(seed: int, numbers: Iterable[int], shapes: Sequence[str] = SHAPES) -> Findings:
    """The findings of some cases, with what a case was."""
    found = Findings([])
    for number in numbers:
        case = random_case(seed, number)
        each = faults(case, np.random.default_rng(number), shapes)
        found.wrong += [f"case {number}, {case.what}: {text}" for text in each.wrong]
        found.compared, found.refused = found.compared + each.compared, found.refused + each.refused
        found.left_out += each.left_out
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Random closed systems beside dense equations with 50 digits.")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loops", action="store_true")
    given = parser.parse_args()
    shapes = SHAPES
    if given.loops:
        store.UNROLLED, shapes = 0, ("rolled",)
    total = Findings([])
    for number in range(given.first, given.first + given.count):
        each = run(given.seed, [number], shapes)
        for text in each.wrong:
            print(text, flush=True)
        total.wrong += each.wrong
        total.compared, total.refused = total.compared + each.compared, total.refused + each.refused
        total.left_out += each.left_out
    counts = f"{total.compared} compared, {total.refused} inverses refused, all of redundant constraints"
    print(f"{given.count} systems: {counts}; {total.left_out} beyond a condition of 1e10; {len(total.wrong)} faults")
    sys.exit(int(bool(total.wrong)))


if __name__ == "__main__":
    main()
