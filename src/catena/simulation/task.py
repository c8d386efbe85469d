"""Tasks of reinforcement learning: what an action does, what is seen, what is good and when it is over, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot, whole
from catena.errors import CatenaError, ShapeError, UnsupportedError, kind_of
from catena.functions.function import Function
from catena.simulation.asked import Asked, Options
from catena.simulation.divergence import healthy
from catena.simulation.rolling import Rollout
from catena.simulation.stiffness import warn_of_held
from catena.simulation.tracing import arity, digest, flag_of, numbers_of
from catena.simulation.trials import Expressions, tried

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Reset = Callable[[np.random.Generator, int], tuple[npt.ArrayLike, npt.ArrayLike]]
"""`reset(rng, count)` gives so many states to start from: q (count, nq) and v (count, nv)."""


class Seen(NamedTuple):
    """What an agent is told of states: observations (..., width), rewards (...) and whether it is over (...)."""

    observation: Array
    reward: Array
    terminated: Array


@dataclass(frozen=True)
class Task:
    """What `catena.gym.Env` and `catena.gym.VectorEnv` are made of.

    All functions but `reset` are written with NumPy and compiled, as controllers of rollouts are: write `q[..., 0]` for
    the first coordinate. They may take fewer arguments than stand here, the first of them.

    Args:
        robot: who acts.
        dt: the length of a step of the integrator in s.
        reset: `reset(rng, count)` gives so many states to start from, q (count, nq) and v (count, nv), drawn from
            NumPy's generator.
        reward: `reward(t, q, v, action)` gives one number, for the state after a step of the environment.
        terminated: `terminated(t, q, v, action)` says whether that state ends the episode: a truth value, or a number
            that is zero or more if so. None: it never ends by itself.
        control: `control(t, q, v, action)` gives torques (nv,), asked at each step of the integrator. None: an action
            is a share, from -1 to 1, of each joint's `effort_limit`.
        actions: how many numbers an action has, each from -1 to 1; needed with `control`.
        observe: `observe(t, q, v)` gives an array of numbers, what the agent sees; None for q and v.
        steps: steps of the integrator for each step of the environment.
        horizon: after so many steps of the environment an episode is truncated; None: never.
        integrator: how a step is made; see `robot.step`.
        method: the formulation of forward dynamics.
        joint_losses: whether the model's damping and friction act.
        joint_springs: whether the model's springs act.
    """

    robot: Robot
    dt: float
    reset: Reset
    reward: Callable[..., Any]
    terminated: Callable[..., Any] | None = None
    control: Callable[..., Any] | None = None
    actions: int | None = None
    observe: Callable[..., Any] | None = None
    steps: int = 1
    horizon: int | None = None
    integrator: str = "semi_implicit"
    method: str = "innovations"
    joint_losses: bool = False
    joint_springs: bool = True

    def __post_init__(self) -> None:
        a_robot("Task", self.robot)
        for name in ("reset", "reward", "terminated", "control", "observe"):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name in ("reset", "reward")):
                raise UnsupportedError(f"Task: {name} must be a function, got {kind_of(given)}")
        for name in ("steps", "horizon", "actions"):
            given = getattr(self, name)
            if given is not None:
                whole(f"Task: {name}", given, 1)
        if self.control is not None and self.actions is None:
            raise ShapeError("Task: with control, say how many numbers an action has: actions=2")
        if self.control is None and self.actions not in (None, self.robot.nv):
            raise ShapeError(
                f"Task: without control an action has {self.robot.nv} numbers, actions says {self.actions}"
            )


class Play:
    """A task made ready: machine code for its steps and for what is seen of states."""

    def __init__(self, task: Task) -> None:
        self.task, robot = task, task.robot
        self.width = robot.nv if task.actions is None else task.actions
        options = Options(task.integrator, task.method, task.joint_losses, task.joint_springs, np.float64, "unrolled")
        asked = Asked(
            robot.neutral(),
            np.zeros(robot.nv),
            None,
            task.dt,
            task.steps,
            _share_of_effort(robot) if task.control is None else task.control,
            None,
            np.zeros(self.width),
            None,
            task.steps,
            None,
        )
        self._rollout = Rollout(robot, asked, options)
        if not self._rollout.compiled:
            raise UnsupportedError(f"Task: control must be one that can be compiled, {self._rollout.how}")
        warn_of_held("Task", self._rollout)
        self._seen = robot._compiled.kernel(self._function(), (), np.float64, "unrolled")

    @property
    def observed(self) -> int:
        """How many numbers are observed."""
        return int(self._seen.outputs[0].shape[0])

    def started(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """States to start from."""
        try:
            q, v = (np.asarray(x, float) for x in self.task.reset(rng, count))
        except (TypeError, ValueError) as error:
            raise ShapeError(f"Task: reset must give q and v, two arrays of numbers ({error})") from error
        sizes = (count, self.task.robot.nq), (count, self.task.robot.nv)
        if (q.shape, v.shape) != sizes:
            raise ShapeError(f"Task: reset must give q {sizes[0]} and v {sizes[1]}, got {q.shape} and {v.shape}")
        if not healthy(q, v, None).all():
            raise ShapeError("Task: reset must give finite states")
        return q, v

    def advanced(self, q: Array, v: Array, count: Array, action: Array) -> tuple[Array, Array, Array]:
        """States after a step of the environment, of which `count` were done before, and which of them diverged.

        Where a state diverged, the one before stays.
        """
        steps = self.task.steps
        rollout = self._rollout.again(q=q, v=v, parameters=action, first=count * steps)
        found = rollout.results(None)
        new, fast = found.q[..., -1, :], found.v[..., -1, :]
        good = healthy(new, fast, None)[..., None]
        return np.where(good, new, q), np.where(good, fast, v), ~good[..., 0]

    def seen(self, q: Array, v: Array, count: Array, action: Array) -> Seen:
        """What is told of states after so many steps of the environment, the last of them with these actions."""
        t = count * (self.task.steps * self._rollout.dt)
        observation, reward, terminated = self._seen(q, v, t, action)
        return Seen(observation, reward, terminated > 0)

    def _function(self) -> Function:
        """What is seen of a state, as a function: the number of observations is known when it has been traced."""
        robot, task, width = self.task.robot, self.task, self.width
        sizes: dict[str, int | None] = {"t": None, "q": robot.nq, "v": robot.nv, "action": width}
        parts = [_traced_part(what, task, sizes) for what in ("observe", "reward", "terminated")]

        def algorithm(links: Any, q: Any, v: Any, t: Any, action: Any) -> tuple[Any, ...]:
            given = {"t": t, "action": action}
            given |= {name: [x for k in links for x in values[k]] for name, values in (("q", q), ("v", v))}
            results = []
            for part in parts:
                (field,) = links.fields("seen")
                found = part.on(**given)
                field[links.base] = found if part is parts[0] else found[0]
                results.append(field)
            return tuple(results)

        return Function(
            f"task/{width}-{digest([x for part in parts for x in part.results])}",
            algorithm,
            {"q": "q", "v": "v", "t": "robot", "action": f"robot:{width}"},
            {"observation": f"robot:{len(parts[0].results)}", "reward": "robot", "terminated": "robot"},
        )


def _traced_part(what: str, task: Task, sizes: Mapping[str, int | None]) -> Expressions:
    """Observations, the reward, or one or zero for the end, of traced scalars."""
    function: Any = getattr(task, what)
    if function is None:
        function = _both if what == "observe" else _never

    def asked(*arguments: Any) -> Any:
        return function(*arguments[: arity(function, 3 if what == "observe" else 4)])

    def numbers(*arguments: Any) -> list[Any]:
        found = asked(*arguments)
        if what == "terminated":
            return [_flag(found)]
        shape: tuple[int, ...] = np.shape(found) if what == "observe" else ()
        if what == "observe" and (len(shape) != 1 or not shape[0]):
            raise ShapeError(f"Task: observe must give an array (count,), got one of shape {shape}")
        return numbers_of(found, shape, what)

    def called(*arguments: Any) -> Any:
        found = np.asarray(asked(*arguments))
        return found >= 0 if what == "terminated" and found.dtype != bool else found

    try:
        return tried(function, sizes, numbers, called)
    except CatenaError:
        raise
    except Exception as error:  # whatever the function does with what it does not expect
        raise UnsupportedError(
            f"Task: {what} must be a function that can be compiled, written with NumPy's arithmetic "
            f"({type(error).__name__}: {error})"
        ) from error


def _flag(found: Any) -> Any:
    try:
        return flag_of(found, "terminated")
    except TypeError as error:
        raise UnsupportedError(f"Task: terminated must give one truth value or number ({error})") from error


def _both(t: Any, q: Any, v: Any) -> Any:
    return np.concatenate([q, v])


def _never() -> bool:
    return False


def _share_of_effort(robot: Robot) -> Callable[..., Any]:
    effort = np.asarray(robot.effort_limit)
    if not np.isfinite(effort).all():
        name = robot.tree.joint_names[robot.tree.joint_of(int(np.argmin(np.isfinite(effort))))]
        raise UnsupportedError(
            f"Task: joint {name!r} has no effort limit, of which an action could be a share; give control and actions"
        )

    def share(t: Any, q: Any, v: Any, action: Any) -> Any:
        return effort * action

    return share
