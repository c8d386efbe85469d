"""Motions that tell much about a robot: how much they tell, and a search for ones that tell more.

Trajectories are finite Fourier series, periodic and smooth, within the limits of the joints.

Source: J. Swevers, C. Ganseman, D. B. Tükel, J. De Schutter, H. Van Brussel, "Optimal robot excitation and
identification", IEEE Trans. Robot. Autom. 13 (1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import a_robot, generator, real, whole
from catena.errors import UnsupportedError
from catena.identification.base import BaseParameters, base_parameters
from catena.identification.measurements import Triangles, flat

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

_WITHIN = 0.9  # of the limits
_UNLIMITED, _FAST = np.pi, 2 * np.pi  # rad (or m) either way, and rad/s, where a joint has no limits
_ALIVE = 1e-9  # singular values below this, of the largest, count as zero


class Excitation(NamedTuple):
    """How much motions tell about the base parameters.

    `condition` is the ratio of the largest and the smallest singular value of the stacked regressor with columns of
    length one, infinite where some combination is not determined; `rank` of `wanted` combinations are. The smaller the
    condition, the better.
    """

    condition: float
    rank: int
    wanted: int


def excitation(
    robot: Robot, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, *, joints: Sequence[str] | None = None
) -> Excitation:
    """Score motions q (..., nq), v and a (..., nv) by how much their torques would tell about the base parameters.

    `joints` are as for :func:`~catena.identify`. Raises ShapeError for arrays that do not fit.
    """
    (q, v, a), _ = flat(a_robot("excitation", robot), "excitation", q=q, v=v, a=a)
    return _score(robot, base_parameters(robot, joints), q, v, a)


def _score(robot: Robot, base: BaseParameters, q: Array, v: Array, a: Array) -> Excitation:
    A = Triangles.of(robot, base, q, v, a, None).whole(np.ones(robot.nv))[:, :-1]
    lengths = np.linalg.norm(A, axis=0)
    s = np.linalg.svd(A / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    rank = int(np.sum(s > _ALIVE * s[0])) if s[0] > 0 else 0
    return Excitation(float(s[0] / s[-1]) if rank == len(base) else float("inf"), rank, len(base))


@dataclass(frozen=True)
class Trajectory:
    """Joint motions as Fourier series: q(t) = middle + Σ sines[l] sin((l+1) ω t) + cosines[l] cos((l+1) ω t).

    Attributes:
        middle: (nv,), rad or m.
        sines, cosines: (harmonics, nv).
        duration: one period, s; ω = 2π / duration.
        score: how much it tells, at the times that the search has looked at.
    """

    middle: Array
    sines: Array
    cosines: Array
    duration: float
    score: Excitation | None = None

    def __call__(self, t: npt.ArrayLike) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times t (...,), each (..., nv)."""
        rates = 2 * np.pi / self.duration * np.arange(1, len(self.sines) + 1)
        phase = as_floats(t, "t")[..., None] * rates
        S, C = np.sin(phase), np.cos(phase)
        q = self.middle + S @ self.sines + C @ self.cosines
        v = (C * rates) @ self.sines - (S * rates) @ self.cosines
        a = -(S * rates**2) @ self.sines - (C * rates**2) @ self.cosines
        return q, v, a

    def times(self, samples: int) -> Array:
        """So many times over one period."""
        return np.arange(samples) * self.duration / samples


def exciting_trajectory(
    robot: Robot,
    duration: float = 10.0,
    *,
    harmonics: int = 5,
    joints: Sequence[str] | None = None,
    evaluations: int = 200,
    samples: int = 100,
    rng: np.random.Generator | int = 0,
) -> Trajectory:
    """Search for a periodic motion that tells much about the parameters of a robot.

        motion = catena.identification.exciting_trajectory(robot, duration=10.0)
        q, v, a = motion(motion.times(1000))

    A third of the evaluations goes to random Fourier series, the others to changing the best one at random. All stay
    within 90 % of the joints' limits of position and speed.

    Args:
        robot: the robot; its joints must have one coordinate each.
        duration: one period, s.
        harmonics: how many multiples of the base frequency there are.
        joints: as for :func:`~catena.identify`.
        evaluations: how many motions are looked at.
        samples: how many times of each motion are looked at.
        rng: a generator, or its seed.

    Returns:
        A :class:`Trajectory`, with its `score`. Cost: O(evaluations samples r²).

    Raises:
        UnsupportedError: for joints with more than one coordinate.
    """
    _check(robot, duration, harmonics, evaluations, samples)
    random, base = generator("excitation", rng), base_parameters(robot, joints)

    def scored(motion: Trajectory) -> Trajectory:
        inside = _scaled(robot, motion)
        return replace(inside, score=_score(robot, base, *inside(inside.times(samples))))

    def drawn() -> tuple[Array, Array]:
        sines, cosines = random.standard_normal((2, harmonics, robot.nv))
        return sines, cosines

    low, high = _limits(robot)
    first = max(1, evaluations // 3)
    tries = [scored(Trajectory((low + high) / 2, *drawn(), duration)) for _ in range(first)]
    best, reach = min(tries, key=_badness), 0.5
    for _ in range(evaluations - first):
        size = np.abs([best.sines, best.cosines]).mean()
        sines, cosines = drawn()
        changed = best.sines + reach * size * sines, best.cosines + reach * size * cosines
        tried = scored(replace(best, sines=changed[0], cosines=changed[1]))
        better = _badness(tried) < _badness(best)
        best, reach = (tried, reach * 1.3) if better else (best, max(reach * 0.97, 0.02))
    return best


def _badness(motion: Trajectory) -> tuple[int, float]:
    assert motion.score is not None
    return motion.score.wanted - motion.score.rank, motion.score.condition


def _limits(robot: Robot) -> tuple[Array, Array]:
    """Lower and upper limits of position, finite ones."""
    low = np.where(np.isfinite(robot.lower), robot.lower, np.minimum(robot.upper, _UNLIMITED) - 2 * _UNLIMITED)
    high = np.where(np.isfinite(robot.upper), robot.upper, low + 2 * _UNLIMITED)
    return low, high


def _scaled(robot: Robot, motion: Trajectory) -> Trajectory:
    """The motion with each joint's amplitude as large as its limits allow."""
    low, high = _limits(robot)
    fast = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit, _FAST)
    q, v, _ = motion(motion.times(20 * len(motion.sines) + 1))
    room = _WITHIN * np.stack([(high - low) / 2, fast])
    used = np.stack([np.abs(q - motion.middle).max(axis=0), np.abs(v).max(axis=0)])
    factor = np.min(room / np.maximum(used, 1e-12), axis=0)
    return replace(motion, sines=factor * motion.sines, cosines=factor * motion.cosines)


def _check(robot: Robot, duration: float, harmonics: int, evaluations: int, samples: int) -> None:
    for joint in a_robot("exciting_trajectory", robot).joints:
        if joint.q_slice.stop - joint.q_slice.start > 1:
            raise UnsupportedError(
                f"exciting_trajectory: joint {joint.name!r} is {joint.type} and has several coordinates; expected "
                "joints with one: lock it with robot.locked, or choose motions by hand and score them with excitation"
            )
    real("exciting_trajectory: duration", duration, above=0.0)
    for name, count in {"harmonics": harmonics, "evaluations": evaluations, "samples": samples}.items():
        whole(f"exciting_trajectory: {name}", count, 1)
