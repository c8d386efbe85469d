"""Run an algorithm link by link: on numbers of any kind, or on expressions that a kernel is then made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from catena.errors import SingularError
from catena.functions.following import narrowed, narrowed_matrix, widened
from catena.functions.function import Function, Kind, dense_shape, is_dense, kind
from catena.model.lowering.exact import exact_constants, is_finer
from catena.model.lowering.lowered import Lowered, lower
from catena.model.mimic import followers, whole_tree
from catena.model.tree import Tree
from catena.scalars import Scalar
from catena.sweeps import RealField, RealLinks
from catena.trace.graph import Graph, Operand

Outputs = dict[str, tuple[list[Scalar], tuple[int, ...]]]
Traced = tuple[dict[str, int], dict[str, list[Operand]]]


def links_for(tree: Tree, function: Function, scalar: Callable[[float], Scalar] | None = None) -> RealLinks:
    """The links that a function runs on, with the mechanism's numbers made by ``scalar``, or as they are."""
    lowered = lowered_for(tree, function)
    if scalar is None:
        return RealLinks(lowered)
    return RealLinks(lowered, scalar, exact_constants(whole_tree(tree), scalar) if is_finer(scalar) else None)


def trace(lowered: Lowered, function: Function, present: tuple[str, ...] = ()) -> Traced:
    """Run the algorithm link by link on expressions: sizes of the inputs, expressions of the outputs."""
    graph, links = Graph(), RealLinks(lowered)
    sizes, fields = {}, {}
    for name, kind_name in function.given(present).items():
        k = kind(kind_name)
        sizes[name] = _length(k, links)
        fields[name] = _spread(links, k, [graph.input(name, i) for i in range(sizes[name])])
    results = _run(function, links, fields)
    return sizes, {name: numbers for name, (numbers, _) in results.items()}


def run_on(function: Function, links: RealLinks, values: Mapping[str, Sequence[Scalar]]) -> Outputs:
    """Run the algorithm on given links and inputs: the outputs by name, their scalars in one list, and their shapes."""
    given = function.given(tuple(values))
    fields = {name: _spread(links, kind(of), values[name]) for name, of in given.items()}
    return _run(function, links, fields)


def _sizes(lowered: Lowered) -> tuple[int, int, int]:
    found = lowered.followers
    if found is not None:
        return lowered.n, len(found.q_own), len(found.v_own)
    return lowered.n, int(lowered.q_start[-1]), int(lowered.v_start[-1])


def _run(function: Function, links: RealLinks, fields: Mapping[str, Any]) -> Outputs:
    """Run the algorithm: the outputs by name, their scalars in one long list, and their shapes."""
    try:
        result = function.algorithm(links, *[fields.get(name) for name in function.inputs])
    except ZeroDivisionError as error:
        raise SingularError(
            f"{function.question} divides by zero: the mass matrix has no inverse; give links that nothing resists an "
            "inertia or their joints an armature"
        ) from error
    return _outputs(function, links, result)


def _length(k: Kind, links: RealLinks) -> int:
    """How many numbers of an array belong to the whole mechanism."""
    return math.prod(k.full_shape(*_sizes(links.lowered)))


def _spread(links: RealLinks, k: Kind, numbers: Sequence[Scalar]) -> Any:
    """One long vector of numbers as a field of objects, as one object for the whole robot, or as several of these."""
    if k.pieces:
        rest, pieces = iter(numbers), {}
        for part, piece in k.pieces.items():
            pieces[part] = _spread(links, piece, list(islice(rest, _length(piece, links))))
        return pieces
    if k.per == "robot":
        return k.build(list(numbers))
    if links.lowered.followers is not None and k.per in ("q", "v"):
        numbers = widened(links.lowered.followers, k, numbers)
    field, at = RealField(), 0
    for link in links:
        count = k.count(link.joint_type.nq, link.joint_type.nv)
        field[link] = k.build(list(numbers[at : at + count]))
        at += count
    return field


def _outputs(function: Function, links: RealLinks, result: Any) -> Outputs:
    """The outputs by name: their scalars in one long list, and their shapes."""
    results = result if isinstance(result, tuple) else (result,)
    outputs = {}
    for (name, kind_name), value in zip(function.outputs.items(), results, strict=True):
        if is_dense(kind_name):
            shape = dense_shape(kind_name, *_sizes(links.lowered))
            array = np.array(value, dtype=object)
            if links.lowered.followers is not None:
                array = narrowed_matrix(links.lowered.followers, kind_name, array)
            outputs[name] = list(array.ravel()), shape
            continue
        k = kind(kind_name)
        outputs[name] = _taken(links, k, value), k.full_shape(*_sizes(links.lowered))
    return outputs


def _taken(links: RealLinks, k: Kind, value: Any) -> list[Scalar]:
    """A field, an object of the whole robot, or several of these (gradients by them), as one long list of scalars."""
    if k.pieces:
        return [x for part, piece in k.pieces.items() for x in _taken(links, piece, value[part])]
    if k.per == "robot":
        return k.take(value[links.base])
    numbers = [x for link in links for x in k.take(value[link])]
    if links.lowered.followers is not None and k.per in ("q", "v"):
        return narrowed(links.lowered.followers, k, numbers)
    return numbers


def lowered_for(tree: Tree, function: Function) -> Lowered:
    """The mechanism lowered as far as the function allows, made once for a tree."""
    passes = {name: getattr(function, name) for name in ("regroup", "choose", "cut", "turn")}

    def made() -> Lowered:
        lowered = lower(whole_tree(tree), **passes)
        found = followers(tree)
        return lowered if found is None else replace(lowered, followers=found)

    return tree.once(("lowered", *passes.values()), made)
