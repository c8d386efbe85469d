"""Robots for the benchmarks, and the same robots in other engines."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import catena

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.peers.urdf_in_mujoco import bare

ROBOTS = {
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "xArm7": "xarm_description/urdf/xarm7.urdf",
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_full_v2.urdf",
    "Go2": "go2_description/urdf/go2.urdf",
    "A1": "a1_description/urdf/a1.urdf",
    "Solo12": "solo_description/robots/solo12.urdf",
    "Z1": "z1_description/urdf/z1.urdf",
}
TIPS = {"UR5": "wrist_3_link", "xArm7": "link7", "G1": "right_wrist_yaw_link", "Talos": "gripper_right_base_link"}


def have(package: str) -> bool:
    """Whether a package that can be imported by that name is installed."""
    return importlib.util.find_spec(package) is not None


def urdf(name: str) -> Path:
    """The URDF file of a robot, from the package example-robot-data."""
    # where Pinocchio itself is installed: .../cmeel.prefix/lib/python3.x/site-packages/pinocchio
    prefix = Path(pin.__file__).parents[4]
    return prefix / "share" / "example-robot-data" / "robots" / ROBOTS[name]


@dataclass
class Pair:
    """A robot here and in Pinocchio, with states in the joint order of each."""

    name: str
    robot: catena.Robot
    model: pin.Model
    order: list[int]

    @property
    def tip(self) -> str:
        """The link whose Jacobian is asked for."""
        return TIPS[self.name]

    @classmethod
    def load(cls, name: str) -> Pair:
        """The robot of that name from :data:`ROBOTS`."""
        robot, model = catena.load(urdf(name), mimic="independent"), pin.buildModelFromUrdf(str(urdf(name)))
        order = [model.joints[model.getJointId(joint.name)].idx_v for joint in robot.joints]
        return cls(name, robot, model, order)

    def states(self, count: int, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """q, v and torques: for Catena as rows, for Pinocchio as rows in its own joint order."""
        theirs = list(np.random.default_rng(seed).standard_normal((3, count, self.model.nv)))
        return [np.ascontiguousarray(x[:, self.order]) for x in theirs], theirs


class Drake:
    """One state of a robot in Drake."""

    def __init__(self, pair: Pair, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        self.plant: Any = MultibodyPlant(0.0)
        Parser(self.plant).AddModelsFromString(without_shapes(urdf(pair.name)), "urdf")
        if pair.robot.base_name != "world":
            self.plant.WeldFrames(self.plant.world_frame(), self.plant.GetFrameByName(pair.robot.base_name))
        self.plant.Finalize()
        self.context: Any = self.plant.CreateDefaultContext()
        joints = [self.plant.GetJointByName(joint.name) for joint in pair.robot.joints]
        self.order = [joint.velocity_start() for joint in joints]
        self.q, self.v, self.tau = np.zeros((3, self.plant.num_velocities()))
        for theirs, ours in ((self.q, q), (self.v, v), (self.tau, tau)):
            theirs[self.order] = ours
        self.forces = self.plant.get_applied_generalized_force_input_port()
        self.forces.FixValue(self.context, self.tau)

    def accelerations(self) -> np.ndarray:
        """Joint accelerations; the state is set anew, so that nothing of the last call is known."""
        self.plant.SetPositionsAndVelocities(self.context, np.concatenate([self.q, self.v]))
        return np.asarray(self.plant.EvalTimeDerivatives(self.context).CopyToVector())[len(self.q) :][self.order]


class MuJoCo:
    """A robot in MuJoCo, on a base that is "fixed" or "floating", without contacts, limits and losses."""

    def __init__(self, name: str, base: str, dt: float) -> None:
        import mujoco

        self.model: Any = bare(urdf(name), base == "floating", dt, "Euler")
        self.data: Any = mujoco.MjData(self.model)

    def states(self, samples: int) -> np.ndarray:
        """The model's own state as rows, to start from; the coordinates q are in the columns from 1 on."""
        import mujoco

        mujoco.mj_forward(self.model, self.data)
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.zeros(mujoco.mj_stateSize(self.model, full))
        mujoco.mj_getState(self.model, self.data, state, full)
        return np.tile(state, (samples, 1))

    def rollout(self, states: np.ndarray, tau: np.ndarray) -> tuple[Callable[[], Any], np.ndarray]:
        """`mujoco.rollout` from states, on one thread, with torques applied to joints, and where it stores states."""
        import mujoco
        import mujoco.rollout

        stored = np.empty((*tau.shape[:2], states.shape[-1]))
        how = {"control_spec": mujoco.mjtState.mjSTATE_QFRC_APPLIED.value, "state": stored}
        return lambda: mujoco.rollout.rollout(self.model, [self.data], states, tau, **how), stored


def without_shapes(file: Path) -> str:
    """The text of a URDF file without shapes, limits, losses, couplings and transmissions."""
    root = ET.parse(file).getroot()
    for link in root.iter("link"):
        for part in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(part)
    for joint in root.iter("joint"):
        for part in [*joint.findall("limit"), *joint.findall("dynamics"), *joint.findall("mimic")]:
            joint.remove(part)
    for part in [*root.findall("transmission"), *root.findall("gazebo"), *root.findall("mujoco")]:
        root.remove(part)
    return ET.tostring(root).decode()
