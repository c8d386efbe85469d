"""Fixman's partition of the mass matrix, after Lee & Chirikjian (2005) and Wang & Chirikjian (2006).

`partition` and `Family` do it for any system of point masses, `planar_blocks` for planar chains of them, both with the
blocks of the papers, and `rigid_blocks` for robots made of bodies. `solve_with_error` solves M x = b for a robot and
estimates how many digits are right, and `solve_in_pieces` does it for one long chain with all lanes and threads. Among
other methods it is ``robot.forward_dynamics(..., method="fixman")`` and ``robot.mass_matrix(q, method="fixman")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.later import imported_later

if TYPE_CHECKING:
    from catena.fixman.families import Family
    from catena.fixman.method import solve_with_error
    from catena.fixman.parallel_chain import solve_in_pieces
    from catena.fixman.planar_point_masses import planar_blocks
    from catena.fixman.point_masses import Partition, partition
    from catena.fixman.rigid_bodies import RigidBlocks, rigid_blocks

__all__ = [
    "Family",
    "Partition",
    "RigidBlocks",
    "partition",
    "planar_blocks",
    "rigid_blocks",
    "solve_in_pieces",
    "solve_with_error",
]

__getattr__ = imported_later(
    __name__,
    {
        "Family": "families",
        "Partition": "point_masses",
        "partition": "point_masses",
        "RigidBlocks": "rigid_bodies",
        "planar_blocks": "planar_point_masses",
        "rigid_blocks": "rigid_bodies",
        "solve_in_pieces": "parallel_chain",
        "solve_with_error": "method",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
