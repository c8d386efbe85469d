"""Functions that are derivatives of other functions: the names that algorithms and questions import."""

from catena.functions.derived.products import in_coordinates, jvp, tangent_kind, vjp

__all__ = ["in_coordinates", "jvp", "tangent_kind", "vjp"]
