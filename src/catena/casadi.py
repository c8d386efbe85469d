"""Questions of a robot as functions of CasADi, with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from catena.arguments.scalars import of_systems
from catena.bridges.asked import Asked, needed

if TYPE_CHECKING:
    from catena.robot import Robot

__all__ = ["function"]


@of_systems("held")
def function(robot: Robot, question: str, arrays: Sequence[str] | None = None, **options: Any) -> Any:
    """A question of a robot as a function of CasADi, for expressions, optimisation problems and integrators.

    It takes one sample: vectors are columns, other arrays matrices with the last dimension as columns. Jacobians are
    exact, and so are directional derivatives, gradients and Hessians, all by the numbers of the arrays, those of q too:
    quaternions count as four numbers, of unit length or not. CasADi calls back to Python for every evaluation; a whole
    Jacobian is one batch for each argument.

    Args:
        robot: the robot.
        question: the name of a question, such as "forward_dynamics", "inverse_dynamics" or "integrate".
        arrays: the names of the arrays that it takes, in the question's order; without optional ones if left out.
        options: options of that question, such as `joint_losses=True` or `method="udu"`.

    Returns:
        A `casadi.Function` with the names of the question's arrays and results; a result of the name of an array gets
        "_out". It stays in memory as long as the process lives.

    Raises:
        UnsupportedError: if CasADi is missing; from differentiation, if the question has no derivatives.
        UnknownNameError: if there is no such question, no such option of it, or no such array.
    """
    needed("casadi", "CasADi")
    from catena.bridges.in_casadi import call

    return call(Asked(robot, question, options), arrays)
