"""Questions as functions of CasADi: callbacks with exact Jacobians, and with derivatives of any order.

CasADi computes with matrices, so vectors are columns, and results of more than two dimensions are stacked: (n, 3, 3)
becomes (3 n, 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np

from catena.arguments.arrays import Port, Shape
from catena.bridges.asked import Asked
from catena.bridges.maps import Map

_kept: dict[str, Any] = {}
"""The callbacks that CasADi's graphs may call, by name; CasADi itself does not keep them."""


def call(asked: Asked, arrays: Sequence[str] | None) -> Any:
    """The question as a function of CasADi's matrices, for calls with these arrays."""
    given = asked.arrays(arrays)
    of = asked.map(given)
    outputs = [f"{name}_out" if name in given else name for name in of.function.outputs]
    return _callback(of, asked.question, list(given), outputs)


def _callback(of: Map, question: str, inputs: list[str], outputs: list[str]) -> Callback:
    """The callback for a map, made at most once."""
    key = "/".join((of.key, *inputs, *outputs))
    if key not in _kept:
        _kept[key] = Callback(of, question, inputs, outputs)
    return _kept[key]  # type: ignore[no-any-return]


def _matrix(port: Port) -> tuple[int, int]:
    """Rows and columns of an array as a matrix."""
    return _rows_and_columns(port.shape)


