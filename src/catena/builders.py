"""Ready-made robots: the trees of the model layer, as robots."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from catena.model import chains, dh
from catena.model import random_tree as random_trees
from catena.model.tree import Tree
from catena.robot import Robot

P = ParamSpec("P")


def _robot(make: Callable[P, Tree]) -> Callable[P, Robot]:
    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Robot:
        return Robot(make(*args, **kwargs))

    made.__module__ = __name__
    made.__annotations__ = {**make.__annotations__, "return": "Robot"}
    return made


planar_chain = _robot(chains.planar_chain)
rod_chain = _robot(chains.rod_chain)
point_mass_chain = _robot(chains.point_mass_chain)
from_dh = _robot(dh.from_dh)
random_tree = _robot(random_trees.random_tree)
