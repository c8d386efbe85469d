"""Forces that act in rollouts besides torques: which were asked for, with their numbers, and what they remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from catena.algorithms.drag import MediumDrag
from catena.algorithms.integrators import ONE_STAGE
from catena.algorithms.resistance import JointFriction, Resistance
from catena.algorithms.resistance import JointLimits as _Springs
from catena.algorithms.rollouts import RECALLED
from catena.arguments.arrays import Port, as_array
from catena.arguments.words import truth
from catena.errors import UnsupportedError, kind_of
from catena.functions.store import UNROLLED
from catena.model.actuators import Actuators
from catena.model.mimic import refuse_followers
from catena.model.singular import check_invertible
from catena.questions.closed_chains import ClosedChains
from catena.simulation.checked import each
from catena.simulation.drag import Drag
from catena.simulation.ground import Ground
from catena.simulation.laws import Controller, Remembering
from catena.simulation.pins import Pins

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Kind = TypeVar("Kind")

AT_LINKS = ("innovations", "fd1", "fd2", "fd3")
"""The formulations of forward dynamics in which links can resist accelerations: gravity is none of theirs."""

REACH = 5e-3
"""The time in s within which a joint at the end of its range is pushed back, where no stiffness is given."""


@dataclass(frozen=True)
class JointLimits:
    """Springs with dampers at the ends of the ranges of joints, `robot.lower` and `robot.upper`.

        run = robot.rollout(q, v, tau, 1e-3, joint_limits=catena.JointLimits(stiffness=1e4, damping=50.0))

    They push with stiffness · e + damping · v where a joint is beyond an end by e, and only where that pushes at the
    speed with which a step begins. However stiff they are, steps stay stable. Joints without limits, and those with
    quaternions, have none.

    Attributes:
        stiffness: one number or (nv,), in N m/rad or N/m; if None, what moves the joint's own share of the mass matrix,
            at the neutral configuration, back within some 5 ms.
        damping: one number or (nv,), in N m s/rad or N s/m; if None, what lets that come to rest without swinging.
    """

    stiffness: npt.ArrayLike | None = None
    damping: npt.ArrayLike | None = None

    def numbers(self, robot: Robot) -> tuple[Array, Array]:
        """Stiffness and damping of all degrees of freedom."""
        inertia = np.zeros(robot.nv)
        if self.stiffness is None or self.damping is None:
            check_invertible(robot.tree)
            inertia = robot.mass_matrix(robot.neutral()).diagonal()
        stiffness = (
            inertia / REACH**2 if self.stiffness is None else each("JointLimits: stiffness", self.stiffness, robot.nv)
        )
        damping = 2 * np.sqrt(stiffness * inertia)
        return stiffness, damping if self.damping is None else each("JointLimits: damping", self.damping, robot.nv)


@dataclass(frozen=True)
class Forces:
    """What resists in a rollout: laws, the arrays that they take, and what they remember at the start."""

    laws: tuple[Resistance, ...]
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def memory(self) -> list[str]:
        """The names of what is remembered."""
        return [*self.of_steps, *([RECALLED] if RECALLED in self.values else [])]

    @property
    def of_steps(self) -> list[str]:
        """The names of what steps remember; a controller may have a memory besides."""
        return [name for law in self.laws for name in law.memory]


def forces(robot: Robot, options: Any, control: Any, memory: Any) -> Forces:
    """The forces that the options of a rollout ask for, and those of its controller that a step takes at its end.

    Friction sticks in steps of one stage, but for closed systems of many links; elsewhere it is an explicit force, as
    in `robot.step`.
    """
    values: dict[str, Any] = {}
    stiff = [*_limits(robot, options, values), *_ground(robot, options, values), *_servo(options, control)]
    stiff += [*_pins(robot, options, values), *_drag(robot, options, values)]
    one_stage = options.integrator in ONE_STAGE
    if stiff and not one_stage:
        raise UnsupportedError(
            "rollout: joint limits, the ground, servos, pins and drag act in steps of one stage, "
            "integrator='semi_implicit' or 'linearly_implicit', which know where they lead; choose one of these"
        )
    closed: Any = robot
    sticks = one_stage and not (isinstance(closed, ClosedChains) and robot.tree.n > UNROLLED)
    if truth("joint_losses", options.joint_losses) and sticks and robot.tree.friction.any():
        stiff.append(JointFriction())
        values.update(bristles=np.zeros(robot.nv), gained=np.zeros(robot.nv))
    if isinstance(control, Remembering):
        values[RECALLED] = control.memory
    found = Forces(tuple(stiff), values)
    gains = {} if options.gains is None else {"gains": options.gains}
    return Forces(found.laws, {**values, **gains, **_recalled(memory, found)})


def _limits(robot: Robot, options: Any, values: dict[str, Any]) -> list[Resistance]:
    """Springs at the ends of ranges, if they are asked for and there are ends."""
    given = options.joint_limits
    if not isinstance(given, JointLimits):
        given = JointLimits() if truth("joint_limits", given) else None
    if given is None or not np.isfinite([robot.lower, robot.upper]).any():
        return []
    stiffness, damping = given.numbers(robot)
    values.update(lower=robot.lower, upper=robot.upper, limit_stiffness=stiffness, limit_damping=damping)
    return [_Springs()]


def _at_links(robot: Robot, options: Any, name: str, kind: type[Kind]) -> Kind | None:
    """What an option gives that acts on links, None if nothing; refused where links cannot resist accelerations."""
    given = getattr(options, name)
    if given is None:
        return None
    if not isinstance(given, kind):
        raise UnsupportedError(f"rollout: {name} must be a catena.{kind.__name__} or None, got {kind_of(given)}")
    if options.method not in AT_LINKS:
        raise UnsupportedError(
            f"rollout: {name}= takes a method out of {', '.join(AT_LINKS)}, not {options.method!r}; choose one"
        )
    refuse_followers(robot.tree, f"a rollout with {name}")
    return given


def _ground(robot: Robot, options: Any, values: dict[str, Any]) -> list[Resistance]:
    """The ground, if there is one."""
    ground = _at_links(robot, options, "ground", Ground)
    if ground is None:
        return []
    touching = ground.law(robot)
    values.update(ground=ground.numbers(robot), anchors=np.zeros(3 * len(touching.spheres)))
    return [touching]


def _pins(robot: Robot, options: Any, values: dict[str, Any]) -> list[Resistance]:
    """Points that are held, if there are such."""
    pins = _at_links(robot, options, "pins", Pins)
    if pins is None:
        return []
    law, values["pins"] = pins.law(robot)
    return [law]


def _drag(robot: Robot, options: Any, values: dict[str, Any]) -> list[Resistance]:
    """The drag of a medium, if there is one."""
    drag = _at_links(robot, options, "drag", Drag)
    if drag is None:
        return []
    values["drag"], values["medium"] = drag.numbers(robot)
    return [MediumDrag()]


def _servo(options: Any, control: Any) -> list[Resistance]:
    """What of a controller a step takes at its end."""
    if not isinstance(control, Controller) or control.law.resistance is None:
        return []
    if options.actuators:
        raise UnsupportedError("rollout: a servo knows no actuators and their limits; use pd, or leave them out")
    return [control.law.resistance]


def chosen_actuators(robot: Robot, given: Any) -> Actuators | None:
    """The actuators that are asked for: None or False for none, True for all, some by name."""
    if given is None or given is False:
        return None
    refuse_followers(robot.tree, "a rollout with actuators")
    if given is True:
        return robot.actuators
    if isinstance(given, Actuators):
        return robot.actuators[given.names]
    if isinstance(given, str) or (isinstance(given, Iterable) and all(isinstance(x, str) for x in given)):
        return robot.actuators[given]
    raise UnsupportedError(f"rollout: actuators must be True or names of actuators, got {kind_of(given)}")


def _recalled(memory: Any, forces: Forces) -> dict[str, Array]:
    """What was remembered before, by the names of what is remembered now."""
    if memory is None:
        return {}
    if not isinstance(memory, Mapping):
        raise UnsupportedError(f"rollout: memory must be that of a run, run.memory, got {kind_of(memory)}")
    unknown = [name for name in memory if name not in forces.memory]
    if unknown:
        raise UnsupportedError(
            f"rollout: memory has {unknown[0]!r}, which these forces do not remember; ask for the same ones as before"
        )
    widths = {name: np.shape(forces.values[name])[-1:] for name in memory}
    return {name: as_array(value, Port(f"memory[{name!r}]", widths[name]), "rollout") for name, value in memory.items()}
