"""Times over sizes, and torques that a model predicts beside those that were measured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import having
from catena.errors import ShapeError
from catena.plots.runs import names_of
from catena.plots.style import figure, kept

if TYPE_CHECKING:
    from catena.identification.fit import Identified

JOINTS = 8
"""Joints that are drawn at most."""


def scaling(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    path: str | os.PathLike[str] | None = None,
    *,
    x: str = "links",
    y: str = "time (s)",
) -> Any:
    """Plot how times grow with sizes, on logarithmic axes, with the exponent of each curve's last decade.

        catena.plots.scaling({"forward dynamics": ([10, 100, 1000], [1e-6, 1e-5, 1e-4])})

    Args:
        curves: pairs of sizes and times, all above zero, by name.
        path: a file to write, PNG, SVG or PDF by its ending.
        x: what sizes count.
        y: what is measured, with its unit.

    Returns:
        The figure, a `matplotlib.figure.Figure`.
    """
    having("scaling", "a mapping from names to sizes and times", curves, "items")
    with figure(1, 1, 5.0, 3.6) as (made, axes):
        axis = axes[0, 0]
        for name, pair in curves.items():
            both = as_floats(pair, f"scaling: {name!r}: sizes and as many times")
            if both.ndim != 2 or both.shape[0] != 2 or both.shape[1] < 2 or not (both > 0).all():
                raise ShapeError(f"scaling: {name!r}: expected two or more sizes and as many times, all above zero")
            n, t = both
            last = n >= n.max() / 10
            last[-2:] = True
            slope = np.polyfit(np.log(n[last]), np.log(t[last]), 1)[0]
            axis.loglog(n, t, marker="o", markersize=4, label=f"{name}: n^{slope:.2f}")
        axis.set_xlabel(x)
        axis.set_ylabel(y)
        axis.legend()
    return kept(made, path)


def prediction(found: Identified, path: str | os.PathLike[str] | None = None) -> Any:
    """Plot the torque errors of a robot before and after it was identified, joint by joint.

        catena.plots.prediction(catena.identify(robot, q, v, a, tau))

    Args:
        found: what `catena.identify` gives.
        path: a file to write, PNG, SVG or PDF by its ending.

    Returns:
        The figure, a `matplotlib.figure.Figure`.
    """
    having("prediction", "what catena.identify gives", found, "robot", "residuals", "prior_residuals")
    before, after = (np.asarray(x).reshape(-1, x.shape[-1]) for x in (found.prior_residuals, found.residuals))
    names = names_of(found.robot, "v")
    count = min(before.shape[1], JOINTS)
    with figure(count, 1, 7.0, 1.0 + 1.1 * count, sharex=True) as (made, axes):
        for k, axis in enumerate(axes[:, 0]):
            axis.plot(before[:, k], color="#c9ced6", label="before")
            axis.plot(after[:, k], label="after")
            axis.set_ylabel(f"{names[k]}\n(N m, N)", fontsize=7)
            spread = f"± {np.std(before[:, k]):.2g} before, ± {np.std(after[:, k]):.2g} after"
            axis.set_title(spread, fontsize=8, fontweight="normal", loc="right")
        some = f", {count} of {before.shape[1]} joints" if before.shape[1] > count else ""
        made.suptitle(f"measured minus predicted torques{some}", x=0.01, ha="left", fontsize=10, fontweight="bold")
        axes[0, 0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        axes[-1, 0].set_xlabel("sample")
    return kept(made, path)
