"""Closed chains on one core: two xArm7 on one box beside Pinocchio; many arms, arms of many links, many small loops.

python benchmarks/closed_chains.py [--arms 1000] [--links 100000] [--loops 1000]
"""

from __future__ import annotations

import argparse
import sysconfig
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
from timing import best, table

import catena

XARM = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
XARM = XARM / "xarm_description" / "urdf" / "xarm7.urdf"
BATCH, LOOP = 8192, 256
GRIPS = ((-0.2, 0.0, 0.0), (0.2, 0.0, 0.0))


def grasped(arm: catena.Robot, tip: str, count: int) -> catena.System:
    """Arms that hold one box with rigid grasps."""
    box = catena.Builder("box").link("body", mass=2.0, inertia=(0.02, 0.03, 0.04)).build(base="floating")
    names = [f"arm{i}" for i in range(count)]
    held = [catena.Weld(f"{name}/{tip}", "box", second_position=GRIPS[i % 2]) for i, name in enumerate(names)]
    return catena.System(dict.fromkeys(names, arm), [box], held)


def ladder(cells: int) -> catena.System:
    """A planar ladder of rails and rungs, all hinged: a loop in each cell."""
    builder, held = catena.Builder("ladder"), []
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.001, 0.09, 0.09)}
    end, upright = (1.0, 0.0, 0.0), (0.0, -np.pi / 2, 0.0)
    builder.link("rung0", **bar).revolute("turn0", "base", "rung0", "y", rotation=upright)
    for i in range(1, cells + 1):
        below = (f"rail{i - 1}", end) if i > 1 else ("base", (0.0, 0.0, 0.0))
        builder.link(f"rail{i}", **bar).link(f"rung{i}", **bar).link(f"top{i}", **bar)
        builder.revolute(f"bend{i}", below[0], f"rail{i}", "y", position=below[1])
        builder.revolute(f"turn{i}", f"rail{i}", f"rung{i}", "y", position=end, rotation=upright)
        builder.revolute(f"lid{i}", f"rung{i}", f"top{i}", "y", position=end, rotation=upright)
        held.append(catena.Ball(f"ladder/rung{i - 1}", f"ladder/top{i}", end, second_position=end))
    return catena.System([builder.build()], constraints=held)


def states(system: catena.System, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [system.random_configuration(rng, batch), *rng.standard_normal((2, *batch, system.nv))]


def pinocchio_loop() -> Callable[[], None]:
    """The same two arms and box in Pinocchio: some states, one after the other."""
    model = pin.Model()
    for i in range(2):
        arm = pin.buildModelFromUrdf(str(XARM))
        for j in range(1, arm.njoints):
            arm.names[j] = f"arm{i}/{arm.names[j]}"
        for frame in arm.frames:
            frame.name = f"arm{i}/{frame.name}"
        model = pin.appendModel(model, arm, 0, pin.SE3.Identity())
    free = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "box")
    model.appendBodyToJoint(free, pin.Inertia(2.0, np.zeros(3), np.diag([0.02, 0.03, 0.04])), pin.SE3.Identity())
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for i, grip in enumerate(GRIPS):
        ends = model.getJointId(f"arm{i}/joint7"), pin.SE3.Identity(), free, pin.SE3(np.eye(3), np.array(grip))
        weld = pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *ends, pin.ReferenceFrame.LOCAL)
        models.append(weld)
        datas.append(weld.createData())
    data, settings = model.createData(), pin.ProximalSettings(1e-12, 1e-12, 1)
    pin.initConstraintDynamics(model, data, models, datas)
    rng = np.random.default_rng(0)
    q = [pin.integrate(model, pin.neutral(model), rng.standard_normal(model.nv)) for _ in range(LOOP)]
    v, tau = rng.standard_normal((2, LOOP, model.nv))

    def run() -> None:
        for i in range(LOOP):
            pin.constraintDynamics(model, data, q[i], v[i], tau[i], models, datas, settings)

    return run


def two_arms() -> list[list[object]]:
    system = grasped(catena.load(XARM), "link7", 2)
    given = states(system, (BATCH,))
    times = best({"ours": lambda: system.forward_dynamics(*given), "theirs": pinocchio_loop()}, 2.0)
    ours, theirs = times["ours"] / BATCH, times["theirs"] / LOOP
    return [[f"{BATCH:,} states", ours * 1e9, theirs * 1e9, theirs / ours]]


def one_state(system: catena.System) -> float:
    given = states(system)
    return best({"all": lambda: system.forward_dynamics(*given)}, 0.5)["all"]


def sizes(largest: int) -> list[int]:
    return [n for n in (10, 100, 1000, 10_000, 100_000) if n <= largest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--loops", type=int, default=1000)
    arguments = parser.parse_args()
    catena.set_threads(1)
    head = ["", "ns for a state", "Pinocchio's constraintDynamics in a loop, ns", "ratio"]
    table("Two xArm7 on one box", head, two_arms())
    arm = catena.load(XARM)
    rows = [[f"{n:,}", one_state(grasped(arm, "link7", n)) / n * 1e6] for n in sizes(arguments.arms)]
    table("xArm7 on one box, one state", ["arms", "µs for an arm"], rows)
    rows = []
    for n in sizes(arguments.links):
        chain = catena.rod_chain(n, 1.0 / n, 1.0 / n, radius=0.1 / n)
        time = one_state(grasped(chain, chain.links[-1].name, 3))
        rows.append([f"{n:,}", time / (3 * n) * 1e9])
    table("Three chains on one box, one state", ["links of each", "ns for a link"], rows)
    rows = []
    for n in sizes(arguments.loops)[1:]:
        system = ladder(n)
        given = system.neutral(), np.zeros(system.nv), np.ones(system.nv)
        time = best({"all": lambda system=system, given=given: system.forward_dynamics(*given)}, 0.5)["all"]
        rows.append([f"{n:,}", time / n * 1e6])
    table("Ladders of small loops, one state", ["loops", "µs for a loop"], rows)


if __name__ == "__main__":
    main()
