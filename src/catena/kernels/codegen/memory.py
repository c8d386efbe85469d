"""Where an unrolled kernel finds its inputs and numbers, and where it puts outputs and the arguments of calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from catena.kernels.codegen.assembly import Place
from catena.kernels.codegen.program import Leaf, StraightLine

SCRATCH, NUMBERS, ARRAYS = 0, 1, 2
"""The pointers that places are counted from: memory of our own, constants, and the inputs and outputs after them."""

RESULTS = {"sincos": 2, "log": 1, "exp": 1, "arctan2": 1}
"""How many results a function has."""


@dataclass(frozen=True)
class Calls:
    """Calls of one function after one stage: where arguments and results start, and how many there are."""

    function: str
    stage: int
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    count: int


class Memory:
    """Places for a program that computes the outputs, of the given widths, of a kernel.

    ``in_place`` leaves inputs and outputs where they are, behind pointers of their own; otherwise they are in scratch,
    from its start; with ``scattered``, outputs are not side by side but where ``places`` says. Arguments and results of
    calls are padded to a multiple of ``round_to`` and start at one. Inputs that are ``lasting`` are still there when
    all is computed; the places of others may be used again.
    """

    def __init__(
        self,
        program: StraightLine,
        names: Sequence[str],
        widths_in: Sequence[int],
        widths_out: Sequence[int],
        *,
        in_place: bool,
        scattered: bool = False,
        round_to: int,
        lasting: Collection[str] = (),
    ) -> None:
        self.program, self.in_place, self.round_to = program, in_place, round_to
        self.slots = 0
        beside = [*widths_in, *([] if scattered else widths_out)]
        self.arrays = [Place(ARRAYS + i, 0) if in_place else self._take(width) for i, width in enumerate(beside)]
        self.numbers: list[float] = []
        self.leaves: dict[int, Place] = {}
        self.wanted: dict[int, list[Place]] = {}
        self.copies: list[list[int]] = [[] for _ in range(2 + max((c.stage for c in program.calls), default=-1))]
        self.calls = self._place_calls()
        inputs = dict(zip(names, self.arrays, strict=False))
        for v, leaf in program.leaves.items():
            if leaf.source == "number":
                self.leaves[v] = Place(NUMBERS, len(self.numbers))
                self.numbers.append(leaf.which)
            elif leaf.source != "call":
                start = inputs[leaf.source[1:]]
                self.leaves[v] = Place(start.pointer, start.at + int(leaf.which))
                if leaf.source[1:] in lasting:
                    self.wanted.setdefault(v, [])  # so that nothing else is put there
        self.places: list[int | float] = []
        """For each component of ``scattered`` outputs its place in scratch, or the number that it always is."""
        if scattered:
            self.places = [self._place_anywhere(v) for v in program.outputs]
        else:
            self._place_side_by_side(widths_out)

    def _take(self, width: int, start: int = 1) -> Place:
        """A piece of scratch that starts at a multiple of ``start``."""
        place = Place(SCRATCH, -(-self.slots // start) * start)
        self.slots = place.at + width
        return place

    def _want(self, v: int, place: Place, stage: int) -> None:
        """Have a value stored; a leaf must be copied."""
        if v in self.program.leaves and v not in self.wanted:
            self.copies[stage].append(v)
        self.wanted.setdefault(v, []).append(place)

    def _place_anywhere(self, v: int) -> int | float:
        """Where an output is: a leaf stays where it is, another value gets a place of its own, once."""
        leaf = self.program.leaves.get(v)
        if leaf is not None and leaf.source == "number":
            return float(leaf.which)
        if leaf is not None:
            self.wanted.setdefault(v, [])  # so that nothing else is put there
            return self.leaves[v].at
        if not self.wanted.get(v):
            self._want(v, self._take(1), len(self.copies) - 1)
        return self.wanted[v][0].at

    def _place_side_by_side(self, widths: Sequence[int]) -> None:
        starts = self.arrays[len(self.arrays) - len(widths) :]
        places = [Place(s.pointer, s.at + i) for s, width in zip(starts, widths, strict=True) for i in range(width)]
        for v, place in zip(self.program.outputs, places, strict=True):
            self._want(v, place, len(self.copies) - 1)

    def _place_calls(self) -> list[Calls]:
        groups: dict[tuple[int, str], list[int]] = {}
        for i, call in enumerate(self.program.calls):
            groups.setdefault((call.stage, call.function), []).append(i)
        placed = []
        for (stage, function), members in sorted(groups.items()):
            padded = -(-len(members) // self.round_to) * self.round_to
            count = len(self.program.calls[members[0]].arguments)
            arguments = tuple(self._take(padded, self.round_to).at for _ in range(count))
            results = tuple(self._take(padded, self.round_to).at for _ in range(RESULTS[function]))
            for number, first in enumerate(arguments):
                for i, member in enumerate(members):
                    self._want(self.program.calls[member].arguments[number], Place(SCRATCH, first + i), stage)
                self._pad(range(first + len(members), first + padded), stage)
            self._name_results(dict(zip(members, range(padded), strict=False)), results)
            placed.append(Calls(function, stage, arguments, results, padded))
        return placed

    def _pad(self, places: range, stage: int) -> None:
        """Harmless arguments where nobody asks for the results."""
        if places:
            one = self.program.add_leaf(Leaf("number", 1.0))
            for index in places:
                self._want(one, Place(SCRATCH, index), stage)

    def _name_results(self, order: dict[int, int], results: Sequence[int]) -> None:
        for v, leaf in self.program.leaves.items():
            if leaf.source == "call" and int(leaf.which) in order:
                self.leaves[v] = Place(SCRATCH, results[leaf.part] + order[int(leaf.which)])
