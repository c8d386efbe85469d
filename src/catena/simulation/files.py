"""Runs in files: NumPy's npz without pickled objects, the robot, or the system, included."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import CatenaError, LoadError, kind_of, shown, writing
from catena.model import constraints as held
from catena.model.actuators import Actuator
from catena.model.constraints import AnyConstraint
from catena.model.parts import Mimic
from catena.model.readers.files import folders, open_regular
from catena.model.readers.meshes import MeshReference
from catena.model.readers.system_toml import KINDS
from catena.model.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, Primitive
from catena.model.tree import Frame, Tree
from catena.simulation.events import Event

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

FORMAT = 1
"""The version of the format: files of others are refused."""

UNREADABLE = (
    *(OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What is raised for a file that is not NumPy's, or damaged: also for claims of zip files that nothing can meet."""

MOST_WRENCHES = 2**29
"""Numbers of what acted on links, 4 GiB."""

_ARRAYS = ("t", "q", "v", "diverged_step", "diverged_joint", "cost")
SHAPES = (MeshReference, Primitive)
_WORDS = {"integrator": str, "dt": float, "how": str}
_NUMBERS = {"size": (3,), "scale": (3,), "position": (3,), "rotation": (3, 3), "color": (4,)}
_CHOICES = {"kind": (BOX, ELLIPSOID, CYLINDER, CAPSULE), "role": ("visual", "collision")}


def write(
    run: Run,
    path: str | os.PathLike[str],
    state: Mapping[str, Array] | None = None,
    checkpoint: Mapping[str, Any] | None = None,
) -> None:
    """Write a run: what was at the path before is replaced at once, or not at all.

    A checkpoint has notes of its own, and the `state` of an integrator by name.
    """
    tree = run.robot.tree
    arrays = {f.name: getattr(tree, f.name) for f in fields(tree)}
    notes = {
        "format": FORMAT,
        "robot": _as_words(tree),
        **_constraints_as_words(run.robot),
        "run": {name: getattr(run, name) for name in _WORDS},
        "events": [list(event) for event in run.events],
        **({} if checkpoint is None else {"checkpoint": dict(checkpoint)}),
    }
    named = {f"robot.{name}": x for name, x in arrays.items() if isinstance(x, np.ndarray)}
    named |= {f"run.{name}": x for name in _ARRAYS if (x := getattr(run, name)) is not None}
    named |= {f"memory.{name}": x for name, x in run.memory.items()}
    named |= {} if run.tau is None else {"run.tau": run.tau}
    named |= _acting(run)
    named |= {f"state.{name}": x for name, x in (state or {}).items()}
    with writing(path), _replacing(path) as file:
        _save(file, named, notes)


def _acting(run: Run) -> dict[str, Array]:
    """What acted on links, of those on which something did, and the numbers of these."""
    if run.on_links is None:
        return {}
    links = np.flatnonzero((run.on_links != 0).any(axis=(*range(run.on_links.ndim - 2), -1)))
    return {"run.acting": run.on_links[..., links, :], "run.acted": links}


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that takes the place of what is at the path when all of it is written; devices and pipes stay there."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    temporary = f"{target}.{secrets.token_hex(8)}.part"
    with open(temporary, "xb") as file:  # with the permissions that new files get
        try:
            yield file
            file.close()
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise


def _save(file: IO[bytes], arrays: Mapping[str, Array], notes: Any) -> None:
    words = np.frombuffer(json.dumps(notes).encode(), np.uint8)
    named: dict[str, Any] = {name: np.asarray(x, order="C") for name, x in arrays.items()}
    np.savez(file, notes=words, **named)


def _as_words(tree: Tree) -> dict[str, Any]:
    """What of a tree is not an array."""
    return {
        "name": tree.name,
        "link_names": list(tree.link_names),
        "joint_names": list(tree.joint_names),
        "base_name": tree.base_name,
        "base_mass": tree.base_mass,
        "frames": {
            n: [f.link, np.asarray(f.rotation).tolist(), np.asarray(f.position).tolist()]
            for n, f in tree.frames.items()
        },
        "mimic": {name: list(rule) for name, rule in tree.mimic.items()},
        "meshes": {n: [asdict(m) for m in some if isinstance(m, SHAPES)] for n, some in tree.meshes.items()},
        "actuators": {name: asdict(each) for name, each in tree.actuators.items()},
        "warnings": list(tree.warnings),
    }


