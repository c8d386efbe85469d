"""Robots for the benchmarks, and the same robots in Pinocchio."""

from __future__ import annotations

import site
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

import catena

ROBOTS = {
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "xArm7": "xarm_description/urdf/xarm7.urdf",
    "G1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "Talos": "talos_data/robots/talos_full_v2.urdf",
}


def urdf(name: str) -> Path:
    """The URDF file of a robot, from the package example-robot-data."""
    share = Path("cmeel.prefix/share/example-robot-data/robots")
    found = [Path(folder) / share / ROBOTS[name] for folder in site.getsitepackages()]
    return next(path for path in found if path.exists())


@dataclass
class Pair:
    """A robot here and in Pinocchio, with states in the joint order of each."""

    name: str
    robot: catena.Robot
    model: pin.Model
    order: list[int]

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
