"""Catena: the dynamics of rigid-body trees in O(n)."""

from typing import TYPE_CHECKING

from catena.kernels.machine import fingerprint as _fingerprint  # noqa: F401 - it looks at all sources, hence first

# isort: split
from catena import fixman, operators, robots
from catena.build import Builder, cable, from_dh, planar_chain, point_mass_chain, random_tree, rod_chain
from catena.errors import (
    CacheWarning,
    CatenaError,
    CatenaWarning,
    ClosureError,
    DataError,
    DivergenceWarning,
    LoadError,
    ModelError,
    ModelWarning,
    PrecisionWarning,
    ShapeError,
    SingularError,
    SingularWarning,
    SpeedWarning,
    StepWarning,
    UnknownNameError,
    UnsupportedError,
)
from catena.fixman.potential import fixman_potential
from catena.kernels.call.threads import get_threads, set_threads
from catena.later import imported_later
from catena.load import load
from catena.mass_matrix import MassMatrix
from catena.model.constraints import (
    Ball,
    Coupling,
    Distance,
    FixedToWorld,
    FrictionlessPoint,
    Hinge,
    PointOnPlane,
    PointWithFriction,
    Slider,
    SoftFinger,
    Universal,
    Weld,
)
from catena.parameters.record import Parameters
from catena.robot import Robot
from catena.simulation.forces.drag import Drag
from catena.simulation.forces.ground import Ground
from catena.simulation.forces.joint_limits import JointLimits
from catena.simulation.forces.pins import Pins
from catena.simulation.run import Run
from catena.system import System
from catena.version import __version__

if TYPE_CHECKING:
    from catena import extend, identification, plots, polymers, poses, rotations
    from catena.drawing.page import view
    from catena.drawing.pictures import render
    from catena.functions.count import count
    from catena.functions.evaluate import evaluate
    from catena.identification.fit import identify
    from catena.kernels.call.release import release_memory
    from catena.parameters.randomize import randomize
    from catena.run_file import load_run
    from catena.simulation import controllers
    from catena.simulation.simulate import simulate
    from catena.symbols import symbolic

__all__ = [
    "Ball",
    "Builder",
    "CacheWarning",
    "CatenaError",
    "CatenaWarning",
    "ClosureError",
    "Coupling",
    "DataError",
    "Distance",
    "DivergenceWarning",
    "Drag",
    "FixedToWorld",
    "FrictionlessPoint",
    "Ground",
    "Hinge",
    "JointLimits",
    "LoadError",
    "MassMatrix",
    "ModelError",
    "ModelWarning",
    "Parameters",
    "Pins",
    "PointOnPlane",
    "PointWithFriction",
    "PrecisionWarning",
    "Robot",
    "Run",
    "ShapeError",
    "SingularError",
    "SingularWarning",
    "Slider",
    "SoftFinger",
    "SpeedWarning",
    "StepWarning",
    "System",
    "Universal",
    "UnknownNameError",
    "UnsupportedError",
    "Weld",
    "__version__",
    "cable",
    "controllers",
    "count",
    "evaluate",
    "extend",
    "fixman",
    "fixman_potential",
    "from_dh",
    "get_threads",
    "identification",
    "identify",
    "load",
    "load_run",
    "operators",
    "planar_chain",
    "plots",
    "point_mass_chain",
    "polymers",
    "poses",
    "random_tree",
    "randomize",
    "release_memory",
    "render",
    "robots",
    "rod_chain",
    "rotations",
    "set_threads",
    "simulate",
    "symbolic",
    "view",
]

__getattr__ = imported_later(
    __name__,
    {
        "casadi": "",
        "controllers": "simulation",
        "count": "functions.count",
        "evaluate": "functions.evaluate",
        "extend": "",
        "gym": "",
        "identification": "",
        "identify": "identification.fit",
        "jax": "",
        "load_run": "run_file",
        "randomize": "parameters.randomize",
        "plots": "",
        "polymers": "",
        "release_memory": "kernels.call.release",
        "render": "drawing.pictures",
        "poses": "",
        "rotations": "",
        "simulate": "simulation.simulate",
        "symbolic": "symbols",
        "torch": "",
        "view": "drawing.page",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