def _constraints_as_words(robot: Any) -> dict[str, Any]:
    """The constraints of a system, in the words that make them again; nothing for a robot."""
    found = getattr(robot, "constraints", None)
    return {} if found is None else {"constraints": [[type(c).__name__, c.arguments()] for c in found]}


class RunFile(NamedTuple):
    """What is in a file: the tree, the constraints of a system (None for a robot), and what `Run` is made of besides.

    A checkpoint has the `state` of its integrator, and notes.
    """

    tree: Tree
    constraints: tuple[AnyConstraint, ...] | None
    run: dict[str, Any]
    state: dict[str, Array]
    notes: dict[str, Any]


def read(path: str | os.PathLike[str], roots: Iterable[str | os.PathLike[str]] = ()) -> RunFile:
    """What is in the file of a run; LoadError for what is not a whole one.

    Meshes are looked for in the folder of the file and in `roots`, whatever other places the file names.
    """
    if not isinstance(path, str | os.PathLike):
        raise LoadError(f"expected the path of a run, got {kind_of(path)}")
    source = os.fspath(path)
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as found:
            _check_size(found, os.fstat(file.fileno()).st_size)
            arrays = {name: found[name] for name in found.files}
        notes = json.loads(arrays.pop("notes").tobytes().decode())
    except FileNotFoundError as error:
        raise LoadError(f"{source}: there is no such file") from error
    except UNREADABLE as error:
        raise LoadError(
            f"{source}: expected a run saved by Catena, found a file that is cut off or something else ({error})"
        ) from error
    version = notes.get("format") if isinstance(notes, dict) else None
    if version != FORMAT:
        raise LoadError(
            f"{source}: expected a run of format {FORMAT}, found {version!r}; load it with the version that saved it"
        )
    allowed = (os.path.dirname(os.path.abspath(path)), *folders(roots))
    tree = _checked(source, lambda: _tree(arrays, notes["robot"], allowed))
    run = _checked(source, lambda: _run(arrays, notes))
    state = {name.removeprefix("state."): x for name, x in arrays.items() if name.startswith("state.")}
    constraints = _checked(source, lambda: _constraints(notes.get("constraints")))
    return RunFile(tree, constraints, run, state, _checked(source, lambda: dict(notes.get("checkpoint", {}))))


def _check_size(found: Any, size: int) -> None:
    """Refuse files that unpack to more than they hold: runs are saved as they are, so only others do."""
    claimed = sum(each.file_size for each in found.zip.infolist())
    if claimed > size:
        raise ValueError(f"{size:,} bytes that claim to be {claimed:,}; a run is saved uncompressed")


def _constraints(words: Any) -> tuple[AnyConstraint, ...] | None:
    if words is None:
        return None
    unknown = [kind for kind, _ in words if kind not in KINDS]
    if unknown:
        raise ValueError(f"there is no constraint {unknown[0]!r}")
    return tuple(getattr(held, kind)(**arguments) for kind, arguments in words)


