"""Rollouts beside the forward dynamics they are made of and `mujoco.rollout`: one thread, in turn, least CPU time.

python benchmarks/rollouts.py --samples 1024 --rounds 5 xArm7 Go2:floating
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import catena
from peers import ROBOTS, MuJoCo, urdf

STEPS, DT = 250, 2e-3


def theirs(name: str, base: str, samples: int, rng: np.random.Generator) -> Callable[[], Any]:
    """`mujoco.rollout` of the same robot, its states preallocated."""
    twin = MuJoCo(name, base, DT)
    states, joints = twin.states(samples), slice(8 if base == "floating" else 1, 1 + twin.model.nq)
    states[:, joints] = rng.uniform(-0.5, 0.5, states[:, joints].shape)
    return twin.rollout(states, 0.1 * rng.standard_normal((samples, STEPS, twin.model.nv)))[0]


def ours(robot: catena.Robot, samples: int, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Rollouts of several kinds, and as many forward dynamics."""
    q, v = robot.random_configuration(rng, samples), 0.1 * rng.standard_normal((samples, robot.nv))
    tau = 0.1 * rng.standard_normal((samples, STEPS, robot.nv))
    out = np.empty((samples, STEPS + 1, robot.nq)), np.empty((samples, STEPS + 1, robot.nv))
    ends = np.empty((samples, 2, robot.nq)), np.empty((samples, 2, robot.nv))
    rows, a = np.ascontiguousarray(np.moveaxis(tau, 1, 0)), np.empty_like(v)
    driven = np.ones(robot.nv)
    driven[: 6 if robot.joints[0].type == "free" else 0] = 0.0
    pd = catena.controllers.pd(robot.neutral(), driven, 0.1 * driven)

    def cost(t: Any, q: Any, v: Any) -> Any:
        return (v * v).sum(axis=-1)

    def dynamics() -> None:
        for row in rows:
            robot.forward_dynamics(q, v, row, out=a)

    return {
        "forward dynamics": dynamics,
        "stored": lambda: robot.rollout(q, v, tau, DT, out=out),
        "not stored": lambda: robot.rollout(q, v, tau, DT, every=STEPS, out=ends),
        "cost only": lambda: robot.rollout(q, v, tau, DT, every=STEPS, out=ends, cost=cost),
        "no torques": lambda: robot.rollout(q, v, None, DT, steps=STEPS, every=STEPS, out=ends),
        "PD": lambda: robot.rollout(q, v, None, DT, steps=STEPS, every=STEPS, out=ends, control=pd),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=["xArm7", "Go2:floating"], help=f"of {', '.join(ROBOTS)}")
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    catena.set_threads(1)
    for name, _, base in (robot.partition(":") for robot in asked.robots):
        compare(name, base or "fixed", asked.samples, asked.rounds)


def compare(name: str, base: str, samples: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    sides = ours(catena.load(urdf(name), base=base), samples, rng)
    sides["mujoco.rollout"] = theirs(name, base, samples, rng)
    best = dict.fromkeys(sides, np.inf)
    for i in range(rounds + 1):
        for side, call in sides.items():
            began = time.process_time()
            call()
            if i:
                best[side] = min(best[side], time.process_time() - began)
    print(f"{name}, {samples} samples, {STEPS} steps")
    for side, seconds in best.items():
        beside = seconds / best["forward dynamics"], best["mujoco.rollout"] / seconds
        each = seconds / samples / STEPS * 1e9
        print(f"  {side:17s} {each:8.1f} ns a step  {beside[0]:6.2f} of forward dynamics  {beside[1]:6.1f}x MuJoCo")
    print(f"  PD beside no torques: {best['PD'] / best['no torques']:.2f}", flush=True)


if __name__ == "__main__":
    main()
