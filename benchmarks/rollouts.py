"""Rollouts beside the forward dynamics they are made of and `mujoco.rollout`: one thread, in turn, least CPU time.

python benchmarks/rollouts.py [samples] [rounds]
"""

from __future__ import annotations

import sys
import sysconfig
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import catena

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
MODELS = {
    "xArm7": (ROBOTS / "xarm_description/urdf/xarm7.urdf", "fixed"),
    "Go2": (ROBOTS / "go2_description/urdf/go2.urdf", "floating"),
}
STEPS, DT = 250, 2e-3


def mujoco_rollout(path: Path, floating: bool, samples: int, rng: np.random.Generator) -> Callable[[], Any]:
    """`mujoco.rollout` of the same robot, without contacts, limits and losses, its states preallocated."""
    import mujoco
    import mujoco.rollout

    root = ET.parse(path).getroot()
    for link in root.iter("link"):
        for element in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(element)
    for element in root.findall("mujoco"):
        root.remove(element)
    words = {"fusestatic": "false", "balanceinertia": "false", "discardvisual": "true"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", words)
    spec = mujoco.MjSpec.from_string(ET.tostring(root).decode())
    spec.option.timestep, spec.option.integrator = DT, mujoco.mjtIntegrator.mjINT_EULER
    if floating:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    model.jnt_limited[:], model.dof_frictionloss[:], model.dof_damping[:] = 0, 0, 0
    data, full = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    mujoco.mj_forward(model, data)
    state = np.zeros(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, state, full)
    first = np.tile(state, (samples, 1))
    skipped = 8 if floating else 1
    first[:, skipped : 1 + model.nq] = rng.uniform(-0.5, 0.5, (samples, model.nq - skipped + 1))
    control, states = 0.1 * rng.standard_normal((samples, STEPS, model.nv)), np.empty((samples, STEPS, len(state)))
    applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value
    return lambda: mujoco.rollout.rollout(model, [data], first, control, control_spec=applied, state=states)


def ours(robot: catena.Robot, samples: int, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Rollouts of several kinds, and as many forward dynamics."""
    q, v = robot.random_configuration(rng, samples), 0.1 * rng.standard_normal((samples, robot.nv))
    tau = 0.1 * rng.standard_normal((samples, STEPS, robot.nv))
    out = np.empty((samples, STEPS + 1, robot.nq)), np.empty((samples, STEPS + 1, robot.nv))
    ends = np.empty((samples, 2, robot.nq)), np.empty((samples, 2, robot.nv))
    rows, a = np.ascontiguousarray(np.moveaxis(tau, 1, 0)), np.empty_like(v)
    pd = catena.controllers.pd(robot.neutral(), 1.0, 0.1)

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


def main(samples: int = 1024, rounds: int = 5) -> None:
    catena.set_threads(1)
    for name, (path, base) in MODELS.items():
        rng = np.random.default_rng(0)
        sides = ours(catena.load(path, base=base), samples, rng)
        sides["mujoco.rollout"] = mujoco_rollout(path, base == "floating", samples, rng)
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
    main(*map(int, sys.argv[1:]))