def _checked(source: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (*UNREADABLE, IndexError, ArithmeticError, CatenaError) as error:
        raise LoadError(
            f"{source}: expected a whole run, found one of which parts are missing or wrong ({error})"
        ) from error


def _tree(arrays: Mapping[str, Array], words: Mapping[str, Any], allowed: tuple[str, ...]) -> Tree:
    numbers: dict[str, Any] = {
        name.removeprefix("robot."): x for name, x in arrays.items() if name.startswith("robot.")
    }
    more = dict(words)
    more["frames"] = {
        n: Frame(int(k), np.array(R, float), np.array(p, float)) for n, (k, R, p) in words["frames"].items()
    }
    more["mimic"] = {name: Mimic(*rule) for name, rule in words["mimic"].items()}
    more["meshes"] = {name: tuple(_mesh(mesh, allowed) for mesh in some) for name, some in words["meshes"].items()}
    more["actuators"] = {name: Actuator(**_frozen(each)) for name, each in words.get("actuators", {}).items()}
    more["warnings"] = tuple(words["warnings"])
    return Tree(**numbers, **more)


def _mesh(words: Mapping[str, Any], allowed: tuple[str, ...]) -> MeshReference | Primitive:
    """A shape. Where its mesh may lie is not for the file to say: only places inside those allowed are kept."""
    shape = _shape(words)
    if isinstance(shape, Primitive):
        return shape
    within = [os.path.realpath(place) for place in allowed]

    def inside(place: Any) -> bool:
        return isinstance(place, str) and any(Path(os.path.realpath(place)).is_relative_to(each) for each in within)

    directory = shape.directory if inside(shape.directory) else allowed[0]
    roots = dict.fromkeys((*filter(inside, shape.roots), *allowed[1:]))
    return replace(shape, directory=directory, roots=tuple(roots))


def _shape(words: Mapping[str, Any]) -> MeshReference | Primitive:
    """A mesh or a simple shape as the file has it, of numbers and words that can be drawn."""
    shape = MeshReference(**_frozen(words)) if "uri" in words else Primitive(**_frozen(words))
    for name, size in _NUMBERS.items():
        numbers = np.array(given) if (given := getattr(shape, name, None)) is not None else None
        if numbers is None and (name == "color" or not hasattr(shape, name)):
            continue
        if (
            numbers is None
            or numbers.shape != size
            or numbers.dtype.kind not in "fiu"
            or not np.isfinite(numbers).all()
        ):
            raise ValueError(f"{name} of a shape: expected finite numbers {size}, found {shown(given)}")
    for name, known in _CHOICES.items():
        if (word := getattr(shape, name, known[0])) not in known:
            raise ValueError(f"{name} of a shape: expected {' or '.join(known)}, found {shown(word)}")
    if not isinstance(getattr(shape, "uri", ""), str):
        raise ValueError(f"uri of a mesh: expected a string, found {shown(words['uri'])}")
    return shape


def _frozen(words: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with tuples for lists."""

    def frozen(x: Any) -> Any:
        return tuple(frozen(y) for y in x) if isinstance(x, list) else x

    return {name: frozen(x) for name, x in words.items()}


def _run(arrays: Mapping[str, Array], notes: Mapping[str, Any]) -> dict[str, Any]:
    odd = [name for name, x in arrays.items() if name.startswith(("run.", "memory.")) and x.dtype.kind not in "fiub"]
    if odd:
        raise ValueError(f"{odd[0]} holds no real numbers")
    found: dict[str, Any] = {name: arrays.get(f"run.{name}") for name in _ARRAYS}
    t, q, v = found["t"], found["q"], found["v"]
    rows = len(t)
    if t.ndim != 1 or not rows or t.dtype.kind != "f" or not np.isfinite(t).all() or (np.diff(t) < 0).any():
        raise ValueError("t: expected times that rise, (rows,)")
    if q.shape[:-1] != v.shape[:-1] or q.shape[-2] != rows or found["diverged_step"].shape != q.shape[:-2]:
        raise ValueError(f"t {found['t'].shape}, q {q.shape} and v {v.shape} do not belong together")
    events = tuple(_event(name, at, sample, q.shape[:-2]) for name, at, sample in notes["events"])
    words = {name: kind(notes["run"][name]) for name, kind in _WORDS.items()}
    memory = {name.removeprefix("memory."): x for name, x in arrays.items() if name.startswith("memory.")}
    if any(x.shape[:-1] != q.shape[:-2] for x in memory.values()):
        raise ValueError(f"memory does not belong to {q.shape[:-2]} samples")
    for name in ("diverged_joint", "cost"):
        if found[name] is not None and found[name].shape != q.shape[:-2]:
            raise ValueError(f"{name} does not belong to {q.shape[:-2]} samples")
    tau = arrays.get("run.tau")
    if tau is not None and tau.shape[-2:-1] != (rows - 1,):
        raise ValueError(f"tau {tau.shape} does not belong to {rows} states")
    acting = {"torques": arrays.get("run.tau"), "acting": _spread(arrays)}
    return {**found, **words, "events": events, "memory": memory, **acting}


def _event(name: Any, t: Any, sample: Any, batch: tuple[int, ...]) -> Event:
    found = Event(str(name), float(t), tuple(sample))
    if len(found.sample) != len(batch) or not all(
        type(i) is int and 0 <= i < n for i, n in zip(sample, batch, strict=True)
    ):
        raise ValueError(f"the event {found.name!r} does not belong to {batch} samples")
    return found


def _spread(arrays: Mapping[str, Array]) -> Array | None:
    """What acted on all links; None if nothing did."""
    if "run.acting" not in arrays:
        return None
    some, links = arrays["run.acting"], arrays["run.acted"]
    shape = (*arrays["run.q"].shape[:-2], len(arrays["run.t"]) - 1, len(arrays["robot.mass"]), 9)
    if prod(shape) > MOST_WRENCHES:
        raise ValueError(f"what acted on links is {shape}, more than any memory holds")
    found = np.zeros(shape)
    if some.shape != (*found.shape[:-2], len(links), 9):
        raise ValueError(f"what acted on links, {some.shape}, does not belong to these states")
    found[..., links, :] = some
    return found
