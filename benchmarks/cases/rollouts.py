"""Whole rollouts beside `mujoco.rollout`: one thread each, without contacts, losses and limits."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np
from case import Case, Contestant

import catena
from peers import have, urdf

SAMPLES, STEPS, DT = 512, 100, 0.002
GROUP = "rollouts"


def cases() -> Iterator[Case]:
    """Semi-implicit Euler with torques given for each step, all states stored."""
    if not have("mujoco"):
        return
    for name, base in (("xArm7", "fixed"), ("Go2", "floating")):
        model, robot = in_mujoco(name, base), catena.load(urdf(name), base=base)
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
        yield Case(GROUP, "a step", name, ours, {"MuJoCo": theirs(model, robot, q, tau, arms)})


def in_mujoco(name: str, base: str) -> Any:
    """The robot of a URDF file, without shapes, in MuJoCo."""
    import mujoco

    root = ET.parse(urdf(name)).getroot()
    for link in root.iter("link"):
        for part in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(part)
    for part in root.findall("mujoco"):
        root.remove(part)
    options = {"fusestatic": "false", "balanceinertia": "false", "discardvisual": "true"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", options)
    spec = mujoco.MjSpec.from_string(ET.tostring(root).decode())
    spec.option.timestep, spec.option.integrator = DT, mujoco.mjtIntegrator.mjINT_EULER
    if base == "floating":
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    model.jnt_limited[:] = 0
    model.dof_frictionloss[:] = model.dof_damping[:] = 0
    return model


def theirs(model: Any, robot: catena.Robot, q: np.ndarray, tau: np.ndarray, arms: slice) -> Contestant:
    """`mujoco.rollout` from the same states with the same torques, which go to it as applied forces.

    The first step is compared: later on, steps of a free base differ, as MuJoCo's speeds of it are along other axes.
    """
    import mujoco
    import mujoco.rollout

    data, full = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    mujoco.mj_forward(model, data)
    start = np.zeros(mujoco.mj_stateSize(model, full))
    mujoco.mj_getState(model, data, start, full)
    coordinates, speeds = orders(model, robot)
    states = np.tile(start, (SAMPLES, 1))
    states[:, 1 : 1 + model.nq] = q[:, coordinates]
    forces, stored = np.ascontiguousarray(tau[..., speeds]), np.empty((SAMPLES, STEPS, len(start)))
    control = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value
    back = np.argsort(coordinates)

    def run() -> None:
        mujoco.rollout.rollout(model, [data], states, forces, control_spec=control, state=stored)

    return Contestant(run, SAMPLES * STEPS, lambda: stored[:8, 0, 1 : 1 + model.nq][:, back][:, arms])


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
