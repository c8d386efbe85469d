"""The spatial operator algebra of Rodriguez & Kreutz as objects: readable, for research and teaching.

    o = robot.operators(q)
    K = o.I - o.H @ o.Psi @ o.L
    K.T @ o.D.inv @ K @ tau               # M⁻¹ τ, in O(n), exactly as the paper writes it
    verify(lambda o: (o.Phi, o.phi @ o.S), robot)

Vectors are flat NumPy arrays; see :class:`Operators` for the spaces they belong to.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catena.operators.algebra import Operators as Operators
    from catena.operators.checking import Verification as Verification
    from catena.operators.checking import verify as verify
    from catena.operators.expression import Operator as Operator

_HOMES = {"Operator": "expression", "Operators": "algebra", "Verification": "checking", "verify": "checking"}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: SciPy's sparse matrices take longer to load than the rest of the package."""
    if name in _HOMES:
        return getattr(import_module(f"catena.operators.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'catena.operators' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
