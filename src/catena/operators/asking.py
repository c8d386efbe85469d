"""The part of Robot that hands out its operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.links import LinkLike, link_names
from catena.errors import ShapeError
from catena.later import reading_files
from catena.model.configuration import coordinates

if TYPE_CHECKING:
    from catena.operators.algebra import Operators
    from catena.robot import Robot


class HasOperators:
    """The part of Robot that gives the operators of the spatial operator algebra."""

    __slots__ = ()

    def operators(self, q: npt.ArrayLike, tips: LinkLike | Sequence[LinkLike] | None = None) -> Operators:
        """The spatial operators φ, H, M, P, D, … of Rodriguez & Kreutz at one configuration, as lazy objects.

            o = robot.operators(q)
            o.H @ (o.phi @ (o.M @ (o.phi.T @ (o.H.T @ a))))  # the mass matrix times a, without rotors, in O(n)

        `q` is one configuration (nq,). `tips` are the links or frames whose wrenches B brings in; unless given, the
        links that carry no other. Returns :class:`catena.operators.Operators`, which combine with `@`, `+`, `.T` and
        `.inv`. Applying one to a vector costs O(n).
        """
        with reading_files("operators"):
            from catena.operators.algebra import Operators

        robot = cast("Robot", self)
        q = coordinates(q, robot.nq, "operators: q").astype(float)
        if q.ndim != 1:
            raise ShapeError(f"operators: q must be one configuration of shape ({robot.nq},), got {q.shape}")
        if tips is None:
            leaves = np.setdiff1d(np.arange(robot.tree.n), robot.tree.parent)
            tips = [robot.tree.link_names[i] for i in leaves.tolist()]
        return Operators(robot, q, [robot.frame(name) for name in link_names(robot.tree, tips)])
