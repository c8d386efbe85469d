"""The mass matrix by Fixman's partition for what it has: M⁻¹ b and log det M.

It keeps no factors, so each solve pays for them again; square roots and factors are those of the innovations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from catena.mass_matrix.formulation import Formulation
from catena.mass_matrix.innovations import INNOVATIONS

if TYPE_CHECKING:
    from catena.robot import Robot


def fixman(robot: Robot) -> Formulation:
    """Fixman's partition in the form that fits the robot."""
    from catena.fixman.method import functions_for  # brings in SciPy

    found = functions_for(robot)
    return replace(INNOVATIONS, solve=found.solve, logdet=found.log_determinant)
