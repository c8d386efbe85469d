"""Forces as arrows: on which links and frames, and how large at each state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.links import link_name
from catena.errors import ShapeError, UnknownNameError, UnsupportedError, shown
from catena.model.axes import axis_frame
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]
Asked = Mapping[Any, npt.ArrayLike] | str | None

BEARINGS = "bearings"


@dataclass(frozen=True, eq=False)
class Arrows:
    """Forces at k links and frames, over samples and states.

    `link` (k,) are the moving links (-1: the base), `rotation` (k, 3, 3) and `position` (k, 3) places in them, `force`
    (samples, rows, k, 3) forces in the axes of these places, in N; not finite where there is none.
    """

    link: Array
    rotation: Array
    position: Array
    force: Array

    @property
    def largest(self) -> float:
        """The largest force, in N."""
        return float(_length(self.force).max(initial=0.0))

    def resampled(self, t: Array, at: Array) -> Arrows:
        """The same at other times; `t` (rows,) are the times of its states."""
        right = np.clip(np.searchsorted(t, at), min(1, len(t) - 1), len(t) - 1)
        left = np.maximum(right - 1, 0)
        share = ((at - t[left]) / np.maximum(t[right] - t[left], np.finfo(float).tiny))[:, None, None]
        return replace(self, force=(1 - share) * self.force[:, left] + share * self.force[:, right])

    def placed(self, rotation: Array, position: Array, force: Array) -> tuple[Array, Array, Array]:
        """Where arrows along z are in the world: rotations (..., k, 3, 3), positions (..., k, 3), lengths (..., k).

        Args:
            rotation: of the base and the links, (..., 1 + links, 3, 3).
            position: of the base and the links, (..., 1 + links, 3).
            force: (..., k, 3), in the axes of the places of the arrows.
        """
        carrier = rotation[..., self.link + 1, :, :]
        start = position[..., self.link + 1, :] + (carrier @ self.position[:, :, None])[..., 0]
        size = _length(force) / (self.largest or 1.0)
        along = np.where(size[..., None] > 0, force, [0.0, 0.0, 1.0])
        along = (carrier @ self.rotation @ (along / np.linalg.norm(along, axis=-1, keepdims=True))[..., None])[..., 0]
        return axis_frame(along), start, size


def _length(force: Array) -> Array:
    """Of forces (..., 3); 0 for those that are not finite."""
    return np.where(np.isfinite(force).all(axis=-1), np.linalg.norm(np.nan_to_num(force), axis=-1), 0.0)


def arrows_of(robot: Any, asked: Asked, q: Array, run: Run | None = None) -> Arrows | None:
    """The arrows that were asked for, at configurations q, (..., nq), or those of a run, (..., rows, nq); or None.

    Args:
        robot: a Robot or a System.
        asked: a mapping from links and frames to forces (..., 3), or wrenches (..., 6), in their axes; or "bearings".
        q: the configurations.
        run: the run that they are of.
    """
    if isinstance(asked, str):
        asked = _bearings(robot, asked, q, run)
    if not asked:
        return None
    tree, rows = robot.tree, q.shape[:-1] if run is not None else (*q.shape[:-1], 1)
    places = places_in(tree, [link_name(tree, name) for name in asked])
    found = [_force(name, value, q.shape[:-1]).reshape(-1, rows[-1], 3) for name, value in asked.items()]
    return Arrows(*places, np.stack(found, axis=-2))


def places_in(tree: Tree, names: Iterable[str]) -> tuple[Array, Array, Array]:
    """Where links and frames are: moving links (k,) (-1: the base), rotations (k, 3, 3) and positions (k, 3) there."""
    numbers = {name: i for i, name in enumerate(tree.link_names)} | {tree.base_name: -1}
    link, turn, shift = [], [], []
    for name in names:
        frame = tree.frames.get(name)
        if frame is None and name not in numbers:
            raise UnknownNameError.among("link or frame", name, [*tree.link_names, *tree.frames, tree.base_name])
        link.append(numbers[name] if frame is None else frame.link)
        turn.append(np.eye(3) if frame is None else frame.rotation)
        shift.append(np.zeros(3) if frame is None else frame.position)
    return np.array(link, int), np.array(turn).reshape(-1, 3, 3), np.array(shift).reshape(-1, 3)


def _force(name: Any, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """One force for each state, (..., 3), from forces or wrenches that may be the same for all of them."""
    try:
        given = np.asarray(value, float)
        return np.broadcast_to(given[..., -3:], (*shape, 3)) if given.shape[-1] in (3, 6) else given.reshape(0, -1, 3)
    except (TypeError, ValueError, IndexError):
        raise ShapeError(
            f"forces[{name!r}]: expected forces (..., 3) or wrenches (..., 6), one for each of the states {shape}, or "
            f"one for all; got an array of shape {np.shape(value)}"
        ) from None


def _bearings(robot: Any, asked: str, q: Array, run: Run | None) -> dict[str, Array]:
    """What each link's parent exerts on it: at rest, or as the run moves, by the slopes of its speeds."""
    if asked != BEARINGS:
        raise ShapeError(f"forces: expected a mapping from links to forces, or {BEARINGS!r}, got {shown(asked)}")
    if not hasattr(robot, "interlink_forces"):
        raise UnsupportedError(f"forces={BEARINGS!r} is for robots; of a System, give a mapping from links to forces")
    v = np.zeros((*q.shape[:-1], robot.nv)) if run is None else run.v
    a = np.zeros_like(v) if run is None or len(run.t) < 2 else np.gradient(v, run.t, axis=-2)
    carried = robot.interlink_forces(q, v, a)
    return {link.name: carried[..., link.index, :] for link in robot.links}
