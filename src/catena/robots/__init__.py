"""A few small models written for this project, to try things on: `catena.load("quadruped")`.

| name | format | what it is |
| --- | --- | --- |
| two_link_arm | URDF | two bars swinging in a vertical plane |
| seven_dof_arm | URDF | shoulder, elbow and wrist of an arm: seven revolute joints |
| quadruped | URDF | trunk and four legs, twelve joints; load it with base="floating" |
| crane | MJCF | slide, two hinges on one body, a ball joint off the body's origin, a loose crate |
| four_bar | MJCF | a planar four-bar linkage: a closed loop, see `catena.System.load` |
| stewart_platform | MJCF | a platform on six legs that lengthen: closed loops |
| delta_robot | MJCF | three arms with two rods each that keep a platform level: closed loops |
| gripper | URDF | two fingers, one of which mimics the other |
| two_arms_with_box | MJCF | two arms with six joints each that hold one box: closed loops |
"""

from __future__ import annotations

from pathlib import Path

from catena.errors import UnknownNameError
from catena.later import reading_files

_HERE = Path(__file__).parent


def names() -> tuple[str, ...]:
    """The names of the models that come with Catena."""
    with reading_files("catena.robots"):
        return tuple(sorted(file.stem for file in _HERE.iterdir() if file.suffix in (".urdf", ".xml")))


def path(name: str) -> Path:
    """The path of the file of the model called `name`, to read or copy it; `catena.load` takes the name itself.

        print(catena.robots.path("quadruped").read_text())

    Raises UnknownNameError, which lists near misses.
    """
    known = names()
    for suffix in (".urdf", ".xml"):
        if isinstance(name, str) and name in known and (_HERE / (name + suffix)).is_file():
            return _HERE / (name + suffix)
    raise UnknownNameError.among("model", name, known)
