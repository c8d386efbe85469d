"""The part of Robot that hands out its operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.links import LinkLike, link_names
from catena.arguments.scalars import of_systems
from catena.errors import ShapeError
from catena.later import reading_files
from catena.model.configuration import coordinates
from catena.model.mimic import refuse_followers

if TYPE_CHECKING:
    from catena.operators.algebra import Operators
    from catena.operators.closed import ClosedOperators
    from catena.robot import Robot
    from catena.system import System


class HasOperators:
    """The part of Robot that gives the operators of the spatial operator algebra."""

    __slots__ = ()

    def operators(
        self,
        q: npt.ArrayLike,
        tips: LinkLike | Sequence[LinkLike] | None = None,
        *,
        v: npt.ArrayLike | None = None,
    ) -> Operators:
        """The spatial operators φ, H, M, P, D, … of Rodriguez & Kreutz, as lazy objects.

            o = robot.operators(q)
            o.H @ (o.phi @ (o.M @ (o.phi.T @ (o.H.T @ a))))  # the mass matrix times a, without rotors, in O(n)

        `q` are configurations (..., nq): one, or a batch. `tips` are the links or frames whose wrenches B brings in;
        unless given, the links that carry no other. `v` are joint velocities (..., nv), for the vectors V, a and b.
        Returns :class:`catena.operators.Operators`, which combine with `@`, `+`, `.T` and `.inv`. Applying one to a
        vector costs O(n).
        """
        with reading_files("operators"):
            from catena.operators.algebra import Operators

        robot = cast("Robot", self)
        refuse_followers(robot.tree, "operators")
        at, speeds = _states(q, v, robot.nq, robot.nv)
        if tips is None:
            leaves = np.setdiff1d(np.arange(robot.tree.n), robot.tree.parent)
            tips = [robot.tree.link_names[i] for i in leaves.tolist()]
        return Operators(robot, at, [robot.frame(name) for name in link_names(robot.tree, tips)], speeds)


class HasClosedOperators:
    """The part of System that gives the operators of Part II."""

    __slots__ = ()

    @of_systems("held")
    def operators(self, q: npt.ArrayLike, *, v: npt.ArrayLike | None = None) -> ClosedOperators:
        """The spatial operators of the trees, and Q, C and Ω of the constraints, as lazy objects.

            o = system.operators(q, v=v)
            o.Omega.inv @ r  # multipliers that give the constraints the rates r

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv), for `contact` and the vectors V, a and b.

        Returns:
            :class:`catena.operators.closed.ClosedOperators`. Applying one to a vector costs O(n).
        """
        with reading_files("operators"):
            from catena.operators.closed import ClosedOperators

        system = cast("System", self)
        return ClosedOperators(system, *_states(q, v, system.nq, system.nv))


def _states(q: Any, v: Any, nq: int, nv: int) -> tuple[Any, Any]:
    """Configurations and perhaps velocities, with the same leading dimensions."""
    q = coordinates(q, nq, "operators: q").astype(float)
    if v is None:
        return q, None
    v = coordinates(v, nv, "operators: v").astype(float)
    batch = together(q, v)
    return np.broadcast_to(q, (*batch, nq)), np.broadcast_to(v, (*batch, nv))


def together(q: Any, v: Any) -> tuple[int, ...]:
    """The leading dimensions that q and v have together."""
    try:
        return np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"operators: q of shape {q.shape} and v of shape {v.shape} do not fit: their leading dimensions must "
            "broadcast"
        ) from None
