"""Robots identified from measurements: what can be known, what the data tell, and data that tell more."""

from catena.identification.base import BaseParameters, base_parameters
from catena.identification.excitation import Excitation, Trajectory, excitation, exciting_trajectory
from catena.identification.fit import Identified, identify

__all__ = [
    "BaseParameters",
    "Excitation",
    "Identified",
    "Trajectory",
    "base_parameters",
    "excitation",
    "exciting_trajectory",
    "identify",
]
