"""Robots identified from measurements: what can be known, what the data tell, and data that tell more."""

from catena.identification.base import BaseParameters, base_parameters
from catena.identification.excitation import Excitation, Trajectory, excitation, exciting_trajectory
from catena.identification.fit import Identified, identify
from catena.identification.in_symbols import SymbolicBaseParameters, symbolic_base_parameters

__all__ = [
    "BaseParameters",
    "Excitation",
    "Identified",
    "SymbolicBaseParameters",
    "Trajectory",
    "base_parameters",
    "excitation",
    "exciting_trajectory",
    "identify",
    "symbolic_base_parameters",
]
