"""Random mechanisms that tests of algorithms and operators share, and ways to compare numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

import catena
from catena.model.joints import BY_NAME

MOVING = [name for name in BY_NAME if name != "fixed"]


def with_rotors(robot: catena.Robot, seed: int = 0) -> catena.Robot:
    armature = np.random.default_rng(seed).uniform(0.01, 0.1, robot.nv)
    return catena.Robot(replace(robot.tree, armature=armature))


WITHOUT_ROTORS: dict[str, Callable[[], catena.Robot]] = {
    "revolute chain": lambda: catena.random_tree(1, 7, ["revolute"], 0.0),
    "sliding chain": lambda: catena.random_tree(2, 6, ["revolute", "prismatic"], 0.0),
    "chain of all joint types": lambda: catena.random_tree(3, 10, MOVING, 0.0),
    "tree of all joint types": lambda: catena.random_tree(4, 12, MOVING, 0.5),
    "floating tree": lambda: catena.random_tree(5, 8, ["revolute", "spherical"], 0.5, base="floating"),
    "weightless tree": lambda: catena.random_tree(6, 8, MOVING, 0.4, gravity=(0, 0, 0)),
    "one link": lambda: catena.random_tree(7, 1, ["revolute"]),
}

ALL: dict[str, Callable[[], catena.Robot]] = {
    **WITHOUT_ROTORS,
    "tree with rotors": lambda: with_rotors(catena.random_tree(8, 9, MOVING, 0.5)),
}


def state(robot: catena.Robot, seed: int = 0, batch: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """Random configurations, velocities, and torques or accelerations."""
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, batch), *rng.standard_normal((2, *batch, robot.nv))


def relative(found: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """The largest difference, relative to the largest number expected."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))
