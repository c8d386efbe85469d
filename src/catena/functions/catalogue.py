"""The functions behind the everyday questions, each an algorithm with its arrays, by name or by method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from catena.algorithms import (
    composite_body,
    denoc,
    determinant,
    fixman,
    fixman_determinant,
    innovations,
    newton_euler,
    reverse_gaussian_elimination,
    udu,
)
from catena.algorithms.forward_dynamics import FD1, FD2, FD3, FD4
from catena.algorithms.forward_dynamics_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from catena.algorithms.inverse_dynamics_derivatives import BIAS_DERIVATIVES, INVERSE_DYNAMICS_DERIVATIVES
from catena.algorithms.regressor import REGRESSOR, REGRESSOR_WITH_JOINTS
from catena.algorithms.two_sweep import TWO_SWEEP
from catena.errors import UnknownNameError
from catena.functions.function import Function

INVERSE_DYNAMICS = newton_euler.INVERSE_DYNAMICS

BIAS = Function(
    "bias",
    newton_euler.bias,
    inputs={"q": "q", "v": "v", "f_ext": "force"},
    outputs={"tau": "tau"},
    optional=("f_ext",),
)

MASS_MATRIX, MASS_MATRIX_TIMES = composite_body.MASS_MATRIX, newton_euler.MASS_MATRIX_TIMES


def _joints_only(function: Function) -> Function:
    """Forward dynamics without what the algorithm gives besides the joint accelerations."""

    def algorithm(*arguments: Any) -> Any:
        return function.algorithm(*arguments)[0]

    (name, kind), *_ = function.outputs.items()
    return replace(function, name=f"{function.name}/joints", algorithm=algorithm, outputs={name: kind})


FORWARD_DYNAMICS: Mapping[str, Function] = {
    "innovations": FD3,
    "fd1": FD1,
    "fd2": _joints_only(FD2),
    "fd3": FD3,
    "fd4": FD4,
    "two_sweep": TWO_SWEEP,
    "udu": udu.FORWARD_DYNAMICS,
    "dense": reverse_gaussian_elimination.FORWARD_DYNAMICS,
}
"""Forward dynamics by the name of the method."""

_PLAIN = (INVERSE_DYNAMICS, BIAS, MASS_MATRIX, MASS_MATRIX_TIMES, REGRESSOR, REGRESSOR_WITH_JOINTS)
_UDU = (
    denoc.INVERSE_DYNAMICS,
    reverse_gaussian_elimination.SOLVE,
    udu.SOLVE,
    udu.FACTORS,
    innovations.U_TIMES,
    innovations.U_SOLVE,
    innovations.UT_TIMES,
    innovations.UT_SOLVE,
)
_DERIVATIVES = (*FORWARD_DYNAMICS_DERIVATIVES.values(), *INVERSE_DYNAMICS_DERIVATIVES.values(), BIAS_DERIVATIVES)
_FIXMAN = (fixman.FIXMAN, fixman.SOLVE, fixman.REACTIONS, fixman_determinant.LOG_DETERMINANT)

FUNCTIONS: Mapping[str, Function] = {
    **{f"forward_dynamics/{method}": function for method, function in FORWARD_DYNAMICS.items()},
    "forward_dynamics": FORWARD_DYNAMICS["innovations"],
    **{function.name: function for function in (*_PLAIN, *_UDU, determinant.LOG_DETERMINANT, *_FIXMAN, *_DERIVATIVES)},
}
"""What can be counted or evaluated on any scalar, by name; "forward_dynamics/METHOD" for each method.

"fixman" is Fixman's partition in the form for rigid bodies; those for point masses are wrong for other robots.
"""


def function_named(name: str) -> Function:
    """The function of that name, one of :data:`FUNCTIONS`."""
    if not isinstance(name, str) or name not in FUNCTIONS:
        raise UnknownNameError.among("function", name, FUNCTIONS)
    return FUNCTIONS[name]
