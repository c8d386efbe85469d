"""The functions behind the everyday questions, each an algorithm with its arrays, by name or by method."""

from __future__ import annotations

from collections.abc import Mapping

from catena.algorithms import composite_body, newton_euler
from catena.algorithms.forward_dynamics import FD1, FD2, FD3, FD4
from catena.kinds import Function

INVERSE_DYNAMICS = Function(
    "inverse_dynamics",
    newton_euler.inverse_dynamics,
    inputs={"q": "q", "v": "v", "a": "v", "f_ext": "force"},
    outputs={"tau": "v"},
    optional=("f_ext",),
)

BIAS = Function(
    "bias",
    newton_euler.bias,
    inputs={"q": "q", "v": "v", "f_ext": "force"},
    outputs={"tau": "v"},
    optional=("f_ext",),
)

MASS_MATRIX = Function("mass_matrix", composite_body.mass_matrix, inputs={"q": "q"}, outputs={"M": "dense"})

MASS_MATRIX_TIMES = Function(
    "mass_matrix_times", newton_euler.mass_matrix_times, inputs={"q": "q", "x": "v"}, outputs={"y": "v"}
)

FORWARD_DYNAMICS: Mapping[str, Function] = {"innovations": FD4, "fd1": FD1, "fd2": FD2, "fd3": FD3, "fd4": FD4}
"""Forward dynamics by the name of the method."""
