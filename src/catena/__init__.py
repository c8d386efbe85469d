"""Catena: the dynamics of rigid-body trees in O(n)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from catena import operators, robots
from catena.build import Builder, from_dh, planar_chain, point_mass_chain, random_tree, rod_chain
from catena.errors import (
    CatenaError,
    LoadError,
    ModelError,
    ShapeError,
    SingularError,
    UnknownNameError,
    UnsupportedError,
)
from catena.fixman.potential import fixman_potential
from catena.kernels.call.threads import get_threads, set_threads
from catena.load import load
from catena.mass_matrix import MassMatrix
from catena.robot import Robot
from catena.version import __version__

if TYPE_CHECKING:
    from catena import rotations
    from catena.fixman.method import PrecisionWarning, fixman_solution
    from catena.fixman.parallel_chain import solve_in_pieces
    from catena.fixman.partition import Family, partition
    from catena.fixman.planar_point_masses import planar_blocks
    from catena.functions.count import count
    from catena.functions.evaluate import evaluate
    from catena.kernels.call.release import release_memory
    from catena.symbols import symbolic

__all__ = [
    "Builder",
    "CatenaError",
    "Family",
    "LoadError",
    "MassMatrix",
    "ModelError",
    "PrecisionWarning",
    "Robot",
    "ShapeError",
    "SingularError",
    "UnknownNameError",
    "UnsupportedError",
    "__version__",
    "count",
    "evaluate",
    "fixman_potential",
    "fixman_solution",
    "from_dh",
    "get_threads",
    "load",
    "operators",
    "partition",
    "planar_blocks",
    "planar_chain",
    "point_mass_chain",
    "random_tree",
    "release_memory",
    "robots",
    "rod_chain",
    "rotations",
    "set_threads",
    "solve_in_pieces",
    "symbolic",
]

_LATER = {
    "Family": "fixman.partition",
    "PrecisionWarning": "fixman.method",
    "count": "functions.count",
    "evaluate": "functions.evaluate",
    "fixman_solution": "fixman.method",
    "partition": "fixman.partition",
    "planar_blocks": "fixman.planar_point_masses",
    "release_memory": "kernels.call.release",
    "solve_in_pieces": "fixman.parallel_chain",
    "symbolic": "symbols",
}
"""What is imported when it is first asked for, to keep the import of the package quick: name -> module."""


def __getattr__(name: str) -> Any:
    if name == "rotations":
        return import_module("catena.rotations")
    if name not in _LATER:
        raise AttributeError(f"module 'catena' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"catena.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
