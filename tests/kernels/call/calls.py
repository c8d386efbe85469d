"""A fixed program of calls, to be run under tools that watch memory: every question, odd arguments, errors.

It prints the number of calls that were answered and that were refused, and fails if an answer depends on how it was
asked for. Small on purpose: such tools take a hundred times as long.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.asking import ROBOT, Asked, arguments, questions, results

import catena
from catena.errors import CatenaError

ODD: tuple[Any, ...] = (None, "x", [], {}, np.zeros(0), np.zeros((2, 2, 2)), np.zeros(3, complex), object(), 1e400)
ROLLED = ("forward_dynamics", "inverse_dynamics", "jacobian", "placements")
MANY = 3000  # samples, which threads share and which are written past the caches


def every_call(robot: catena.Robot) -> Iterator[Asked]:
    """Each question of the robot and of its mass matrix, for eleven samples; some for one, and in loops."""
    rng = np.random.default_rng(0)
    for name, declared in ROBOT.items():
        ask = getattr(robot, name)
        yield Asked(name, ask, arguments(robot, declared, rng, (11,)))
        yield Asked(name, ask, {**arguments(robot, declared, rng), **({"kernel": "rolled"} if name in ROLLED else {})})
    M = robot.mass_matrix(robot.random_configuration(rng, (5,)))
    for name, declared in questions(catena.MassMatrix).items():
        if "out" in declared.names:
            yield Asked(name, getattr(M, name), arguments(robot, declared, rng, (5,)))


def ways(asked: Asked, expected: list[np.ndarray]) -> Iterator[dict[str, Any]]:
    """The same call again, with arrays of other kinds, and into arrays."""
    given = {name: x for name, x in asked.arguments.items() if isinstance(x, np.ndarray)}
    yield {}
    outs = [np.empty(x.shape, x.dtype) for x in expected]
    yield {"out": tuple(outs) if len(outs) > 1 else outs[0]}
    yield {name: np.repeat(x, 2, axis=-1)[..., ::2] for name, x in given.items()}
    yield {name: x.tolist() for name, x in given.items()}
    yield {name: x.astype(">f8") for name, x in given.items()}


def ask(asked: Asked, counts: list[int]) -> None:
    """Ask in all ways and compare bit by bit; then wrongly."""
    try:
        expected = results(asked())
    except CatenaError:  # this question has no answer for this robot
        counts[1] += 1
        return
    for options in ways(asked, expected):
        found = results(asked(**options))
        assert all(x.tobytes() == y.tobytes() for x, y in zip(found, expected, strict=True)), asked.label
        counts[0] += 1
    arrays = [name for name, x in asked.arguments.items() if isinstance(x, np.ndarray)]
    counts[1] += sum(refused(asked, name, odd) for name in arrays[:1] for odd in ODD)


def refused(asked: Asked, name: str, value: Any) -> bool:
    """Whether a value of an argument is refused, as it should be; some odd ones may do."""
    try:
        asked(**{name: value})
    except (CatenaError, TypeError):
        return True
    return False


def main() -> None:
    """Make all calls, let the robot die in a cycle, and print the counts."""
    counts = [0, 0]
    warnings.simplefilter("ignore")
    catena.set_threads(2)
    robot = catena.random_tree(5, 3, ("revolute", "prismatic", "spherical"), base="floating")
    for asked in every_call(robot):
        ask(asked, counts)
    q, v, tau = robot.neutral(), np.ones(robot.nv), np.ones(robot.nv)
    link = robot.links[-1].name
    for _ in range(2):
        robot.forward_dynamics(q, v, tau, f_ext={link: [1.0] * 6, robot.base_name: np.ones(6, np.float32)})
        robot.forward_dynamics(q, v, tau, dtype=np.float32)
        robot.jacobian(q, [link, 0], frame="world")
        robot.forward_dynamics(np.tile(q, (MANY, 1)), v, tau)
        robot.inverse_mass_matrix(np.tile(q, (MANY, 2))[:, : robot.nq])
    holder: list[Any] = [robot, asked]
    holder.append(holder)
    del robot, holder, asked
    gc.collect()
    catena.release_memory()
    print(*counts)


if __name__ == "__main__":
    main()
