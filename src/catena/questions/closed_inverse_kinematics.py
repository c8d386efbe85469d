"""The part of System that finds configurations in which frames have given poses and all loops are closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array
from catena.arguments.links import LinkLike, link_name
from catena.arguments.poses import Target, target_of
from catena.arguments.scalars import generator, of_systems, real, whole
from catena.errors import ShapeError
from catena.questions.closing import Closing
from catena.questions.descent import ConstraintRows, descend
from catena.questions.inverse_kinematics import NAME, Reached, batch_of

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]

STEPS = 60
"""The steps of one start."""


class ClosedInverseKinematics(Closing):
    """Configurations of closed systems in which links and frames are where they are wanted."""

    __slots__ = ()

    @of_systems("held")
    def inverse_kinematics(
        self,
        targets: Mapping[LinkLike, Any],
        q0: npt.ArrayLike | None = None,
        *,
        restarts: int = 24,
        rng: np.random.Generator | int | None = None,
        tolerance: float = 1e-9,
    ) -> Reached:
        """Configurations, within the joint limits, that bring links or frames to given poses with all loops closed.

        Damped Newton steps as in `close`, for the constraints and the targets together, from q0 or from random
        configurations, and again from others where that fails. Whole batches of targets are solved together.

        Args:
            targets: by link or frame, where it should be in the world: a pose (..., 4, 4), a position (..., 3) in m, a
                pair (rotation, position) with matrices (..., 3, 3), or SciPy's `Rotation` where a rotation is meant.
            q0: where to start, (..., nq); a solution near it is then found. Random if left out.
            restarts: how many more starts are tried.
            rng: a NumPy generator or a seed for the random starts, or None for fresh randomness.
            tolerance: the angle, in rad, and the distance, in m, that frames and constraints may be off.

        Returns:
            `q` (..., nq), `reached` (...,) and `error` (...,), the largest that a frame or a constraint is off. A step
            costs O(k² nv) for k directions of constraints and targets.

        Raises:
            UnknownNameError: if there is no such link or frame.
            ShapeError: if a target is no pose, or not a number of the right shape.
        """
        system = cast("System", self)
        if not isinstance(targets, Mapping) or not targets:
            raise ShapeError(f"{NAME}: targets must be a mapping such as {{'tool': pose}} with at least one target")
        whole(f"{NAME}: restarts", restarts)
        real(f"{NAME}: tolerance", tolerance, above=0.0)
        draws = generator(NAME, rng)
        names = [link_name(system.tree, link) for link in targets]
        wanted = [target_of(x, NAME, f"targets[{name!r}]") for name, x in zip(names, targets.values(), strict=True)]
        start = None if q0 is None else as_array(q0, Port("q0", (system.nq,)), NAME)
        batch = batch_of(wanted, start)
        count, free = int(np.prod(batch)), np.ones(system.nv, dtype=bool)
        rows = _Reaching(system, names, [_flat(target, batch) for target in wanted])
        if start is None:
            q = np.array(system.forest.random_configuration(draws, count))
        else:
            q = np.array(system.normalize(np.broadcast_to(start, (*batch, system.nq)).reshape(-1, system.nq)))
        error = descend(system, rows, q, free, tolerance / 2, STEPS, limited=True)
        for _ in range(restarts):
            (left,) = np.nonzero(~(rows.off(q) <= tolerance))
            if not len(left):
                break
            trial = np.array(system.forest.random_configuration(draws, len(left)))
            new = descend(system, rows.some(left), trial, free, tolerance / 2, STEPS, limited=True)
            better = ~(error[left] <= new)
            q[left[better]], error[left[better]] = trial[better], new[better]
        off = rows.off(q)
        return Reached(q.reshape(*batch, system.nq), (off <= tolerance).reshape(batch)[()], off.reshape(batch)[()])


class _Reaching:
    """The constraints of a system, and how far frames are from their targets, as rows in rad and m."""

    def __init__(self, system: System, names: list[str], targets: list[Target]) -> None:
        self.system, self.names, self.targets = system, names, targets
        self._loops = ConstraintRows(system)

    def some(self, chosen: Array) -> _Reaching:
        """The same for some samples."""
        targets = [Target(*[None if x is None else x[chosen] for x in target]) for target in self.targets]
        return _Reaching(self.system, self.names, targets)

    def errors(self, q: Array, of: Array) -> Array:
        """Of the constraints, then of the targets."""
        found = [self._loops.errors(q, of)]
        for name, target in zip(self.names, self.targets, strict=True):
            R, p = self.system.placement(q, name)
            if target.rotation is not None:
                found.append(-_turn(target.rotation[of] @ np.swapaxes(R, -1, -2)))
            if target.position is not None:
                found.append(np.asarray(p) - target.position[of])
        return np.concatenate(found, axis=-1)

    def jacobian(self, q: Array, of: Array) -> Array:
        """Of all."""
        found = [self._loops.jacobian(q, of)]
        for name, target in zip(self.names, self.targets, strict=True):
            J = np.asarray(self.system.jacobian(q, name, frame="mixed"))
            found += [part for part, x in zip((J[:, :3], J[:, 3:]), target, strict=True) if x is not None]
        return np.concatenate(found, axis=-2)

    def off(self, q: Array) -> Array:
        """The largest angle or distance of a frame, or row of a constraint, (s,); NaN of what is no number."""
        r = self.errors(q, np.arange(len(q)))
        k = self.system.closures.rows
        parts = np.linalg.norm(r[:, k:].reshape(len(q), -1, 3), axis=-1)
        return np.asarray(np.concatenate([np.abs(r[:, :k]), parts], axis=-1).max(axis=-1))


def _flat(target: Target, batch: tuple[int, ...]) -> Target:
    """A target for each sample, one after the other."""
    shapes = (3, 3), (3,)
    both = [
        None if x is None else np.broadcast_to(x, (*batch, *shape)).reshape(-1, *shape)
        for x, shape in zip(target, shapes, strict=True)
    ]
    return Target(*both)


def _turn(R: Array) -> Array:
    """Rotation matrices (s, 3, 3) as vectors along their axes, as long as their angles."""
    from scipy.spatial.transform import Rotation

    good = np.isfinite(R).all(axis=(-1, -2))
    found = np.full((len(R), 3), np.nan)
    if good.any():
        found[good] = Rotation.from_matrix(R[good]).as_rotvec()
    return found
