"""Functions about chosen links and frames: where they are, how joints move them, how they resist wrenches.

Each is made for a mechanism, a question, the names of the frames, the frame that motions are asked for in, and with or
without points; and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import frame_derivatives, frames, operational_space
from catena.algorithms.frames import Place
from catena.arguments.words import frame_word
from catena.errors import SingularError
from catena.functions.composed import Recipe
from catena.functions.frame_recipes import Carried
from catena.functions.function import Function
from catena.functions.recipes import Ask
from catena.model.lowering.placement import snapped
from catena.model.mimic import followers
from catena.model.singular import check_invertible
from catena.model.tree import Frame
from catena.spatial import Mat3, Transform, Turn, Vec3

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Names = str | tuple[str, ...]
"""One frame, a point of which is (..., 3); or m of them, with points (..., m, 3)."""


def function_of(robot: Robot, question: str, links: Names, frame: str = "link", points: bool = False) -> Function:
    """The function that answers one of :data:`QUESTIONS` about these frames, with points of them as its last input.

    Raises:
        UnknownNameError: if there is no such link or frame.
        UnsupportedError: if `frame` is none of "link", "world" and "mixed".
        SingularError: if the question has no answer for these frames at any configuration.
    """
    key = question, links, frame_word(frame), points
    return robot._compiled.once(("frames", *key), lambda: _made(robot, QUESTIONS[question], *key))


@dataclass(frozen=True)
class FrameQuestion:
    """How a question about m frames is answered, in unrolled and in rolled kernels.

    In the kinds of arrays, m stands for the number of frames and w for the six numbers of each. `check` refuses frames
    for which there is no answer.
    """

    algorithm: Callable[..., Any]
    recipe: Callable[..., Any]
    outputs: dict[str, str]
    vector: dict[str, str] | None = None
    check: Callable[[Robot, Sequence[str]], None] | None = None


def _made(robot: Robot, asked: FrameQuestion, question: str, links: Names, frame: str, points: bool) -> Function:
    names = (links,) if isinstance(links, str) else links
    found = [robot.frame(name) for name in names]
    if asked.check is not None:
        asked.check(robot, names)
    sizes = {"m": len(names), "w": 6 * len(names)}
    inputs = {"q": "q", **(asked.vector or {})}
    if points:
        inputs["point"] = "robot:3" if isinstance(links, str) else "robot:{m},3"
    return Function(
        f"{question}/{frame}{'+points' if points else ''}/{links!r}",
        partial(asked.algorithm, places=[place_of(at, frame) for at in found]),
        {name: kind.format(**sizes) for name, kind in inputs.items()},
        {name: kind.format(**sizes) for name, kind in asked.outputs.items()},
        recipe=_recipe(asked, Carried(found, frame), alone=points and isinstance(links, str)),
    )


def place_of(at: Frame, frame: str) -> Place:
    """Where a frame is, on the link that carries it."""
    return Place(at.link, transform_of(at.rotation, at.position), frame)


def transform_of(rotation: Array, position: Array) -> Transform:
    """The transform to a frame with this rotation and position."""
    turn = snapped(np.asarray(rotation))
    stages = Transform.shift(Vec3(*np.asarray(position).tolist()))
    if not np.array_equal(turn, np.eye(3)):
        stages = stages.then(Transform.of(Turn(Mat3(*turn.ravel().tolist()))))
    return stages


def _recipe(asked: FrameQuestion, carried: Carried, alone: bool) -> Recipe:
    if not alone:
        return partial(asked.recipe, carried)

    def with_one_point(ask: Ask, *arrays: Any) -> Any:
        *others, point = arrays
        return asked.recipe(carried, ask, *others, point[..., None, :])

    return with_one_point


def _at_points(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm that takes the points of the frames one by one, with all of them in one array."""

    def run(links: Any, q: Any, point: Any = None, *, places: Sequence[Place]) -> Any:
        return algorithm(links, q, *frames.points_of(point, places), places=places)

    return run


def _check_moving(robot: Robot, names: Sequence[str], invertible: bool = False) -> None:
    """Refuse the base, and where Λ is wanted, frames that fewer joints move than they have directions."""
    check_invertible(robot.tree)
    moving: set[int] = set()
    following = followers(robot.tree)
    for name in names:
        k = robot.frame(name).link
        if k < 0:
            raise SingularError(f"{name!r} belongs to the base, which does not move", link=name)
        while k >= 0:
            leader = k if following is None or k not in following.rules else following.rules[k].leader
            moving.update(range(robot.tree.v_start[leader], robot.tree.v_start[leader + 1]))
            k = int(robot.tree.parent[k])
    if invertible and len(moving) < 6 * len(names):
        raise SingularError(
            f"{names[0] if len(names) == 1 else names!r} can move in {6 * len(names)} directions, but only "
            f"{len(moving)} degrees of freedom lie between it and the base, so it has no operational inertia; "
            "operational_mobility gives J M⁻¹ Jᵀ",
            link=names[0],
        )


_check_invertible = partial(_check_moving, invertible=True)

QUESTIONS = {
    "placement": FrameQuestion(frames.placements, Carried.placement, {"rotation": "dense:3,3", "position": "dense:3"}),
    "placements": FrameQuestion(
        frames.placements, Carried.placements, {"rotation": "dense:{m},3,3", "position": "dense:{m},3"}
    ),
    "placement_derivatives": FrameQuestion(
        frame_derivatives.placement_derivatives,
        Carried.placement_derivatives,
        {"rotation": "dense:3,3,nv", "position": "dense:3,nv"},
    ),
    "jacobian_derivatives": FrameQuestion(
        frame_derivatives.jacobian_derivatives, Carried.jacobian_derivatives, {"dJ": "dense:{w},nv,nv"}
    ),
    "jacobian": FrameQuestion(frames.jacobian, Carried.jacobian, {"J": "dense:{w},nv"}),
    "jacobian_times": FrameQuestion(frames.jacobian_times, Carried.jacobian_times, {"V": "dense:{w}"}, {"x": "v"}),
    "jacobian_dot_times": FrameQuestion(
        frames.jacobian_dot_times, Carried.jacobian_dot_times, {"A": "dense:{w}"}, {"v": "v"}
    ),
    "jacobian_transpose_times": FrameQuestion(
        frames.jacobian_transpose_times, Carried.jacobian_transpose_times, {"tau": "dense:nv"}, {"f": "robot:{w}"}
    ),
    "operational_inertia": FrameQuestion(
        _at_points(operational_space.operational_inertia),
        Carried.operational_inertia,
        {"inertia": "dense:{w},{w}", "inverse": "dense:{w},{w}"},
        check=_check_invertible,
    ),
    "operational_dynamics": FrameQuestion(
        operational_space.operational_dynamics,
        Carried.operational_dynamics,
        {"inertia": "dense:{w},{w}", "coriolis": "dense:{w}", "gravity": "dense:{w}"},
        {"v": "v"},
        check=_check_invertible,
    ),
    "operational_mobility": FrameQuestion(
        _at_points(operational_space.mobility),
        Carried.operational_mobility,
        {"inverse": "dense:{w},{w}"},
        check=_check_moving,
    ),
    "dynamically_consistent_inverse": FrameQuestion(
        _at_points(operational_space.consistent_inverse),
        Carried.dynamically_consistent_inverse,
        {"inverse": "dense:nv,{w}"},
        check=_check_invertible,
    ),
}
"""What can be asked about frames, by the name of the question."""
