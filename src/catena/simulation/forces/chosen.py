"""The forces that act in a rollout besides torques: which were asked for, their numbers, and what they remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.force_elements import STIFF, Acting, ForceElement
from catena.algorithms.integrators import ONE_STAGE
from catena.algorithms.resistance import JointFriction
from catena.algorithms.rollouts import RECALLED
from catena.arguments.arrays import Port, as_array
from catena.arguments.words import truth
from catena.errors import UnsupportedError, kind_of, shown
from catena.functions.function import array_shape
from catena.functions.store import UNROLLED
from catena.model.actuators import Actuators
from catena.model.mimic import refuse_followers
from catena.questions.closed_chains import ClosedChains
from catena.simulation.forces.drag import Drag
from catena.simulation.forces.ground import Ground
from catena.simulation.forces.joint_limits import JointLimits
from catena.simulation.forces.pins import Pins
from catena.simulation.laws import Controller, Remembering

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

SHORT_FORMS: Mapping[str, type[ForceElement]] = {"ground": Ground, "pins": Pins, "drag": Drag}
"""Options that stand for a force in the list, by name with what they take."""

AT_LINKS = ("innovations", "fd1", "fd2", "fd3")
"""The formulations of forward dynamics in which links can resist accelerations: gravity is none of theirs."""


@dataclass(frozen=True)
class Forces:
    """What acts in a rollout: forces as they were asked for and as they are traced, with their arrays.

    `values` are those arrays, and what a controller remembers besides.
    """

    asked: tuple[ForceElement, ...] = ()
    acting: Acting = field(default_factory=Acting)
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def traced(self) -> list[ForceElement]:
        """As steps take them."""
        return [force for force, _ in self.acting.each]

    @property
    def memory(self) -> list[str]:
        """The names of what is remembered."""
        return [*self.acting.memory, *([RECALLED] if RECALLED in self.values else [])]


def forces(robot: Robot, options: Any, control: Any, memory: Any) -> Forces:
    """The forces that the options of a rollout ask for, and those of its controller that a step takes at its end."""
    asked = _asked(robot, options, control)
    both = [(force, traced) for force in asked if (traced := force.on(robot)) is not None]
    acting = Acting([traced for _, traced in both])
    values: dict[str, Any] = {}
    for (force, _), (traced, names) in zip(both, acting.each, strict=True):
        given = force.numbers(robot)
        values |= {names[own]: _array(robot, traced, own, given) for own in names if own not in traced.shared}
    stiff = [force for force, _ in both if force.stiff]
    if stiff and options.integrator not in ONE_STAGE:
        own = [f"the force {force.name!r} acts" for force in stiff if not _of_package(force)]
        raise UnsupportedError(
            f"rollout: {own[0] if own else STIFF + ' act'} in steps of one stage, "
            "integrator='semi_implicit' or 'linearly_implicit', which know where they lead; choose one of these"
        )
    if isinstance(control, Remembering):
        values[RECALLED] = control.memory
    found = Forces(tuple(force for force, _ in both), acting, values)
    gains = {} if options.gains is None else {"gains": options.gains}
    return Forces(found.asked, acting, {**values, **gains, **_recalled(memory, found)})


def _asked(robot: Robot, options: Any, control: Any) -> list[ForceElement]:
    """The forces that are asked for, in the order in which they are added up."""
    limits, listed = options.joint_limits, options.forces
    if not isinstance(limits, JointLimits):
        limits = JointLimits() if truth("joint_limits", limits) else None
    short = {name: _of_kind(name, getattr(options, name), kind) for name, kind in SHORT_FORMS.items()}
    if not isinstance(listed, list | tuple) or not all(isinstance(force, ForceElement) for force in listed):
        raise UnsupportedError(
            f"rollout: forces must be a list of forces, such as [catena.Ground()], got {shown(listed)}"
        )
    found = [limits, short["ground"], _servo(options, control), short["pins"], short["drag"], _friction(robot, options)]
    asked = [*[force for force in found if force is not None], *listed]
    for force in asked:
        _check(robot, options, force)
    return asked


def _of_kind(name: str, given: Any, kind: type[ForceElement]) -> ForceElement | None:
    if given is None or isinstance(given, kind):
        return given
    raise UnsupportedError(f"rollout: {name} must be a catena.{kind.__name__} or None, got {kind_of(given)}")


def _check(robot: Robot, options: Any, force: ForceElement) -> None:
    """Refuse a force on links where these cannot resist accelerations."""
    if force.memory and not force.stiff:
        raise UnsupportedError(f"rollout: the force {force.name!r} remembers, which stiff ones can: stiff = True")
    if force.at_links and options.method not in AT_LINKS:
        who = f"{force.name}=" if _of_package(force) else f"the force {force.name!r}"
        raise UnsupportedError(
            f"rollout: {who} takes a method out of {', '.join(AT_LINKS)}, not {options.method!r}; choose one"
        )


def _of_package(force: ForceElement) -> bool:
    return type(force).__module__.startswith("catena.")


def _friction(robot: Robot, options: Any) -> ForceElement | None:
    """Friction that sticks: in steps of one stage, but for closed systems of many links.

    Elsewhere it is an explicit force, as in `robot.step`.
    """
    closed: Any = robot
    sticks = options.integrator in ONE_STAGE and not (isinstance(closed, ClosedChains) and robot.tree.n > UNROLLED)
    acts = truth("joint_losses", options.joint_losses) and sticks and robot.tree.friction.any()
    return JointFriction() if acts else None


def _servo(options: Any, control: Any) -> ForceElement | None:
    """What of a controller a step takes at its end."""
    if not isinstance(control, Controller) or control.force is None:
        return None
    if options.actuators:
        raise UnsupportedError("rollout: a servo knows no actuators and their limits; use pd, or leave them out")
    return control.force


def _array(robot: Robot, force: ForceElement, name: str, given: Mapping[str, Any]) -> Array:
    """An array of a force, as its kind says."""
    if name not in given:
        raise UnsupportedError(f"rollout: numbers of the force {force.name!r} must give {name!r}, its input")
    shape = array_shape(force.inputs[name], robot.tree.n, robot.nq, robot.nv)
    return as_array(given[name], Port(f"{name} of the force {force.name!r}", shape), "rollout")


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
