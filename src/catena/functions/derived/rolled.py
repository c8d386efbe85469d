"""Derivatives of an algorithm that runs on the recorder: of the loops that it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catena.errors import UnsupportedError
from catena.functions.derived.tangent_space import pulled_rates, pulled_speeds
from catena.functions.function import Function, Kind, kind
from catena.spatial import Dofs
from catena.spatial.leaves import leaves, rebuilt
from catena.trace.derivatives import cotangents
from catena.trace.graph import LEAF, Expr, Operand, live
from catena.trace.recorder import InputField, RolledLinks
from catena.trace.recorder.derivatives import Adjoint, Tangent
from catena.trace.recorder.links import RolledField, known_before
from catena.trace.recorder.recording import BASE, SELF, Body, Loop
from catena.trace.substitute import substituted

Fields = Mapping[str, Any]


def rolled_jvp(links: RolledLinks, function: Function, arguments: Fields, directions: Fields) -> list[Any]:
    """The derivatives of the outputs along directions of some inputs: a field each."""
    recorded = Recorded(links, function, arguments, list(directions))
    rates: list[dict[Expr, Operand]] = [{} for _ in links.classes]
    for name, direction in directions.items():
        k = kind(function.inputs[name])
        for number, (given, actual) in enumerate(zip(_values(links, direction, k), recorded.actual[name], strict=True)):
            if function.inputs[name] == "q":
                given = links.classes[number].joint_type.rates(actual, given)
            rates[number].update(zip(recorded.leaves(name, number), k.take(given), strict=True))
    tangent = Tangent(links, recorded.first, rates)
    results = []
    for (name, kind_name), output in zip(function.outputs.items(), recorded.outputs, strict=True):
        if kind(kind_name).per == "robot":
            found = tangent.rates(0, kind(kind_name).take(output[links.base]))
            results.append(_at_base(links, name, kind(kind_name).build(recorded.replaced(0, found))))
            continue
        loop, values = _where_written(links, output)
        made = []
        for number, value in enumerate(values):
            scalars = kind(kind_name).take(value)
            found = tangent.rates(number, scalars)
            if kind_name == "q":
                found = links.classes[number].joint_type.speeds(Dofs(scalars), Dofs(found)).values
            made.append(_built(kind_name, recorded.replaced(number, found)))
        results.append(links.field(name, loop, made))
    recorded.replace_leaves()
    return results


def rolled_vjp(
    links: RolledLinks, function: Function, arguments: Fields, weights: Sequence[Any], by: Sequence[str]
) -> list[Any]:
    """The gradients by some inputs of the weighted sum of all outputs: a field each."""
    recorded = Recorded(links, function, arguments, by)
    adjoint = Adjoint(links, recorded.first, list(recorded.arrays.values()), list(recorded.started))
    at_base: dict[Expr, Operand] = {}
    for kind_name, output, weight in zip(function.outputs.values(), recorded.outputs, weights, strict=True):
        k = kind(kind_name)
        if k.per == "robot":
            for node, slope in cotangents(k.take(output[links.base]), k.take(weight)).items():
                at_base[node] = links.graph.add(at_base.get(node, 0.0), slope)
        else:
            _seed(adjoint, links, kind_name, output, weight)
    summed = {node.args[1]: recorded.replaced(0, [x])[0] for node, x in at_base.items() if node.args[0] == BASE}
    adjoint.seed_at_base(summed)
    adjoint.append()
    for node, slope in cotangents(list(recorded.started.values()), adjoint.at_start()).items():
        at_base[node] = links.graph.add(at_base.get(node, 0.0), slope)
    results = [_gradient(adjoint, recorded, function, name, at_base) for name in by]
    recorded.replace_leaves()
    return [_total(links, *result) if isinstance(result, tuple) else result for result in results]


def _seed(adjoint: Adjoint, links: RolledLinks, kind_name: str, output: RolledField, weight: Any) -> None:
    """Tell the adjoint of the weights of an output that links have."""
    k = kind(kind_name)
    for number, (value, w) in enumerate(zip(links.between_loops(output), links.between_loops(weight), strict=True)):
        loads = rebuilt(output.templates[number], iter(_loads(links, output, number)))
        pulled = k.take(w)
        if kind_name == "q":
            pulled = pulled_speeds(links.classes[number].joint_type, value, pulled)
        for node, slope in cotangents(k.take(loads), pulled).items():
            adjoint.seed(number, node.args[1], slope)


def _gradient(
    adjoint: Adjoint, recorded: Recorded, function: Function, name: str, at_base: Mapping[Expr, Operand]
) -> Any:
    """The gradient by an input as a field; for one of the whole robot, what links and the base add to it."""
    links, kind_name, made = adjoint.links, function.inputs[name], []
    whole = kind(kind_name).per == "robot"
    for number, actual in enumerate(recorded.actual[name]):
        found = adjoint.gradient(number, recorded.arrays[name], len(recorded.leaves(name, number)))
        if kind_name == "q":
            found = pulled_rates(links.classes[number].joint_type, actual, found)
        found = recorded.replaced(number, found)
        made.append(Dofs(found) if whole else _built(kind_name, found))
    field = links.field(f"d{name}", len(links.loops) - 1, made)
    if not whole:
        return field
    direct = recorded.replaced(0, [at_base.get(leaf, 0.0) for leaf in recorded.leaves(name, 0)])
    return field, direct, kind(kind_name).build


def _total(links: RolledLinks, shares: RolledField, direct: Sequence[Operand], build: Any) -> RolledField:
    """The sum at the base of what all links and the base itself add."""
    sums, total = links.fields("sums total")
    sums[links.base] = Dofs([0.0] * len(direct))
    for k in links.base_to_tip():
        sums[k] = shares[k]
    for k in links.tip_to_base():
        sums[k.parent] += sums[k]
    arrived = sums[links.base].values
    links.made_at_base[total.name] = build([x + y for x, y in zip(arrived, direct, strict=True)])
    return total


class Recorded:
    """The loops of a function, recorded with leaves of its own in place of the inputs to differentiate by."""

    def __init__(self, links: RolledLinks, function: Function, arguments: Fields, by: Sequence[str]) -> None:
        self._links, self.first, links.composed = links, len(links.loops), True
        kinds = {name: kind(function.inputs[name]) for name in by}
        self.arrays = {name: f"{name}{links.tag('i')}" for name in by}
        self.actual = {name: _values(links, arguments[name], k) for name, k in kinds.items()}
        self._counts = {name: [len(k.take(value)) for value in self.actual[name]] for name, k in kinds.items()}
        self._instead: list[dict[int, Operand]] = [
            {
                leaf.id: x
                for name, k in kinds.items()
                for leaf, x in zip(self.leaves(name, number), k.take(self.actual[name][number]), strict=True)
            }
            for number in range(len(links.classes))
        ]
        given = {name: self._stand_in(name, k) for name, k in kinds.items()}
        result = function.algorithm(links, *[given.get(n, arguments.get(n)) for n in function.inputs])
        self.outputs: list[Any] = list(result) if isinstance(result, tuple) else [result]
        self.started = {
            (name, i): x
            for name, values in links.base_values.items()
            for i, x in enumerate(values)
            if any(node.op == LEAF and node.args[0] in self.arrays.values() for node in live([x]))
        }
        """What the base starts with that is made of these inputs."""

    def leaves(self, name: str, number: int) -> list[Expr]:
        """The leaves in place of an input, at links of a class."""
        return [self._links.graph.input(self.arrays[name], i) for i in range(self._counts[name][number])]

    def _stand_in(self, name: str, k: Kind) -> Any:
        if k.per == "robot":
            return k.build(self.leaves(name, 0))
        return InputField(self._links.graph, self.arrays[name], k)

    def replaced(self, number: int, values: Sequence[Operand]) -> list[Operand]:
        """Expressions for links of a class in terms of the inputs themselves."""
        instead = self._instead[number]
        return substituted(values, lambda node: instead.get(node.id) if node.op == LEAF else None)

    def replace_leaves(self) -> None:
        """Have all that was recorded since read the inputs themselves."""
        links = self._links
        for loop in links.loops[self.first :]:
            loop.start = dict(zip(loop.start, self.replaced(0, list(loop.start.values())), strict=True))
            for number, body in enumerate(loop.bodies):
                loop.bodies[number] = body.with_values(self.replaced(number, body.values))
        for name, values in links.base_values.items():
            links.base_values[name] = self.replaced(0, values)
            if not all(known_before(x) for x in links.base_values[name]):
                raise UnsupportedError(
                    "derivatives along what is known only after a sweep, of what the base starts with, are not known "
                    "in loops over links; use kernel='unrolled'"
                )


def _values(links: RolledLinks, field: Any, k: Kind) -> list[Any]:
    """What an input holds at links of each class; one of the whole robot is no field."""
    return [field for _ in links.classes] if k.per == "robot" else links.between_loops(field)


def _built(kind_name: str, scalars: Sequence[Operand]) -> Any:
    return Dofs(list(scalars)) if kind_name == "q" else kind(kind_name).build(list(scalars))


def _loads(links: RolledLinks, field: RolledField, number: int) -> list[Operand]:
    """Leaves for the scalars of a field at links of a class."""
    count = len(leaves(field.templates[number]))
    return [links.graph._leaf(LEAF, (SELF, (field.name, i))) for i in range(count)]


def _at_base(links: RolledLinks, name: str, value: Any) -> RolledField:
    """A new field that has a value at the base only, after all loops."""
    made = RolledField(links, f"{name}{links.tag('r')}")
    links.made_at_base[made.name] = value
    return made


def _where_written(links: RolledLinks, field: RolledField) -> tuple[int, list[Any]]:
    """The loop that gives a field its last value, and the value there for each class of links: if need be a new one."""
    sweeps = {loop for name, loop in links.found.written if name == field.name}
    if len(sweeps) == 1 and not links.found.may_accumulate(field.name):
        return sweeps.pop(), [field.templates[number] for number in range(len(links.classes))]
    values = links.between_loops(field)
    links.append_loop(Loop(+1, [Body() for _ in links.classes]))
    return len(links.loops) - 1, values
