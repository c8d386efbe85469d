"""`catena.load`: a robot from a URDF or MJCF file, recognised by its content."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from catena.arguments.words import one_of
from catena.errors import LoadError, ModelError, ModelWarning, warn
from catena.model.assemble import assemble
from catena.model.constraints import AnyConstraint
from catena.model.mimic import WORDS
from catena.model.numbers import BASES, chosen
from catena.model.readers.files import folders
from catena.model.readers.xml import Document, open_document, root_tag, shorten
from catena.robot import Robot
from catena.robots import LEFT_OUT, names, path

if TYPE_CHECKING:
    from catena.model.readers.mjcf import MjcfParts

Source = Any  # str | bytes | os.PathLike[str] | mujoco.MjModel, which need not be installed
Base = Literal["fixed", "floating"]

LONG = 2**20  # bytes of a document
_LONGEST_NAME = 60  # characters of what may be meant as the name of a model


def load(
    path_or_text: Source,
    base: Base = "fixed",
    *,
    package_roots: Iterable[str | os.PathLike[str]] = (),
    mimic: str = "eliminated",
) -> Robot:
    """Load a robot from a URDF or MJCF file, or from the text of one; the format is recognised by its content.

        arm = catena.load("arm.urdf")
        dog = catena.load("quadruped", base="floating")  # comes with Catena, see catena.robots

    `path_or_text` is a path, or the text itself: bytes, or a string that starts with "<"; or the name of a model that
    comes with Catena, where there is no file of that name; or a `mujoco.MjModel`. With `base="floating"` the
    root link moves freely, by a joint "root_joint" that comes first; an MJCF file that has a free joint already is left
    as it is. `package_roots` are directories in which meshes may be found that do not lie beside the file. Of URDF
    nothing but the file itself is opened here; of MJCF also the files it includes and the meshes that bodies get their
    mass from, all inside the file's folder (meshes: or near it) or `package_roots`. Joints that URDF's <mimic> makes
    follow others have no degree of freedom of their own: q, v and torques are those of the others, the mass matrix is
    Gᵀ M G. With `mimic="independent"` they move on their own; the rules are in `robot.tree.mimic`.

    Links are ordered base to tip, depth first, in the order of the file's joints. Links on fixed joints become part of
    their parents and stay as frames. What is odd but usable is kept in `robot.warnings`, and each message is given once
    as a `catena.ModelWarning`. Raises LoadError, which names the file and, where it can, the line, link or joint. MJCF
    needs MuJoCo, the extra `catena-dynamics[mjcf]`. Cost: linear in the size of the file.
    """
    return _warned(path_or_text, base, package_roots, mimic=mimic)[0]


def load_closed(
    path_or_text: Source, base: Base = "fixed", package_roots: Iterable[str | os.PathLike[str]] = ()
) -> tuple[Robot, list[AnyConstraint]]:
    """The robot of a file as `load` makes it, and the constraints of MJCF's <equality> that close its loops.

    Mimic joints in URDF are independent, with their rules in the robot's tree.
    """
    return _warned(path_or_text, base, package_roots, closed=True)


def opened(path_or_text: Source) -> Document:
    """The document at a path, in a text, or of a model that comes with Catena, by its name."""
    named = isinstance(path_or_text, str) and len(path_or_text) < _LONGEST_NAME and not os.path.lexists(path_or_text)
    if named and path_or_text in names():
        return open_document(path(path_or_text), name=path_or_text)
    try:
        return open_document(path_or_text)
    except LoadError as error:
        if named and "<" not in path_or_text and path_or_text.strip():
            raise LoadError(f"{error}{_meant(path_or_text)}") from None
        raise


def _meant(given: str) -> str:
    """What follows "no such file": a model or a file whose name is near, or which models there are."""
    folder, name = os.path.split(given)
    with suppress(OSError, ValueError):
        beside = [os.path.join(folder, near) for near in get_close_matches(name, os.listdir(folder or "."), n=1)]
        if near := get_close_matches(given, names(), n=1) or beside:
            return f"; did you mean {near[0]!r}?"
    if folder or os.path.splitext(name)[1]:
        return f", nor a folder {folder!r}" if folder and not os.path.isdir(folder) else ""
    if not names():
        return f"; {LEFT_OUT}"
    return f", nor a model that comes along: {', '.join(names())}"


def _warned(
    given: Source,
    base: Base,
    package_roots: Iterable[str | os.PathLike[str]],
    *,
    closed: bool = False,
    mimic: str = "independent",
) -> tuple[Robot, list[AnyConstraint]]:
    if type(given).__name__ == "MjModel" and hasattr(given, "nbody"):
        source, (robot, constraints) = "a model of MuJoCo", _load_model(given, base, closed)
    else:
        document = opened(given)
        source, (robot, constraints) = document.source, _load(document, base, package_roots, closed, mimic)
    for message in dict.fromkeys(robot.warnings):
        warn(f"{source}: {message}", ModelWarning)
    return robot, constraints


def load_document(document: Document, base: Base, package_roots: Iterable[str | os.PathLike[str]] = ()) -> Robot:
    """The robot in an opened document, as `load` makes it, without Python warnings: they are left to the caller."""
    return _load(document, base, package_roots, False, "eliminated")[0]


def load_with_loops(
    document: Document, base: Base, package_roots: Iterable[str | os.PathLike[str]] = ()
) -> tuple[Robot, list[AnyConstraint]]:
    """The robot in an opened document, as `load_document` makes it, and the constraints that close its loops."""
    return _load(document, base, package_roots, True, "eliminated")


def _load(
    document: Document, base: Base, package_roots: Iterable[str | os.PathLike[str]], closed: bool, mimic: str
) -> tuple[Robot, list[AnyConstraint]]:
    mimic = one_of("mimic", mimic, WORDS)
    roots = folders(package_roots)
    tag = root_tag(document)
    try:
        chosen("base", base, BASES)
        if tag == "robot":
            return _load_urdf(document, base, roots, mimic), []
        if tag in ("mujoco", "mujocoinclude"):
            return _load_mjcf(document, base, roots, closed)
    except LoadError:
        raise
    except ModelError as error:
        raise LoadError(f"{document.source}: {error}", link=error.link, joint=error.joint) from error
    hint = "; convert SDF to URDF first" if tag == "sdf" else ""
    raise document.error(f"expected <robot> (URDF) or <mujoco> (MJCF), found <{shorten(tag)}>{hint}")


def _load_urdf(document: Document, base: Base, roots: tuple[str, ...], mimic: str) -> Robot:
    from catena.model.readers.urdf import UrdfParts

    with _collector_at_rest() if len(document.data) > LONG else nullcontext():
        parts = UrdfParts(document, roots)
        options: dict[str, Any] = {"name": parts.name, "base": base, "warnings": parts.warnings, "mimic": mimic}
        return Robot(assemble(parts.links, parts.joints, strict=False, **options))


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Python's collector of cycles does nothing meanwhile: it would walk a million new objects, and find none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load_mjcf(
    document: Document, base: Base, roots: tuple[str, ...], closed: bool
) -> tuple[Robot, list[AnyConstraint]]:
    from catena.model.readers.mjcf import read_mjcf

    return _of_mujoco(read_mjcf(document, floating=base == "floating", closed=closed, roots=roots), base)


def _load_model(model: Any, base: Base, closed: bool) -> tuple[Robot, list[AnyConstraint]]:
    """The robot of a model that MuJoCo has compiled already."""
    from catena.model.readers.mjcf import MjcfParts

    try:
        chosen("base", base, BASES)
        return _of_mujoco(MjcfParts(model, floating=base == "floating", closed=closed), base)
    except ModelError as error:
        raise LoadError(f"a model of MuJoCo: {error}", link=error.link, joint=error.joint) from error


def _of_mujoco(parts: MjcfParts, base: Base) -> tuple[Robot, list[AnyConstraint]]:
    tree = assemble(
        parts.links,
        parts.joints,
        name=parts.name,
        base="fixed" if parts.has_free_base else base,
        gravity=parts.gravity,
        warnings=parts.warnings,
        strict=False,
    )
    return Robot(replace(tree, actuators=parts.actuators)), parts.equalities
