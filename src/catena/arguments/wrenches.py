"""External wrenches as users give them: an array over all links, or a mapping from links and frames."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.wrenches import CARRIED_WRENCH
from catena.arguments.arrays import Port, Signature
from catena.kernels.call.books import Made
from catena.kernels.call.words import MAX_KEYS
from catena.model.random_tree import random_tree

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Wrenches = npt.ArrayLike | Mapping[Any, npt.ArrayLike] | None
"""Wrenches on links: (..., links, 6) in link frames, or by link (see :data:`catena.arguments.links.LinkLike`)."""

MOST_LINKS = 250
"""On robots of more links than this, Python takes mappings apart: the call itself takes longer."""


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
    carry = carrying() if ports else None
    for link, wrench in zip(f_ext, given, strict=True):
        frame = robot.frame(link)
        if frame.link >= 0 and carry is not None:
            total[..., frame.link, :] += carry(_place(frame), wrench)
    return total


def frames_of(robot: Robot, links: tuple[Any, ...], dtype: np.dtype[Any]) -> Made | None:
    """The table from which machine code carries wrenches on these links and frames; None if Python has to do it."""
    from catena.kernels.call.procedures import wrench_table  # brings in much

    if len(links) > MAX_KEYS or robot.tree.n > MOST_LINKS or not links:
        return None
    frames = [robot.frame(link) for link in links]
    places = np.stack([_place(frame) for frame in frames])
    return wrench_table(_carry(dtype), [frame.link for frame in frames], places, robot.tree.n)


def placed_frames(robot: Robot, links: tuple[Any, ...]) -> list[tuple[int, Array]]:
    """Of these links and frames the link that each sits on, -1 for the base, and the twelve numbers of its place."""
    return [(frame.link, _place(frame)) for frame in map(robot.frame, links)]


def carrying() -> Any:
    """What carries wrenches in Python: the kernel that takes the twelve numbers of a frame and a wrench."""
    return _carry(np.dtype(float))


@functools.cache
def _carry(dtype: np.dtype[Any]) -> Any:
    """What carries a wrench to the link of its frame: the same for all robots, so it is made for one of one link."""
    from catena.kernels.build import unrolled_kernel

    return unrolled_kernel(random_tree(0, 1, "revolute"), CARRIED_WRENCH, (), dtype)


def _place(frame: Any) -> Array:
    """The twelve numbers of a frame: its rotation by rows, then its origin."""
    return np.concatenate([np.ravel(frame.rotation), frame.position])
