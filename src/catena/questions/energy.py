"""The part of Robot that answers with energies, momenta, the centre of mass and the torques of gravity and Coriolis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import energy
from catena.algorithms.coriolis import CORIOLIS_MATRIX, CORIOLIS_TIMES
from catena.algorithms.springs import SPRING_ENERGY
from catena.arguments.words import one_of
from catena.errors import ModelError
from catena.functions.function import Function
from catena.functions.question import Answering, Rule, question
from catena.parameters.adopting import adopting, parametrised

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]

MOMENTA = {"center_of_mass": energy.CENTROIDAL_MOMENTUM, "base": energy.MOMENTUM}
"""The points that a momentum can be asked about by name."""


def _of_the_mass(function: Function) -> Rule:
    """The rule of a question that makes sense only where something that moves has a mass."""

    def rule(robot: Robot, given: tuple[str, ...]) -> Function:
        if "parameters" not in given:
            check_mass(robot)
        return adopting(function, given)

    return rule


def check_mass(robot: Robot) -> None:
    """Refuse a robot that has no centre of mass."""
    if robot.total_mass <= 0.0:
        raise ModelError("nothing that moves has a mass, so there is no centre of mass")


def _momentum(robot: Robot, given: tuple[str, ...], about: str | None = None) -> Function:
    if "about" in given:
        return adopting(energy.MOMENTUM_ABOUT, given)
    function = MOMENTA[one_of("momentum about", about, MOMENTA)]
    return _of_the_mass(function)(robot, given) if about == "center_of_mass" else adopting(function, given)


class Energies(Answering):
    """Energies, momenta, centre of mass, gravity and Coriolis torques of all moving links; a fixed base does not count.

    Results are in the base's axes and SI units. Arrays broadcast over leading dimensions; results are float64 unless
    `dtype` says float32, and are written to `out` if that is given.
    """

    __slots__ = ()

    @question(parametrised(energy.KINETIC_ENERGY), closed="forest")
    def kinetic_energy(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Any:
        """The kinetic energy ½ vᵀ M(q) v, the inertia of rotors (armature) included.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (...,) in J. Cost: O(n).
        """

    @question(parametrised(energy.POTENTIAL_ENERGY), closed="forest")
    def potential_energy(
        self,
        q: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Any:
        """The potential energy of gravity: zero when the centre of mass is at the height of the base's origin.

        Args:
            q: configurations, (..., nq).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (...,) in J. Cost: O(n).
        """

    @question(parametrised(SPRING_ENERGY), closed="forest")
    def spring_energy(
        self,
        q: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Any:
        """The potential energy of the joints' springs, of which the torques with `joint_springs=True` are the gradient.

        It is ½ stiffness · stretch², summed. The stretch leads from the rest pose, `integrate(neutral(), rest)`, to q,
        seen from there: a difference of coordinates, of rotations the rotation vector, of free joints also the shift.
        Joints that mimic others have theirs, too; what these hold wherever the others are stays as `parameters` change.

        Args:
            q: configurations, (..., nq).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (...,) in J. Cost: O(n).
        """

    @question(parametrised(energy.GRAVITY_TORQUE), closed="forest")
    def gravity_torque(
        self,
        q: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The joint torques g(q) that hold the robot at rest: the gradient of the potential energy.

        Args:
            q: configurations, (..., nq).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: O(n).
        """

    @question(CORIOLIS_MATRIX, closed="forest")
    def coriolis_matrix(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The Coriolis matrix C(q, v) by Christoffel's symbols: Ṁ − 2 C is skew, and bias = C v + g.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, nv). Cost: O(n²) time and memory.
        """

    @question(CORIOLIS_TIMES, closed="forest")
    def coriolis_times(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        x: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The product C(q, v) x with the Coriolis matrix, without forming it.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            x: vectors, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: O(n).
        """

    @question(_of_the_mass(energy.CENTER_OF_MASS), closed="forest")
    def center_of_mass(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The centre of mass of all moving links, in the base's frame.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 3) in m. Cost: O(n).
        """

    @question(_of_the_mass(energy.CENTER_OF_MASS_VELOCITY), closed="forest")
    def center_of_mass_velocity(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The velocity of the centre of mass.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 3) in m/s. Cost: O(n).
        """

    @question(_of_the_mass(energy.CENTER_OF_MASS_JACOBIAN), closed="forest")
    def center_of_mass_jacobian(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The Jacobian of the centre of mass: its velocity is this times v.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 3, nv). Cost: O(n).
        """

    @question(_momentum, closed="forest")
    def momentum(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        about: str | npt.ArrayLike = "center_of_mass",
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The momentum of the links: angular (kg m²/s), then linear (kg m/s).

        The rotors of motors (armature) are left out, because models do not say about which axes they turn.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            about: the point that it is about: "center_of_mass", "base" (the base's origin), or points (..., 3) in m in
                the base's frame.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6). Cost: O(n).
        """

    @question(_of_the_mass(energy.CENTROIDAL_MOMENTUM_MATRIX), closed="forest")
    def centroidal_momentum_matrix(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The centroidal momentum matrix A(q): the momentum about the centre of mass is A v.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6, nv), angular rows first. Cost: O(n).
        """
