"""Cables and rods: chains of rigid pieces whose joints bend and twist against springs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.assemble import assemble
from catena.model.numbers import chosen, count, floats, number
from catena.model.parts import JointPart, LinkPart
from catena.model.tree import Tree

STARTS = ("clamped", "pinned", "free")


def cable(
    length: float,
    links: int,
    EI: npt.ArrayLike,
    density: float,
    *,
    GJ: float | None = None,
    radius: float = 0.0,
    damping: float = 0.0,
    start: str = "clamped",
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
    name: str = "cable",
) -> Tree:
    """Make a cable or an elastic rod: a chain of stiff pieces along x, joined by springs that bend, and perhaps twist.

        rod = catena.cable(1.0, 400, EI=2.5, density=0.1, damping=4e-3)
        zero = np.zeros(rod.nv)
        run = rod.rollout(zero, zero, None, 1e-3, steps=6000, integrator="linearly_implicit", joint_losses=True)

    Without GJ the joints are universal ones that bend about y (the first coordinate) and about z. With GJ they are
    spherical ones that twist about x as well, for turns of each joint that are small. The springs of all joints act in
    steps, rollouts and simulations; the linearly implicit step is stable however stiff they are. The frame "tip" is at
    the far end, which is free.

    Args:
        length: of the whole cable, m.
        links: how many pieces.
        EI: the bending stiffness, N m²; or two of them, about y and about z.
        density: the mass of a metre, kg/m.
        GJ: the torsional stiffness, N m²; None for a cable that does not twist.
        radius: of the round section, m, for the inertia of the pieces; needed with GJ and where the start is free: then
            pieces turn about their own axis.
        damping: how long strain takes to relax, s: every spring k has a damper `damping` times k beside it.
        start: how the near end is held: "clamped", "pinned" (it may turn) or "free" (it may move).
        gravity: 3 numbers in the base's frame, m/s².
        name: of the robot.

    Returns:
        The robot. Cost: O(n).
    """
    n = count(links)
    total, density = number("length", length, above=0.0), number("density", density, above=0.0)
    twists, damping = GJ is not None, number("damping", damping, least=0.0)
    chosen("start", start, STARTS)
    radius, torsion = number("radius", radius, least=0.0), number("GJ", GJ, above=0.0) if twists else 0.0
    if not radius and (twists or start == "free"):
        raise ModelError("radius: expected a number above 0, found 0: with GJ or start='free', pieces turn about x")
    bend = _stiffness(EI)
    piece = total / n
    spring = np.array([torsion, *bend] if twists else [*bend]) / piece
    joints = [_joint(i, piece, spring, damping, start, "spherical" if twists else "universal") for i in range(n)]
    joints.append(JointPart("tip", "fixed", f"link{n}", "tip", position=(piece, 0.0, 0.0)))
    return assemble([LinkPart("base"), *_pieces(n, piece, density, radius)], joints, name=name, gravity=gravity)


def _pieces(n: int, piece: float, density: float, radius: float) -> list[LinkPart]:
    mass = density * piece
    across = mass * (piece * piece + 3 * radius * radius) / 12
    inertia = np.diag([mass * radius * radius / 2, across, across])
    return [*[LinkPart(f"link{i + 1}", mass, (piece / 2, 0.0, 0.0), inertia) for i in range(n)], LinkPart("tip")]


def _joint(i: int, piece: float, spring: npt.NDArray[Any], damping: float, start: str, kind: str) -> JointPart:
    """The joint at the near end of piece i: half a piece bends at a clamp, none at a pin."""
    parent, at = (f"link{i}", piece) if i else ("base", 0.0)
    if not i and start == "free":
        return JointPart("joint1", "free", parent, "link1")
    k = spring * (1.0 if i else {"clamped": 2.0, "pinned": 0.0}[start])
    axes = {"axis": (0.0, 1.0, 0.0), "axis2": (0.0, 0.0, 1.0)} if kind == "universal" else {}
    more: dict[str, Any] = {**axes, "stiffness": k.tolist(), "damping": (damping * k).tolist()}
    return JointPart(f"joint{i + 1}", kind, parent, f"link{i + 1}", position=(at, 0.0, 0.0), **more)


def _stiffness(EI: npt.ArrayLike) -> tuple[float, float]:
    try:
        about_y, about_z = np.broadcast_to(floats(EI), 2).tolist()
    except ValueError:
        raise ModelError(f"EI: expected one number or two, found {shown(EI)}") from None
    return number("EI", about_y, least=0.0), number("EI", about_z, least=0.0)
