"""External wrenches as users give them: an array over all links, or a mapping from links and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Wrenches = npt.ArrayLike | Mapping[Any, npt.ArrayLike] | None
"""Wrenches on links: (..., links, 6) in link frames, or by link (see :data:`catena.model.reference.LinkLike`)."""


def wrenches(robot: Robot, f_ext: npt.ArrayLike | Mapping[Any, npt.ArrayLike]) -> Any:
    """Wrenches (moment, force) on every link, (..., links, 6), each in its link's frame.

    A mapping gives them by link: name, number or LinkView. Those on a frame, a link merged by a fixed joint, are
    carried to the link it is fixed to; what acts on the base does nothing.
    """
    if not isinstance(f_ext, Mapping):
        return f_ext
    given = [(robot.frame(link), _wrench(link, value)) for link, value in f_ext.items()]
    batch = np.broadcast_shapes(*[wrench.shape[:-1] for _, wrench in given])
    total = np.zeros((*batch, robot.tree.n, 6))
    for frame, wrench in given:
        if frame.link >= 0:
            total[..., frame.link, :] += carried(wrench, frame.rotation, frame.position)
    return total


def carried(wrench: Array, rotation: Array, position: Array) -> Array:
    """A wrench given in a frame, in the frame where the first has that orientation and origin."""
    moment, force = wrench[..., :3] @ rotation.T, wrench[..., 3:] @ rotation.T
    return np.concatenate([moment + np.cross(position, force), force], axis=-1)


def _wrench(link: object, value: npt.ArrayLike) -> Array:
    wrench = np.asarray(value, dtype=float)
    if wrench.shape[-1:] != (6,):
        raise ShapeError(f"the wrench on {link!r} must have six numbers (moment, force), not shape {wrench.shape}")
    return wrench
