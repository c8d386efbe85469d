"""Ready-made controllers for `robot.rollout` and `catena.simulate`: compiled, for robots of any length.

    run = robot.rollout(q, v, None, 1e-3, steps=1000, control=catena.controllers.pd(target, kp=50.0, kd=2.0))

Targets and gains are data, not part of the machine code: they may change from call to call, and from sample to sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.controllers import (
    COMPUTED_TORQUE,
    DRIVING_FREE_JOINTS,
    FEED_FORWARD,
    GRAVITY,
    HOLD,
    PD,
    SERVO,
)
from catena.algorithms.rollouts import Law
from catena.arguments.arrays import as_floats
from catena.arguments.scalars import a_robot
from catena.arguments.words import truth
from catena.errors import ShapeError, UnsupportedError, kind_of
from catena.model.joints import JOINT_TYPES
from catena.simulation.forces.servos import Servos
from catena.simulation.laws import Controller, Remembering

if TYPE_CHECKING:
    from catena.robot import Robot

__all__ = [
    "Controller",
    "computed_torque",
    "feed_forward",
    "gravity_compensation",
    "hold",
    "pd",
    "remembering",
    "servo",
]


def pd(target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0) -> Controller:
    """The torques kp (target − q) − kd v, with the difference that `robot.difference` takes.

    One number as a gain is that of all degrees of freedom, those of a free base too. Of a base that nothing drives,
    give gains of zero, which also spare the difference:

        kp = np.where(np.arange(robot.nv) < 6, 0.0, 50.0)

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
    return replace(_with_gains(SERVO, target, kp, kd), force=Servos())


def hold(
    target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0, *, drive_free_joints: bool = False
) -> Controller:
    """`pd` and `gravity_compensation` together: a robot at rest at the target stays there.

    Args:
        target: configurations, (..., nq).
        kp: stiffness, one number or (..., nv).
        kd: damping, one number or (..., nv).
        drive_free_joints: whether free joints, of bases that float and of objects, are held as well, as if something
            drove them; if not, there are no forces at them whatever their gains.
    """
    return _with_gains(_driving(HOLD, drive_free_joints), target, kp, kd)


def gravity_compensation(*, drive_free_joints: bool = False) -> Controller:
    """The torques that hold the robot's joints against gravity wherever it is, those of `robot.gravity_torque(q)`.

    Args:
        drive_free_joints: whether free joints, of bases that float and of objects, are held as well, as if something
            drove them; if not, they fall unless something carries them.
    """
    return Controller(_driving(GRAVITY, drive_free_joints))


def computed_torque(
    target: npt.ArrayLike, kp: npt.ArrayLike, kd: npt.ArrayLike = 0.0, *, drive_free_joints: bool = False
) -> Controller:
    """Inverse dynamics of the accelerations kp (target − q) − kd v: joints that know nothing of each other.

    With kd = 2 √kp they come to the target as fast as they can without passing it. A base that floats accelerates as
    the joints make it do and as it falls: that is taken into account, but neither the ground nor closed loops are.

    Args:
        target: configurations, (..., nq).
        kp: one number or (..., nv), in 1/s².
        kd: one number or (..., nv), in 1/s.
        drive_free_joints: whether free joints, of bases that float and of objects, are driven as well, as if something
            did; if not, there are no forces at them whatever their gains.
    """
    return _with_gains(_driving(COMPUTED_TORQUE, drive_free_joints), target, kp, kd)


