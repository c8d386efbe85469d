"""The part of Robot that answers what single links feel and do: interlink forces, accelerations of links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.fixman import REACTIONS
from catena.algorithms.forward_dynamics import FD2
from catena.algorithms.newton_euler import INTERLINK_FORCES, RECURSIVE_SPATIAL_DYNAMICS
from catena.algorithms.operational_space import MOBILITY
from catena.arguments.wrenches import Wrenches, wrenches
from catena.functions.asking import ask
from catena.functions.function import Function
from catena.model.singular import check_masses

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

_LINK_DYNAMICS = replace(FD2, name="forward_link_dynamics")


class SpatialDynamics(NamedTuple):
    """Torques (..., nv); of each link its velocity, acceleration and the force on it, (..., links, 6)."""

    torque: Array
    velocity: Array
    acceleration: Array
    force: Array


class LinkMotion(NamedTuple):
    """Joint accelerations (..., nv) and the accelerations (..., links, 6) of the links they make."""

    joints: Array
    links: Array


class Reactions(NamedTuple):
    """Joint accelerations (..., nv), and the wrench (..., links, 6) that each link gets through its joint."""

    acceleration: Array
    wrench: Array


class LinkDynamics:
    """Forces between links and accelerations of links, in the links' own frames, angular part first.

    Wrenches are in N m and N, accelerations in rad/s² and m/s²: (ω̇, v̇) of each frame's origin as a point, without
    gravity. `f_ext` is as in `forward_dynamics`.
    """

    def interlink_forces(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """The wrench (..., links, 6) that each link's parent exerts on it through the joint. O(n).

        Moments are about the link's origin. Along the joint's axes it is the torque of `inverse_dynamics` (less what
        turns a rotor), across them it is what the bearing carries.
        """
        return cast(Array, self._about_links(INTERLINK_FORCES, (q, v, a), f_ext, out, dtype, shape))

    def reactions(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Reactions:
        """Joint accelerations at joint torques tau, and at once what the bearings carry: Fixman's partition. O(n).

        The wrenches are those of `interlink_forces` at these accelerations. Every link must have a mass.
        """
        check_masses(cast("Robot", self).tree)
        return Reactions(*self._about_links(REACTIONS, (q, v, tau), f_ext, out, dtype, shape))

    def spatial_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> SpatialDynamics:
        """Torques, velocities, accelerations and interlink forces together: Rodriguez & Kreutz (2.24)-(2.30). O(n)."""
        return SpatialDynamics(*self._about_links(RECURSIVE_SPATIAL_DYNAMICS, (q, v, a), f_ext, out, dtype, shape))

    def forward_link_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> LinkMotion:
        """Joint accelerations and, from the same sweeps, those of all links: algorithm FD2. O(n)."""
        return LinkMotion(*self._about_links(_LINK_DYNAMICS, (q, v, tau), f_ext, out, dtype, shape))

    def link_mobilities(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Ω = J M⁻¹ Jᵀ of every link at once, (..., links, 6, 6): a wrench f on link k accelerates it by Ω[k] f. O(n).

        See `operational_mobility` for chosen frames and points, and for the blocks between several.
        """
        return cast(Array, ask(cast("Robot", self), MOBILITY, q, out=out, dtype=dtype, shape=shape))

    def _about_links(
        self,
        function: Function,
        arrays: tuple[npt.ArrayLike, ...],
        f_ext: Wrenches,
        out: Any,
        dtype: npt.DTypeLike,
        shape: str | None,
    ) -> Any:
        robot = cast("Robot", self)
        present = () if f_ext is None else ("f_ext",)
        if f_ext is not None:
            arrays = (*arrays, wrenches(robot, f_ext, function.question))
        return ask(robot, function, *arrays, out=out, dtype=dtype, shape=shape, present=present)
