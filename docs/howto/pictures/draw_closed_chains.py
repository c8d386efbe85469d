"""Draws the mechanisms of closed-chains.md with matplotlib: python docs/howto/pictures/draw_closed_chains.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import catena
from catena import robots

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
BARS, HELD, GROUND = "#2b5c8a", "#d1495b", "#888888"


def segments(system: catena.System, q: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Lines (2, 3) from the origin of each link to what it carries, and the points that constraints hold."""
    rotation, position = system.placements(q)
    tree = system.tree
    lines = [np.stack([position[p], position[i]]) for i, p in enumerate(tree.parent.tolist()) if p >= 0]
    points = []
    for constraint in system.constraints:
        for side in constraint.sides:
            at = system.frame(side.frame)
            local = at.position + at.rotation @ side.position
            point = position[at.link] + rotation[at.link] @ local if at.link >= 0 else local
            points.append(point)
            if at.link >= 0:
                lines.append(np.stack([position[at.link], point]))
    return lines, points


def draw(axes: Any, system: catena.System, q: np.ndarray, keep: tuple[int, ...], alpha: float = 1.0) -> None:
    """The bars of a system and, as dots, what closes its loops; `keep` are the coordinates that are drawn."""
    lines, points = segments(system, q)
    standing = system.tree.parent < 0
    for line in lines:
        axes.plot(*[line[:, i] for i in keep], color=BARS, lw=2.2, alpha=alpha, solid_capstyle="round")
    feet = system.placements(q).position[standing & (np.diff(system.tree.v_start) < 6)]
    axes.plot(*[feet[:, i] for i in keep], "s", color=GROUND, ms=6)
    axes.plot(*[np.array(points)[:, i] for i in keep], "o", color=HELD, ms=5, alpha=alpha)


def solid(name: str, system: catena.System, q: np.ndarray, view: tuple[float, float]) -> None:
    """One mechanism in space, to a file."""
    figure = plt.figure(figsize=(4.2, 3.8))
    axes = figure.add_subplot(projection="3d")
    draw(axes, system, q, (0, 1, 2))
    axes.view_init(*view)
    axes.set_aspect("equal")
    axes.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    axes.tick_params(labelsize=7)
    figure.savefig(HERE / f"{name}.png", dpi=100, bbox_inches="tight")


def four_bar() -> None:
    """A four-bar linkage as it swings, from the side."""
    bar = catena.System.load(robots.path("four_bar"))
    run = catena.simulate(
        bar, bar.close([-1.0, 0.3, -1.2]), np.zeros(3), duration=1.0, dt=2e-3, integrator="rk4", every=50
    )
    figure, axes = plt.subplots(figsize=(5.0, 3.2))
    for i, q in enumerate(run.q):
        draw(axes, bar, q, (0, 2), 1.0 if i == 0 else 0.25)
    axes.set_aspect("equal")
    axes.set(xlabel="x (m)", ylabel="z (m)")
    figure.savefig(HERE / "four_bar.png", dpi=100, bbox_inches="tight")


def stewart_platform() -> None:
    """A Stewart platform, lifted a little."""
    system = catena.System.load(robots.path("stewart_platform"))
    platform = next(joint for joint in system.joints if joint.type == "free")
    guess = system.neutral()
    guess[platform.q_slice.start + 2] = 0.85
    solid("stewart_platform", system, system.close(guess, fixed=[platform.name]), (18, -60))


def delta_robot() -> None:
    """A delta robot with its platform below."""
    system = catena.System.load(robots.path("delta_robot"))
    guess = system.neutral()
    for joint in system.joints:
        if "bend" in joint.name:
            guess[joint.q_slice] = -1.0
    guess[system.joint("platform_motion").q_slice.start + 2] = -0.5
    solid("delta_robot", system, system.close(guess), (18, -75))


def two_arms() -> None:
    """Two arms that hold a box, from the side, high and low."""
    system = catena.System.load(robots.path("two_arms_with_box"))
    figure, axes = plt.subplots(figsize=(5.0, 3.2))
    for height, bend, alpha in ((0.32, 0.35, 1.0), (0.45, 0.2, 0.25), (0.55, 0.0, 0.25)):
        guess = system.neutral()
        guess[system.joint("box_motion").q_slice] = [0, 0, height, 0, 0, 0, 1]
        guess[[1, 7]], guess[[2, 8]], guess[[4, 10]] = bend, bend, -2 * bend  # shoulders, elbows, wrists
        draw(axes, system, system.close(guess, fixed=["box_motion"]), (0, 2), alpha)
    axes.set_aspect("equal")
    axes.set(xlabel="x (m)", ylabel="z (m)")
    figure.savefig(HERE / "two_arms_with_box.png", dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    for drawing in (two_arms, four_bar, stewart_platform, delta_robot):
        drawing()
