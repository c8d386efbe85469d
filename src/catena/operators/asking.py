"""The part of Robot that hands out its operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.links import LinkLike, link_names
from catena.errors import ShapeError
from catena.later import reading_files
from catena.model.configuration import coordinates
from catena.model.mimic import refuse_followers

if TYPE_CHECKING:
    from catena.operators.algebra import Operators
    from catena.robot import Robot


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
        q = coordinates(q, robot.nq, "operators: q").astype(float)
        if v is not None:
            v = coordinates(v, robot.nv, "operators: v").astype(float)
            batch = together(q, v)
            q, v = np.broadcast_to(q, (*batch, robot.nq)), np.broadcast_to(v, (*batch, robot.nv))
        if tips is None:
            leaves = np.setdiff1d(np.arange(robot.tree.n), robot.tree.parent)
            tips = [robot.tree.link_names[i] for i in leaves.tolist()]
        return Operators(robot, q, [robot.frame(name) for name in link_names(robot.tree, tips)], v)


def together(q: Any, v: Any) -> tuple[int, ...]:
    """The leading dimensions that q and v have together."""
    try:
        return np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"operators: q of shape {q.shape} and v of shape {v.shape} do not fit: their leading dimensions must "
            "broadcast"
        ) from None
