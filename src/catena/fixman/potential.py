"""Fixman's potential: what makes a mechanism with rigid bonds visit configurations as one with stiff bonds would.

Rigid constraints visit configurations with density √det M(q), stiff springs with √det G(q): M the mass matrix in the
soft coordinates q, G that in all coordinates, with the hard ones at their values. U(q) = ½ kT log(det M / det G) takes
the difference away (Fixman 1974); by his theorem it is ½ kT log det Hᵇᵇ. In O(n), value and torque together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from catena.algorithms.determinant import FIXMAN_POTENTIAL, FIXMAN_POTENTIAL_ACROSS_BONDS
from catena.arguments.scalars import a_robot
from catena.fixman.joints_alone import all_on_bonds, joints_alone
from catena.functions.function import Function, by_recipe
from catena.functions.question import Answering, question
from catena.functions.recipes import Ask
from catena.functions.store import Compiled
from catena.model.mimic import refuse_followers
from catena.model.singular import check_invertible
from catena.model.tree import Tree

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
    return _Potential(a_robot("fixman_potential", robot)._compiled).fixman_potential(q, kT)


class _Potential(Answering):
    """What answers for one mechanism: a question, so that machine code takes its calls."""

    __slots__ = ()

    def __init__(self, compiled: Compiled) -> None:
        self._compiled, self._own = compiled, ()

    @question(lambda asked, given: _function(asked._compiled.tree))
    def fixman_potential(self, q: npt.ArrayLike, kT: npt.ArrayLike) -> FixmanPotential:
        """The potential and the torque at configurations q (..., nq), for kT (...)."""
        raise NotImplementedError


def _function(tree: Tree) -> Function:
    """The function that answers for a mechanism; one that has no such potential is refused."""
    refuse_followers(tree, "Fixman's potential")
    check_invertible(tree)
    if all_on_bonds(tree):
        return FIXMAN_POTENTIAL_ACROSS_BONDS
    joints = joints_alone(tree)
    if joints is None:
        return FIXMAN_POTENTIAL
    check_invertible(joints)
    alone = Compiled(joints).kernel(FIXMAN_POTENTIAL)

    def difference(ask: Ask, q: Array, kT: Array) -> tuple[Array, Array]:
        """½ kT log det M − ½ kT log det G, the second of which the joints alone give."""
        (whole, torque), (of_joints, slope) = ask(FIXMAN_POTENTIAL, q, kT), alone(q, kT)
        return whole - of_joints, torque - slope

    return replace(FIXMAN_POTENTIAL, name="fixman_potential/without_joints", algorithm=by_recipe, recipe=difference)
