"""The mass matrix as an object: the operator itself, the methods behind it, its factors."""

from catena.mass_matrix.matrix import MassMatrix

__all__ = ["MassMatrix"]
