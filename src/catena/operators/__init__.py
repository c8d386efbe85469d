"""The spatial operator algebra of Rodriguez & Kreutz as objects: readable, for research and teaching.

    o = robot.operators(q)
    K = o.I - o.H @ o.Psi @ o.L
    K.T @ o.D.inv @ K @ tau               # M⁻¹ τ, in O(n), exactly as the paper writes it
    verify(lambda o: (o.Phi, o.phi @ o.S), robot)

Vectors are flat NumPy arrays, one for each configuration of a batch; see :class:`Operators` for the spaces they belong
to. With velocities, ``robot.operators(q, v=v)`` also has V, a and b, for whole algorithms in the report's own form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.later import imported_later

if TYPE_CHECKING:
    from catena.operators.algebra import Operators, States
    from catena.operators.checking import Verification, verify
    from catena.operators.expression import Operator

__all__ = ["Operator", "Operators", "States", "Verification", "verify"]

__getattr__ = imported_later(  # SciPy's sparse matrices take longer to load than the rest of the package
    __name__,
    {
        "Operator": "expression",
        "Operators": "algebra",
        "States": "algebra",
        "Verification": "checking",
        "verify": "checking",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
