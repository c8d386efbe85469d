"""Catena: the dynamics of rigid-body trees in O(n)."""

from typing import TYPE_CHECKING

from catena.kernels.machine import fingerprint as _fingerprint  # noqa: F401 - it looks at all sources, hence first

# isort: split
from catena import fixman, operators, robots
from catena.build import Builder, from_dh, planar_chain, point_mass_chain, random_tree, rod_chain
from catena.errors import (
    CatenaError,
    CatenaWarning,
    LoadError,
    ModelError,
    ModelWarning,
    PrecisionWarning,
    ShapeError,
    SingularError,
    SingularWarning,
    UnknownNameError,
    UnsupportedError,
)
from catena.fixman.potential import fixman_potential
from catena.kernels.call.threads import get_threads, set_threads
from catena.later import imported_later
from catena.load import load
from catena.mass_matrix import MassMatrix
from catena.robot import Robot
from catena.version import __version__

if TYPE_CHECKING:
    from catena import rotations
    from catena.functions.count import count
    from catena.functions.evaluate import evaluate
    from catena.kernels.call.release import release_memory
    from catena.symbols import symbolic

__all__ = [
    "Builder",
    "CatenaError",
    "CatenaWarning",
    "LoadError",
    "MassMatrix",
    "ModelError",
    "ModelWarning",
    "PrecisionWarning",
    "Robot",
    "ShapeError",
    "SingularError",
    "SingularWarning",
    "UnknownNameError",
    "UnsupportedError",
    "__version__",
    "count",
    "evaluate",
    "fixman",
    "fixman_potential",
    "from_dh",
    "get_threads",
    "load",
    "operators",
    "planar_chain",
    "point_mass_chain",
    "random_tree",
    "release_memory",
    "robots",
    "rod_chain",
    "rotations",
    "set_threads",
    "symbolic",
]

__getattr__ = imported_later(
    __name__,
    {
        "casadi": "",
        "count": "functions.count",
        "evaluate": "functions.evaluate",
        "jax": "",
        "release_memory": "kernels.call.release",
        "rotations": "",
        "symbolic": "symbols",
        "torch": "",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
