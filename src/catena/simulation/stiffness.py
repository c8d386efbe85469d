"""Whether steps are too long: for the stiffest spring or damper that is taken explicitly, or for the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.controllers import FEED_FORWARD, HOLD, PD
from catena.arguments.arrays import Port, as_array
from catena.errors import SingularError, StepWarning, warn
from catena.simulation.laws import Controller

if TYPE_CHECKING:
    from catena.simulation.asked import Prepared

Array = npt.NDArray[Any]

LONGEST = {"semi_implicit": 2.0, "midpoint": 2.0, "rk4": 2.78}
"""How many radians of the fastest swing, or times of the fastest decay, fit in a step that is stable."""

FOLLOWED = 2.0
"""How many radians of a swing on the ground a step may take."""

ITERATIONS = 12
"""Of the power method; each costs O(n)."""


def warn_of_stiffness(question: str, rollout: Prepared) -> None:
    """Warn of steps that are too long for what a rollout has to follow."""
    _warn_of_springs(question, rollout)
    _warn_of_ground(question, rollout)


def _warn_of_springs(question: str, rollout: Prepared) -> None:
    """Warn if a step is longer than the fastest swing or decay allows, at the first state of a rollout."""
    longest = LONGEST.get(rollout.options.integrator)
    springs, dampers = _springs(question, rollout)
    if longest is None or not (springs.any() or dampers.any()):
        return
    robot = rollout.robot
    q = as_array(rollout.asked.q, Port("q", (robot.nq,)), question)
    first = q.reshape(-1, robot.nq)[:1] if q.size else q[:0]
    if not first.size or not np.isfinite(first).all():
        return
    M = getattr(robot, "forest", robot).mass_matrix(first[0])  # constraints only slow swings down
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # gains may be as large as they like
            rates = np.sqrt(_largest(M, springs)), _largest(M, dampers)
    except SingularError:  # the rollout itself says what becomes of that
        return
    fastest = max(rates)
    if fastest * rollout.dt > longest:
        what = "spring" if rates[0] >= rates[1] else "damper"
        warn(
            f"{question}: dt is {rollout.dt:g} s, too long for the stiffest {what}: steps of "
            f"{rollout.options.integrator!r} are stable below {longest / fastest:.2g} s; shorten them, or take it "
            "implicitly (integrator='linearly_implicit', catena.controllers.servo)",
            StepWarning,
        )


def _warn_of_ground(question: str, rollout: Prepared) -> None:
    """Warn if the whole robot on one point of the ground would swing by more than :data:`FOLLOWED` radians in a step.

    Steps stay stable, but feet then come and go from one step to the next, and friction with them.
    """
    ground, mass = rollout.forces.values.get("ground"), rollout.robot.total_mass
    if ground is None or not mass > 0:
        return
    fastest = np.sqrt(np.max(ground[..., 0], initial=0.0) / mass)
    if fastest * rollout.dt > FOLLOWED:
        warn(
            f"{question}: dt is {rollout.dt:g} s, too long for ground this stiff: steps below {FOLLOWED / fastest:.2g} "
            "s follow its contacts; shorten them, or give the ground less stiffness",
            StepWarning,
        )


def _springs(question: str, rollout: Prepared) -> tuple[Array, Array]:
    """Stiffness and damping of all degrees of freedom that act explicitly: the model's, and gains of a controller."""
    robot, options = rollout.robot, rollout.options
    stiffness = np.array(robot.stiffness) * bool(options.joint_springs)
    damping = np.array(robot.damping) * bool(options.joint_losses)
    given = rollout.asked.control
    if isinstance(given, Controller) and given.law in (PD, HOLD, FEED_FORWARD):
        kp, kd = (_most(question, name, given.values[name], robot.nv) for name in ("kp", "kd"))
        stiffness, damping = stiffness + kp, damping + kd
    return stiffness, damping


def _most(question: str, name: str, gains: Any, nv: int) -> Array:
    """The largest gains of all samples, one number or (nv,)."""
    found: Array = as_array(gains, Port(name, (nv,) if np.ndim(gains) else ()), question).astype(float)
    return np.asarray(np.nan_to_num(found.reshape(-1, nv).max(axis=0, initial=0.0) if found.ndim > 1 else found))


def _largest(M: Any, numbers: Array) -> float:
    """The largest eigenvalue of M⁻¹ times a diagonal matrix, by the power method."""
    root = np.sqrt(np.maximum(numbers, 0.0))
    x, size = np.where(root > 0, 1.0 + 0.1 * np.sin(np.arange(len(root))), 0.0), 0.0
    for _ in range(ITERATIONS if root.any() else 0):
        x = root * M.solve(root * x)
        size = float(np.linalg.norm(x))
        if not 0 < size < np.inf:
            return 0.0
        x = x / size
    return size
