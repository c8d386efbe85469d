"""External wrenches as users give them: an array over all links, or a mapping from links and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, Signature

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Wrenches = npt.ArrayLike | Mapping[Any, npt.ArrayLike] | None
"""Wrenches on links: (..., links, 6) in link frames, or by link (see :data:`catena.arguments.links.LinkLike`)."""


def wrenches(robot: Robot, f_ext: npt.ArrayLike | Mapping[Any, npt.ArrayLike], question: str) -> Any:
    """Wrenches (moment, force) on every link, (..., links, 6), each in its link's frame.

    A mapping gives them by link: name, number or LinkView. Those on a frame, a link merged by a fixed joint, are
    carried to the link it is fixed to; what acts on the base does nothing. `question` is what errors say was asked.
    """
    if not isinstance(f_ext, Mapping):
        return f_ext
    ports = tuple(Port(f"f_ext[{link!r}]", (6,)) for link in f_ext)
    signature = Signature(question, ports, (), np.dtype(float))
    given, batch = signature.arguments(tuple(f_ext.values())) if ports else ([], ())
    total = np.zeros((*batch, robot.tree.n, 6))
    for link, wrench in zip(f_ext, given, strict=True):
        frame = robot.frame(link)
        if frame.link >= 0:
            total[..., frame.link, :] += carried(wrench, frame.rotation, frame.position)
    return total


def carried(wrench: Array, rotation: Array, position: Array) -> Array:
    """A wrench given in a frame, in the frame where the first has that orientation and origin."""
    moment, force = wrench[..., :3] @ rotation.T, wrench[..., 3:] @ rotation.T
    return np.concatenate([moment + np.cross(position, force), force], axis=-1)
