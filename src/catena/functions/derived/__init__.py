"""Functions that are derivatives of other functions: the names that algorithms and questions import."""

from catena.functions.derived.products import jvp, tangent_kind, vjp

__all__ = ["jvp", "tangent_kind", "vjp"]
