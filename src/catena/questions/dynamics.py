"""The part of Robot that answers with torques and accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import Wrenches
from catena.functions.asking import one_of
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_leaves

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def _forward_dynamics(robot: Robot, given: tuple[str, ...], method: str, joint_losses: bool) -> Function:
    one_of("forward dynamics", method, [*FORWARD_DYNAMICS, "fixman"])
    check_leaves(robot.tree)
    return FORWARD_DYNAMICS[method]


def _inverse_dynamics(robot: Robot, given: tuple[str, ...], joint_losses: bool) -> Function:
    return INVERSE_DYNAMICS


class Dynamics(Answering):
    """Forward and inverse dynamics.

    Arrays are array-likes of any real dtype with any leading dimensions, which broadcast against each other; results
    are float64 unless `dtype` says float32, and are written to `out` if that is given. They are the same bit by bit for
    any batch size and number of threads. The first call of a function compiles it for this robot. `kernel` forces
    "unrolled" or "rolled" machine code.
    """

    @question(_forward_dynamics)
    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        method: str = "innovations",
        *,
        joint_losses: bool = False,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """Joint accelerations (..., nv), rad/s² or m/s², at configuration q, velocity v and joint torques tau. O(n).

        `tau` is in N m or N. `f_ext` holds wrenches (N m, N) on links in their frames, (..., links, 6), moment first,
        or maps links and frames to wrenches. `method` picks the formulation; all agree. `joint_losses` takes from tau
        what the model's damping and friction take, as in `inverse_dynamics`: one undoes the other with it and without.
        """

    @question(_inverse_dynamics)
    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """Joint torques (..., nv), N m or N, that give the accelerations a at configuration q and velocity v. O(n).

        `f_ext` is as in `forward_dynamics`. `joint_losses` adds the torques that the model's joint damping and friction
        take, `robot.joint_losses(v)`; without it, as in most libraries, they are left out.
        """

    @question(BIAS)
    def bias(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """Coriolis, centrifugal and gravity torques (..., nv), N m or N: inverse dynamics with a = 0. O(n)."""