def _rows_and_columns(shape: Shape) -> tuple[int, int]:
    return (math.prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (math.prod(shape), 1)


class _Named(casadi.Callback):  # type: ignore[misc]
    """A callback of a map whose arguments and results have names."""

    def __init__(self, of: Map, name: str, inputs: list[str], outputs: list[str], options: dict[str, Any]) -> None:
        casadi.Callback.__init__(self)
        self._of, self._inputs, self._outputs = of, inputs, outputs
        self.construct(name, options)

    def get_n_in(self) -> int:
        """How many arguments there are."""
        return len(self._inputs)

    def get_n_out(self) -> int:
        """How many results there are."""
        return len(self._outputs)

    def get_name_in(self, i: int) -> str:
        """What an argument is called."""
        return self._inputs[i]

    def get_name_out(self, i: int) -> str:
        """What a result is called."""
        return self._outputs[i]

    def get_sparsity_in(self, i: int) -> Any:
        """The shape of an argument; those of derivatives are followed by the results."""
        return casadi.Sparsity.dense(*_matrix((*self._of.inputs, *self._of.outputs)[i]))


class Callback(_Named):
    """A map as CasADi calls it."""

    def __init__(self, of: Map, question: str, inputs: list[str], outputs: list[str]) -> None:
        self._question = question
        self._derivatives: list[Any] = []
        super().__init__(of, question, inputs, outputs, {})

    def get_sparsity_out(self, i: int) -> Any:
        """The shape of a result."""
        return casadi.Sparsity.dense(*_matrix(self._of.outputs[i]))

    def eval(self, arguments: Sequence[Any]) -> list[Any]:
        """The results."""
        return [_to_casadi(x) for x in self._of(*_arrays(self._of, arguments))]

    def has_forward(self, count: int) -> bool:
        """Whether to ask for derivatives along directions: where there are none, the answer says why."""
        return True

    def get_forward(self, count: int, name: str, inputs: list[str], outputs: list[str], options: dict[str, Any]) -> Any:
        """How the results change along `count` directions, which stand side by side."""
        of, point = self._of, self._of.point
        values, directions = self._symbols(of.inputs), self._symbols(of.inputs, count)
        tangent = self._of_derivative(of.jvp(tuple(range(point))))
        columns = []
        for at in range(count):
            each = [_part(d, p, at) for d, p in zip(directions, of.inputs, strict=True)]
            changes = _listed(tangent(*values, *each[:point]))
            if len(each) > point:
                more = _listed(self(*values[:point], *each[point:]))
                changes = [x + y for x, y in zip(changes, more, strict=True)]
            columns.append(changes)
        results = [casadi.horzcat(*parts) for parts in zip(*columns, strict=True)]
        arguments = [*values, *self._symbols(of.outputs), *directions]
        return self._function(name, arguments, results, inputs, outputs, options)

    def has_reverse(self, count: int) -> bool:
        """Whether to ask for gradients of weighted sums; where there are no derivatives at all, the answer says why."""
        return self._of.has_vjp or not self._of.has_jvp

    def get_reverse(self, count: int, name: str, inputs: list[str], outputs: list[str], options: dict[str, Any]) -> Any:
        """The gradients of `count` weighted sums of the results; weights and gradients stand side by side."""
        of, point = self._of, self._of.point
        values, weights = self._symbols(of.inputs), self._symbols(of.outputs, count)
        by_point = self._of_derivative(of.vjp(tuple(range(point))))
        columns = []
        for at in range(count):
            each = [_part(w, p, at) for w, p in zip(weights, of.outputs, strict=True)]
            gradients = _listed(by_point(*values, *each))
            if len(values) > point:
                adjoint, _ = of.adjoint(tuple(range(len(values) - point)))
                gradients += _listed(self._of_derivative(adjoint)(*values[:point], *each))
            columns.append(gradients)
        results = [casadi.horzcat(*parts) for parts in zip(*columns, strict=True)]
        arguments = [*values, *self._symbols(of.outputs), *weights]
        return self._function(name, arguments, results, inputs, outputs, options)

    def has_jacobian(self) -> bool:
        """Whether there are whole Jacobians."""
        return self._of.has_jvp

    def get_jacobian(self, name: str, inputs: list[str], outputs: list[str], options: dict[str, Any]) -> Any:
        """All derivatives of all results, from one batch of directions for each argument."""
        made = Jacobian(self._of, name, inputs, outputs, options)
        self._derivatives.append(made)
        return made

    def _of_derivative(self, of: Map) -> Callback:
        return _callback(of, self._question, list(of.names), list(of.function.outputs))

    def _function(self, name: str, arguments: Any, results: Any, inputs: Any, outputs: Any, options: Any) -> Any:
        made = casadi.Function(name, arguments, results, inputs, outputs, options)
        self._derivatives.append(made)
        return made

    @staticmethod
    def _symbols(ports: Sequence[Port], count: int = 1) -> list[Any]:
        return [casadi.MX.sym(p.name, _matrix(p)[0], _matrix(p)[1] * count) for p in ports]


class Jacobian(_Named):
    """All derivatives of a map, a block for each result and each argument."""

    def get_sparsity_out(self, i: int) -> Any:
        """The shape of a block."""
        result, argument = divmod(i, len(self._of.inputs))
        return casadi.Sparsity.dense(self._of.outputs[result].width, self._of.inputs[argument].width)

    def eval(self, arguments: Sequence[Any]) -> list[Any]:
        """The blocks, result by result."""
        values = _arrays(self._of, arguments[: len(self._of.inputs)])
        columns = [_columns(self._of, values, i) for i in range(len(values))]
        return [casadi.DM(_flat(block[result]).T) for result in range(len(self._of.outputs)) for block in columns]


def _columns(of: Map, values: Sequence[np.ndarray], which: int) -> list[np.ndarray]:
    """How the results change as each number of one argument does, in CasADi's order of numbers."""
    port = of.inputs[which]
    units = np.eye(port.width).reshape(port.width, *_matrix(port)[::-1])
    directions = np.swapaxes(units, -1, -2).reshape(port.width, *port.shape)
    if which < of.point:
        return of.jvp((which,))(*values, directions)
    linear = [directions if i == which else np.zeros(x.shape) for i, x in enumerate(values)]
    return of(*values[: of.point], *linear[of.point :])


def _flat(batch: np.ndarray) -> np.ndarray:
    """The numbers of each sample in CasADi's order, column by column."""
    matrices = batch.reshape(len(batch), *_rows_and_columns(batch.shape[1:]))
    return np.swapaxes(matrices, -1, -2).reshape(len(batch), -1)


def _arrays(of: Map, matrices: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(x.full()).reshape(p.shape) for x, p in zip(matrices, of.inputs, strict=True)]


def _to_casadi(array: np.ndarray) -> Any:
    return casadi.DM(array.reshape(_rows_and_columns(array.shape)))


def _part(matrix: Any, port: Port, at: int) -> Any:
    """One of several matrices that stand side by side."""
    columns = _matrix(port)[1]
    return matrix[:, at * columns : (at + 1) * columns]


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]
