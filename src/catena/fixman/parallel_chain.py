"""M⁻¹ b of a long chain, parallel in n: see :mod:`catena.functions.pieces`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import a_robot
from catena.errors import ShapeError
from catena.functions.pieces import Pieces
from catena.model.mimic import refuse_followers

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def solve_in_pieces(robot: Robot, q: npt.ArrayLike, b: npt.ArrayLike, pieces: int | None = None) -> Array:
    """Solve M(q) x = b for a long chain, or a tree of such, cut into pieces that share lanes and threads.

        chain = catena.rod_chain(100_000, radius=0.1)
        x = catena.fixman.solve_in_pieces(chain, q, b)

    `q` is one configuration (nq,), `b` is (nv,) in N m or N. The types of joints must repeat a pattern of at most
    twelve, after at most six others, where revolute, continuous, prismatic and helical joints count as one type; or
    other joints divide the chain. There may be at most 64 runs of links between branchings and such joints. If not,
    UnsupportedError is raised. `pieces` is the number for each long run, which is any of 4,000 links or more, or the
    longest; unless given, it is chosen by the length of the run, and is 1 for those too short to gain by more. Returns
    x (nv,).
    Cost: O(n) operations, of which O(n / pieces) are one after the other.
    """
    refuse_followers(a_robot("solve_in_pieces", robot).tree, "solve_in_pieces")
    cut = Pieces.of(robot._compiled)
    configuration, right = as_floats(q, "q"), as_floats(b, "b")
    if configuration.shape != (robot.nq,) or right.shape != (robot.nv,):
        expected = f"shapes ({robot.nq},) and ({robot.nv},)"
        raise ShapeError(f"q, b: expected {expected}, found {configuration.shape} and {right.shape}")
    return cut.solve(configuration, right, pieces)
