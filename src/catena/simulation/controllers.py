"""Ready-made controllers for `robot.rollout` and `catena.simulate`: compiled, for robots of any length.

    run = robot.rollout(q, v, None, 1e-3, steps=1000, control=catena.controllers.pd(target, kp=50.0, kd=2.0))

Targets and gains are data, not part of the machine code: they may change from call to call, and from sample to sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.controllers import COMPUTED_TORQUE, GRAVITY, HOLD, PD, SERVO
from catena.algorithms.rollouts import Law
from catena.simulation.laws import Controller

__all__ = ["Controller", "computed_torque", "gravity_compensation", "hold", "pd", "servo"]


def pd(target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0) -> Controller:
    """The torques kp (target − q) − kd v, with the difference that `robot.difference` takes.

    Args:
        target: configurations, (..., nq).
        kp: stiffness, one number or (..., nv), in N m/rad or N/m.
        kd: damping, one number or (..., nv), in N m s/rad or N s/m.
    """
    return _with_gains(PD, target, kp, kd)


def servo(target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0) -> Controller:
    """`pd` with q and v of the end of a step, as a spring and a damper at the joint: stable however stiff.

    For integrators of one stage, "semi_implicit" and "linearly_implicit". `run.tau` has the torques at the start.

    Args:
        target: configurations, (..., nq).
        kp: stiffness, one number or (..., nv).
        kd: damping, one number or (..., nv).
    """
    return _with_gains(SERVO, target, kp, kd)


def hold(target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0) -> Controller:
    """`pd` and `gravity_compensation` together: a robot at rest at the target stays there.

    Args:
        target: configurations, (..., nq).
        kp: stiffness, one number or (..., nv).
        kd: damping, one number or (..., nv).
    """
    return _with_gains(HOLD, target, kp, kd)


def gravity_compensation() -> Controller:
    """The torques that hold the robot against gravity wherever it is, `robot.gravity_torque(q)`."""
    return Controller(GRAVITY)


def computed_torque(target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0) -> Controller:
    """Inverse dynamics of the accelerations kp (target − q) − kd v: joints that know nothing of each other.

    With kd = 2 √kp they come to the target as fast as they can without passing it.

    Args:
        target: configurations, (..., nq).
        kp: one number or (..., nv), in 1/s².
        kd: one number or (..., nv), in 1/s.
    """
    return _with_gains(COMPUTED_TORQUE, target, kp, kd)


def _with_gains(law: Law, target: Any, kp: Any, kd: Any) -> Controller:
    return Controller(law, {"target": target, "kp": np.asarray(kp), "kd": np.asarray(kd)})
