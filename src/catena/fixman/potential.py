"""Fixman's potential: what makes a mechanism with rigid bonds visit configurations as one with stiff bonds would.

Rigid constraints leave a weight √det M(q) on configurations that infinitely stiff springs do not. The potential
U(q) = ½ kT log det M(q) takes it away (Fixman 1974). In O(n), value and torque together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.determinant import LOG_DETERMINANT_GRADIENT
from catena.arguments.arrays import Port, as_array, batch_shape
from catena.model.singular import check_invertible

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class FixmanPotential(NamedTuple):
    """Fixman's potential (...), in the unit of kT, and the torque −∂U/∂q (..., nv) along the joint velocities."""

    potential: Any
    torque: Array


def fixman_potential(robot: Robot, q: npt.ArrayLike, kT: npt.ArrayLike = 1.0) -> FixmanPotential:
    """Fixman's potential U = ½ kT log det M(q) of a robot, and the torque −∂U/∂q to add to its joints.

        potential, torque = catena.fixman_potential(molecule, q, kT=4.1e-21)

    It makes a mechanism with rigid bonds visit configurations as often as one with stiff springs would. `q` is
    (..., nq); `kT` is in joules, a number or one for each sample. Returns a :class:`FixmanPotential`. The value of
    log det M depends on the units of mass and length by a constant, which moves U but not the torque. O(n).
    """
    check_invertible(robot.tree)
    ports = Port("q", (robot.nq,)), Port("kT", ())
    given = [as_array(x, port, "fixman_potential") for x, port in zip((q, kT), ports, strict=True)]
    batch_shape(given, ports, "fixman_potential")
    half = 0.5 * np.asarray(given[1], dtype=float)
    value, gradient = robot._compiled.kernel(LOG_DETERMINANT_GRADIENT)(given[0])
    return FixmanPotential(half * value, -half[..., None] * gradient)
