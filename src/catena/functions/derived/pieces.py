"""Arrays that are made of several pieces, as a vector of parameters is, one piece at a time.

Derivatives are taken of functions whose inputs and outputs are plain arrays. A function that has others is turned into
one that takes and gives each of their pieces by itself, and what is found for the pieces is gathered again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from catena.functions.function import Function, pieces_of


def unpacked(function: Function) -> Function:
    """The same function with an input, and an output, for each piece of those that are made of several."""
    inputs, outputs = _kinds(function.inputs), _kinds(function.outputs)
    if list(inputs) == list(function.inputs) and list(outputs) == list(function.outputs):
        return function

    def algorithm(links: Any, *given: Any) -> Any:
        result = function.algorithm(links, *gathered(function.inputs, given))
        results = result if isinstance(result, tuple) else (result,)
        return tuple(spread(function.outputs, dict(zip(function.outputs, results, strict=True))).values())

    optional = tuple(name for name in inputs if name.partition(":")[0] in function.optional)
    return replace(function, algorithm=algorithm, inputs=inputs, outputs=outputs, optional=optional)


def spread(kinds: Mapping[str, str], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by name, and in place of one that is made of pieces these, as "name:piece"."""
    found: dict[str, Any] = {}
    for name, x in arrays.items():
        pieces = pieces_of(kinds.get(name, ""))
        found.update({f"{name}:{piece}": None if x is None else x[piece] for piece in pieces} if pieces else {name: x})
    return found


def gathered(kinds: Mapping[str, str], values: Sequence[Any]) -> list[Any]:
    """The arrays of these kinds from values for each of them or of its pieces, in order."""
    rest, found = iter(values), []
    for kind_name in kinds.values():
        if pieces := pieces_of(kind_name):
            together = {piece: next(rest) for piece in pieces}
            found.append(None if all(x is None for x in together.values()) else together)
        else:
            found.append(next(rest))
    return found


def _kinds(kinds: Mapping[str, str]) -> dict[str, str]:
    """The kinds of arrays by name, with those of the pieces in place of what is made of pieces."""
    found: dict[str, str] = {}
    for name, kind_name in kinds.items():
        pieces = pieces_of(kind_name)
        found.update({f"{name}:{piece}": k for piece, k in pieces.items()} if pieces else {name: kind_name})
    return found
