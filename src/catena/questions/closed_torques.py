"""The part of System that answers with torques: inverse dynamics of closed chains, and forces that squeeze."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import CONSISTENT, DEPENDENT_ROWS
from catena.arguments.arrays import as_floats, as_samples
from catena.arguments.links import JointLike
from catena.arguments.scalars import of_systems, real
from catena.arguments.wrenches import Wrenches
from catena.errors import CatenaError, ModelError
from catena.functions.closures import starts_of
from catena.functions.least_norm import LeastNorm
from catena.functions.recipes import times
from catena.model.joints import JOINT_TYPES
from catena.questions.closing import Closing

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]


class ClosedTorques(NamedTuple):
    """Joint torques (..., nv) and the wrench of each constraint (..., constraints, 6) on its second frame."""

    tau: Array
    forces: Array


class Torques(Closing):
    """Inverse dynamics with a choice of torques, and the part of forces that only squeezes."""

    __slots__ = ()

    @of_systems("held")
    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        actuated: Iterable[JointLike] | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> ClosedTorques:
        """The joint torques that cause the accelerations a of the closed system: of all that do, the least.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv), that keep the constraints.
            f_ext: wrenches on links, as for `forward_dynamics`.
            actuated: the joints that have motors, by name or number; all but free joints if left out.
            weights: positive numbers (nv,): Σ weights tau² is least; all 1 if left out.

        Returns:
            `tau`, (..., nv) in N m or N, zero at joints without motors, and `forces`, (..., constraints, 6) as of
            `forward_dynamics`: the constraint forces of least norm that go with these torques. Cost: O(k² nv).

        Raises:
            CatenaError: if the accelerations do not keep the constraints, which names one, or if the actuated joints
                cannot cause them.
        """
        system = cast("System", self)
        shapes = {"q": (system.nq,), "v": (system.nv,), "a": (system.nv,)}
        (q, v, a), _ = as_samples("inverse_dynamics", shapes, [q, v, a])
        needed = np.asarray(system.forest.inverse_dynamics(q, v, a, f_ext))
        q = np.broadcast_to(q, (*needed.shape[:-1], system.nq))
        J = np.asarray(self.constraint_jacobian(q))
        self._check_kept(q, v, a, J)
        motors, Jt = _motors(system, actuated), np.swapaxes(J, -1, -2)
        # without motors tau = needed − Jᵀλ is zero: that much of λ is given
        passive = LeastNorm(Jt[..., ~motors, :], DEPENDENT_ROWS).inverse
        lam = times(passive, needed[..., ~motors])
        root = np.sqrt(_weights(system, weights))[motors]
        R = root[:, None] * Jt[..., motors, :]
        left = R - (R @ passive) @ Jt[..., ~motors, :]  # what is free of λ makes the other torques least
        lam = lam + LeastNorm(left, DEPENDENT_ROWS, beside=R).solve(root * (needed - times(Jt, lam))[..., motors])
        tau = needed - times(Jt, lam)
        missing = np.abs(tau[..., ~motors]).max(axis=-1, initial=0.0)
        if (missing > CONSISTENT * np.maximum(np.abs(needed).max(axis=-1, initial=0.0), 1.0)).any():
            raise CatenaError(
                f"inverse_dynamics: the actuated joints cannot cause these accelerations; {missing.max():.3g} N m or N "
                "are missing; give other accelerations, or more joints in actuated=…"
            )
        forces = system._compiled.kernel(self.closures.forces)(q, lam)
        numbers = np.isfinite(tau).all(axis=-1, keepdims=True)
        return ClosedTorques(np.where(numbers, np.where(motors, tau, 0.0), np.nan), np.asarray(forces))

    def _check_kept(self, q: Array, v: Array, a: Array, J: Array) -> None:
        off = np.abs(times(J, a) + np.asarray(self.constraint_bias(q, v)))
        a, v = np.abs(a).max(axis=-1, initial=1.0), np.abs(v).max(axis=-1, initial=0.0)
        size = np.abs(J).max(axis=(-1, -2), initial=1.0) * a + v**2
        broken = off > CONSISTENT * size[..., None]
        if broken.any():
            system = cast("System", self)
            worst = np.where(broken, off, 0.0).reshape(-1, off.shape[-1]).max(axis=0)
            row = int(np.argmax(worst))
            number = int(np.searchsorted(starts_of(system.constraints), row, side="right")) - 1
            raise CatenaError(
                f"inverse_dynamics: the accelerations break the constraint {system.constraints[number].name!r} by "
                f"{worst[row]:.3g} m/s² or rad/s²; make them of the closed system, as forward_dynamics does"
            )

    @of_systems("held")
    def internal_forces(self, q: npt.ArrayLike, forces: npt.ArrayLike, held: str, *, length: float = 1.0) -> Array:
        """The part of constraint forces on an object that does not move it, but squeezes it.

        Forces on the object are split in two: what is in the null space of the grasp map, which takes the forces of all
        constraints to the wrench on the object, and what is orthogonal to that, where the square of a force (N) counts
        as it is and that of a moment (N m) is divided by that of `length`.

        Args:
            q: configurations, (..., nq).
            forces: (..., constraints, 6), as `forward_dynamics` gives them.
            held: the object, by name.
            length: that moments are compared with forces by, above zero, in m.

        Returns:
            (..., constraints, 6): the internal part; zero for constraints that do not touch the object.
        """
        system = cast("System", self)
        link = system.frame(held).link
        if link < 0 or JOINT_TYPES[system.tree.joint_type[link]].name != "free":
            raise ModelError(f"internal_forces: expected an object that moves freely, found {held!r}", link=held)
        shapes = {"q": (system.nq,), "forces": (len(system.constraints), 6)}
        (q, given), _ = as_samples("internal_forces", shapes, [q, forces])
        length = real("internal_forces: length", length, above=0.0)
        dofs = slice(int(system.tree.v_start[link]), int(system.tree.v_start[link + 1]))
        grasp = np.swapaxes(np.asarray(self.constraint_jacobian(q))[..., dofs], -1, -2)
        touching = np.repeat([self._touches(c, link) for c in system.constraints], _rows(system))
        metric = np.concatenate([[length] * c.moments + [1.0] * (c.holds - c.moments) for c in system.constraints])
        kernel = system._compiled.kernel(self.closures.forces)
        basis = np.asarray(kernel(q[..., None, :], np.eye(self.closures.rows)))  # (..., k, constraints, 6)
        basis = basis.reshape(*basis.shape[:-2], -1)
        lam = LeastNorm(basis, DEPENDENT_ROWS).solve_transposed(given.reshape(*given.shape[:-2], -1))
        scaled, x = grasp * (metric * touching), lam / metric * touching
        inner = x - LeastNorm(scaled, DEPENDENT_ROWS).solve(times(scaled, x))
        return np.asarray(kernel(q, inner * metric))

    def _touches(self, constraint: Any, link: int) -> bool:
        system = cast("System", self)
        return any(system.frame(side.frame).link == link for side in getattr(constraint, "sides", ()))


def _rows(system: System) -> list[int]:
    return [constraint.holds for constraint in system.constraints]


def _weights(system: System, weights: npt.ArrayLike | None) -> Array:
    found = np.ones(system.nv) if weights is None else as_floats(weights, "inverse_dynamics: weights")
    if found.shape != (system.nv,) or not (np.isfinite(found) & (found > 0)).all():
        raise ModelError(f"weights: expected {system.nv} positive numbers, one for each degree of freedom")
    return found


def _motors(system: System, actuated: Iterable[JointLike] | None) -> Array:
    """Which degrees of freedom have motors, (nv,)."""
    chosen = [j for j in system.joints if j.type != "free"] if actuated is None else list(map(system.joint, actuated))
    found = np.zeros(system.nv, dtype=bool)
    for joint in chosen:
        found[joint.v_slice] = True
    return found
