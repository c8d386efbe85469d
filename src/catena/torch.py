"""Questions of a robot as functions of Torch, with all that Torch does to functions."""

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
    """A question of a robot as a function of Torch's tensors, for autograd, `torch.func` and `torch.compile`.

    The function takes the arrays of the question, positional or by name, with any leading dimensions, and gives tensors
    on the device of the first. It computes in float64 if one of them is float64, otherwise in float32, on the CPU, in
    the memory of the tensors. Derivatives are exact, in forward and reverse mode, of any order, and by the numbers of
    the tensors, those of q too: gradients by q have its shape, (..., nq), whether quaternions have unit length or not.

    In graphs of `torch.compile` it is the operator `catena::call`, which has gradients, also of gradients, but no
    forward mode. It stays in memory as long as the process lives.

    Args:
        robot: the robot.
        question: the name of a question, such as "forward_dynamics", "inverse_dynamics" or "integrate".
        options: options of that question, such as `joint_losses=True` or `method="udu"`.

    Returns:
        The function. It gives what the question gives, with tensors: one, or a tuple, with names if that has names.

    Raises:
        UnsupportedError: if Torch is missing; from differentiation, if the question has no derivatives.
        UnknownNameError: if there is no such question, or no such option of it.
    """
    needed("torch", "PyTorch")
    from catena.bridges.in_torch import call

    return call(Asked(robot, question, options))
