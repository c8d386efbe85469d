"""The part of Robot that answers with torques and accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import Wrenches, wrenches
from catena.functions import engine
from catena.functions.asking import check_held, checked, one_of
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS
from catena.functions.function import Function

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class Dynamics:
    """Forward and inverse dynamics.

    Arrays are array-likes of any real dtype with any leading dimensions, which broadcast against each other; results
    are float64 unless `dtype` says float32, and are written to `out` if that is given. They are the same bit by bit for
    any batch size and number of threads. The first call of a function compiles it for this robot. `shape` forces
    "unrolled" or "rolled" machine code.
    """

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
        shape: str | None = None,
    ) -> Array:
        """Joint accelerations (..., nv), rad/s² or m/s², at configuration q, velocity v and joint torques tau. O(n).

        `tau` is in N m or N. `f_ext` holds wrenches (N m, N) on links in their frames, (..., links, 6), moment first,
        or maps links and frames to wrenches. `method` picks the formulation; all agree. `joint_losses` takes from tau
        what the model's damping and friction take, as in `inverse_dynamics`: one undoes the other with it and without.
        """
        if joint_losses:
            (_, v, tau), *_ = checked(self._robot, FORWARD_DYNAMICS["innovations"], q, v, tau, dtype=dtype)
            tau = tau - self._robot.joint_losses(v)
        one_of("forward dynamics", method, [*FORWARD_DYNAMICS, "fixman"])
        check_held(self._robot)
        if method == "fixman":
            from catena.fixman import method as fixman_method  # brings in SciPy

            robot, usual = self._robot, FORWARD_DYNAMICS["innovations"]
            forces = () if f_ext is None else (wrenches(robot, f_ext, usual.question),)
            present = ("f_ext",) if forces else ()
            arrays, _, outs = checked(robot, usual, q, v, tau, *forces, out=out, dtype=dtype, present=present)
            return fixman_method.forward_dynamics(robot, *arrays, out=outs[0], dtype=dtype, shape=shape)
        fast = "forward_dynamics" if method == "innovations" else None
        return self._run(FORWARD_DYNAMICS[method], (q, v, tau), f_ext, out, dtype, shape, fast)

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
        shape: str | None = None,
    ) -> Array:
        """Joint torques (..., nv), N m or N, that give the accelerations a at configuration q and velocity v. O(n).

        `f_ext` is as in `forward_dynamics`. `joint_losses` adds the torques that the model's joint damping and friction
        take, `robot.joint_losses(v)`; without it, as in most libraries, they are left out.
        """
        tau = self._run(INVERSE_DYNAMICS, (q, v, a), f_ext, out, dtype, shape, "inverse_dynamics")
        if joint_losses:
            tau += self._robot.joint_losses(v)
        return tau

    def bias(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Coriolis, centrifugal and gravity torques (..., nv), N m or N: inverse dynamics with a = 0. O(n)."""
        return self._run(BIAS, (q, v), f_ext, out, dtype, shape, "bias")

    @property
    def _robot(self) -> Robot:
        return cast("Robot", self)

    def _run(
        self,
        function: Function,
        arrays: tuple[npt.ArrayLike, ...],
        f_ext: Wrenches,
        out: Array | None,
        dtype: npt.DTypeLike,
        shape: str | None,
        fast: str | None,
    ) -> Array:
        """Evaluate; after the first plain call of a method, calls with plain arrays go to machine code directly."""
        if f_ext is not None:
            arrays = (*arrays, wrenches(self._robot, f_ext, function.question))
        present = ("f_ext",) if f_ext is not None else ()
        kernel = engine.kernel(self._robot, function, present=present, dtype=dtype, shape=shape)
        plain = not present and shape is None and dtype is np.float64
        new = plain and fast is not None and fast not in self.__dict__
        if new and fast is not None and getattr(type(self), fast) is vars(Dynamics)[fast]:  # not overridden
            from catena.kernels.call.fastcall import fast_call

            self.__dict__[fast] = fast_call(kernel, getattr(self, fast))
        result: Array = kernel(*arrays, out=out)
        return result
