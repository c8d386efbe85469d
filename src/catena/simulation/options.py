"""What rollouts and simulations can be asked: options with their types, meanings and defaults, each written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import Wrenches

if TYPE_CHECKING:
    from catena.algorithms.force_elements import ForceElement
    from catena.model.actuators import Actuators
    from catena.simulation.forces.drag import Drag
    from catena.simulation.forces.ground import Ground
    from catena.simulation.forces.joint_limits import JointLimits
    from catena.simulation.forces.pins import Pins
    from catena.simulation.laws import Control

Array = npt.NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])


class Steps(TypedDict, total=False):
    """Of all: how steps are made, and what acts in them.

    Attributes:
        t0: the time of the start in s, a multiple of dt: with it, a run that goes on from the last state of another
            gives the bits of one that never stopped.
        control: a function of (t, q, v, parameters) that gives torques, or one of `catena.controllers`. It is asked at
            the start of each step. If it runs on traced scalars, as functions of NumPy's arithmetic, sines, `where`,
            `minimum`, `clip`, `tanh`, `exp` and their like do, it is compiled into the rollout; otherwise it is called
            from Python with all samples at each step. `run.how` says which. Write `q[..., 0]` for the first coordinate:
            then both give the same.
        parameters: numbers for control, cost and f_ext, (..., count).
        f_ext: wrenches on links that are held throughout, (..., links, 6) in their frames, or a mapping from links and
            frames to wrenches (..., 6); or a function of (t, q, v, parameters) that gives such, compiled if that is
            possible, as a controller is, and then asked at every stage of a step.
        every: states are kept every so many steps, which must divide the number of steps; `every=steps` keeps the start
            and the end.
        bound: samples in which a joint is faster than this, in rad/s or m/s, count as diverged.
        integrator: how a step is made; see `step`, and `catena.simulate` for more.
        joint_losses: whether the model's damping and dry friction act. In steps of one stage, "semi_implicit" and
            "linearly_implicit", friction sticks: below its threshold a joint gives way by less than 1e-7 rad or m,
            above it it loses `robot.joint_losses(v)`. In a System of more than 60 links it only opposes motion.
        joint_springs: whether the model's springs act.
        joint_limits: whether springs push joints back into their ranges; True for stiff ones, or a
            `catena.JointLimits`.
        ground: what the robot stands on, a `catena.Ground`; None for nothing.
        pins: points of links that are held at places by springs, a `catena.Pins`; None for none.
        drag: of a medium on links, a `catena.Drag`; None for none.
        forces: a list of forces, those of the four options above and others: [catena.Ground(), catena.Drag(1.0), ...],
            with your own among them; see `catena.extend`.
        actuators: True, or names of `robot.actuators`: then tau and what a controller gives are controls of these,
            (..., nu), and torques come from their gears, gains and limits.
        memory: what friction remembers from before, `run.memory` of the run that this one goes on from.
    """

    t0: float
    control: Control | None
    parameters: npt.ArrayLike | None
    f_ext: Wrenches | Callable[..., Any]
    every: int
    bound: float | None
    integrator: str
    joint_losses: bool
    joint_springs: bool
    joint_limits: bool | JointLimits
    ground: Ground | None
    pins: Pins | None
    drag: Drag | None
    forces: Sequence[ForceElement]
    actuators: bool | Actuators | Iterable[str]
    memory: Mapping[str, npt.ArrayLike] | None


class Rolled(TypedDict, total=False):
    """Of rollouts.

    Attributes:
        steps: how many steps, where tau does not say so.
        cost: a function of (t, q, v, parameters, tau) that gives one number, the running cost at the start of a step.
            `run.cost`, (...), is the sum of it over all steps times dt.
        out: arrays for the states, a tuple (q, v).
    """

    steps: int | None
    cost: Callable[..., Any] | None
    out: tuple[Array, Array] | None


class Kernels(TypedDict, total=False):
    """Of rollouts of robots.

    Attributes:
        dtype: float64 or float32.
        kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.
    """

    dtype: npt.DTypeLike
    kernel: str | None


class OfRobots(TypedDict, total=False):
    """Of robots.

    Attributes:
        method: the formulation of forward dynamics.
    """

    method: str


class OfSystems(TypedDict, total=False):
    """Of systems.

    Attributes:
        projected: of a System, whether each step ends where its constraints are met; see `System.step`.
        gains: of a System, Baumgarte's, (..., 2) in 1/s² and 1/s.
    """

    projected: bool
    gains: npt.ArrayLike | None


class RolloutOptions(Steps, Rolled, OfRobots, Kernels, total=False):
    """Options of `Robot.rollout`."""


class SystemRolloutOptions(Steps, Rolled, OfSystems, total=False):
    """Options of `System.rollout`."""


class SimulationOptions(Steps, OfRobots, OfSystems, total=False):
    """Options of `catena.simulate` that rollouts have too."""


DEFAULTS: Mapping[str, Any] = {
    "t0": 0.0,
    "every": 1,
    "integrator": "semi_implicit",
    "joint_losses": False,
    "joint_springs": True,
    "joint_limits": False,
    "forces": (),
    "actuators": False,
    "method": "innovations",
    "dtype": np.float64,
    "projected": True,
}
"""What options are if they are left out; all others are None."""


def completed(method: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a method, those that are left out too; TypeError for one that it does not know."""
    kind = method.options  # type: ignore[attr-defined]
    for name in given:
        if name not in kind.__annotations__:
            raise TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}")
    return {**{name: DEFAULTS.get(name) for name in kind.__annotations__}, **given}


def takes(kind: Any) -> Callable[[Method], Method]:
    """Have a method show what its `**options` are: in its signature, and in its docstring in place of that line."""

    def declared(method: Method) -> Method:
        own, known = inspect.signature(method), cast("Any", method)
        parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        for name, of in kind.__annotations__.items():
            shown = {"default": DEFAULTS.get(name), "annotation": getattr(of, "__forward_arg__", of)}
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **shown))
        known.options, known.__signature__ = kind, own.replace(parameters=parameters)
        if method.__doc__ is not None:  # None under python -OO
            known.__doc__ = re.sub(r"^( *)options:.*\n", lambda at: _texts(kind, at[1]), method.__doc__, flags=re.M)
        return method

    return declared


def _texts(kind: Any, indent: str) -> str:
    """What options mean, as lines of a docstring."""
    found = []
    for part in (Steps, Rolled, OfRobots, Kernels, OfSystems):
        if part.__annotations__.keys() <= kind.__annotations__.keys():
            found += inspect.cleandoc(part.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    return "".join(f"{indent}{line.removeprefix('    ')}\n" for line in found)
