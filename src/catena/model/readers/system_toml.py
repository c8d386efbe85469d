"""Closed mechanisms in TOML: which robots and objects, where they stand, and what holds them together.

    name = "two arms"

    [robots.left]
    model = "seven_dof_arm"            # one that comes with Catena; or file = "arm.urdf", beside this file
    position = [-0.5, 0, 0]

    [objects.box]
    mass = 3.0
    inertia = [0.03, 0.04, 0.05]

    [[constraints]]
    kind = "Weld"
    first = "left/tool"
    second = "box"

Nothing is opened here but the text itself: what it names is looked for by the caller.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catena.errors import LoadError, ModelError, UnknownNameError
from catena.model import constraints as held
from catena.model.constraints import AnyConstraint

KINDS = (
    "Weld",
    "FixedToWorld",
    "Ball",
    "PointWithFriction",
    "Hinge",
    "Slider",
    "Universal",
    "Distance",
    "PointOnPlane",
    "FrictionlessPoint",
    "SoftFinger",
    "Coupling",
)
"""Names of constraints: those of the classes."""

MAX_BYTES = 16 * 2**20

_TOP = ("name", "gravity", "mimic", "robots", "objects", "constraints")
_PLACED = ("position", "rotation")
_BODY = ("mass", "com", "inertia")
_SOURCES = {"robots": ("file", "model"), "objects": ("file", "model", "mass")}


@dataclass(frozen=True)
class ModelPart:
    """A robot or an object: a file, a model that comes with Catena, or the numbers of one body; and where it stands."""

    where: str
    source: str
    value: Any
    base: str
    body: Mapping[str, Any] = field(default_factory=dict)
    place: tuple[Any, Any] | None = None


@dataclass(frozen=True)
class SystemParts:
    """What a file says of a system; `source` is what messages call it."""

    source: str
    name: str
    gravity: Any
    mimic: str
    robots: dict[str, ModelPart]
    objects: dict[str, ModelPart]
    constraints: list[AnyConstraint]


def read_toml(data: bytes, source: str) -> SystemParts:
    """The parts of a system in TOML. Raises LoadError, which names the table, its line and the key."""
    text = _text(data, source)
    found = _parsed(text, source)
    reader = _Reader(text, source)
    reader.known("", found, _TOP)
    name, mimic = found.get("name", "system"), found.get("mimic", "coupled")
    for key, value in (("name", name), ("mimic", mimic)):
        if not isinstance(value, str):
            raise reader.fault("", f"{key}: expected a string, found {value!r}")
    robots, objects = (reader.models(kind, found.get(kind, {})) for kind in ("robots", "objects"))
    if not robots and not objects:
        raise reader.fault("", "expected a table such as [robots.left] or [objects.box], found none")
    rules = reader.constraints(found.get("constraints", []))
    return SystemParts(source, name, found.get("gravity"), mimic, robots, objects, rules)


def _text(data: bytes, source: str) -> str:
    if len(data) > MAX_BYTES:
        raise LoadError(f"{source}: holds {len(data) / 2**20:,.0f} MiB; at most {MAX_BYTES // 2**20} MiB are read")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise LoadError(f"{source}: is not UTF-8 text, at byte {error.start}") from None


def _parsed(text: str, source: str) -> dict[str, Any]:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        found: dict[str, Any] = toml.loads(text)
    except ValueError as error:  # what is not TOML, and numbers that Python does not take
        raise LoadError(f"{source}: is not TOML: {error}") from None
    except RecursionError:
        raise LoadError(f"{source}: arrays or tables too deep") from None
    return found


class _Reader:
    """The tables of a file, checked; what is wrong is said with the table and its line."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source

    def fault(self, table: str, message: str) -> LoadError:
        """The error about a table: "robots.left", "constraints[2]", or "" for the top of the file."""
        line = self._line(table)
        where = f"{self._source}, line {line}" if line else self._source
        return LoadError(f"{where}: [{table}]: {message}" if table else f"{where}: {message}")

    def _line(self, table: str) -> int:
        """The line at which a table starts, as far as it has a head of its own."""
        name, _, number = table.partition("[")
        words = r"\s*\.\s*".join(rf"['\"]?{re.escape(word)}['\"]?" for word in name.split("."))
        head = rf"^[ \t]*\[\[\s*{words}\s*\]\]" if number else rf"^[ \t]*\[\s*{words}\s*\]"
        starts = [match.start() for match in re.finditer(head, self._text, re.MULTILINE)] if table else []
        place = int(number[:-1]) - 1 if number else 0
        return self._text.count("\n", 0, starts[place]) + 1 if place < len(starts) else 0

    def known(self, table: str, found: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Refuse keys that mean nothing."""
        for key in found:
            if key not in keys:
                raise self.fault(table, str(UnknownNameError.among("key", key, keys)))

    def models(self, kind: str, found: Any) -> dict[str, ModelPart]:
        """The robots or the objects, by name."""
        if not isinstance(found, Mapping):
            raise self.fault("", f"{kind}: expected tables such as [{kind}.left], found {found!r}")
        return {name: self._model(kind, f"{kind}.{name}", part) for name, part in found.items()}

    def _model(self, kind: str, table: str, part: Any) -> ModelPart:
        if not isinstance(part, Mapping):
            raise self.fault(table, f"expected a table, found {part!r}")
        sources = _SOURCES[kind]
        given = [key for key in sources if key in part]
        if len(given) != 1:
            raise self.fault(
                table, f"expected one of the keys {', '.join(sources)}, found {' and '.join(given) or 'none'}"
            )
        (source,) = given
        own = _BODY if source == "mass" else (source, "base") if kind == "robots" else (source,)
        self.known(table, part, (*own, *(_PLACED if kind == "robots" else ())))
        value, base = part[source], part.get("base", "floating" if kind == "objects" else "fixed")
        if source != "mass" and not isinstance(value, str):
            raise self.fault(table, f"{source}: expected a string, found {value!r}")
        if base not in ("fixed", "floating"):
            raise self.fault(table, f"base: expected 'fixed' or 'floating', found {base!r}")
        body = {key: part[key] for key in _BODY if key in part}
        place = (part.get("position", held.ORIGIN), part.get("rotation")) if {*_PLACED} & {*part} else None
        return ModelPart(table, source, value, base, body, place)

    def constraints(self, found: Any) -> list[AnyConstraint]:
        """The constraints, in order."""
        if not isinstance(found, list):
            raise self.fault("", f"constraints: expected tables [[constraints]], found {found!r}")
        return [self._constraint(f"constraints[{i}]", part) for i, part in enumerate(found, 1)]

    def _constraint(self, table: str, part: Any) -> AnyConstraint:
        if not isinstance(part, Mapping):
            raise self.fault(table, f"expected a table, found {part!r}")
        kind = part.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise self.fault(table, f"kind: {UnknownNameError.among('constraint', kind, KINDS)}")
        made = getattr(held, kind)
        wanted = _parameters(made)
        self.known(table, part, ("kind", *wanted))
        for key, needed in wanted.items():
            if needed and key not in part:
                raise self.fault(table, f"{kind} needs the key {key!r}")
            if key in ("first", "second", "frame", "name") and not isinstance(part.get(key, ""), str):
                raise self.fault(table, f"{key}: expected a string, found {part[key]!r}")
        try:
            constraint: AnyConstraint = made(**{key: value for key, value in part.items() if key != "kind"})
        except ModelError as error:
            raise self.fault(table, str(error)) from None
        return constraint


def _parameters(made: type) -> dict[str, bool]:
    """What a constraint takes, by name, and whether it must be given; `**places` are those of all constraints."""
    found: dict[str, bool] = {}
    for each in inspect.signature(made).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            found.update({key: needed for key, needed in _parameters(held.Constraint).items() if key not in found})
        else:
            found[each.name] = each.default is each.empty
    return found
