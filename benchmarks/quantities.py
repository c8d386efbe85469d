"""Jacobians, M⁻¹, log det M and operational inertia against Pinocchio's Python calls: one core, as ratios.

    python benchmarks/quantities.py [--batch 8192] [--repeat 5]

Pinocchio has no batched form of these, so it is called in a loop; what it has no single call for is put together from
its calls and NumPy as a user would. Times are processor time, the best of several turns, so that both feel the same
noise; batched results go to arrays that are there already (`out=`), as results that large would otherwise be paid for
in page faults.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

import catena
from catena.kernels.call.threads import set_threads

DATA = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
ROBOTS = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", "wrist_3_link"),
    "xArm7": ("xarm_description/urdf/xarm7.urdf", "link7"),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "right_wrist_yaw_link"),
}
LOOP = 1000


def questions(robot: Any, model: Any, link: str) -> dict[str, tuple[Ours, Callable[[Any], Any]]]:
    """For each quantity our call, with and without an array for the result, and Pinocchio's."""
    data, frame, local = model.createData(), model.getFrameId(link), pin.LOCAL

    def logdet(q: Any) -> Any:
        pin.crba(model, data, q)
        pin.cholesky.decompose(model, data)
        return np.log(data.D).sum()

    def operational(q: Any) -> Any:
        J = pin.computeFrameJacobian(model, data, q, frame, local)
        return np.linalg.inv(J @ pin.computeMinverse(model, data, q) @ J.T)

    return {
        "Jacobian": (
            Ours(lambda q: robot.jacobian(q, link), lambda q, out: robot.jacobian(q, link, out=out)),
            lambda q: pin.computeFrameJacobian(model, data, q, frame, local),
        ),
        "inverse of M": (
            Ours(lambda q: robot.inverse_mass_matrix(q), lambda q, out: robot.inverse_mass_matrix(q, out=out)),
            lambda q: pin.computeMinverse(model, data, q),
        ),
        "log det M": (
            Ours(lambda q: robot.mass_matrix(q).logdet(), lambda q, out: robot.mass_matrix(q).logdet(out=out)),
            logdet,
        ),
        "operational inertia": (
            Ours(
                lambda q: robot.operational_inertia(q, link),
                lambda q, out: robot.operational_inertia(q, link, out=tuple(out)),
            ),
            operational,
        ),
    }


class Ours(NamedTuple):
    """A call for one configuration, and one for many with an array for the results."""

    one: Callable[[Any], Any]
    many: Callable[[Any, Any], Any]


def elapsed(run: Callable[[], Any]) -> float:
    """Processor time in seconds."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def compare(ours: Ours, theirs: Callable[[Any], Any], q: Any, repeat: int) -> list[float]:
    """Seconds per sample: our batch, our single call, Pinocchio's call."""
    rows, out = list(q[:LOOP]), ours.one(q)
    ours.one(rows[0]), theirs(rows[0])
    best = [np.inf] * 3
    for _ in range(repeat):
        times = (
            elapsed(lambda: ours.many(q, out)) / len(q),
            elapsed(lambda: [ours.one(row) for row in rows]) / len(rows),
            elapsed(lambda: [theirs(row) for row in rows]) / len(rows),
        )
        best = [min(a, b) for a, b in zip(best, times, strict=True)]
    return best


def chain(repeat: int) -> None:
    """`M.solve` with 100 right-hand sides on a chain of 10,000 links, against one, with the factors known."""
    robot, rng = catena.rod_chain(10_000), np.random.default_rng(0)
    M, b = robot.mass_matrix(rng.uniform(-1, 1, robot.nq)), rng.standard_normal((100, robot.nv))
    M.solve(b[0]), M.solve(b)
    one = min(elapsed(lambda: M.solve(b[0])) for _ in range(4 * repeat))
    many = min(elapsed(lambda: M.solve(b)) for _ in range(repeat))
    print(f"\n10,000 links: one right-hand side {1e3 * one:.2f} ms, 100 take {many / one:.1f} times as long")


def main() -> None:
    """Print a line for each robot and quantity."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    set_threads(1)
    print(f"{'':28}{'batched':>12}{'one call':>12}{'Pinocchio':>12}{'batched':>10}{'one call':>10}")
    for name, (file, link) in ROBOTS.items():
        robot, model = catena.load(DATA / file, mimic="independent"), pin.buildModelFromUrdf(str(DATA / file))
        q = robot.random_configuration(0, options.batch)
        for quantity, (ours, theirs) in questions(robot, model, link).items():
            batched, single, peer = compare(ours, theirs, q, options.repeat)
            numbers = "".join(f"{1e9 * t:9.0f} ns" for t in (batched, single, peer))
            print(f"{name:7}{quantity:21}{numbers}{peer / batched:9.1f}x{peer / single:9.1f}x")
    chain(options.repeat)


if __name__ == "__main__":
    main()
