"""Random robots around a given one: possible ones, whatever the draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.scalars import a_robot, generator, real
from catena.errors import ModelError
from catena.model.configuration import batch_shape
from catena.parameters import inertial as bodies
from catena.parameters.record import LINEAR, Parameters

if TYPE_CHECKING:
    from catena.robot import Robot


def randomize(
    robot: Robot, rng: np.random.Generator | int | None = None, spread: float = 0.1, shape: int | Sequence[int] = ()
) -> Parameters:
    """Draw parameters of robots that differ from a given one by so much, all of them possible.

        P = catena.randomize(robot, rng, spread=0.2, shape=8192)
        robot.forward_dynamics(q, v, tau, parameters=P)  # 8192 different robots

    Each link is stretched and sheared in its three directions, moved and made heavier or lighter at random, with a
    standard deviation of `spread` in the logarithm of its mass, of its extents, and in its place beside its radius of
    gyration. Armature, damping, friction and stiffness are multiplied by e to the power of random numbers with that
    standard deviation. Rest positions and gravity stay.

    Args:
        robot: the robot in the middle.
        rng: a generator, or the seed of one.
        spread: standard deviation, 0.1 for about 10 %.
        shape: leading dimensions of the result.

    Returns:
        A record of parameters with these leading dimensions. Cost: O(n) for each.

    Raises:
        ModelError: if a link of the robot itself is impossible; the message names it and says why.
    """
    robot, spread = a_robot("randomize", robot), real("randomize: spread", spread, least=0.0)
    draws, batch = generator("randomize", rng), batch_shape(shape)
    own = Parameters.of(robot.tree)
    for link in np.flatnonzero(bodies.impossible(own.inertial))[:1].tolist():
        name, reason = robot.tree.link_names[link], bodies.fault(own.inertial[link])
        raise ModelError(f"randomize: link {name!r}: {reason}; correct it with robot.with_parameters", link=name)

    def draw(*size: int) -> Any:
        return spread * draws.standard_normal((*batch, *size))

    theta = draw(robot.tree.n, 10)
    theta[..., 0] /= 2  # a mass goes with the square of the factor
    factors = {name: np.exp(draw(robot.nv)) for name in (*LINEAR, "stiffness")}
    changed = {name: getattr(own, name) * factor for name, factor in factors.items()}
    return own.replace(inertial=bodies.deformed(own.inertial, theta), **changed, check=False)
