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
from catena.kernels.threads import get_threads, set_threads
from catena.load import load
from catena.robot import Robot
from catena.version import __version__

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
    "__version__",
    "from_dh",
    "get_threads",
    "load",
    "planar_chain",
    "point_mass_chain",
    "random_tree",
    "rod_chain",
    "set_threads",
]
