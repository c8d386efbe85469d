"""How is an arm swung to a target with little torque? Iterative LQR with `linearize`, in a fraction of a second."""

from __future__ import annotations

import time

import numpy as np

import catena
from catena import robots

STEPS, DT, EFFORT, SPEED, ARRIVAL = 100, 0.01, 0.01, 0.1, 1e5  # weights on torques, speeds and the state at the end
START = np.r_[0.0, 1.5, 0.3, -1.0, 0.2, 0.5, 0.0, np.zeros(7)]  # seven angles, seven speeds
GOAL = np.r_[1.0, 0.2, -0.5, 1.4, 0.6, -0.6, 0.3, np.zeros(7)]


def rollout(robot, x0, tau, gains):
    """States (q, v), torques and cost of a run in semi-implicit steps, with feedback that keeps it near states x0."""
    x, tau = x0.copy(), tau.copy()
    for t in range(STEPS):
        tau[t] -= gains[t] @ (x[t] - x0[t])
        v = x[t, 7:] + DT * robot.forward_dynamics(x[t, :7], x[t, 7:], tau[t])
        x[t + 1] = np.r_[x[t, :7] + DT * v, v]
    return x, tau, EFFORT * np.sum(tau**2) + SPEED * np.sum(x[:-1, 7:] ** 2) + ARRIVAL * np.sum((x[-1] - GOAL) ** 2)


def improvement(robot, x, tau):
    """Changes of torques and feedback gains that are best for the linearised system: one sweep back in time."""
    A, B = robot.linearize(x[:-1, :7], x[:-1, 7:], tau, DT)  # all steps in one call
    W, changes, gains = np.diag(np.repeat([0, SPEED], 7)), np.empty_like(tau), np.empty((STEPS, 7, 14))
    value, slope = ARRIVAL * np.eye(14), ARRIVAL * (x[-1] - GOAL)
    for t in reversed(range(STEPS)):
        BV, downhill = B[t].T @ value, EFFORT * tau[t] + B[t].T @ slope
        solved = np.linalg.solve(EFFORT * np.eye(7) + BV @ B[t], np.c_[downhill, BV @ A[t]])
        changes[t], gains[t] = solved[:, 0], solved[:, 1:]
        slope = W @ x[t] + A[t].T @ slope - gains[t].T @ downhill
        value = W + A[t].T @ value @ (A[t] - B[t] @ gains[t])
    return changes, gains


def main() -> None:
    robot, s = catena.load(robots.path("seven_dof_arm")), np.linspace(0, 1, STEPS + 1)[:, None]
    x = START + (GOAL - START) * s**3 * (10 - 15 * s + 6 * s**2)  # straight, to begin with
    x[1:, 7:] = np.diff(x[:, :7], axis=0) / DT
    tau = robot.inverse_dynamics(x[:-1, :7], x[:-1, 7:], np.diff(x[:, 7:], axis=0) / DT)
    _, gains = improvement(robot, x, tau)  # compiles, or takes the machine code from the cache
    start, runs = time.perf_counter(), [rollout(robot, x, tau, gains)]
    while runs:
        x, tau, cost = runs[0]
        print(f"cost {cost:7.2f}, ends {np.abs(x[-1] - GOAL)[:7].max():.1e} rad from the target")
        changes, gains = improvement(robot, x, tau)
        with np.errstate(over="ignore", invalid="ignore"):  # steps that go too far are tried, and refused
            tried = (rollout(robot, x, tau - scale * changes, gains) for scale in (1, 0.5, 0.2, 0.05))
            runs = [run for run in tried if run[2] < 0.9999 * cost]
    print(f"{time.perf_counter() - start:.2f} s, from the straight way to the best one")


if __name__ == "__main__":
    main()
