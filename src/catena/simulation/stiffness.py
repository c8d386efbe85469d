"""Whether steps are too long: for the stiffest spring or damper that is taken explicitly, or for a force."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.controllers import FEED_FORWARD, HOLD, PD
from catena.algorithms.integrators import ONE_STAGE
from catena.arguments.arrays import Port, as_array
from catena.errors import SingularError, StepWarning, warn
from catena.simulation.laws import Controller

if TYPE_CHECKING:
    from catena.simulation.asked import Prepared

Array = npt.NDArray[Any]

LONGEST = {"semi_implicit": 2.0, "midpoint": 2.0, "rk4": 2.78}
"""How many radians of the fastest swing, or times of the fastest decay, fit in a step that is stable."""

ITERATIONS = 12
"""Of the power method; each costs O(n)."""


def warn_of_stiffness(question: str, rollout: Prepared) -> list[str]:
    """Warn of steps that are too long for what a rollout has to follow; what was said."""
    found = [force.too_long(rollout.robot, rollout.dt) for force in rollout.forces.asked]
    return warned(_springs_too_stiff(question, rollout), *[f"{question}: {words}" for words in found if words])


def warned(*words: str | None) -> list[str]:
    """Warn of what there is to say about steps, and give it."""
    said = [each for each in words if each is not None]
    for each in said:
        warn(each, StepWarning)
    return said


def warn_of_held(question: str, rollout: Prepared, integrator: str = "") -> list[str]:
    """Warn of forces that may depend on q and that are held over the stages of a step.

    They act as half a step late, which takes ½ dt k of its damping from a spring k: where there is less, it gains
    energy. Steps of one stage have the new speeds in q, so that springs keep theirs, and "adaptive" asks at any time.
    """
    integrator = integrator or rollout.options.integrator
    if integrator in (*ONE_STAGE, "adaptive"):
        return []
    held = [what for what, springy in _held(question, rollout).items() if springy]
    one = len(held) == 1
    words = (
        f"{question}: {' and '.join(held)} {'is' if one else 'are'} asked once a step and held over the stages of "
        f"{integrator!r}: what depends on q in {'it' if one else 'them'} acts half a step late, and a spring gains "
        "energy; give forces of the mechanism as springs of the model, or as f_ext, a function that can be "
        "compiled, which is asked at every stage; or take integrator='semi_implicit' or shorter steps"
    )
    return warned(words) if held else []


def _held(question: str, rollout: Prepared) -> dict[str, bool]:
    """What is held over the stages of a step, and whether it may gain energy by that."""
    given, control, held = rollout.asked.control, rollout.control, {}
    if isinstance(given, Controller) and {"kp", "kd"} <= set(given.values):
        kp, kd = (_most(question, name, given.values[name], rollout.robot.nv) for name in ("kp", "kd"))
        held["control"] = bool((0.5 * rollout.dt * kp > kd).any())
    elif control is not None and control.function is not None:
        held["control"] = control.springy
    if rollout.actuators is not None and rollout.drive is None:
        held["actuators"] = bool(rollout.actuators.columns()["bias1"].any())
    if rollout.wrench is not None and (rollout.wrench.law is None or rollout.by_recipe):
        held["f_ext"] = rollout.wrench.springy
    return held


def _springs_too_stiff(question: str, rollout: Prepared) -> str | None:
    """What to say if a step is longer than the fastest swing or decay allows, at the first state of a rollout."""
    longest = LONGEST.get(rollout.options.integrator)
    springs, dampers = _springs(question, rollout)
    if longest is None or not (springs.any() or dampers.any()):
        return None
    robot = rollout.robot
    q = as_array(rollout.asked.q, Port("q", (robot.nq,)), question)
    first = q.reshape(-1, robot.nq)[:1] if q.size else q[:0]
    if not first.size or not np.isfinite(first).all():
        return None
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # gains may be as large as they like
            solve = _answer(robot, first[0])
            rates = np.sqrt(_largest(solve, springs)), _largest(solve, dampers)
    except SingularError:  # the rollout itself says what becomes of that
        return None
    fastest = max(rates)
    if fastest * rollout.dt > longest:
        what = "spring" if rates[0] >= rates[1] else "damper"
        return (
            f"{question}: dt is {rollout.dt:g} s, too long for the stiffest {what}: steps of "
            f"{rollout.options.integrator!r} are stable below {longest / fastest:.2g} s; shorten them, or take it "
            "implicitly (integrator='linearly_implicit', catena.controllers.servo)"
        )
    return None


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


def _answer(robot: Any, q: Array) -> Callable[[Array], Array]:
    """What accelerations generalised forces cause at rest, with the constraints of a system held."""
    if not robot._closed:
        return robot.mass_matrix(q).solve  # type: ignore[no-any-return]
    still = np.zeros(robot.closures.rows)
    return lambda x: np.asarray(robot.constrained_response(q, x, still).change)


def _largest(solve: Callable[[Array], Array], numbers: Array) -> float:
    """The largest eigenvalue of an inverse, of which `solve` gives products, times a diagonal matrix: power method."""
    root = np.sqrt(np.maximum(numbers, 0.0))
    x, size = np.where(root > 0, 1.0 + 0.1 * np.sin(np.arange(len(root))), 0.0), 0.0
    for _ in range(ITERATIONS if root.any() else 0):
        x = root * solve(root * x)
        size = float(np.linalg.norm(x))
        if not 0 < size < np.inf:
            return 0.0
        x = x / size
    return size
