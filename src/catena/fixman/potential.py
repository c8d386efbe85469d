"""Fixman's potential: what makes a mechanism with rigid bonds visit configurations as one with stiff bonds would.

Rigid constraints visit configurations with density √det M(q), stiff springs with √det G(q): M the mass matrix in the
soft coordinates q, G that in all coordinates, with the hard ones at their values. U(q) = ½ kT log(det M / det G) takes
the difference away (Fixman 1974); by his theorem it is ½ kT log det Hᵇᵇ. In O(n), value and torque together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.determinant import LOG_DETERMINANT_ACROSS_BONDS, LOG_DETERMINANT_GRADIENT
from catena.arguments.arrays import Port, as_array, batch_shape
from catena.arguments.scalars import a_robot
from catena.fixman.joints_alone import all_on_bonds, joints_alone
from catena.functions.store import Compiled
from catena.model.mimic import refuse_followers
from catena.model.singular import check_invertible

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class FixmanPotential(NamedTuple):
    """Fixman's potential (...), in the unit of kT, and the torque −∂U/∂q (..., nv) along the joint velocities."""

    potential: Any
    torque: Array


def fixman_potential(robot: Robot, q: npt.ArrayLike, kT: npt.ArrayLike = 1.0) -> FixmanPotential:
    """Fixman's potential U = ½ kT log(det M / det G) of a robot, and the torque −∂U/∂q to add to its joints.

        potential, torque = catena.fixman_potential(molecule, q, kT=4.1e-21)

    It makes a mechanism with rigid bonds visit configurations as often as one with stiff springs would. `q` is
    (..., nq); `kT` is in joules, a number or one for each sample. Returns a :class:`FixmanPotential`.

    G is the mass matrix in all coordinates: the robot's own, and those in which its joints are stiff. For bodies with
    an inertia about every axis, on joints of any type, det G does not depend on q; neither does it for point masses
    with torsions alone. Point masses on joints of several degrees of freedom (bonds hard, angles soft) have
    det G = Π (L² sin θ)², and joints through links without mass count as one joint: see
    :mod:`catena.fixman.joints_alone`. Rotors (armature) are part of M and not of G. U is known up to a constant, which
    depends on the units. Chains and trees of points or thin rods that turn about the bond before them and bend against
    it have no special place: U and torque are right to rounding, straight angles included. Of other mechanisms with
    points on such joints (on a body, say) the two logarithms are subtracted: near a straight angle θ the rounding of U
    was measured to be 3e-16 kT / θ², that of the torque 6e-16 kT / θ³.
    For hard coordinates of your own choice see :meth:`catena.fixman.Partition.potential`. O(n).
    """
    refuse_followers(a_robot("fixman_potential", robot).tree, "Fixman's potential")
    check_invertible(robot.tree)
    ports = Port("q", (robot.nq,)), Port("kT", ())
    given = [as_array(x, port, "fixman_potential") for x, port in zip((q, kT), ports, strict=True)]
    batch_shape(given, ports, "fixman_potential")
    half = 0.5 * np.asarray(given[1], dtype=float)
    value, gradient = _log_ratio(robot, given[0])
    return FixmanPotential(half * value, -half[..., None] * gradient)


def _log_ratio(robot: Robot, q: Array) -> tuple[Array, Array]:
    """log(det M / det G), up to a constant, and its derivatives along the joint velocities."""
    compiled = robot._compiled
    if compiled.once("all on bonds", lambda: all_on_bonds(robot.tree)):
        whole, slope = compiled.kernel(LOG_DETERMINANT_ACROSS_BONDS)(q)
        return whole, slope
    value, gradient = compiled.kernel(LOG_DETERMINANT_GRADIENT)(q)
    alone = compiled.once("joints alone", lambda: _joints_alone(robot))
    if alone is None:
        return value, gradient
    of_all, slope = alone.kernel(LOG_DETERMINANT_GRADIENT)(q)
    return value - of_all, gradient - slope


def _joints_alone(robot: Robot) -> Compiled | None:
    """What is compiled for the robot's joints alone, where they matter."""
    tree = joints_alone(robot.tree)
    if tree is None:
        return None
    check_invertible(tree)
    return Compiled(tree)
