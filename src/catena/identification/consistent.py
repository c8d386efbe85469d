"""Parameters that a real robot can have, near what data say, and near a prior where they say nothing.

Log-Cholesky numbers of each link, and logarithms of joint parameters, are free of constraints. In these, the distance
from the least-squares estimate, measured by its own covariance, is made as small as possible together with the distance
from the prior: a nonlinear least-squares problem, solved by Levenberg and Marquardt's method. Precise data are trusted
little by little: with all their weight at once, steps would have to follow a narrow, curved valley.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.identification.measurements import triangle
from catena.parameters import inertial as bodies

Array = npt.NDArray[Any]

SPREAD = 1.0
"""Standard deviation of the prior in the logarithms of masses and extents, and in places beside a link's size."""

_THIN = 1e-6  # of a link's extents: the least that it must have in every direction
_FAR = 100.0  # standard deviations from the prior, from which on data are trusted little by little
_ROUNDS, _ENOUGH = 50, 1e-3  # of squared standard deviations, which have no unit


def consistent(
    prior: Array, columns: Array, links: int, matrix: Array, precision: Array, estimate: Array, spread: float
) -> tuple[Array, Array]:
    """The numbers of the parameters in `columns`, possible ones, and their standard deviations.

    Args:
        prior: all parameters of the prior, as in the vector of parameters.
        columns: which of them are looked for.
        links: how many links there are, ten numbers each.
        matrix: (r, p), from these parameters to base parameters.
        precision: (r, r); precision @ (β − estimate) has unit variance.
        estimate: base parameters that the data tell.
        spread: the standard deviation of the prior.
    """
    x0, widths = _start(prior[columns], links)
    A = precision @ matrix

    def residuals(x: Array, trust: float) -> Array:
        data = A @ _numbers(x, links) - precision @ estimate
        return np.concatenate([trust * data, (x - x0) / (spread * widths)])

    def slopes(x: Array, trust: float) -> Array:
        return np.vstack([trust * (A @ _slopes(x, links)), np.diag(1 / (spread * widths))])

    x, far = x0, float(np.linalg.norm(residuals(x0, 1.0)))
    for trust in np.geomspace(min(1.0, _FAR / max(far, _FAR)), 1.0, 1 + int(np.ceil(np.log10(max(far / _FAR, 1.0))))):
        x = _levenberg(partial(residuals, trust=trust), partial(slopes, trust=trust), x)
    root = np.linalg.solve(triangle(slopes(x, 1.0)).T, _slopes(x, links).T)  # its columns' lengths are deviations
    return _numbers(x, links), np.linalg.norm(root, axis=0)


def _levenberg(residuals: Callable[[Array], Array], slopes: Callable[[Array], Array], x: Array) -> Array:
    """The x with the least sum of squared residuals near the start."""
    from scipy.linalg import solve_triangular

    f, J, damping = residuals(x), slopes(x), 1e-3
    for _ in range(_ROUNDS):
        held = np.diag(np.sqrt(damping) * np.linalg.norm(J, axis=0))
        T = triangle(np.column_stack([np.vstack([J, held]), np.append(-f, np.zeros(len(x)))]))
        step = solve_triangular(T[:-1, :-1], T[:-1, -1])
        with np.errstate(over="ignore", invalid="ignore"):
            ahead = residuals(x + step)
            better = bool(ahead @ ahead < f @ f)
        if better:
            gain = f @ f - ahead @ ahead
            x, f, damping = x + step, ahead, max(damping / 5, 1e-12)
            if gain < _ENOUGH * (1 + f @ f):
                break
            J = slopes(x)
        elif damping > 1e12:
            break
        else:
            damping *= 4
    return x


def _start(prior: Array, links: int) -> tuple[Array, Array]:
    """The prior without constraints, and how wide it is: one in logarithms, the link's size in places."""
    theta = bodies.log_cholesky(solid(prior[: 10 * links].reshape(links, 10)))
    widths = np.ones_like(theta)
    widths[:, 4:] = np.exp(theta[:, 1:4]).max(axis=1)[:, None]
    joints = prior[10 * links :]
    typical = joints[joints > 0].mean() if (joints > 0).any() else 0.1
    logs = np.log(np.maximum(joints, 0.01 * typical))
    return np.concatenate([theta.ravel(), logs]), np.concatenate([widths.ravel(), 2 * np.ones_like(logs)])


def solid(numbers: Array) -> Array:
    """Bodies (n, 10) with a little mass, and a little extent in every direction, where they have none."""
    mass = numbers[:, 0]
    least = _THIN * max(mass.max(initial=0.0), 1e-3)
    numbers = np.where((mass > least)[:, None], numbers, least * _SMALL_BALL)
    values, vectors = np.linalg.eigh(bodies.pseudo_inertia(numbers))
    clipped = np.maximum(values, _THIN * values[:, -1:])
    enough = (values[:, 0] >= clipped[:, 0])[:, None]
    J = (vectors * clipped[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.where(enough, numbers, bodies.from_pseudo_inertia(J))


_SMALL_BALL = np.array([1.0, 0, 0, 0, 1e-4, 0, 1e-4, 0, 0, 1e-4])  # of one kilogram


def _numbers(x: Array, links: int) -> Array:
    theta, logs = x[: 10 * links].reshape(links, 10), x[10 * links :]
    return np.concatenate([bodies.from_log_cholesky(theta).ravel(), np.exp(logs)])


def _slopes(x: Array, links: int) -> Array:
    """The derivatives of the parameters by the free numbers: a block for each link, then a diagonal."""
    theta, logs = x[: 10 * links].reshape(links, 10), x[10 * links :]
    D = np.zeros((len(x), len(x)))
    for i, block in enumerate(bodies.log_cholesky_slopes(theta)):
        D[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
    rest = np.arange(10 * links, len(x))
    D[rest, rest] = np.exp(logs)
    return D
