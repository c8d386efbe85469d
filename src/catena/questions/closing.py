"""The part of System about meeting the constraints: configurations, velocities, impacts, and which are redundant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import DEPENDENT_ROWS, NEGLIGIBLE, SHARED, TOUCHING
from catena.arguments.arrays import Port, as_array
from catena.arguments.links import JointLike
from catena.arguments.scalars import generator, of_systems, real, whole
from catena.errors import ClosureError, ShapeError
from catena.functions.closures import starts_of
from catena.model.constraints import Coupling
from catena.questions.closed_chains import ClosedChains, Impact
from catena.questions.descent import ConstraintRows, descend

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]

MOST_ROWS = 300
"""With more directions than this, singular values take too long to be looked at on the way."""

_CLOSED, _STEPS, _DRAWS = 1e-10, 100, 50
"""How far constraints of random configurations may be off, the steps of one attempt, and the attempts."""


_AWAY = (0.01, 0.1, 0.3, 1.0)
"""How far beside a guess it is tried again, in rad and m."""

_DIGITS = 1e-5
"""Constraints that no start brings nearer than this are as good as met: their numbers do not fit to more digits."""


_LEVEL = 1e-4
"""Below this slope of the squared error, relative to what rows of J allow for, no step leads nearer."""


class Redundancy(NamedTuple):
    """How constraints depend on each other at one configuration.

    `rank` of the `rows` directions that are held are independent; `freedom` degrees of freedom are left. `groups` names
    the constraints that share redundant directions: of their forces only some combinations are determined, and if
    they are not placed exactly, they contradict each other.
    """

    rank: int
    rows: int
    freedom: int
    groups: tuple[tuple[str, ...], ...]


class _Off(NamedTuple):
    """How far a constraint is off, its name, and the unit."""

    size: float
    name: str
    unit: str


class Closing(ClosedChains):
    """Configurations and velocities that meet the constraints, and what there is to say about these."""

    __slots__ = ()

    @of_systems("held")
    def close(
        self,
        q: npt.ArrayLike,
        *,
        fixed: Iterable[JointLike] = (),
        tolerance: float = _CLOSED,
        steps: int = _STEPS,
    ) -> Array:
        """Configurations near q that meet all constraints.

        Newton's method on `closure_residual`, damped where it does not make progress (Levenberg and Marquardt): each
        step is the shortest in joint space. Where that ends at a place from which nothing leads on, such as a stretched
        or folded linkage, it starts again a little beside the guess, then farther away, always in the same way. Limits
        of joints are not looked at.

        Args:
            q: guesses, (..., nq).
            fixed: joints that stay where they are, by name or number.
            tolerance: how far, in m and rad, the constraints may be off at most.
            steps: how many steps are made at most.

        Returns:
            (..., nq).

        Raises:
            ClosureError: if some samples do not get there; it names the worst constraint and says by how much it is
                off, and has the nearest configurations; and whether it seems that they cannot be met, that the guess
                is too far away, or that the tolerance is too small for the digits of the model.
        """
        system = cast("System", self)
        tolerance, steps = real("close: tolerance", tolerance, above=0.0), whole("close: steps", steps)
        free = np.ones(system.nv, dtype=bool)
        for joint in fixed:
            free[system.joint(joint).v_slice] = False
        guess = np.array(system.normalize(q), dtype=float)
        found = guess.reshape(math.prod(guess.shape[:-1]), system.nq)
        starts, rows = found.copy(), ConstraintRows(system)
        error = descend(system, rows, found, free, tolerance, steps)
        for size in _AWAY:
            (missing,) = np.nonzero(~(error <= tolerance) & np.isfinite(starts).all(axis=1))
            if not len(missing):
                break
            away = size * free * np.random.default_rng(0).standard_normal((len(missing), system.nv))
            trial = np.array(system.integrate(starts[missing], away))
            new = descend(system, rows, trial, free, tolerance, steps)
            better = ~(error[missing] <= new)
            found[missing[better]], error[missing[better]] = trial[better], new[better]
        if not (error <= tolerance).all():
            raise self._unmet(found.reshape(guess.shape), ~(error <= tolerance), tolerance, free)
        return found.reshape(guess.shape)

    @of_systems("held")
    def random_configuration(
        self, rng: np.random.Generator | int | None = None, shape: int | Sequence[int] = ()
    ) -> Array:
        """Random configurations that meet all constraints, (*shape, nq).

        Drawn uniformly within the limits as those of robots are, then closed: so no longer uniform, and limits may be
        left. What does not close is drawn again.

        Args:
            rng: a NumPy generator, a seed, or None for fresh randomness.
            shape: the leading dimensions of the result.

        Raises:
            ClosureError: if some do not close after many draws.
        """
        system = cast("System", self)
        rng = generator("random_configuration", rng)
        found = np.array(system.forest.random_configuration(rng, shape))
        flat, free = found.reshape(math.prod(found.shape[:-1]), system.nq), np.ones(system.nv, dtype=bool)
        (missing,) = np.nonzero(np.ones(len(flat)))
        for _ in range(_DRAWS):
            drawn = flat[missing]
            error = descend(system, ConstraintRows(system), drawn, free, _CLOSED, _STEPS)
            flat[missing] = drawn
            missing = missing[~(error <= _CLOSED)]
            if not len(missing):
                return found
            flat[missing] = system.forest.random_configuration(rng, len(missing))
        failed = np.isin(np.arange(len(flat)), missing)
        raise self._unmet(found, failed, _CLOSED, free)

    def _unmet(self, q: Array, failed: Array, tolerance: float, free: Array) -> ClosureError:
        system = cast("System", self)
        worst, missed = [_Off(0.0, "", "m")], q.reshape(-1, q.shape[-1])[failed]
        residual = np.asarray(system.closure_residual(q)).reshape(-1, self.closures.rows)[failed]
        residual = np.where(np.isnan(residual), np.inf, residual)
        for start, c in zip(starts_of(system.constraints), system.constraints, strict=True):
            middle, end = start + c.moments, start + c.holds
            for part, unit in ((residual[:, start:middle], "rad"), (residual[:, middle:end], "m")):
                worst.append(_Off(float(np.linalg.norm(part, axis=1).max(initial=0.0)), c.name, unit))
        size, name, unit = max(worst)
        conflict = self._in_conflict(missed, name)
        samples = f"{int(failed.sum())} of {len(failed)} samples" if len(failed) > 1 else "the guess"
        return ClosureError(
            f"the loops do not close from {samples}: {name!r} is off by {size:.3g} {unit} where at most "
            f"{tolerance:.3g} was asked for; {conflict}{_advice(system, missed[0], free, size)}",
            name,
            size,
            q,
            failed.reshape(q.shape[:-1]),
        )

    def _in_conflict(self, q: Array, name: str) -> str:
        """What to say of constraints that share directions with the one of this name, and may contradict it."""
        system = cast("System", self)
        if self.closures.rows > MOST_ROWS or not len(q) or not np.isfinite(q[0]).all():
            return ""
        for group in system.redundancy(q[0]).groups:
            others = [repr(other) for other in group if other != name]
            if name in group and others:
                return f"it holds the same directions as {', '.join(others)}, which may contradict it; "
        return ""

    @of_systems("held")
    def project_velocity(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """The velocities nearest to v, in kinetic energy, that keep the constraints.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).

        Returns:
            (..., nv): v + M⁻¹Jᵀλ with J times that zero.
        """
        v = np.asarray(as_array(v, Port("v", (cast("System", self).nv,)), "project_velocity"), dtype=float)
        change, _ = self.constrained_response(q, np.zeros_like(v), -self.constraint_rates(q, v))
        found: Array = v + change
        return found

    @of_systems("held")
    def impact(self, q: npt.ArrayLike, v: npt.ArrayLike, impulse: npt.ArrayLike | None = None) -> Impact:
        """What happens to velocities when constraints take hold, or when a blow hits the closed system.

        Args:
            q: configurations, (..., nq).
            v: joint velocities before, (..., nv); they need not keep the constraints.
            impulse: impulses on the joints, (..., nv), in N m s or N s; none if left out.

        Returns:
            `change` of the velocities, (..., nv), after which they keep the constraints, and the `impulses` of the
            constraints, (..., constraints, 6), as `forces` of `forward_dynamics`.
        """
        v = np.asarray(as_array(v, Port("v", (cast("System", self).nv,)), "impact"), dtype=float)
        blow = np.zeros_like(v) if impulse is None else impulse
        return self.constrained_response(q, blow, -self.constraint_rates(q, v))

    @of_systems("held")
    def redundancy(self, q: npt.ArrayLike) -> Redundancy:
        """Which constraints are redundant at a configuration, and how many degrees of freedom are left.

        Args:
            q: one configuration, (nq,).

        Returns:
            `rank`, `rows`, `freedom` and `groups`: see Redundancy. A direction that nothing moves along counts as
            redundant; how small a row is, is measured in rad, and in the mechanism's size where it is in m. Cost:
            O(k² nv).
        """
        system = cast("System", self)
        J = np.asarray(system.constraint_jacobian(q), dtype=float)
        if J.ndim != 2 or not np.isfinite(J).all():
            raise ShapeError(
                f"redundancy: q must be one configuration of {system.nq} finite numbers, got shape {np.shape(q)}"
            )
        size = np.linalg.norm(J, axis=1, keepdims=True)
        counts = size > NEGLIGIBLE * _natural_sizes(system, np.asarray(q, dtype=float))[:, None]
        U, s, _ = np.linalg.svd(np.where(counts, J / np.where(counts, size, 1.0), 0.0))
        rank = int((s > DEPENDENT_ROWS * max(s.max(initial=0.0), 1e-300)).sum())
        null = U[:, rank:] / np.where(counts, size, 1.0)
        starts = starts_of(system.constraints)
        shared = [null[start : start + c.holds] for start, c in zip(starts, system.constraints, strict=True)]
        groups = [tuple(system.constraints[i].name for i in group) for group in _connected(shared)]
        return Redundancy(rank, len(J), system.nv - rank, tuple(groups))


def _advice(system: System, q: Array, free: Array, size: float) -> str:
    """What to do about constraints that stay off by so much at q, the nearest configuration that was found."""
    if size < _DIGITS:
        return (
            f"it is nearly met, as where a model has rounded numbers: tolerance={10 * size:.0e} allows for that; "
            "or give a nearer guess, or more steps"
        )
    J = np.asarray(system.constraint_jacobian(q)) * free
    r = np.asarray(system.closure_residual(q))
    if np.linalg.norm(J.T @ r) > _LEVEL * np.linalg.norm(J) * np.linalg.norm(r):
        return "the guess is far away, and steps that lead nearer are left: give a nearer guess, or more steps"
    return (
        f"of {1 + len(_AWAY)} starts none leads there, and from the nearest place nothing leads nearer: check lengths "
        "and places whether it can be met at all, or give another guess"
    )


def _natural_sizes(system: System, q: Array) -> Array:
    """What rows of J have in which something moves, (k,): 1 (rad), the mechanism's size (m), slopes of couplings."""
    offsets = [float(np.linalg.norm(system.tree.placement_position, axis=1).max(initial=0.0))]
    offsets += [float(np.linalg.norm(side.position)) for c in system.constraints for side in getattr(c, "sides", ())]
    length, sizes = max(offsets) or 1.0, []
    for c in system.constraints:
        if isinstance(c, Coupling):
            at = {name: abs(float(q[system.joint(name).q_slice.start])) for name in c.terms}
            slopes = [i * abs(x) * at[name] ** (i - 1) for name, each in c.terms.items() for i, x in enumerate(each, 1)]
            sizes.append(max(slopes))
        else:
            sizes += [1.0] * c.moments + [length] * (c.holds - c.moments)
    return np.array(sizes)


def _connected(shared: Sequence[Array]) -> list[list[int]]:
    """Groups of blocks of rows of a null space that are not zero and not orthogonal to each other."""
    scale = max((float(np.abs(x).max(initial=0.0)) for x in shared), default=0.0)
    left = [i for i, x in enumerate(shared) if np.abs(x).max(initial=0.0) > SHARED * scale]
    groups = []
    while left:
        group, waiting = [], [left.pop(0)]
        while waiting:
            i = waiting.pop()
            group.append(i)
            near = [j for j in left if np.abs(shared[i] @ shared[j].T).max() > TOUCHING * scale * scale]
            left = [j for j in left if j not in near]
            waiting += near
        groups.append(sorted(group))
    return groups
