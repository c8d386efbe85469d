"""Derivatives of an algorithm that runs link by link on expressions: of the graph that it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.errors import UnsupportedError
from catena.functions.derived.tangent_space import pulled_rates, pulled_speeds
from catena.functions.function import Function, Kind, is_dense, kind
from catena.model.joints import JointType
from catena.scalars import Scalar
from catena.spatial import Dofs
from catena.sweeps import Base, RealField, RealLink, RealLinks
from catena.trace.derivatives import cotangents, tangents
from catena.trace.graph import LEAF, Expr, Graph, Operand
from catena.trace.substitute import substituted

Place = RealLink | Base
Fields = Mapping[str, Any]


def unrolled_jvp(links: RealLinks, function: Function, arguments: Fields, directions: Fields) -> list[Any]:
    """The derivatives of the outputs along directions of some inputs: a field each."""
    fresh = Fresh(links, function, arguments, directions)
    outputs = fresh.run(links, function, arguments)
    rates: dict[Expr, Operand] = {}
    for name, direction in directions.items():
        k, is_q = kind(function.inputs[name]), function.inputs[name] == "q"
        for place in _places(links, k):
            given = _at(direction, place, k)
            if is_q:
                given = _joint(place).rates(arguments[name][place], given)
            rates.update(zip(fresh.leaves[name][place.index], k.take(given), strict=True))
    flat = [x for values in outputs for _, scalars in values for x in scalars]
    found = iter(fresh.replaced(tangents(flat, rates)))
    results = []
    for (_, kind_name), values in zip(function.outputs.items(), outputs, strict=True):
        moved = [(place, scalars, [next(found) for _ in scalars]) for place, scalars in values]
        if kind_name == "q":
            at_result = [(p, fresh.replaced(x), dx) for p, x, dx in moved]
            moved = [(p, x, _joint(p).speeds(Dofs(x), Dofs(dx)).values) for p, x, dx in at_result]
        results.append(_field(links, function, kind_name, [(place, dx) for place, _, dx in moved]))
    return results


def unrolled_vjp(
    links: RealLinks, function: Function, arguments: Fields, weights: Sequence[Any], by: Sequence[str]
) -> list[Any]:
    """The gradients by some inputs of the weighted sum of all outputs: a field each."""
    fresh = Fresh(links, function, arguments, by)
    outputs = fresh.run(links, function, arguments)
    flat: list[Operand] = []
    pulled: list[Operand] = []
    for (_, kind_name), values, weight in zip(function.outputs.items(), outputs, weights, strict=True):
        k = kind(kind_name)
        for place, scalars in values:
            w = _at(weight, place, k)
            flat += scalars
            pulled += pulled_speeds(_joint(place), Dofs(scalars), w) if kind_name == "q" else k.take(w)
    slopes = cotangents(flat, pulled)
    results = []
    for name in by:
        kind_name, found = function.inputs[name], []
        for place in _places(links, kind(kind_name)):
            gradient = fresh.replaced([slopes.get(x, 0.0) for x in fresh.leaves[name][place.index]])
            if kind_name == "q":
                gradient = pulled_rates(_joint(place), arguments[name][place], gradient)
            found.append((place, gradient))
        results.append(_field(links, function, kind_name, found))
    return results


class Fresh:
    """Leaves that stand for the inputs to differentiate by, so that these may be any expressions, or the same ones."""

    def __init__(self, links: RealLinks, function: Function, arguments: Fields, by: Sequence[str] | Fields) -> None:
        self.fields: dict[str, Any] = {}
        self.leaves: dict[str, dict[int, list[Expr]]] = {}
        self._actual: dict[int, Operand] = {}
        for name in by:
            k = kind(function.inputs[name])
            actual = {place: k.take(_at(arguments[name], place, k)) for place in _places(links, k)}
            graph = _graph([x for scalars in actual.values() for x in scalars], function)
            array, count = f"{name}@{len(graph.nodes)}", 0
            self.leaves[name] = {}
            for place, scalars in actual.items():
                here = [graph.input(array, count + i) for i in range(len(scalars))]
                count += len(scalars)
                self._actual.update({leaf.id: x for leaf, x in zip(here, scalars, strict=True)})
                self.leaves[name][place.index] = here
            self.fields[name] = _spread(links, k, self.leaves[name])

    def run(self, links: RealLinks, function: Function, arguments: Fields) -> list[list[tuple[Place, list[Scalar]]]]:
        """Run the function's algorithm on the fresh leaves: for each output its scalars, place by place."""
        result = function.algorithm(links, *[self.fields.get(n, arguments.get(n)) for n in function.inputs])
        results = result if isinstance(result, tuple) else (result,)
        return [_taken(links, k, x) for k, x in zip(function.outputs.values(), results, strict=True)]

    def replaced(self, outputs: Sequence[Operand]) -> list[Operand]:
        """The outputs in terms of the inputs themselves."""
        return substituted(outputs, lambda node: self._actual.get(node.id) if node.op == LEAF else None)


def _graph(scalars: Sequence[Scalar], function: Function) -> Graph:
    """The graph of some expressions; where a mechanism has no links there are none, and any graph will do."""
    if not scalars:
        return Graph()
    for x in scalars:
        if isinstance(x, Expr):
            return x.graph
    raise UnsupportedError(f"{function.name} is differentiated where it runs on expressions only, not on numbers")


def _places(links: RealLinks, k: Kind) -> list[Any]:
    """Where an array of this kind has numbers: at every link, or at the base for the whole robot."""
    return [links.base] if k.per == "robot" else list(links)


def _joint(place: Any) -> type[JointType]:
    joint_type: type[JointType] = place.joint_type
    return joint_type


def _at(field: Any, place: Any, k: Kind) -> Any:
    """What an input holds at a place; one of the whole robot is no field."""
    return field if k.per == "robot" else field[place]


def _spread(links: RealLinks, k: Kind, leaves: Mapping[int, list[Expr]]) -> Any:
    if k.per == "robot":
        return k.build(list(leaves[links.base.index]))
    field = RealField()
    for link in links:
        field[link] = k.build(list(leaves[link.index]))
    return field


def _taken(links: RealLinks, kind_name: str, value: Any) -> list[tuple[Any, list[Scalar]]]:
    if is_dense(kind_name):
        return [(links.base, list(np.array(value, dtype=object).ravel()))]
    k = kind(kind_name)
    return [(place, k.take(value[place])) for place in _places(links, k)]


def _field(links: RealLinks, function: Function, kind_name: str, found: Sequence[tuple[Any, Sequence[Scalar]]]) -> Any:
    """A result from its scalars: a field, or a list in place of a whole matrix."""
    if is_dense(kind_name):
        return list(found[0][1])
    field = RealField()
    for place, scalars in found:
        field[place] = Dofs(list(scalars)) if kind_name == "q" else kind(kind_name).build(list(scalars))
    return field
