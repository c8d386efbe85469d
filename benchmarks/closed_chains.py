"""Closed chains on one core: two xArm7 on one box beside Pinocchio; many arms, arms of many links, many small loops.

python benchmarks/closed_chains.py [--arms 1000] [--links 100000] [--loops 1000]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pinocchio as pin
from timing import best, table

import catena
from peers import urdf

XARM = urdf("xArm7")
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


def held(system: catena.System, batch: int) -> list[np.ndarray]:
    """States that meet the constraints, near a few different ones; most guesses at random lead nowhere."""
    rng = np.random.default_rng(0)
    try:
        q = system.close(system.random_configuration(rng, 64))
    except catena.errors.ClosureError as failed:
        q = failed.q[~failed.failed]
    q = system.close(system.integrate(np.resize(q, (batch, system.nq)), 0.01 * rng.standard_normal((batch, system.nv))))
    v, tau = rng.standard_normal((2, batch, system.nv))
    return [q, system.project_velocity(q, v), tau]


class TwoArms:
    """Two xArm7 on one box, at states that the grasps allow: here, and some of them in Pinocchio, one by one."""

    def __init__(self, batch: int) -> None:
        self.system = grasped(catena.load(XARM), "link7", 2)
        self.given = held(self.system, batch)
        self.out = self.system.forward_dynamics(*self.given)
        self.model, self.data, self.welds, self.kept = pinocchio_model()
        self.settings = pin.ProximalSettings(1e-12, 1e-12, 1)
        self.rows = [[np.zeros(self.model.nq if kind == "q" else self.model.nv) for kind in "qvt"] for _ in range(LOOP)]
        self.order = self._order()
        for row, ours in zip(self.rows, zip(*self.given, strict=True), strict=False):
            self._convert(row, ours)

    def ours(self) -> None:
        """All states in one call."""
        self.system.forward_dynamics(*self.given, out=self.out)

    def our_answer(self) -> np.ndarray:
        """Accelerations of the first few."""
        return self.out[0][:8]

    def theirs(self) -> None:
        """A loop over Pinocchio's calls."""
        for row in self.rows:
            pin.constraintDynamics(self.model, self.data, *row, self.welds, self.kept, self.settings)

    def their_answer(self) -> np.ndarray:
        """Accelerations of the first few, in our order."""
        call = pin.constraintDynamics
        found = [
            call(self.model, self.data, *row, self.welds, self.kept, self.settings).copy() for row in self.rows[:8]
        ]
        return np.array(found)[:, self.order]

    def _order(self) -> np.ndarray:
        order = np.zeros(self.system.nv, int)
        for joint in self.system.joints:
            theirs, at = self.model.joints[self.model.getJointId(_name(joint.name))], joint.v_slice
            order[at] = theirs.idx_v + (np.r_[3:6, 0:3] if theirs.nv == 6 else 0)
        return order

    def _convert(self, row: list[np.ndarray], ours: tuple[np.ndarray, ...]) -> None:
        q, v, tau = ours
        row[1][self.order], row[2][self.order] = v, tau
        for joint in self.system.joints:
            theirs = self.model.joints[self.model.getJointId(_name(joint.name))]
            row[0][theirs.idx_q : theirs.idx_q + theirs.nq] = q[joint.q_slice]


def _name(joint: str) -> str:
    return "box" if joint.startswith("box") else joint


def pinocchio_model() -> tuple[Any, Any, Any, Any]:
    """The same two arms and box in Pinocchio."""
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
    welds, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for i, grip in enumerate(GRIPS):
        ends = model.getJointId(f"arm{i}/joint7"), pin.SE3.Identity(), free, pin.SE3(np.eye(3), np.array(grip))
        weld = pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *ends, pin.ReferenceFrame.LOCAL)
        welds.append(weld)
        kept.append(weld.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, welds, kept)
    return model, data, welds, kept


def two_arms() -> list[list[object]]:
    two = TwoArms(BATCH)
    times = best({"ours": two.ours, "theirs": two.theirs}, 2.0)
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
