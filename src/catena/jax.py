"""Questions of a robot as functions of JAX, with all that JAX does to functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catena.arguments.scalars import of_systems
from catena.bridges.asked import Asked, needed

if TYPE_CHECKING:
    from catena.robot import Robot

__all__ = ["function"]


@of_systems("held")
def function(robot: Robot, question: str, **options: Any) -> Callable[..., Any]:
    """A question of a robot as a function of JAX's arrays, for `jit`, `grad`, `jvp`, `vmap`, `scan` and the rest.

    The function takes the arrays of the question, positional or by name, with any leading dimensions, and gives JAX's
    arrays. It computes in float64 if one of them is float64 (which JAX has to be told of: `jax_enable_x64`), otherwise
    in float32. Derivatives are exact, in forward and reverse mode, of any order, and by the numbers of the arrays,
    those of q too: gradients by q have its shape, (..., nq), whether quaternions have unit length or not.

    Compiled programs call the machine code directly, on the CPU. It stays in memory as long as the process lives.

    Args:
        robot: the robot.
        question: the name of a question, such as "forward_dynamics", "inverse_dynamics" or "integrate".
        options: options of that question, such as `joint_losses=True` or `method="udu"`.

    Returns:
        The function. It gives what the question gives, with arrays: one, or a tuple, with names if that has names.

    Raises:
        UnsupportedError: if JAX is missing; from differentiation, if the question has no derivatives.
        UnknownNameError: if there is no such question, or no such option of it.
    """
    needed("jax", "JAX")
    from catena.bridges.in_jax import call

    return call(Asked(robot, question, options))