def feed_forward(
    robot: Robot, t: npt.ArrayLike, q: npt.ArrayLike, kp: npt.ArrayLike = 0.0, kd: npt.ArrayLike = 0.0
) -> Controller:
    """The torques that take a robot along a spline through configurations, and a PD controller towards it.

        way = catena.controllers.feed_forward(arm, [0.0, 1.0, 2.0], [q0, q1, q2], kp=400 * inertia, kd=40 * inertia)

    They are `robot.inverse_dynamics` of the spline, without losses and springs. It is cubic in each joint, at rest at
    both ends, and stays there before and after.

    Args:
        robot: whose inverse dynamics; joints that turn or slide only.
        t: rising times in s, (knots,).
        q: configurations at these times, (knots, nq).
        kp: stiffness against what is left, one number or (..., nv).
        kd: damping against what is left, one number or (..., nv).
    """
    return Controller(FEED_FORWARD, {"kp": as_floats(kp, "kp"), "kd": as_floats(kd, "kd")}, Spline(robot, t, q))


def remembering(law: Callable[..., Any], memory: npt.ArrayLike) -> Remembering:
    """A controller with a memory, such as the integral of a PID: memory in, memory out, compiled as others are.

        def pid(t, q, v, memory):
            error = target - q
            return 40.0 * error + 10.0 * memory - 5.0 * v, memory + dt * error

        run = robot.rollout(q, v, None, dt, steps=1000, control=catena.controllers.remembering(pid, np.zeros(robot.nv)))

    It is asked once a step, for integrators with steps of one length. `run.memory["recalled"]` is what it remembers at
    the end: another run goes on with `memory=run.memory`.

    Args:
        law: a function of (t, q, v, memory, parameters), or the first of these, that gives (torques, memory).
        memory: the numbers that it starts with, (..., count).
    """
    if not callable(law):
        raise UnsupportedError(f"remembering: expected a function of (t, q, v, memory, parameters), got {kind_of(law)}")
    start = as_floats(memory, "remembering: memory (..., count)")
    if not start.ndim or not start.shape[-1]:
        raise ShapeError(f"remembering: memory must be (..., count), one number or more, got {start.shape}")
    return Remembering(law, start)


class Spline:
    """A way through configurations: where, how fast, and with which torques."""

    def __init__(self, robot: Robot, t: npt.ArrayLike, q: npt.ArrayLike) -> None:
        self.robot = robot = a_robot("feed_forward", robot)
        self.t, self.q = as_floats(t, "feed_forward: t"), as_floats(q, "feed_forward: q")
        if not all(JOINT_TYPES[code].flat for code in np.unique(robot.tree.joint_type)):
            raise UnsupportedError("feed_forward: splines are for robots whose joints all turn or slide")
        if self.t.ndim != 1 or len(self.t) < 2 or not np.isfinite(self.t).all() or (np.diff(self.t) <= 0).any():
            raise ShapeError(f"feed_forward: t must be two rising times or more, (knots,), got {self.t.shape}")
        if self.q.shape != (len(self.t), robot.nq) or not np.isfinite(self.q).all():
            raise ShapeError(f"feed_forward: q must be finite, ({len(self.t)}, {robot.nq}), got {self.q.shape}")

    def __call__(self, t: Any) -> dict[str, npt.NDArray[Any]]:
        """What the law needs at times (...)."""
        from scipy.interpolate import CubicSpline

        way, at = CubicSpline(self.t, self.q, bc_type="clamped"), np.clip(t, self.t[0], self.t[-1])
        moving = ((np.asarray(t) >= self.t[0]) & (np.asarray(t) <= self.t[-1]))[..., None]
        q, v, a = way(at), np.where(moving, way(at, 1), 0.0), np.where(moving, way(at, 2), 0.0)
        return {"target": q, "speed": v, "ahead": self.robot.inverse_dynamics(q, v, a)}


def _driving(law: Law, drive_free_joints: Any) -> Law:
    return DRIVING_FREE_JOINTS[law.name] if truth(f"{law.name}: drive_free_joints", drive_free_joints) else law


def _with_gains(law: Law, target: Any, kp: Any, kd: Any) -> Controller:
    named = {"target": target, "kp": kp, "kd": kd}
    return Controller(law, {name: as_floats(value, f"{law.name}: {name}") for name, value in named.items()})
