"""`catena.load_run`: runs from files, with the robot or the system that moved."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from catena.errors import CatenaError, LoadError
from catena.robot import Robot
from catena.simulation.files import read
from catena.simulation.run import Run
from catena.system import restored


def load_run(path: str | os.PathLike[str], *, package_roots: Iterable[str | os.PathLike[str]] = ()) -> Run:
    """A run that `run.save` wrote, with its robot or system.

    Args:
        path: the file.
        package_roots: folders in which meshes of the robot may lie, besides the folder of the file. Other places that
            the file names are not looked at, as it may be a stranger's.

    Where meshes are looked for is part of a robot: the one found here equals the one that was saved (`==`) if it has
    no meshes, or if its file lies in the folder of the run, or below, and `package_roots` are those it was loaded with.
    Otherwise it moves as that one did, and is another.

    Raises:
        LoadError: if the file is cut off, not a run, or of another version.
    """
    found, shown = read(path, package_roots), os.fspath(path)
    try:
        robot: Any = Robot(found.tree) if found.constraints is None else restored(found.tree, found.constraints)
    except CatenaError as error:
        raise LoadError(f"{shown}: the robot of this run is damaged: {error}") from error
    if found.run["q"].shape[-1] != robot.nq or found.run["v"].shape[-1] != robot.nv:
        raise LoadError(f"{shown}: the states of this run are not those of its robot")
    tau = found.run["torques"]
    if tau is not None and tau.shape[-1] != robot.nv:
        raise LoadError(f"{shown}: tau {tau.shape} of this run does not belong to {robot.nv} degrees of freedom")
    return Run(robot, **found.run)
