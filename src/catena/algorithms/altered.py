"""Links with something changed, around which an algorithm runs as it is: more armature, other frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from catena.sweeps import Links


class Altered:
    """Links that sweeps see as `alter` makes them of the links as they are; all else is as before."""

    def __init__(self, links: Links, alter: Callable[[Any], AlteredLink]) -> None:
        self._links, self._alter = links, alter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._links, name)

    def __iter__(self) -> Iterator[Any]:
        """The links as they are."""
        return self._links.base_to_tip()

    def base_to_tip(self) -> Iterator[AlteredLink]:
        """Every link after its parent."""
        return map(self._alter, self._links.base_to_tip())

    def tip_to_base(self) -> Iterator[AlteredLink]:
        """Every link before its parent."""
        return map(self._alter, self._links.tip_to_base())


class AlteredLink:
    """A link with something of its own, `own` by name, in place of what it had."""

    def __init__(self, link: Any, **own: Any) -> None:
        self._link = link
        vars(self).update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)
