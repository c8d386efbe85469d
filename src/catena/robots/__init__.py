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

import functools
from pathlib import Path

from catena.errors import CatenaError, UnknownNameError
from catena.later import reading_files

_HERE = Path(__file__).parent
_SUFFIXES = (".urdf", ".xml")
LEFT_OUT = (
    "the models that come with Catena were left out when this program was bundled: add the package's data files "
    "(PyInstaller: --collect-data catena)"
)


def names() -> tuple[str, ...]:
    """The names of the models that come with Catena."""
    return tuple(sorted(file.partition(".")[0] for file in _files()))


def _files() -> list[str]:
    with reading_files("catena.robots"):
        if _HERE.is_dir():
            found = [file.name for file in _HERE.iterdir()]
        else:
            from importlib.resources import files

            try:
                found = [file.name for file in files(__name__).iterdir()]
            except (OSError, ValueError):  # a bundle of modules alone
                found = []
    return [name for name in found if name.endswith(_SUFFIXES)]


def path(name: str) -> Path:
    """The path of the file of the model called `name`, to read or copy it; `catena.load` takes the name itself.

        print(catena.robots.path("quadruped").read_text())

    Raises UnknownNameError, which lists near misses.
    """
    known = _files()
    if not known:
        raise CatenaError(LEFT_OUT)
    for suffix in _SUFFIXES:
        if isinstance(name, str) and name + suffix in known:
            return _HERE / (name + suffix) if _HERE.is_dir() else _unpacked(name + suffix)
    raise UnknownNameError.among("model", name, names())


@functools.cache
def _unpacked(file: str) -> Path:
    """A file of its own, until the process ends, for a model in a zip archive."""
    import atexit
    from contextlib import ExitStack
    from importlib.resources import as_file, files

    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(as_file(files(__name__) / file))
