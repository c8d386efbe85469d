"""How fast is control by sampling? MPPI lifts an arm: thousands of rollouts, of which only costs come back."""

from __future__ import annotations

import time

import numpy as np

import catena
from catena import robots

SAMPLES, HORIZON, STEPS, DT = 1024, 40, 100, 5e-3
NOISE, TEMPERATURE = 10.0, 0.02


def upright(t: float, q: np.ndarray, v: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The running cost: away from the target, or fast."""
    away: np.ndarray = ((q - target) ** 2).sum(axis=-1) + 0.02 * (v * v).sum(axis=-1)
    return away


def main() -> None:
    arm = catena.load(robots.path("two_link_arm"))
    rng = np.random.default_rng(0)
    q, v, target = np.zeros(arm.nv), np.zeros(arm.nv), np.array([1.0, -0.5])
    plan = np.zeros((HORIZON, arm.nv))
    began, calls = time.perf_counter(), 0.0
    for _ in range(STEPS):
        tried = plan + NOISE * rng.standard_normal((SAMPLES, HORIZON, arm.nv))
        start = time.perf_counter()
        run = arm.rollout(q, v, tried, DT, cost=upright, parameters=target, every=HORIZON)
        calls += time.perf_counter() - start
        assert run.cost is not None
        weight = np.exp(-(run.cost - run.cost.min()) / (TEMPERATURE * np.ptp(run.cost)))
        plan = np.einsum("s,stj->tj", weight / weight.sum(), tried)
        q, v = arm.step(q, v, plan[0], DT)
        plan = np.concatenate([plan[1:], plan[-1:]])
    each = calls / (STEPS * SAMPLES * HORIZON) * 1e9
    print(f"{STEPS} decisions in {time.perf_counter() - began:.2f} s, each from {SAMPLES} rollouts of {HORIZON} steps")
    print(f"{each:.0f} ns a step of a sample; {run.how}")
    print(
        f"the arm went from {np.linalg.norm(target):.2f} to {np.linalg.norm(q - target):.2f} rad away from its target"
    )


if __name__ == "__main__":
    main()
