"""identify: a robot's parameters from measured motions and torques, with what is known of them and what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot, real
from catena.errors import DataError
from catena.identification.base import BaseParameters, base_parameters
from catena.identification.consistent import SPREAD, consistent
from catena.identification.measurements import Solution, Triangles, flat, solved
from catena.parameters.record import Parameters

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Identified:
    """What measurements say about a robot.

    Attributes:
        robot: the robot with the parameters found.
        parameters: these, a record; a real robot can have them.
        parameters_std: standard deviations of `parameters.vector`, as data and prior leave them; zero where not sought.
        base: the combinations of parameters that torques depend on.
        estimate: least-squares estimates of these combinations, (r,); where the data say nothing, the prior's.
        std: their standard deviations, (r,); infinite where the data do not determine one by itself.
        lower: where their intervals begin, (r,), in which the true ones lie with the probability `confidence`.
        upper: where these end, (r,).
        determined: which of them the data determine by themselves, (r,).
        fitted: the same combinations of `parameters`, (r,).
        noise: the standard deviation of the torques' noise, (nv,), as the residuals of the estimate show it.
        residuals: measured torques minus those that `robot` needs, (..., nv).
        prior_residuals: the same with the robot that was given, (..., nv).
        confidence: the probability of the intervals.
    """

    robot: Robot
    parameters: Parameters
    parameters_std: Array
    base: BaseParameters
    estimate: Array
    std: Array
    lower: Array
    upper: Array
    determined: Array
    fitted: Array
    noise: Array
    residuals: Array
    prior_residuals: Array
    confidence: float

    def __post_init__(self) -> None:
        a_robot("Identified", self.robot)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The combinations that the data do not determine by themselves, in words."""
        return tuple(name for name, known in zip(self.base.names, self.determined, strict=True) if not known)

    def report(self) -> str:
        """A table of the base parameters with their intervals, and how well torques are predicted."""
        rms = [float(np.sqrt(np.mean(x**2))) for x in (self.prior_residuals, self.residuals)]
        known = int(self.determined.sum())
        lines = [
            f"{known} of {len(self.base)} base parameters are determined by {self.residuals[..., 0].size} samples",
            f"root mean square of torque residuals: {rms[0]:.4g} before, {rms[1]:.4g} after",
            f"{'estimate':>12} {'std':>10} {'fitted':>12}  base parameter",
        ]
        for row in zip(self.estimate, self.std, self.fitted, self.base.names, self.determined, strict=True):
            x, std, fitted, name, sure = row
            lines.append(f"{x:12.5g} {std:10.2g} {fitted:12.5g}  {name}" + ("" if sure else "  (not determined)"))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Identified: {int(self.determined.sum())} of {len(self.base)} base parameters of {self.robot.name!r}>"


def identify(
    robot: Robot,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    joints: Sequence[str] | None = None,
    spread: float = SPREAD,
    confidence: float = 0.95,
) -> Identified:
    """Find the parameters of a robot from measured motions and torques.

        found = catena.identify(robot, q, v, a, tau)
        found.robot, found.estimate, found.lower, found.upper
        print(found.report())

    Weighted least squares give the base parameters, the noise of each joint and the covariance; q, v and a count as
    exact. Then the parameters that a real robot can have are found that lie nearest to that estimate, in the measure of
    its covariance, and near those of `robot` in directions that the data leave open.

    Args:
        robot: the robot as it is known: its geometry counts as exact, its parameters as a prior.
        q: configurations, (..., nq).
        v: joint velocities, (..., nv).
        a: joint accelerations, (..., nv).
        tau: measured joint torques, (..., nv).
        joints: which of "armature", "damping" and "friction" are looked for; those that the model has on some joint if
            left out. Those that are not are taken from `robot`.
        spread: standard deviation of the prior, 1 for a factor of e in masses and extents; from 1e-9 to 1e9.
        confidence: the probability that intervals are to have.

    Returns:
        An :class:`Identified`: a new robot, parameters, estimates with intervals, residuals. Cost: O(samples r²).

    Raises:
        ShapeError: for arrays of the wrong shape, without samples, or with numbers that are not finite.
        DataError: if the torques of these motions depend on no parameter at all, or there are too few samples.
    """
    robot = a_robot("identify", robot)
    spread = real("identify: spread", spread, least=1e-9, below=1e9)
    confidence = real("identify: confidence", confidence, above=0.0, below=1.0)
    (q, v, a, tau), leading = flat(robot, "identify", q=q, v=v, a=a, tau=tau)
    base = base_parameters(robot, joints)
    prior = robot.parameters()
    if len(q) * robot.nv <= len(base):
        raise DataError(
            f"identify: {len(q)} samples of {robot.nv} torques are too few for {len(base)} base parameters; expected "
            f"more than {len(base) // robot.nv + 1}, and better ten times as many"
        )
    solution = _within_range(lambda: solved(Triangles.of(robot, base, q, v, a, tau), base.values(prior)))
    if not solution.seen.shape[1]:
        raise DataError(
            "identify: the data excite nothing: the torques of these motions depend on no parameter; expected joints "
            "that move, or gravity that pulls on them; see catena.identification.exciting_trajectory"
        )
    parameters, parameters_std = _within_range(lambda: _possible(prior, base, solution, spread))
    new = robot.with_parameters(parameters, check=False)
    std = np.where(solution.determined, np.sqrt(np.diag(solution.covariance)), np.inf)
    width = _quantile(confidence, len(q) * robot.nv - solution.seen.shape[1]) * std
    return Identified(
        robot=new,
        parameters=parameters,
        parameters_std=parameters_std,
        base=base,
        estimate=solution.estimate,
        std=std,
        lower=solution.estimate - width,
        upper=solution.estimate + width,
        determined=solution.determined,
        fitted=base.values(parameters),
        noise=solution.noise,
        residuals=_residuals(robot, parameters, q, v, a, tau).reshape(*leading, -1),
        prior_residuals=_residuals(robot, prior, q, v, a, tau).reshape(*leading, -1),
        confidence=confidence,
    )


def _within_range(compute: Callable[[], Found]) -> Found:
    """What is computed; DataError if numbers become too large or too small on the way."""
    try:
        with np.errstate(all="ignore"):
            return compute()
    except (np.linalg.LinAlgError, OverflowError) as error:
        raise DataError(
            "identify: the numbers are too large, or differ too much in size, to compute with; expected measurements "
            "in SI units, and a spread near 1"
        ) from error


def _residuals(robot: Robot, parameters: Parameters, q: Array, v: Array, a: Array, tau: Array) -> Array:
    """Measured torques minus those that the robot would need with these parameters."""
    needed = robot.inverse_dynamics(q, v, a, joint_losses=True, parameters=parameters.vector)
    rest: Array = tau - needed
    return rest


def _possible(prior: Parameters, base: BaseParameters, solution: Solution, spread: float) -> tuple[Parameters, Array]:
    """Possible parameters nearest to the estimate, and standard deviations of all of them."""
    vector, deviations = np.array(prior.vector), np.zeros(len(prior.vector))
    vector[base.columns], deviations[base.columns] = consistent(
        vector, base.columns, prior.tree.n, base.matrix, solution.triangle, solution.estimate, spread
    )
    return Parameters.made(prior.tree, vector, check=False), deviations


def _quantile(confidence: float, freedom: int) -> float:
    """How many standard deviations wide an interval is on either side: Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2))
