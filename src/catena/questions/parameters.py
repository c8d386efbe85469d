"""The part of Robot that gives its parameters, and torques as a linear function of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.joint_losses import AtJoints
from catena.algorithms.regressor import ACCELERATIONS_BY_PARAMETERS, REGRESSOR, REGRESSOR_WITH_JOINTS
from catena.arguments.scalars import of_systems
from catena.arguments.words import truth
from catena.arguments.wrenches import Wrenches
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible
from catena.model.tree import Tree
from catena.parameters.adopting import adopting
from catena.parameters.record import Parameters

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def _regressor(robot: Robot, given: tuple[str, ...], joints: bool) -> Function:
    return REGRESSOR_WITH_JOINTS if truth("joints", joints) else REGRESSOR


def _derivatives(robot: Robot, given: tuple[str, ...], joints: bool, joint_springs: bool) -> Function:
    if "parameters" not in given:
        check_invertible(robot.tree)
    acting = AtJoints(truth("joints", joints), truth("joint_springs", joint_springs))
    return adopting(ACCELERATIONS_BY_PARAMETERS[acting], given)


class HasParameters(Answering):
    """The parameters of a robot as a record, and the regressor of its inverse dynamics."""

    __slots__ = ()

    tree: Tree

    @of_systems("forest")
    def parameters(self, vector: npt.ArrayLike | None = None, *, check: bool = True) -> Parameters:
        """The inertial parameters, armature, damping, friction and gravity of the robot, or of others with its joints.

            P = robot.parameters()
            P.inertial, P.vector, P.names
            P.replace(damping=0.1)

        Args:
            vector: numbers for a record, (..., 10 links + 5 nv + 3); those of the robot if left out.
            check: whether sets that no robot can have are refused.

        Returns:
            A :class:`~catena.Parameters` record.

        Raises:
            ModelError: for an impossible set, with the link or joint and the reason.
        """
        return Parameters.of(self.tree) if vector is None else Parameters.made(self.tree, vector, check)

    @question(_regressor, closed="forest")
    def regressor(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        *,
        joints: bool = False,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The matrix Y with which inverse dynamics are linear in the inertial parameters: τ = Y π.

        π is `parameters().inertial` of all links in one row, ten numbers each; with `joints` it goes on with armature,
        damping and friction, as `parameters().vector` does, and Y π is `inverse_dynamics` with `joint_losses`. Without,
        Y π lacks the torques of rotors. Y is also the derivative of inverse dynamics by these parameters.

        Of a System with constraints it is that of the forest: Y π is tau with `constraint_torques`.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            joints: whether there are columns for armature, damping and friction.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, 10 links), or (..., nv, 10 links + 3 nv) with `joints`. Cost: O(n²) time and memory.
        """

    @question(_derivatives, inverts="M")
    def forward_dynamics_parameter_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joints: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The derivatives of joint accelerations by the parameters: −M⁻¹ Y, with Y the regressor.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            joints: whether tau loses what damping and friction take, and there are columns for armature, damping and
                friction.
            joint_springs: whether the model's springs act, and there are columns for their stiffness and rest, last.
            parameters: numbers in place of the model's, at which to differentiate: a record or vectors
                (..., 10 links + 5 nv + 3), see `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, 10 links), with 3 nv more columns for `joints` and 2 nv more for `joint_springs`, in the order of
            `parameters().vector`. Cost: O(n²) time and memory.

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """
