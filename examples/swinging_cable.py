"""How does a cable swing that is let go? A chain of stiff pieces, stepped implicitly at 1 ms; drawn to a named file."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import catena

LENGTH, LINKS, DENSITY = 1.0, 100, 0.05
STIFFNESS = {"a rope, EI = 1e-4 N m²": 1e-4, "a wire, EI = 3e-2 N m²": 3e-2}
DT, SECONDS, SHOWN = 1e-3, 0.6, 50


def swung(EI: float) -> tuple[catena.Run, Any]:
    """The run of a cable that was held out straight, pinned at one end, and the places of its joints and tip."""
    cable = catena.cable(LENGTH, LINKS, EI, DENSITY, start="pinned", damping=2e-3)
    zero = np.zeros(cable.nv)
    options: dict[str, Any] = {"integrator": "linearly_implicit", "joint_losses": True}
    run = cable.rollout(zero, zero, None, DT, steps=round(SECONDS / DT), every=SHOWN, **options)
    return run, np.concatenate([cable.placements(run.q, which).position for which in (None, ["tip"])], axis=-2)


def main(picture: str = "") -> None:
    shapes = {}
    for name, EI in STIFFNESS.items():
        run, shapes[name] = swung(EI)
        energy, tip = run.energy(), shapes[name][:, -1]
        moving = run.robot.kinetic_energy(run.q, run.v).max()
        print(f"{name}: after {run.t[-1]:g} s the tip is at x = {tip[-1, 0]:.3f} m, z = {tip[-1, 2]:.3f} m;")
        print(f"  energy changed by {(energy[-1] - energy[0]) / moving:+.1%} of the largest kinetic energy")
    if picture:
        drawn(shapes, picture)


def drawn(shapes: dict[str, Any], picture: str) -> None:
    """The shapes over time, one plot for each cable."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, plots = plt.subplots(1, len(shapes), figsize=(9, 3.4), sharex=True, sharey=True, layout="constrained")
    for plot, (name, places) in zip(plots, shapes.items(), strict=True):
        for i, place in enumerate(places):
            share = i / (len(places) - 1)
            plot.plot(place[:, 0], place[:, 2], color=mpl.colormaps["viridis"](0.9 * share), linewidth=1.5)
        plot.set(title=name, xlabel="x, m", aspect="equal")
    plots[0].set_ylabel("z, m")
    colours = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, SECONDS / 0.9), "viridis")
    marks = {"boundaries": np.linspace(0, SECONDS, 100), "ticks": np.linspace(0, SECONDS, 4)}
    figure.colorbar(colours, ax=plots, label="time, s", **marks)
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main(*sys.argv[1:])
