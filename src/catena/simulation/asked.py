"""What a rollout is asked for: checked, with its forces, controller and cost made ready, and what these give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.actuation import ACTUATORS
from catena.algorithms.force_elements import ForceElement
from catena.algorithms.integrators import INTEGRATORS
from catena.algorithms.rollouts import Law, torques, under
from catena.arguments.arrays import Port, as_array
from catena.arguments.scalars import whole
from catena.arguments.words import METHOD_HINTS, one_of
from catena.arguments.wrenches import wrenches
from catena.errors import ShapeError, UnsupportedError, kind_of
from catena.functions.function import Function, is_of_dofs
from catena.functions.store import chosen_shape
from catena.questions.closed_stepping import ClosedStepping, closed_stepping
from catena.questions.stepping import INTEGRATOR_HINTS, METHODS, stepping
from catena.simulation.checked import kept_rows, positive, whole_steps
from catena.simulation.forces.chosen import chosen_actuators, forces
from catena.simulation.kept import Kept
from catena.simulation.laws import Given, controller, parameter_array, running_cost
from catena.simulation.wrenches import changing

if TYPE_CHECKING:
    from catena.robot import Robot
    from catena.system import System

Array = npt.NDArray[Any]
This = TypeVar("This", bound="Prepared")


@dataclass(frozen=True)
class Options:
    """How steps are made; see :meth:`catena.Robot.step`."""

    integrator: str
    method: str = "innovations"
    joint_losses: bool = False
    joint_springs: bool = True
    dtype: Any = np.float64
    kernel: str | None = None
    joint_limits: Any = False
    ground: Any = None
    pins: Any = None
    drag: Any = None
    forces: Any = ()
    actuators: Any = None
    projected: Any = True
    gains: Any = None


@dataclass(frozen=True)
class Asked:
    """What a rollout is asked for; see :meth:`catena.Robot.rollout`. `first` steps were done since t0."""

    q: Any
    v: Any
    tau: Any
    dt: Any
    steps: int | None = None
    control: Any = None
    cost: Any = None
    parameters: Any = None
    f_ext: Any = None
    every: int = 1
    bound: float | None = None
    t0: float = 0.0
    first: int = 0
    memory: Any = None


def parted(q: Any, v: Any, tau: Any, dt: Any, given: Mapping[str, Any]) -> tuple[Asked, Options, Any]:
    """What a rollout with these options is asked for, how its steps are made, and arrays for its results."""
    asked, how = ({f.name: given[f.name] for f in fields(kind) if f.name in given} for kind in (Asked, Options))
    return Asked(q, v, tau, dt, **asked), Options(**how), given.get("out")


class Prepared:
    """A rollout that is checked and made ready to be computed."""

    def __init__(self, robot: Robot, asked: Asked, options: Options) -> None:
        integrator = one_of("integrator", options.integrator, INTEGRATORS, INTEGRATOR_HINTS)
        method = one_of("forward dynamics method", options.method, METHODS, METHOD_HINTS)
        options = replace(options, integrator=integrator, method=method)
        self.robot, self.asked, self.options = robot, asked, options
        self.dt = positive("dt", asked.dt)
        self.first = asked.first + whole_steps(asked.t0, self.dt)
        self.bound = None if asked.bound is None else positive("bound", asked.bound)
        self.forces = forces(robot, options, asked.control, asked.memory)
        self.step = _stepping(robot, options, self.forces.traced)
        self.shape = chosen_shape(robot.tree, self.step, options.kernel)
        for force in self.forces.asked if self.shape == "rolled" else ():
            if not force.loops:
                many = f", this robot has {robot.tree.n} links; it can have less"
                raise UnsupportedError(
                    f"rollout: the {force.name} is for unrolled kernels"
                    + (many if options.kernel is None else "; leave kernel out")
                )
        self.parameters = parameter_array(asked.parameters)
        self.actuators = chosen_actuators(robot, options.actuators)
        self.control = controller(robot.tree, asked.control, self.parameters, self.shape, self.actuators)
        self.cost = running_cost(robot.tree, asked.cost, self.parameters, self.shape)
        self.tau, self.steps = self._steps()
        self.rows = kept_rows(self.steps, asked.every)
        self.wrench = changing(robot, asked.f_ext, self.parameters, self.shape)
        held = asked.f_ext is not None and self.wrench is None
        self.f_ext = wrenches(robot, asked.f_ext, "rollout") if held else None
        self.drive = None if self.actuators is None or self.by_recipe else ACTUATORS
        self.acted = under(self.step, self.drive, self._asked_at_stages)

    def again(self: This, **changes: Any) -> This:
        """The same rollout with other states, parameters, number of steps or steps done before, nothing traced again.

        Steps done before may be one number for each sample; what has torques of its own for each step, `tau`, takes
        those from there on.
        """
        other = copy(self)
        other.asked = replace(self.asked, **changes)
        other.first = other.asked.first + whole_steps(other.asked.t0, self.dt)
        if "memory" in changes:
            other.forces = forces(self.robot, self.options, self.asked.control, changes["memory"])
        if "steps" in changes:
            other.steps, other.rows = changes["steps"], kept_rows(changes["steps"], other.asked.every)
            if self.tau is not None:
                start = other.asked.first - self.asked.first
                other.tau = self.tau[..., start : start + other.steps, :]
        if "parameters" in changes:
            given = {"parameters": changes["parameters"]}
            other.parameters = given["parameters"]
            other.control, other.cost, other.wrench = (
                law if law is None or "parameters" not in law.values else replace(law, values=given)
                for law in (self.control, self.cost, self.wrench)
            )
        return other

    def _steps(self) -> tuple[Any, int]:
        """The torques that were given and the number of steps."""
        tau, steps = self.asked.tau, self.asked.steps
        nv = self.robot.nv if self.actuators is None else len(self.actuators)
        if tau is not None and self.control is not None:
            raise UnsupportedError("rollout: give tau or control, not both; a controller can add torques of its own")
        if steps is not None:
            steps = whole("rollout: steps", steps)
        if tau is None:
            if steps is None:
                raise ShapeError("rollout: without tau, say how many steps: steps=100")
            return None, steps
        given = as_array(tau, Port("tau", (nv,)), "rollout")
        if given.ndim < 2:
            raise ShapeError(f"rollout: tau must have shape (..., steps, {nv}), got {given.shape}")
        if steps is not None and steps != given.shape[-2]:
            raise ShapeError(
                f"rollout: tau has {given.shape[-2]} steps (its shape is {given.shape}), steps says {steps}"
            )
        return given if self.actuators is None else self.actuators.spread(given), given.shape[-2]

    def telling(self, present: tuple[str, ...]) -> Any:
        """The machine code of a step that tells what forces exert on links; `present` says whether f_ext is given."""
        function = _stepping(self.robot, self.options, self.forces.traced, telling=True)
        return self.robot._compiled.kernel(function, present, self.options.dtype, self.shape)

    def times(self, rows: int) -> Array:
        """The times of the start and of so many rows that follow, in s."""
        return np.asarray((self.first + np.arange(rows + 1) * self.asked.every) * self.dt)

    @property
    def free(self) -> bool:
        """Whether there are no torques at all."""
        return self.tau is None and self.control is None

    @property
    def laws(self) -> list[Given]:
        """What was given besides torques."""
        return [law for law in (self.control, self.cost, self.wrench) if law is not None]

    @property
    def compiled(self) -> bool:
        """Whether all is machine code."""
        return not self.by_recipe and all(given.law is not None for given in self.laws)

    @property
    def by_recipe(self) -> bool:
        """Whether steps are put together in Python, which holds what acts over their stages."""
        return self.shape == "rolled" and self.step.recipe is not None

    @property
    def _asked_at_stages(self) -> Law | None:
        """The law of wrenches that steps ask at their stages, None if there is none or if wrenches are held."""
        return None if self.wrench is None or self.by_recipe else self.wrench.law

    @property
    def how(self) -> str:
        """How control and cost are computed, in words."""
        return "; ".join(given.how for given in self.laws)

    def values(self, given: Given) -> dict[str, Any]:
        """The arrays of a law; one number stands for one of each degree of freedom."""
        law: Any = given.law
        alone = {name for name, x in given.values.items() if is_of_dofs(law.inputs[name]) and not np.ndim(x)}
        nv = self.robot.nv
        return {name: np.broadcast_to(x, nv) if name in alone else x for name, x in given.values.items()}

    def rows_at(self, given: Given | None, count: Any, more: Any = 0) -> Mapping[str, Any]:
        """What a law needs at each step, after so many steps since time zero."""
        return {} if given is None or given.along is None else given.along((count + more) * self.dt)

    def driven(self, controls: Array, q: Array, v: Array) -> Array:
        """The torques that actuators make of controls, where there are actuators."""
        chosen = self.actuators
        return controls if chosen is None else chosen.torques(controls[..., chosen.dofs], q, v)

    def acting(self, t: Any, q: Array, v: Array, controls: Array) -> dict[str, Any]:
        """What acts in a step that begins at a time and a state, for :attr:`acted`."""
        values: dict[str, Any] = {"tau": controls if self.drive else self.driven(controls, q, v), "t": t}
        values |= self.actuators.columns() if self.actuators is not None and self.drive else {}
        if self.wrench is not None and self._asked_at_stages is not None:
            return {**values, **self.values(self.wrench), "f_ext": None}
        return {**values, "f_ext": self.wrenches_at(t, q, v)}

    def wrenches_at(self, t: float, q: Array, v: Array) -> Any:
        """The wrenches on links at a time, None for none."""
        if self.wrench is None:
            return self.f_ext
        function: Any = self.wrench.function
        return function.numbers(t, q, v, self.parameters)

    def asked_now(self, given: Given, t: float, q: Array, v: Array, *more: Any) -> Any:
        """What a controller or cost gives, whether it is compiled or called."""
        if given.function is not None:
            return self._asked_of(given, t, q, v, *more)
        law: Any = given.law
        kernel = self.robot._compiled.kernel(torques(law), (), self.options.dtype, self.shape)
        return kernel(q, v, t, *self.values(given).values(), *self.rows_at(given, t / self.dt).values())

    def check_samples(self, q: Array, v: Array) -> None:
        """ShapeError for a controller, called with all samples at once, that gives the first another torque than alone.

        That is what `q[0]` for `q[..., 0]` and sums over everything do. What it keeps is set back.
        """
        given, t = self.control, float(self.first * self.dt) if np.ndim(self.first) == 0 else 0.0
        if given is None or given.function is None or given.remembers or q.ndim < 2 or not q.size or self.asked.first:
            return
        kept, first = Kept(given.function), (0,) * (q.ndim - 1)
        numbers = np.broadcast_to(self.parameters, (*q.shape[:-1], self.parameters.shape[-1]))[first]
        calls = [(q.copy(), v.copy(), self.parameters)] * 2 + [(q[first].copy(), v[first].copy(), numbers)]
        found = [answer for arrays in calls if (answer := _attempt(given, kept, t, arrays)) is not None]
        if len(found) < 3 or not np.array_equal(found[0], found[1], equal_nan=True):
            return
        try:
            alone = np.broadcast_to(found[2], found[0].shape[-1:])
            together = np.broadcast_to(found[0], (*q.shape[:-1], *found[0].shape[-1:]))[first]
        except ValueError:  # said where it is called for good
            return
        if not np.allclose(alone, together, rtol=1e-9, atol=1e-9, equal_nan=True):
            raise ShapeError(
                f"rollout: {given.what} gives the first of {q.shape[:-1]} samples something else than when it is asked "
                "for that one alone; write q[..., 0] for the first coordinate, and axis=-1 in sums"
            )

    def _asked_of(self, given: Given, t: float, q: Array, v: Array, *more: Any) -> Array:
        """What a function of the user's gives for all samples at a time."""
        nu = self.robot.nv if self.actuators is None else len(self.actuators)
        width = () if given is self.cost else (nu,)
        return self._checked(given, given(float(t), q, v, self.parameters, *more), q, width)

    def recalling(self, given: Given, t: float, q: Array, v: Array, memory: Array) -> tuple[Array, Array]:
        """What a controller that remembers gives, called from Python, and what it remembers from then on."""
        answer = given(float(t), q, v, memory, self.parameters)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ShapeError(f"rollout: a controller that remembers must give (tau, memory), got {kind_of(answer)}")
        nu = self.robot.nv if self.actuators is None else len(self.actuators)
        new = np.asarray(answer[1], float)
        if new.shape[-1:] != memory.shape[-1:]:
            raise ShapeError(f"rollout: control must give memory (..., {memory.shape[-1]}), got {new.shape}")
        return self._checked(given, answer[0], q, (nu,)), np.broadcast_to(new, memory.shape)

    def _checked(self, given: Given, answer: Any, q: Array, width: tuple[int, ...]) -> Array:
        result = np.asarray(answer)
        if result.dtype.kind not in "biuf":
            raise ShapeError(f"rollout: {given.what} must give real numbers, got {kind_of(answer)}")
        try:
            found = np.broadcast_to(result, (*q.shape[:-1], *width))
            return found if given is self.cost or self.actuators is None else self.actuators.spread(found)
        except ValueError:
            expected = f"({', '.join(['...', *map(str, width)])})"
            raise ShapeError(
                f"rollout: {given.what} must give {expected}, here {(*q.shape[:-1], *width)}, got {result.shape}"
            ) from None


def _attempt(given: Given, kept: Kept, t: float, arrays: Sequence[Array]) -> Array | None:
    """What a function gives, None if it fails, which is said where it is called for good; what it keeps is set back."""
    if not kept.lasting:
        return None
    try:
        return np.asarray(given(t, *arrays), float)
    except Exception:  # or it is written for many samples only
        return None
    finally:
        kept.restored()


def _stepping(robot: Any, options: Options, forces: Sequence[ForceElement], telling: bool = False) -> Function:
    """The function of one step, of a robot or of a closed system, perhaps `telling` what forces exert."""
    if isinstance(robot, ClosedStepping):
        return closed_stepping(
            cast("System", robot),
            options.integrator,
            options.joint_losses,
            options.joint_springs,
            options.projected,
            () if options.gains is None else ("gains",),
            forces,
            telling,
        )
    how = options.integrator, options.method, options.joint_losses, options.joint_springs
    return stepping(robot, *how, forces, telling)
