"""Whole rollouts beside `mujoco.rollout`: one thread each, without contacts, losses and limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from case import Case, Contestant

import catena
from peers import MuJoCo, have, urdf

SAMPLES, STEPS, DT = 512, 100, 0.002
GROUP = "rollouts"


def cases() -> Iterator[Case]:
    """Semi-implicit Euler with torques given for each step, all states stored."""
    if not have("mujoco"):
        return
    for name, base in (("xArm7", "fixed"), ("Go2", "floating")):
        twin, robot = MuJoCo(name, base, DT), catena.load(urdf(name), base=base)
        rng = np.random.default_rng(0)
        q = robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, (SAMPLES, robot.nv)))
        v, tau = np.zeros((SAMPLES, robot.nv)), 0.1 * rng.standard_normal((SAMPLES, STEPS, robot.nv))
        arms = slice(7 if base == "floating" else 0, None)
        tau[..., : 6 if base == "floating" else 0] = 0  # nothing pushes the base, whose axes differ
        out = robot.rollout(q, v, tau, DT)
        ours = Contestant(
            lambda robot=robot, state=(q, v, tau): robot.rollout(*state, DT),
            SAMPLES * STEPS,
            lambda out=out, arms=arms: out.q[:8, 1, arms],
        )
        yield Case(GROUP, "a step", name, ours, {"MuJoCo": theirs(twin, robot, q, tau, arms)})


def theirs(twin: MuJoCo, robot: catena.Robot, q: np.ndarray, tau: np.ndarray, arms: slice) -> Contestant:
    """`mujoco.rollout` from the same states with the same torques.

    The first step is compared: later on, steps of a free base differ, as MuJoCo's speeds of it are along other axes.
    """
    model = twin.model
    states, there = twin.states(SAMPLES), slice(1, 1 + model.nq)
    states[:, there] = robot.to_mujoco(model, q).q
    run, stored = twin.rollout(states, robot.to_mujoco(model, q[:, None], tau=tau).tau)
    return Contestant(run, SAMPLES * STEPS, lambda: robot.from_mujoco(model, stored[:8, 0, there]).q[:, arms])
