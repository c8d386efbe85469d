"""Run a function on the recorder: its inputs as fields to load from, its outputs by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.functions.function import Function, Kind, kind
from catena.model.lowering.lowered import Lowered
from catena.trace.recorder.links import InputField, RolledLinks
from catena.trace.recorder.record import record
from catena.trace.recorder.recording import LinkClass, Recording


def recorded(lowered: Lowered, classes: Sequence[LinkClass], function: Function, given: Mapping[str, str]) -> Recording:
    """The loops of a function for a mechanism with these classes of links, with the inputs that are given."""
    chain = bool(np.array_equal(lowered.parent, np.arange(-1, lowered.n - 1)))
    at_base = [name for name, k in _plain(function.outputs).items() if k.per == "robot"]
    return record(lambda links: _run(links, function, given), classes, lowered.gravity.tolist(), chain, at_base)


def _input(links: RolledLinks, name: str, k: Kind) -> Any:
    """An input as an algorithm gets it: to be loaded where it is needed."""
    if k.pieces:
        return {piece: _input(links, f"{name}:{piece}", of) for piece, of in k.pieces.items()}
    if k.per == "robot":
        return k.build([links.graph.input(name, i) for i in range(k.width)])
    return InputField(links.graph, name, k)


def _run(links: RolledLinks, function: Function, given: Mapping[str, str]) -> dict[str, Any]:
    """Run the algorithm on the recorder's links and name its outputs."""
    fields: dict[str, Any] = {}
    for name, kind_name in given.items():
        fields[name] = _input(links, name, kind(kind_name))
    result = function.algorithm(links, *[fields.get(name) for name in function.inputs])
    results = result if isinstance(result, tuple) else (result,)
    named = dict(zip(function.outputs, results, strict=True))
    found = {}
    for name, k in _plain(function.outputs).items():
        output, _, piece = name.partition(":")
        found[name] = (named[output][piece] if piece else named[output]), k.take
    return found


def _plain(outputs: Mapping[str, str]) -> dict[str, Kind]:
    """The kinds of outputs by name; of one that is made of pieces, those of "name:piece"."""
    found = {}
    for name, kind_name in outputs.items():
        k = kind(kind_name)
        found.update({f"{name}:{piece}": of for piece, of in k.pieces.items()} if k.pieces else {name: k})
    return found
