"""The part of Robot that finds configurations in which frames have given poses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms import inverse_kinematics
from catena.arguments.arrays import Port, as_array
from catena.arguments.links import LinkLike, link_name
from catena.arguments.poses import Target, target_of
from catena.arguments.scalars import generator, real, whole
from catena.errors import ShapeError, UnsupportedError, shown
from catena.functions.frames import place_of
from catena.functions.function import Function
from catena.functions.question import Answering
from catena.functions.store import UNROLLABLE
from catena.model.numbers import floats

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

NAME = "inverse_kinematics"
TOGETHER, PATIENCE = 6, 4
"""Steps between two looks at the errors, and looks after which a start that is still far away is given up."""

NEAR = 1e-2
"""Starts this close to their targets, in rad and m, go on."""

NEARER = 40
"""Steps towards the configuration that is wanted near."""

BLOCK, FULL = 4096, 1024
"""How many targets are solved at a time, so that they stay in the caches; and starts that keep machine code busy."""


class Reached(NamedTuple):
    """Configurations that bring frames to their targets, as far as that was possible.

    `q` is (..., nq); `reached` (...,) says where all targets are met within the tolerance; `error` (...,) is the
    largest angle or distance, in rad or m, that a frame is off its target. Where a target was not reached, `q` is the
    best that was found.
    """

    q: Array
    reached: Array
    error: Array


class InverseKinematics(Answering):
    """Configurations in which links and frames are where they are wanted."""

    __slots__ = ()

    def inverse_kinematics(
        self,
        targets: Mapping[LinkLike, Any],
        q0: npt.ArrayLike | None = None,
        *,
        restarts: int = 24,
        rng: np.random.Generator | int | None = None,
        weights: Mapping[LinkLike, Any] | None = None,
        tolerance: float = 1e-9,
        base: npt.ArrayLike | None = None,
        relative_to: LinkLike | None = None,
    ) -> Reached:
        """Configurations, within the joint limits, that bring links or frames to given poses in the base's frame.

        Damped Newton steps in machine code from q0 or from random configurations, and again from others where that
        fails. Whole batches of targets are solved together.

        Args:
            targets: by link or frame, where it should be: a pose (..., 4, 4), a position (..., 3) in m, a pair
                (rotation, position) with matrices (..., 3, 3), or SciPy's `Rotation` where a rotation is meant; leading
                dimensions broadcast.
            q0: where to start, (..., nq). Of several solutions one near it is then found: on a redundant arm the
                nearest that continuous motion along the solutions leads to. Random if left out.
            restarts: how many more starts are tried, each random within the limits.
            rng: a NumPy generator or a seed for the random starts, or None for fresh randomness.
            weights: by link or frame, how much its target counts where not all can be met: a number, or a pair for
                its rotation (1/rad) and position (1/m); 1 unless given.
            tolerance: the angle, in rad, and the distance, in m, that frames may be off.
            base: where the base stands in the world, a pose (..., 4, 4); targets are then given in the world's frame.
            relative_to: a link or frame of the robot, which may move as well; targets are then given in its frame.

        Returns:
            `q` (..., nq), `reached` (...,) and `error` (...,). Cost: some 20 steps a start, each O(depth).

        Raises:
            UnknownNameError: if there is no such link or frame.
            ShapeError: if a target is no pose, or not a number of the right shape.
            UnsupportedError: if the robot has more than 250 links; `System.close` serves those.

        Example:
            `q, reached, error = robot.inverse_kinematics({"tool": pose}, q0=q_now)`
        """
        robot = cast("Robot", self)
        if not isinstance(targets, Mapping) or not targets:
            raise ShapeError(f"{NAME}: targets must be a mapping such as {{'tool': pose}} with at least one target")
        if weights is not None and not isinstance(weights, Mapping):
            raise ShapeError(f"{NAME}: weights must be a mapping such as {{'tool': 10.0}}, not {shown(weights)}")
        if robot.tree.n > UNROLLABLE:
            raise UnsupportedError(
                f"{NAME} is for robots of up to {UNROLLABLE} links, this one has {robot.tree.n:,}; of longer ones "
                "make a catena.System with a catena.Weld from 'world' to the link, and close it"
            )
        whole(f"{NAME}: restarts", restarts)
        real(f"{NAME}: tolerance", tolerance, above=0.0)
        draws = generator(NAME, rng)
        names = tuple(link_name(robot.tree, link) for link in targets)
        wanted = [target_of(x, NAME, f"targets[{name!r}]") for name, x in zip(names, targets.values(), strict=True)]
        if base is not None and relative_to is not None:
            raise ShapeError(f"{NAME}: give base or relative_to; where the base stands says nothing of {relative_to!r}")
        if base is not None:
            wanted = [target.seen_from(target_of(base, NAME, "base")) for target in wanted]
        start = None if q0 is None else as_array(q0, Port("q0", (robot.nq,)), NAME)
        batch = batch_of(wanted, start)
        weight = _weights(robot, names, wanted, weights or {})
        goals = np.stack([_numbers(target, batch) for target in wanted], axis=-2).reshape(-1, len(names), 12)
        starts = None if start is None else np.broadcast_to(start, (*batch, robot.nq)).reshape(-1, robot.nq)
        seen_by = None if relative_to is None else link_name(robot.tree, relative_to)
        search = _Search(robot, names, seen_by, weight, float(tolerance))
        found, error = search.all(goals, starts, restarts, draws)
        return Reached(
            found.reshape(*batch, robot.nq), (error <= tolerance).reshape(batch)[()], error.reshape(batch)[()]
        )


class _Search:
    """The compiled step for some frames of a robot, and the ways to use it."""

    def __init__(
        self, robot: Robot, names: tuple[str, ...], seen_by: str | None, weight: Array, tolerance: float
    ) -> None:
        self._robot, self._weight, self._tolerance = robot, weight, tolerance
        self._kernel = robot._compiled.kernel(_step(robot, names, seen_by), kernel_shape="unrolled")

    def all(self, goals: Array, starts: Array | None, restarts: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Solutions for all targets and their errors, a block at a time."""
        count = len(goals)
        found, error = np.empty((count, self._robot.nq)), np.empty(count)
        for first in range(0, count, BLOCK):
            part = slice(first, first + BLOCK)
            near = None if starts is None else starts[part]
            found[part], error[part] = self._block(goals[part], near, restarts, rng)
        return found, error

    def _block(self, goals: Array, near: Array | None, restarts: int, rng: np.random.Generator) -> tuple[Array, Array]:
        start = self._random(rng, len(goals)) if near is None else self._robot.normalize(near)
        found, error = start.copy(), np.full(len(goals), np.inf)
        left = np.arange(len(goals))
        self._descend(start, goals, found, error, left)
        while len(left := left[~(error[left] <= self._tolerance)]) and restarts:
            at_once = min(restarts, max(1, FULL // len(left)))
            rows = np.tile(left, at_once)
            self._descend(self._random(rng, len(rows)), goals, found, error, rows)
            restarts -= at_once
        error[np.isinf(error)] = np.nan  # a target that is not a number
        if near is not None:
            self._draw_near(near, goals, found, error)
        return found, error

    def _random(self, rng: np.random.Generator, count: int) -> Array:
        return self._robot.random_configuration(rng, count)

    def _step(self, x: Array, goals: Array, near: Array, pull: float) -> tuple[Array, Array]:
        """The configurations after a step, and the squares of the errors before it."""
        new, squared = self._kernel(x, goals, self._weight, near, np.array(pull))
        return new, squared

    def _descend(self, x: Array, goals: Array, found: Array, error: Array, rows: Array) -> None:
        """Go down from x for these rows, until the targets are reached or the hope for them is given up.

        A row may be there several times, with several starts.
        """
        goals, looks = goals[rows], 0
        while len(rows):
            for _ in range(TOGETHER):
                x, _ = self._step(x, goals, x, 0.0)
            new, squared = self._step(x, goals, x, 0.0)
            now = np.sqrt(squared)
            better = np.flatnonzero(now < error[rows])
            better = better[np.argsort(-now[better], kind="stable")]  # of several starts of a row the best comes last
            found[rows[better]], error[rows[better]] = x[better], now[better]
            looks += 1
            near = NEAR if looks >= PATIENCE else np.inf
            on = (error[rows] > self._tolerance) & (now < near) & (looks < 2 * PATIENCE)
            rows, x, goals = rows[on], new[on], goals[on]

    def _draw_near(self, near: Array, goals: Array, found: Array, error: Array) -> None:
        """Move solutions along themselves towards the configurations that they should be near."""
        rows = np.flatnonzero(error <= self._tolerance)
        x, goals, near = found[rows], goals[rows], near[rows]
        for _ in range(NEARER):
            x, _ = self._step(x, goals, near, 0.5)
        for _ in range(TOGETHER):
            x, _ = self._step(x, goals, near, 0.0)
        now = np.sqrt(self._step(x, goals, near, 0.0)[1])
        better = (now <= self._tolerance) & (self._distance(near, x) < self._distance(near, found[rows]))
        found[rows[better]], error[rows[better]] = x[better], now[better]

    def _distance(self, q0: Array, q1: Array) -> Array:
        return np.asarray(np.linalg.norm(self._robot.difference(q0, q1), axis=-1))


def _step(robot: Robot, names: tuple[str, ...], seen_by: str | None) -> Function:
    """The function of one step for these frames, made once."""
    return robot._compiled.once((NAME, names, seen_by), lambda: _made(robot, names, seen_by))


def _made(robot: Robot, names: tuple[str, ...], seen_by: str | None) -> Function:
    places: list[Any] = [place_of(robot.frame(name), "link") for name in names]
    if seen_by is not None:
        places = [inverse_kinematics.Seen(place, place_of(robot.frame(seen_by), "link")) for place in places]
    limits = list(zip(robot.tree.lower.tolist(), robot.tree.upper.tolist(), strict=True))
    count = len(names)
    return Function(
        f"{NAME}/step/{names!r}" + ("" if seen_by is None else f"/{seen_by!r}"),
        partial(inverse_kinematics.step, places=places, limits=limits),
        {"q": "q", "target": f"robot:{count},12", "weight": f"robot:{count},2", "goal": "q", "pull": "robot"},
        {"q": "q", "squared": "robot"},
    )


def batch_of(targets: list[Target], start: Array | None) -> tuple[int, ...]:
    """The leading dimensions that all targets and starts have together."""
    leading = [() if start is None else start.shape[:-1]]
    for rotation, position in targets:
        leading += [] if rotation is None else [rotation.shape[:-2]]
        leading += [] if position is None else [position.shape[:-1]]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        shown = ", ".join(map(str, leading))
        raise ShapeError(f"{NAME}: the leading dimensions {shown} of q0 and the targets do not broadcast") from None


def _numbers(target: Target, batch: tuple[int, ...]) -> Array:
    """The twelve numbers of a target, (..., 12)."""
    numbers = np.zeros((*batch, 12))
    numbers[..., [0, 4, 8]] = 1.0
    if target.rotation is not None:
        numbers[..., :9] = target.rotation.reshape(*target.rotation.shape[:-2], 9)
    if target.position is not None:
        numbers[..., 9:] = target.position
    return numbers


def _weights(robot: Robot, names: tuple[str, ...], targets: list[Target], given: Mapping[LinkLike, Any]) -> Array:
    """The weights of the angles and of the position of each target; zero for parts that are not wanted."""
    weight = np.ones((len(names), 2))
    for link, value in given.items():
        name = link_name(robot.tree, link)
        if name not in names:
            raise ShapeError(f"{NAME}: weights has {name!r}, which has no target")
        try:
            pair = np.broadcast_to(floats(value), (2,))
        except ValueError:
            pair = np.array(np.nan)
        if not (np.isfinite(pair).all() and (pair > 0).all()):
            raise ShapeError(
                f"{NAME}: weights[{name!r}] must be a positive number or a pair of them, got {shown(value)}"
            )
        weight[names.index(name)] = pair
    for row, target in zip(weight, targets, strict=True):
        row *= target.rotation is not None, target.position is not None
    return weight
