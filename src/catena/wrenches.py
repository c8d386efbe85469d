"""External wrenches as users give them: an array over all links, or a mapping from names of links and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def wrenches(robot: Robot, f_ext: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> Any:
    """Wrenches (moment, force) on every link, (..., links, 6), each in its link's frame.

    A mapping gives them by name: those on a frame, a link merged by a fixed joint, are carried to the link it is fixed
    to. What acts on the base does nothing.
    """
    if not isinstance(f_ext, Mapping):
        return f_ext
    given = {name: _wrench(name, value) for name, value in f_ext.items()}
    batch = np.broadcast_shapes(*[w.shape[:-1] for w in given.values()])
    total = np.zeros((*batch, robot.tree.n, 6))
    for name, wrench in given.items():
        frame = robot.frame(name)
        if frame.link >= 0:
            total[..., frame.link, :] += carried(wrench, frame.rotation, frame.position)
    return total


def carried(wrench: Array, rotation: Array, position: Array) -> Array:
    """A wrench given in a frame, in the frame where the first has that orientation and origin."""
    moment, force = wrench[..., :3] @ rotation.T, wrench[..., 3:] @ rotation.T
    return np.concatenate([moment + np.cross(position, force), force], axis=-1)


def _wrench(name: str, value: npt.ArrayLike) -> Array:
    wrench = np.asarray(value, dtype=float)
    if wrench.shape[-1:] != (6,):
        raise ShapeError(f"the wrench on {name!r} must have six numbers (moment, force), not shape {wrench.shape}")
    return wrench
