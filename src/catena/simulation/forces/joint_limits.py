"""Springs with dampers that push joints back into their ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.force_elements import Action, ForceElement
from catena.model.singular import check_invertible
from catena.scalars import Scalar, absolute, maximum, where
from catena.simulation.checked import each
from catena.spatial import Dofs
from catena.sweeps import Field, Links

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

REACH = 5e-3
"""The time in s within which a joint at the end of its range is pushed back, where no stiffness is given."""


@dataclass(frozen=True)
class JointLimits(ForceElement):
    """Springs with dampers at the ends of the ranges of joints, `robot.lower` and `robot.upper`.

        run = robot.rollout(q, v, tau, 1e-3, joint_limits=catena.JointLimits(stiffness=1e4, damping=50.0))

    They push with stiffness · e + damping · v where a joint is beyond an end by e, and only where that pushes at the
    speed with which a step begins. However stiff they are, steps stay stable. Joints without limits, and those with
    quaternions, have none.

    Attributes:
        stiffness: one number or (nv,), in N m/rad or N/m; if None, what moves the joint's own share of the mass matrix,
            at the neutral configuration, back within some 5 ms.
        damping: one number or (nv,), in N m s/rad or N s/m; if None, what lets that come to rest without swinging.
    """

    name, at_links = "limits", False
    inputs = MappingProxyType(
        {"lower": "joint_q", "upper": "joint_q", "limit_stiffness": "joint", "limit_damping": "joint"}
    )

    stiffness: npt.ArrayLike | None = None
    damping: npt.ArrayLike | None = None

    def on(self, robot: Robot) -> ForceElement | None:
        """Nothing, where no joint has an end."""
        return self if np.isfinite([robot.lower, robot.upper]).any() else None

    def numbers(self, robot: Robot) -> Mapping[str, Any]:
        """Where ranges end, and stiffness and damping of all degrees of freedom."""
        inertia = np.zeros(robot.nv)
        if self.stiffness is None or self.damping is None:
            check_invertible(robot.tree)
            inertia = robot.mass_matrix(robot.neutral()).diagonal()
        stiffness = inertia / REACH**2 if self.stiffness is None else self._each("stiffness", robot)
        damping = 2 * np.sqrt(stiffness * inertia) if self.damping is None else self._each("damping", robot)
        ends = {"lower": robot.lower, "upper": robot.upper}
        return {**ends, "limit_stiffness": stiffness, "limit_damping": damping}

    def _each(self, name: str, robot: Robot) -> Array:
        return each(f"JointLimits: {name}", getattr(self, name), robot.nv)

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """The springs in a step of length dt."""
        return _Ends(q, v, dt, *given)


class _Ends(Action):
    """Springs at the ends of the ranges of joints, during a step."""

    def __init__(
        self, q: Field, v: Field, dt: Scalar, lower: Field, upper: Field, stiffness: Field, damping: Field
    ) -> None:
        self.q, self.v, self.dt = q, v, dt
        self.lower, self.upper, self.stiffness, self.damping = lower, upper, stiffness, damping

    def _pushes(self, k: Any) -> Iterator[tuple[Scalar, Scalar]]:
        """For each degree of freedom the torque of its spring, and what it loses for each unit of acceleration.

        Beyond an end by e, k (e + h v₁) + d v₁ pushes back, if it does so with the speed of the start.
        """
        h = self.dt
        for i, (x, u) in enumerate(zip(self.q[k], self.v[k], strict=True)):
            stiffness, damping = self.stiffness[k][i], self.damping[k][i]
            slope = h * stiffness + damping
            above, below = x - self.upper[k][i], self.lower[k][i] - x
            down, up = stiffness * above + slope * u, stiffness * below - slope * u
            torque = where(above > 0.0, -maximum(down, 0.0), where(below > 0.0, maximum(up, 0.0), 0.0))
            yield torque, where(absolute(torque) > 0.0, h * slope, 0.0)

    def torques(self, k: Any) -> Dofs | None:
        """Back into the range, where the joint is beyond it."""
        return Dofs([torque for torque, _ in self._pushes(k)]) if k.joint_type.flat else None

    def armature(self, k: Any) -> Dofs | None:
        """h² k + h d of a spring that pushes."""
        return Dofs([added for _, added in self._pushes(k)]) if k.joint_type.flat else None
