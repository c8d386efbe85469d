"""Tasks as environments of Gymnasium: one robot, or many of them in one call of machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import whole
from catena.bridges.asked import needed
from catena.errors import DivergenceWarning, ShapeError, shown, warn
from catena.simulation.task import Play, Task

gymnasium: Any = needed("gymnasium", "Gymnasium", extra="gym")
AutoresetMode: Any = gymnasium.vector.AutoresetMode

Array = npt.NDArray[Any]

__all__ = ["Env", "Task", "VectorEnv"]


class _Episodes:
    """States of some environments of a task, with the steps that each has done in its episode."""

    def __init__(self, task: Task, number: int) -> None:
        self.play = Play(task)
        robot = task.robot
        self.q, self.v = np.zeros((number, robot.nq)), np.zeros((number, robot.nv))
        self.count, self.begun = np.zeros(number, int), np.zeros(number, bool)

    def begin(self, some: Array, q: Array, v: Array) -> Array:
        """Begin new episodes in some environments; what is observed there."""
        self.q[some], self.v[some], self.count[some], self.begun[some] = q, v, 0, True
        none = np.zeros((len(some), self.play.width))
        return self.play.seen(q, v, self.count[some], none).observation

    def step(self, some: Array, action: Any) -> tuple[Array, Array, Array, Array, Array]:
        """Step some environments: observations, rewards, whether they are over or truncated, which diverged."""
        if not self.begun[some].all():
            raise ShapeError("step: call reset first")
        given = as_floats(action, "step: action")
        if given.shape != (len(some), self.play.width):
            raise ShapeError(f"step: an action must have {self.play.width} numbers, got an array {given.shape[1:]}")
        q, v, diverged = self.play.advanced(self.q[some], self.v[some], self.count[some], given)
        self.q[some], self.v[some] = q, v
        self.count[some] += 1
        seen = self.play.seen(q, v, self.count[some], given)
        horizon = self.play.task.horizon
        truncated = np.zeros(len(some), bool) if horizon is None else self.count[some] >= horizon
        if diverged.any():
            warn(f"step: {int(diverged.sum())} of {len(some)} environments diverged and end", DivergenceWarning)
        return seen.observation, seen.reward, seen.terminated | diverged, truncated, diverged


def _spaces(play: Play) -> tuple[Any, Any]:
    """What is observed, and what actions there are."""
    box = gymnasium.spaces.Box
    return box(-np.inf, np.inf, (play.observed,), np.float64), box(-1.0, 1.0, (play.width,), np.float64)


class Env(gymnasium.Env):
    """One environment of a task; see `catena.gym.Task`.

        env = catena.gym.Env(catena.gym.Task(robot, 0.01, reset=reset, reward=reward))

    Observations and actions are arrays of float64. A state that diverges ends its episode, with `info["diverged"]` and
    a DivergenceWarning; what is observed then is the state before.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, task: Task) -> None:
        self.task = task
        self._episodes = _Episodes(task, 1)
        self.observation_space, self.action_space = _spaces(self._episodes.play)

    def __reduce__(self) -> tuple[Any, ...]:
        """A new environment of the same task: machine code does not travel."""
        return type(self), (self.task,)

    @property
    def state(self) -> tuple[Array, Array]:
        """The state as it is: q (nq,) and v (nv,)."""
        return self._episodes.q[0].copy(), self._episodes.v[0].copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; see Gymnasium."""
        super().reset(seed=seed)
        q, v = self._episodes.play.started(self.np_random, 1)
        return self._episodes.begin(np.zeros(1, int), q, v)[0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Act for one step; see Gymnasium."""
        observation, reward, terminated, truncated, diverged = self._episodes.step(np.zeros(1, int), np.array([action]))
        info = {"diverged": True} if diverged[0] else {}
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info


