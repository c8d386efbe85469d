"""The part of Robot that exchanges states with other engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from catena.exchange import mujoco, pinocchio
from catena.exchange.states import State

if TYPE_CHECKING:
    from catena.robot import Robot

Given = npt.ArrayLike | None


class Exchanging:
    """States in Pinocchio's and MuJoCo's conventions. Arrays have any leading dimensions."""

    __slots__ = ()

    def to_pinocchio(self, model: Any, q: npt.ArrayLike, v: Given = None, a: Given = None, tau: Given = None) -> State:
        """States as a Pinocchio model of the same robot has them.

        Joints are matched by name. Linear speeds come before angular ones in a free joint, and a joint without limits
        has a cosine and a sine.

        Args:
            model: a `pinocchio.Model` of the same robot, with the same base.
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            tau: joint torques, (..., nv).

        Returns:
            (q, v, a, tau) in the model's order; None for what was not given.
        """
        return pinocchio.to_pinocchio(cast("Robot", self), model, _state(q, v, a, tau))

    def from_pinocchio(
        self, model: Any, q: npt.ArrayLike, v: Given = None, a: Given = None, tau: Given = None
    ) -> State:
        """States of a Pinocchio model of the same robot as they are here: `to_pinocchio` undone.

        Args:
            model: a `pinocchio.Model` of the same robot, with the same base.
            q: configurations, (..., model.nq).
            v: joint velocities, (..., model.nv).
            a: joint accelerations, (..., model.nv).
            tau: joint torques, (..., model.nv).

        Returns:
            (q, v, a, tau) in the robot's order; None for what was not given.
        """
        return pinocchio.from_pinocchio(cast("Robot", self), model, _state(q, v, a, tau))

    def to_mujoco(self, model: Any, q: npt.ArrayLike, v: Given = None, a: Given = None, tau: Given = None) -> State:
        """States as a MuJoCo model of the same robot has them, in `qpos`, `qvel`, `qacc` and `qfrc_applied`.

        Joints are matched by name. Quaternions begin with w; of a free joint, what is linear comes first and is along
        the world's axes.

        Args:
            model: a `mujoco.MjModel` of the same robot, with the same base.
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv); those of a free joint need `v`.
            tau: joint torques, (..., nv).

        Returns:
            (q, v, a, tau) in the model's order; None for what was not given.
        """
        return mujoco.to_mujoco(cast("Robot", self), model, _state(q, v, a, tau))

    def from_mujoco(self, model: Any, q: npt.ArrayLike, v: Given = None, a: Given = None, tau: Given = None) -> State:
        """States of a MuJoCo model of the same robot as they are here: `to_mujoco` undone.

        Args:
            model: a `mujoco.MjModel` of the same robot, with the same base.
            q: configurations, (..., model.nq), as `qpos`.
            v: joint velocities, (..., model.nv), as `qvel`.
            a: joint accelerations, (..., model.nv), as `qacc`; those of a free joint need `v`.
            tau: joint torques, (..., model.nv), as `qfrc_applied`.

        Returns:
            (q, v, a, tau) in the robot's order; None for what was not given.
        """
        return mujoco.from_mujoco(cast("Robot", self), model, _state(q, v, a, tau))


def _state(q: Any, v: Any, a: Any, tau: Any) -> State:
    return State(q, v, a, tau)
