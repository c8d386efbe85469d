"""What the objects hold that a rollout was asked with: noticed when it is no longer what it was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from catena.simulation.kept import Kept

_CONSTANT = (type(None), bool, int, float, str, bytes, complex, np.generic)


class Held:
    """What things hold now: arrays, lists and mappings of ready-made ones, all that functions of users keep."""

    def __init__(self, things: Iterable[Any]) -> None:
        self.whole = True
        """Whether all that could change is looked at."""
        self._arrays: list[tuple[Any, bytes]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._functions: list[Kept] = []
        for thing in things:
            self._look(thing)

    def unchanged(self) -> bool:
        """Whether all is as it was."""
        for array, before in self._arrays:
            if array.tobytes() != before:
                return False
        for container, before in self._containers:
            if not _alike(container, before):
                return False
        return all(kept.unchanged() for kept in self._functions)

    def _look(self, thing: Any) -> None:
        if isinstance(thing, _CONSTANT):
            return
        if isinstance(thing, np.ndarray):
            self._arrays.append((thing, thing.tobytes()))
            self.whole &= thing.dtype != object
        elif isinstance(thing, Mapping | list | tuple):
            parts = list(thing.items()) if isinstance(thing, Mapping) else list(thing)
            if not isinstance(thing, tuple):
                self._containers.append((thing, parts))
            for part in parts:
                self._look(part)
        elif _ours(type(thing)):
            for part in getattr(thing, "__dict__", {}).values():
                self._look(part)
        elif not _ours(thing):
            kept = Kept(thing)
            self.whole &= kept.lasting and kept.whole
            self._functions.append(kept)


def _ours(thing: Any) -> bool:
    """Whether a class or function is of this package."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "catena"


def _alike(container: Any, before: list[Any]) -> bool:
    """Whether a list or a mapping has the same objects in the same places."""
    now = list(container.items()) if isinstance(container, Mapping) else container
    if len(now) != len(before):
        return False
    if isinstance(container, Mapping):
        return all(a[0] == b[0] and a[1] is b[1] for a, b in zip(now, before, strict=True))
    return all(a is b for a, b in zip(now, before, strict=True))