class VectorEnv(gymnasium.vector.VectorEnv):
    """Many environments of a task, all of them stepped in one call of machine code.

        envs = catena.gym.VectorEnv(task, 4096, autoreset_mode="same_step")

    It gives what Gymnasium's `SyncVectorEnv` of as many `Env` gives, bit by bit: with the seed s, environment i draws
    its starts from a generator with the seed s + i.

    Args:
        task: the task.
        num_envs: how many environments.
        autoreset_mode: when an environment whose episode is over begins the next one: "next_step" or "same_step" (with
            the last observations in `info["final_obs"]`), words or members of Gymnasium's AutoresetMode.
        one_rng: draw all starts from one generator, many at a time, which is faster where many episodes begin. Starts
            are then others than those of SyncVectorEnv.
    """

    def __init__(
        self, task: Task, num_envs: int, autoreset_mode: Any = AutoresetMode.NEXT_STEP, *, one_rng: bool = False
    ) -> None:
        self.task, self.num_envs, self._one_rng = task, whole("VectorEnv: num_envs", num_envs, 1), one_rng
        self.autoreset_mode = _mode(autoreset_mode)
        self.metadata = {**Env.metadata, "autoreset_mode": self.autoreset_mode}
        self._episodes = _Episodes(task, num_envs)
        self.single_observation_space, self.single_action_space = _spaces(self._episodes.play)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._rngs: list[Any] = [None] * (1 if one_rng else num_envs)
        self._over = np.zeros(num_envs, bool)

    def __reduce__(self) -> tuple[Any, ...]:
        """New environments of the same task: machine code does not travel."""
        return _vector_env, (self.task, self.num_envs, self.autoreset_mode.value, self._one_rng)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin episodes: in all environments, or in those of `options["reset_mask"]`; see Gymnasium."""
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise ShapeError(f"reset: reset_mask must be {self.num_envs} truth values in an array, some of them true")
        if not (mask | self._episodes.begun).all():
            raise ShapeError("reset: call reset for all environments first")
        self._seed(seed, mask)
        self._over[mask] = False
        none = np.zeros((self.num_envs, self._episodes.play.width))
        self._begin(np.flatnonzero(mask))
        e = self._episodes
        return e.play.seen(e.q, e.v, e.count, none).observation, {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Act for one step in all environments; those whose episodes are over begin anew, as the mode says."""
        shape = self.num_envs, self._episodes.play.width
        given = as_floats(actions, "step: actions")
        if given.shape != shape:
            raise ShapeError(f"step: actions must have shape {shape}, got {given.shape}")
        return self._on_next(given) if self.autoreset_mode is AutoresetMode.NEXT_STEP else self._on_same(given)

    def _on_next(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Environments that were over begin anew, and the others step."""
        observation = np.empty((self.num_envs, self._episodes.play.observed))
        reward = np.zeros(self.num_envs)
        terminated, truncated, diverged = (np.zeros(self.num_envs, bool) for _ in range(3))
        new, old = np.flatnonzero(self._over), np.flatnonzero(~self._over)
        if len(new):
            observation[new] = self._begin(new)
        if len(old):
            observation[old], reward[old], terminated[old], truncated[old], diverged[old] = self._episodes.step(
                old, actions[old]
            )
        self._over = terminated | truncated
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(diverged):
            infos = self._add_info(infos, {"diverged": True}, int(i))
        return observation, reward, terminated, truncated, infos

    def _on_same(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """All step, and those that are over now begin anew."""
        observation, reward, terminated, truncated, diverged = self._episodes.step(np.arange(self.num_envs), actions)
        over = terminated | truncated
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(over):
            final = {"final_obs": observation[i].copy(), "final_info": {"diverged": True} if diverged[i] else {}}
            infos = self._add_info(infos, final, int(i))
        if over.any():
            observation[over] = self._begin(np.flatnonzero(over))
        return observation, reward, terminated, truncated, infos

    def _seed(self, seed: Any, mask: Array) -> None:
        """Set generators anew where seeds are given."""
        if self._one_rng:
            if seed is not None or self._rngs[0] is None:
                self._rngs = [gymnasium.utils.seeding.np_random(seed)[0]]
            return
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)] if np.ndim(seed) == 0 else list(seed)
        if len(seeds) != self.num_envs:
            raise ShapeError(f"reset: expected {self.num_envs} seeds, got {len(seeds)}")
        for i in np.flatnonzero(mask):
            if seeds[i] is not None or self._rngs[i] is None:
                self._rngs[i] = gymnasium.utils.seeding.np_random(seeds[i])[0]

    def _begin(self, some: Array) -> Array:
        """Begin new episodes; what is observed there."""
        play = self._episodes.play
        if self._one_rng:
            return self._episodes.begin(some, *play.started(self._rngs[0], len(some)))
        starts = [play.started(self._rngs[i], 1) for i in some]
        q, v = (np.concatenate([start[j] for start in starts]) for j in range(2))
        return self._episodes.begin(some, q, v)


def _vector_env(task: Task, num_envs: int, mode: str, one_rng: bool) -> VectorEnv:
    return VectorEnv(task, num_envs, mode, one_rng=one_rng)


def _mode(given: Any) -> Any:
    """A mode by its name, in any spelling of Gymnasium's."""
    known = {mode.name.lower(): mode for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)}
    word = given.value if isinstance(given, AutoresetMode) else str(given)
    for name, mode in known.items():
        if word.lower().replace("_", "") == name.replace("_", ""):
            return mode
    raise ShapeError(f"VectorEnv: autoreset_mode must be {' or '.join(map(repr, known))}, got {shown(given)}")
