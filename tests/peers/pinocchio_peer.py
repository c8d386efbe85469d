"""A robot here and in Pinocchio, and the way from the coordinates of one to those of the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import catena


@dataclass
class Peer:
    """The same robot twice. `v_index[i]` is the place in Pinocchio's velocity of our entry i."""

    robot: catena.Robot
    model: Any
    v_index: np.ndarray

    @classmethod
    def load(cls, file: Path | str, base: str = "fixed") -> Peer:
        robot = catena.load(file, base=base, mimic="independent")
        root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
        return cls.of(robot, pin.buildModelFromUrdf(str(file), *root))

    @classmethod
    def of(cls, robot: catena.Robot, model: Any) -> Peer:
        model.gravity.linear = np.asarray(robot.gravity)
        index = np.empty(robot.nv, dtype=int)
        for joint in robot.joints:
            start = model.joints[model.getJointId(joint.name)].idx_v
            order = [3, 4, 5, 0, 1, 2] if joint.type == "free" else range(len(index[joint.v_slice]))
            index[joint.v_slice] = [start + i for i in order]
        return cls(robot, model, index)

    def q(self, q: np.ndarray) -> np.ndarray:
        """A configuration in Pinocchio's coordinates."""
        theirs = np.empty(self.model.nq)
        for joint in self.robot.joints:
            own, peer = q[joint.q_slice], self.model.joints[self.model.getJointId(joint.name)]
            if peer.nq == 2 and peer.nv == 1:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            elif peer.nq == 4 and peer.nv == 3 and joint.type == "planar":
                own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
            theirs[peer.idx_q : peer.idx_q + peer.nq] = own
        return theirs

    def v(self, v: np.ndarray) -> np.ndarray:
        """Velocities, torques or accelerations (last axis) in Pinocchio's order."""
        theirs = np.empty((*v.shape[:-1], self.model.nv))
        theirs[..., self.v_index] = v
        return theirs

    def ours(self, v: np.ndarray) -> np.ndarray:
        """Velocities, torques or accelerations of Pinocchio in our order."""
        return v[..., self.v_index]

    def matrix(self, M: np.ndarray) -> np.ndarray:
        """A joint-space matrix of Pinocchio in our order."""
        return M[np.ix_(self.v_index, self.v_index)]
