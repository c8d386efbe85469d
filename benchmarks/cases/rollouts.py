"""Whole rollouts beside `mujoco.rollout`: one thread each, without contacts, losses and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    coordinates, speeds = orders(twin.model, robot)
    states, there = twin.states(SAMPLES), slice(1, 1 + twin.model.nq)
    states[:, there] = q[:, coordinates]
    run, stored = twin.rollout(states, np.ascontiguousarray(tau[..., speeds]))
    return Contestant(run, SAMPLES * STEPS, lambda: stored[:8, 0, there][:, np.argsort(coordinates)][:, arms])


def orders(model: Any, robot: catena.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Where MuJoCo's coordinates and speeds are among ours; of a free base, MuJoCo has the position first."""
    coordinates, speeds = np.zeros(model.nq, int), np.zeros(model.nv, int)
    for j in range(model.njnt):
        name, at, from_v = model.joint(j).name, model.jnt_qposadr[j], model.jnt_dofadr[j]
        if model.jnt_type[j] == 0:
            joint = robot.joints[0]
            coordinates[at : at + 7] = joint.q_slice.start + np.r_[0:3, 6, 3:6]
            speeds[from_v : from_v + 6] = joint.v_slice.start + np.r_[3:6, 0:3]
        else:
            joint = robot.joint(name)
            coordinates[at], speeds[from_v] = joint.q_slice.start, joint.v_slice.start
    return coordinates, speeds
