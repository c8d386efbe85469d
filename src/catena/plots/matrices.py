"""Where the mass matrix, its inverse, its factors and Fixman's blocks have entries."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot
from catena.errors import CatenaError, UnsupportedError
from catena.fixman.rigid_bodies import rigid_blocks
from catena.plots.style import figure, kept

Array = npt.NDArray[Any]

MOST = 500
"""Degrees of freedom up to which matrices are made dense to be looked at."""
DECADES = 12
"""Decades below the largest entry that are told apart."""


def sparsity(robot: Any, q: npt.ArrayLike | None = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Plot which entries M, M⁻¹, the factors U and D of M = U D Uᵀ, and Fixman's H = [[Hᵃᵃ, Hᵃᵇ], [Hᵇᵃ, Hᵇᵇ]] have.

        catena.plots.sparsity(catena.load("quadruped", base="floating"), path="quadruped.png")

    The darker an entry the larger it is, by decades; white is exactly zero. H is left out for robots that Fixman's
    partition cannot take.

    Args:
        robot: a Robot of up to 500 degrees of freedom.
        q: a configuration, (nq,); a random one if left out.
        path: a file to write, PNG, SVG or PDF by its ending.

    Returns:
        The figure, a `matplotlib.figure.Figure`. Cost: O(n²), and O(n³) for H.
    """
    if a_robot("sparsity", robot).nv > MOST:
        raise UnsupportedError(f"sparsity: up to {MOST} degrees of freedom can be looked at, got {robot.nv}")
    state = robot.random_configuration(0) if q is None else q
    M = robot.mass_matrix(state)
    U, D = M.factors()
    found = {"M": M.dense(), "M⁻¹": M.inv(), "U": U.dense(), "D": D.dense(), **_blocks(robot, state)}
    with figure(1, len(found), 2.3 * len(found), 2.6) as (made, axes):
        for axis, (title, matrix) in zip(axes[0], found.items(), strict=True):
            _draw(axis, title, matrix)
    return kept(made, path)


def _blocks(robot: Any, q: npt.ArrayLike) -> dict[str, Array]:
    try:
        aa, ab, bb = (np.asarray(block) for block in rigid_blocks(robot, q).dense())
    except (CatenaError, np.linalg.LinAlgError):
        return {}
    aa, ab, bb = (block.reshape(block.shape[-2:]) for block in (aa, ab, bb))
    return {"H": np.block([[aa, ab], [ab.T, bb]])}


def _draw(axis: Any, title: str, matrix: Array) -> None:
    size = np.abs(matrix)
    largest = size.max(initial=0.0) or 1.0
    decades = np.log10(np.maximum(size / largest, 10.0**-DECADES))
    shown = np.ma.masked_where(size <= largest * 1e-14, decades)
    axis.imshow(shown, cmap="Blues", vmin=-DECADES, vmax=1.0, interpolation="nearest")
    filled = 100.0 * np.count_nonzero(~np.ma.getmaskarray(shown)) / max(shown.size, 1)
    axis.set_title(title)
    axis.set_xlabel(f"{matrix.shape[0]} × {matrix.shape[1]}, {filled:.{0 if filled >= 1 else 1}f} % filled")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    for side in axis.spines.values():
        side.set_visible(True)
