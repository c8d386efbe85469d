"""The shape of an operator: between which spaces it acts, and in which direction along the tree."""

from __future__ import annotations

import math
from dataclasses import dataclass

OWN, DOWN, OUT = "own", "down", "out"
"""An entry of an operator takes a link to itself, to one nearer the base (down), or to one nearer the tips (out)."""

Pattern = frozenset[str]
"""Which of these entries an operator may have."""

MEMORYLESS, STRICTLY_CAUSAL = Pattern({OWN}), Pattern({DOWN})
CAUSAL, ANYWHERE = Pattern({OWN, DOWN}), Pattern({OWN, DOWN, OUT})

_WORDS: dict[Pattern, str] = {
    MEMORYLESS: "memoryless",
    STRICTLY_CAUSAL: "strictly causal",
    CAUSAL: "causal",
    Pattern({OUT}): "strictly anticausal",
    Pattern({OWN, OUT}): "anticausal",
}


@dataclass(frozen=True)
class Space:
    """Vectors of `size` numbers that belong to the links, the joints, the tips or the base.

    With several configurations, `batch` is their shape, and there is a vector for each of them.
    """

    name: str
    size: int
    batch: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """The numbers of all vectors together."""
        return self.size * math.prod(self.batch)


@dataclass(frozen=True)
class Structure:
    """The pattern of an operator, and how many sweeps and how many memoryless products applying it takes."""

    pattern: Pattern
    sweeps: int = 0
    products: int = 0

    @property
    def T(self) -> Structure:
        """That of the transpose."""
        mirror = {OWN: OWN, DOWN: OUT, OUT: DOWN}
        return Structure(Pattern(mirror[entry] for entry in self.pattern), self.sweeps, self.products)

    def __add__(self, o: Structure) -> Structure:
        return Structure(self.pattern | o.pattern, self.sweeps + o.sweeps, self.products + o.products)

    def __matmul__(self, o: Structure) -> Structure:
        pattern = Pattern(entry for a in self.pattern for b in o.pattern for entry in _follow(a, b))
        return Structure(pattern, self.sweeps + o.sweeps, self.products + o.products)

    def __str__(self) -> str:
        word = _WORDS.get(self.pattern, "causal and anticausal")
        parts = [_count(self.sweeps, "sweep"), _count(self.products, "memoryless product")]
        return f"{word}, O(n): {' and '.join(part for part in parts if part) or 'nothing to do'}"


def _follow(a: str, b: str) -> Pattern:
    """Where one step after another can lead; down and out again may end anywhere, on another branch too."""
    if OWN in (a, b):
        return Pattern({b if a == OWN else a})
    return Pattern({a}) if a == b else ANYWHERE


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' if number > 1 else ''}" if number else ""
