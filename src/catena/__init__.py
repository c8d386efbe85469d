"""Catena: the dynamics of rigid-body trees in O(n)."""

from catena.builder import Builder
from catena.builders import from_dh, planar_chain, point_mass_chain, random_tree, rod_chain
from catena.errors import (
    CatenaError,
    LoadError,
    ModelError,
    ShapeError,
    SingularError,
    UnknownNameError,
    UnsupportedError,
)
from catena.load import load
from catena.robot import Robot

__version__ = "0.1.0.dev0"

__all__ = [
    "Builder",
    "CatenaError",
    "LoadError",
    "ModelError",
    "Robot",
    "ShapeError",
    "SingularError",
    "UnknownNameError",
    "UnsupportedError",
    "from_dh",
    "load",
    "planar_chain",
    "point_mass_chain",
    "random_tree",
    "rod_chain",
]
