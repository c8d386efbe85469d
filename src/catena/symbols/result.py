"""Symbolic: matrices of expressions, with the letters they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from catena.errors import ShapeError, UnknownNameError, UnsupportedError, shown
from catena.symbols.code import code, groups_of, numeric
from catena.symbols.mechanism import Parameter

_WIDE = 250
"""Lines longer than this are not drawn."""


@dataclass(frozen=True)
class Symbolic:
    """The result of `catena.symbolic`: matrices of SymPy expressions, and what their symbols mean.

    `matrices` holds SymPy matrices by name ("M"; "U" and "D"; …); `matrix` is the first. `definitions` says what the
    pivots mhat_i, and other steps that have a name, stand for, each in terms of those before it; `expanded` has them
    put in. `parameters` maps the letters to their values and meanings, `coordinates` lists the symbols of "q", "qdot",
    "qddot" and "tau".
    """

    what: str
    matrices: Mapping[str, Any]
    definitions: Mapping[Any, Any]
    parameters: Mapping[str, Parameter]
    coordinates: Mapping[str, tuple[Any, ...]]

    @property
    def matrix(self) -> Any:
        """The first matrix."""
        return next(iter(self.matrices.values()))

    def __getitem__(self, key: Any) -> Any:
        """A matrix by name, or an element of the first matrix by its indices from 0."""
        return self._named(key) if isinstance(key, str) else self.matrix[key]

    def _named(self, name: str | None) -> Any:
        """The matrix of that name, or the first one."""
        if name is None:
            return self.matrix
        if not isinstance(name, str) or name not in self.matrices:
            raise UnknownNameError.among("matrix", name, self.matrices)
        return self.matrices[name]

    @property
    def expanded(self) -> Symbolic:
        """The same with all definitions put in: nothing but parameters and coordinates is left."""
        full: dict[Any, Any] = {}
        for symbol, meaning in self.definitions.items():  # a definition uses those before it only
            full[symbol] = meaning.xreplace(full)
        matrices = {name: matrix.xreplace(full) for name, matrix in self.matrices.items()}
        return Symbolic(self.what, matrices, {}, self.parameters, self.coordinates)

    def symbol(self, name: str) -> Any:
        """The SymPy symbol of a parameter."""
        import sympy

        if not isinstance(name, str) or name not in self.parameters:
            raise UnknownNameError.among("parameter", name, self.parameters)
        return sympy.Symbol(name)

    def depends(self, row: int, column: int = 0, name: str | None = None) -> dict[str, Parameter]:
        """The parameters that an element depends on, pivots included."""
        element = _element(self.expanded._named(name), row, column)
        return {
            str(s): self.parameters[str(s)] for s in sorted(element.free_symbols, key=str) if str(s) in self.parameters
        }

    def effect(self, parameter: str, row: int | None = None, column: int = 0, name: str | None = None) -> Any:
        """How a parameter enters: the derivative of an element, or of a whole matrix, with respect to it.

        The mass matrix and all torques are linear in masses and moments of inertia, so for those it is the coefficient:
        `symbolic(robot, "mass_matrix").effect("m_2", 0, 1)`.
        """
        import sympy

        matrix, wanted = self.expanded._named(name), self.symbol(parameter)
        if row is None:
            return matrix.diff(wanted).applyfunc(sympy.factor)
        return sympy.factor(_element(matrix, row, column).diff(wanted))

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        """The same with some symbols, or names of symbols, replaced."""
        if not isinstance(values, Mapping):
            raise UnsupportedError(
                f"subs: expected values by symbol or name, such as {{'m_1': 2}}, found {shown(values)}"
            )
        matrices = {name: matrix.subs(dict(values)) for name, matrix in self.matrices.items()}
        definitions = {symbol: meaning.subs(dict(values)) for symbol, meaning in self.definitions.items()}
        return Symbolic(self.what, matrices, definitions, self.parameters, self.coordinates)

    def numeric(self) -> Symbolic:
        """The same with the robot's own numbers for its parameters; only coordinates are left."""
        return self.expanded.subs({name: parameter.value for name, parameter in self.parameters.items()})

    def function(self, *groups: str, name: str | None = None) -> Callable[..., Any]:
        """A NumPy function of the given groups of coordinates ("q" if none is given), with the robot's own numbers.

        It gives the matrix of that `name`, or the first one. Definitions are computed one after the other.
        """
        import numpy as np

        own, order = numeric(self), groups_of(self)
        given = groups or ("q",)
        place = next(i for i, matrix in enumerate(self.matrices.values()) if matrix is self._named(name))
        if missing := set(order) - set(given):
            raise UnknownNameError.among("group of coordinates", min(missing), given)

        def compiled(*arrays: Any) -> Any:
            by_group = dict(zip(given, arrays, strict=True))
            found = own(*[by_group[group] for group in order])
            return np.array(found[place] if len(self.matrices) > 1 else found)

        return compiled

    def code(self, language: str = "python", *, parameters: str = "numbers", interface: str | None = None) -> str:
        """The source of a function that computes the matrices: "python", "c" or "latex".

            print(catena.symbolic(arm, "udu").code("c"))

        The Python function takes the groups of coordinates that matter ("q", "qdot", "qddot", "tau") as sequences and
        returns nested lists, one for each matrix; the C function takes pointers to doubles and writes each matrix row
        by row. `parameters` are "numbers", the robot's own, or "named": a further argument, in Python a mapping by
        name, in C an array in the order of `parameters`. LaTeX is one aligned block of equations.

        With `interface="casadi"` the C source has CasADi's interface of external functions besides. Compiled to a
        shared library, it is a function of CasADi's with inputs and outputs of these names:

            casadi.external("forward_dynamics", "./code.so")(q, qdot, tau)

        CasADi takes its derivatives by differences (option `enable_fd`); :mod:`catena.casadi` has exact ones.
        """
        return code(self, language, parameters, interface)

    def _repr_latex_(self) -> str:
        """What notebooks and pages made of them show: one formula, which may stand inside another's environment."""
        return f"$${code(self, 'latex', 'numbers').strip().replace('{align*}', '{aligned}')}$$"

    def latex(self) -> str:
        """One LaTeX equation for each matrix and each definition."""
        import sympy

        lines = [f"{sympy.latex(sympy.Symbol(name))} = {sympy.latex(matrix)}" for name, matrix in self.matrices.items()]
        lines += [f"{sympy.latex(symbol)} = {sympy.latex(meaning)}" for symbol, meaning in self.definitions.items()]
        return "\n\n".join(lines)

    def __str__(self) -> str:
        """The matrices as SymPy draws them, no row broken however long, and the definitions.

        Matrices of recursions that are too wide to draw are listed entry by entry, without zeros.
        """
        lines = [f"{name} =\n{self._drawn(name)}" for name in self.matrices]
        lines += [f"{symbol} = {meaning}" for symbol, meaning in self.definitions.items()]
        return "\n\n".join(lines)

    def _drawn(self, name: str) -> str:
        import sympy

        matrix = self.matrices[name]
        drawn: str = sympy.pretty(matrix, wrap_line=False)
        if not self.definitions or max(map(len, drawn.splitlines()), default=0) <= _WIDE:
            return drawn
        places = ((i, j) for i in range(matrix.rows) for j in range(matrix.cols) if matrix[i, j] != 0)
        return "\n".join(f"[{i + 1}, {j + 1}] {matrix[i, j]}" for i, j in places)


def _element(matrix: Any, row: int, column: int) -> Any:
    """An element of a matrix, by its indices from 0."""
    try:
        return matrix[index(row), index(column)]
    except (TypeError, IndexError) as error:
        shape = f"{matrix.rows} x {matrix.cols}"
        raise ShapeError(
            f"expected row and column of a {shape} matrix, found {shown(row)} and {shown(column)}"
        ) from error
