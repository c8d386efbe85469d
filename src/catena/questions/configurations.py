"""The part of Robot about configurations: neutral and random ones, integration, differences, unit quaternions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.configurations import DIFFERENCE, INTEGRATE, NORMALIZE
from catena.arguments.scalars import generator, of_systems
from catena.functions.question import Answering, question
from catena.model.configuration import Configurations, batch_shape

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class ConfigurationSpace(Answering):
    """Configurations q, (..., nq): neutral and random ones, integration along velocities, differences.

    A free joint has a position (3, in m), then a quaternion x, y, z, w; a ball joint has a quaternion. Angles are in
    rad, lengths in m.
    """

    __slots__ = ()

    @of_systems("forest")
    def neutral(self) -> Array:
        """The configuration in which every joint is at zero, (nq,)."""
        return self._configurations.neutral()

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, shape: int | Sequence[int] = ()
    ) -> Array:
        """Random configurations, uniform within the limits.

        Unlimited angles are in (-π, π], unlimited lengths in (-1, 1), orientations uniform over all rotations.

        Args:
            rng: a NumPy generator, a seed, or None for fresh randomness.
            shape: the leading dimensions of the result.

        Returns:
            (*shape, nq).
        """
        return self._configurations.random(generator("random_configuration", rng), batch_shape(shape))

    @question(INTEGRATE, closed="forest")
    def integrate(
        self,
        q: npt.ArrayLike,
        dv: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The configurations reached from q by moving with the constant velocity dv (= v dt) for unit time.

        For joints with quaternions, and planar ones, that is multiplication by an exponential; elsewhere q + dv.

        Args:
            q: configurations, (..., nq).
            dv: velocities times the time step, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nq), with quaternions of unit length. Cost: O(n).
        """

    @question(DIFFERENCE, closed="forest")
    def difference(
        self,
        q0: npt.ArrayLike,
        q1: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The constant velocities that lead from q0 to q1 in unit time, by the shorter turn where there are two.

        `integrate(q0, difference(q0, q1))` is q1, up to the sign of quaternions and full turns of planar joints.

        Args:
            q0: configurations to start from, (..., nq).
            q1: configurations to reach, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv). Cost: O(n).
        """

    @question(NORMALIZE, closed="forest")
    def normalize(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The same configurations with quaternions of unit length (NaN where one is zero).

        Other questions take the rotation along a quaternion, whatever its length, as long as the square of that neither
        overflows nor vanishes (NaN otherwise). This takes any length but zero, and is for states that you keep.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nq). Cost: O(n).
        """

    @property
    def _configurations(self) -> Configurations:
        tree = cast("Robot", self).tree
        return tree.once("configurations", lambda: Configurations(tree))
