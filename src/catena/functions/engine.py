"""From a function of a mechanism to machine code that can be called with arrays.

A kernel comes in two shapes from the same source: *unrolled*, straight-line code with the robot's numbers folded in,
for mechanisms of up to :data:`~catena.functions.store.UNROLLED` links; and *rolled*, loops over the links, for longer
ones. :func:`evaluate` is the readable reference.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.functions.function import Function
from catena.functions.linkwise import lowered_for, trace
from catena.functions.on_scalars import evaluate

if TYPE_CHECKING:
    from catena.robot import Robot

__all__ = ["evaluate", "kernel", "lowered_for", "prepare", "trace"]


@functools.cache
def prepare() -> None:
    """Import what all kernels need. Robots ask for it when they are made.

    LLVM's binding takes some 40 ms to import, most of the time that a first call would take with its machine code in
    the disk cache; and `import catena` alone should not take that long.
    """
    from catena.functions.question import install
    from catena.kernels import build  # noqa: F401
    from catena.kernels.call import procedures  # noqa: F401
    from catena.kernels.machine import target

    target.host()
    install()


def kernel(
    robot: Robot,
    function: Function,
    *,
    present: tuple[str, ...] = (),
    dtype: Any = np.float64,
    kernel: str | None = None,
) -> Any:
    """The machine code of a function for a robot, compiled at most once: call it with arrays of any batch shape.

    ``present`` names the optional inputs that calls will give, ``kernel`` forces "unrolled" or "rolled".
    """
    return robot._compiled.kernel(function, present, dtype, kernel)
