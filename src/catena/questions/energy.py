"""The part of Robot that answers with energies, momenta, the centre of mass and the torques of gravity and Coriolis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms import energy
from catena.algorithms.coriolis import CORIOLIS_MATRIX, CORIOLIS_TIMES
from catena.arguments.arrays import Port, as_array
from catena.errors import ModelError
from catena.functions.asking import ask, one_of

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

MOMENTA = {"center_of_mass": energy.CENTROIDAL_MOMENTUM, "base": energy.MOMENTUM}
"""The points that a momentum can be asked about by name."""


class Energetics:
    """Energies, momenta, centre of mass, gravity and Coriolis torques of all that moves, hence not of a fixed base.

    Results are in the base's axes and SI units. Arrays broadcast over leading dimensions; results are float64 unless
    `dtype` says float32, and are written to `out` if that is given.
    """

    def kinetic_energy(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Any:
        """½ vᵀ M(q) v in J, (...,), the inertia of rotors (armature) included. O(n)."""
        return ask(self._robot, energy.KINETIC_ENERGY, q, v, out=out, dtype=dtype, shape=shape)

    def potential_energy(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Any:
        """Of gravity, in J, (...,): zero when the centre of mass is at the height of the base's origin. O(n)."""
        return ask(self._robot, energy.POTENTIAL_ENERGY, q, out=out, dtype=dtype, shape=shape)

    def gravity_torque(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """g(q), (..., nv) in N m or N: what holds the robot at rest, the gradient of the potential energy. O(n)."""
        return cast(Array, ask(self._robot, energy.GRAVITY_TORQUE, q, out=out, dtype=dtype, shape=shape))

    def coriolis_matrix(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """C(q, v), (..., nv, nv), with Christoffel's symbols: Ṁ − 2 C is skew, bias = C v + g in N m or N. O(n²)."""
        return cast(Array, ask(self._robot, CORIOLIS_MATRIX, q, v, out=out, dtype=dtype, shape=shape))

    def coriolis_times(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        x: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """C(q, v) x, (..., nv) in N m or N, without forming C. O(n)."""
        return cast(Array, ask(self._robot, CORIOLIS_TIMES, q, v, x, out=out, dtype=dtype, shape=shape))

    def joint_losses(self, v: npt.ArrayLike) -> Array:
        """Torques (..., nv), N m or N, that joint damping and dry friction take: damping v + friction sign(v)."""
        tree = self._robot.tree
        v = as_array(v, Port("v", (tree.nv,)), "joint_losses")
        losses: Array = tree.damping * v + tree.friction * np.sign(v)
        return losses

    def center_of_mass(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Of all that moves, (..., 3) in m. O(n)."""
        self._check_mass()
        return cast(Array, ask(self._robot, energy.CENTER_OF_MASS, q, out=out, dtype=dtype, shape=shape))

    def center_of_mass_velocity(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """The rate of change of `center_of_mass`, (..., 3) in m/s. O(n)."""
        self._check_mass()
        function = energy.CENTER_OF_MASS_VELOCITY
        return cast(Array, ask(self._robot, function, q, v, out=out, dtype=dtype, shape=shape))

    def center_of_mass_jacobian(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """(..., 3, nv): the velocity of the centre of mass is this times v. O(n)."""
        self._check_mass()
        return cast(Array, ask(self._robot, energy.CENTER_OF_MASS_JACOBIAN, q, out=out, dtype=dtype, shape=shape))

    def momentum(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        about: str | npt.ArrayLike = "center_of_mass",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Angular momentum, kg m²/s, then linear, kg m/s: (..., 6). O(n).

        `about` says about which point: "center_of_mass", "base" (the base's origin), or points (..., 3) in m in the
        base's frame. It is that of the links; rotors that armature stands for turn in directions no model tells.
        """
        options: dict[str, Any] = {"out": out, "dtype": dtype, "shape": shape}
        if not isinstance(about, str):
            return cast(Array, ask(self._robot, energy.MOMENTUM_ABOUT, q, v, about, **options))
        one_of("momentum about", about, [*MOMENTA])
        if about == "center_of_mass":
            self._check_mass()
        return cast(Array, ask(self._robot, MOMENTA[about], q, v, **options))

    def centroidal_momentum_matrix(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """A(q), (..., 6, nv): the momentum about the centre of mass is A v, angular part first. O(n)."""
        self._check_mass()
        function = energy.CENTROIDAL_MOMENTUM_MATRIX
        return cast(Array, ask(self._robot, function, q, out=out, dtype=dtype, shape=shape))

    @property
    def _robot(self) -> Robot:
        return cast("Robot", self)

    def _check_mass(self) -> None:
        if self._robot.total_mass <= 0.0:
            raise ModelError("nothing that moves has a mass, so there is no centre of mass")
