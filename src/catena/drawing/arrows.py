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

BEARINGS, CONTACTS = "bearings", "contacts"
USUAL, LONGEST = 0.9, 2.0
"""The share of states whose largest force is the usual one, and by how much an arrow may be longer than that one's."""


@dataclass(frozen=True, eq=False)
class Arrows:
    """Forces at k links and frames, over samples and states.

    `link` (k,) are the moving links (-1: the base), `rotation` (k, 3, 3) and `position` (k, 3) places in them; `acting`
    (samples, rows, k, 6) points in the axes of these places, in m, then the forces that act there, in N; not finite
    where there is none.
    """

    link: Array
    rotation: Array
    position: Array
    acting: Array

    @property
    def largest(self) -> float:
        """The largest force, in N, but for a few states: impacts would make all other arrows too short to be seen."""
        each = _length(self.acting[..., 3:]).max(axis=-1, initial=0.0)
        usual = each[each > 0]
        return float(np.quantile(usual, USUAL, method="higher")) if len(usual) else 0.0

    def resampled(self, t: Array, at: Array) -> Arrows:
        """The same at other times; `t` (rows,) are the times of its states."""
        right = np.clip(np.searchsorted(t, at), min(1, len(t) - 1), len(t) - 1)
        left = np.maximum(right - 1, 0)
        share = ((at - t[left]) / np.maximum(t[right] - t[left], np.finfo(float).tiny))[:, None, None]
        return replace(self, acting=(1 - share) * self.acting[:, left] + share * self.acting[:, right])

    def placed(self, rotation: Array, position: Array, acting: Array) -> tuple[Array, Array, Array]:
        """Where arrows along z are in the world: rotations (..., k, 3, 3), positions (..., k, 3), lengths (..., k).

        Args:
            rotation: of the base and the links, (..., 1 + links, 3, 3).
            position: of the base and the links, (..., 1 + links, 3).
            acting: points and forces (..., k, 6), in the axes of the places of the arrows.
        """
        carrier, (point, force) = rotation[..., self.link + 1, :, :], np.split(acting, 2, axis=-1)
        within = self.position + (self.rotation @ np.nan_to_num(point)[..., None])[..., 0]
        start = position[..., self.link + 1, :] + (carrier @ within[..., None])[..., 0]
        size = np.minimum(_length(force) / (self.largest or 1.0), LONGEST)
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
        asked: a mapping from links and frames to forces (..., 3), or wrenches (..., 6), in their axes; "bearings", what
            joints carry, or the constraints of a system; or "contacts", what acted on the links of a run.
        q: the configurations.
        run: the run that they are of.
    """
    if asked is None or (not isinstance(asked, str) and not asked):
        return None
    if not isinstance(asked, str):
        names = [link_name(robot.tree, name) for name in asked]
        found = [_force(name, value, q.shape[:-1]) for name, value in asked.items()]
        return _arrows(places_in(robot.tree, names), np.stack(found, axis=-2), run)
    if asked == CONTACTS:
        return _contacts(run)
    if asked != BEARINGS:
        raise ShapeError(
            f"forces: expected a mapping from links to forces, {BEARINGS!r} or {CONTACTS!r}, got {shown(asked)}"
        )
    return _loops(robot, q, run) if hasattr(robot, "constraints") else _bearings(robot, q, run)


def _arrows(places: tuple[Array, Array, Array], force: Array, run: Run | None, point: Array | None = None) -> Arrows:
    """Arrows at places, of forces (..., k, 3) at each state, or at each row of a run, and perhaps points there."""
    acting = np.concatenate([np.zeros_like(force) if point is None else point, force], axis=-1)
    rows = 1 if run is None else acting.shape[-3]
    return Arrows(*places, acting.reshape(-1, rows, *acting.shape[-2:]))


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


def _to_the_end(steps: Array) -> Array:
    """What is known of each step, (..., rows - 1, a, b), for each state: for the last one, that of the last step."""
    return np.concatenate([steps, steps[..., -1:, :, :]], axis=-3)


def _bearings(robot: Any, q: Array, run: Run | None) -> Arrows:
    """What each link's parent exerts on it: at rest, or as the run moves, by the slopes of its speeds."""
    v, f_ext = np.zeros((*q.shape[:-1], robot.nv)) if run is None else run.v, None
    a = np.zeros_like(v)
    if run is not None and len(run.t) > 1:
        a = np.gradient(v, run.t, axis=-2)
        if run.wrenches is not None:  # these are of the steps after each state
            f_ext, a[..., :-1, :] = _to_the_end(run.wrenches), np.diff(v, axis=-2) / np.diff(run.t)[:, None]
    carried = robot.interlink_forces(q, v, a, f_ext)
    return _arrows(places_in(robot.tree, robot.tree.link_names), carried[..., 3:], run)


def _contacts(run: Run | None) -> Arrows | None:
    """What acted on the links of a run; None if nothing did."""
    if run is None:
        raise UnsupportedError(
            f"forces={CONTACTS!r} is for runs, which know what they touched; of a pose, give a mapping from links"
        )
    if run.wrenches is None or len(run.t) < 2:
        return None
    point, force = (_to_the_end(x) for x in run.contact_forces(in_links=True))
    links = np.flatnonzero((force != 0).any(axis=(*range(force.ndim - 2), -1)))
    places = links, np.tile(np.eye(3), (len(links), 1, 1)), np.zeros((len(links), 3))
    return _arrows(places, force[..., links, :], run, point[..., links, :])


def _loops(system: Any, q: Array, run: Run | None) -> Arrows | None:
    """What constraints exert on their second frames: held at rest by the least torques, or under those of a run."""
    held = [i for i, constraint in enumerate(system.constraints) if hasattr(constraint, "sides")]
    if not held:
        return None
    if run is None:
        none = np.zeros((*q.shape[:-1], system.nv))
        forces = system.inverse_dynamics(q, none, none).forces
    else:
        known = len(run.t) > 1
        tau = _to_the_end(run.tau[..., None])[..., 0] if known and run.tau is not None else np.zeros_like(run.v)
        f_ext = _to_the_end(run.wrenches) if known and run.wrenches is not None else None
        forces = system.forward_dynamics(q, run.v, tau, f_ext).forces
    sides = [system.constraints[i].sides[1] for i in held]
    frames = [system.frame(side.frame) for side in sides]
    turns = np.array([frame.rotation @ side.rotation for frame, side in zip(frames, sides, strict=True)])
    shifts = np.array(
        [frame.position + frame.rotation @ side.position for frame, side in zip(frames, sides, strict=True)]
    )
    link = np.array([frame.link for frame in frames])
    return _arrows((link, turns, shifts), np.asarray(forces)[..., held, 3:], run)
