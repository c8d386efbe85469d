"""Symbolic: matrices of expressions, with the letters they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from catena.errors import UnknownNameError
from catena.symbols.mechanism import Parameter


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
        if isinstance(key, str):
            if key not in self.matrices:
                raise UnknownNameError.among("matrix", key, self.matrices)
            return self.matrices[key]
        return self.matrix[key]

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

        if name not in self.parameters:
            raise UnknownNameError.among("parameter", name, self.parameters)
        return sympy.Symbol(name)

    def depends(self, row: int, column: int = 0, name: str | None = None) -> dict[str, Parameter]:
        """The parameters that an element depends on, pivots included."""
        element = self.expanded[name][row, column] if name else self.expanded.matrix[row, column]
        return {
            str(s): self.parameters[str(s)] for s in sorted(element.free_symbols, key=str) if str(s) in self.parameters
        }

    def effect(self, parameter: str, row: int | None = None, column: int = 0, name: str | None = None) -> Any:
        """How a parameter enters: the derivative of an element, or of a whole matrix, with respect to it.

        The mass matrix and all torques are linear in masses and moments of inertia, so for those it is the coefficient:
        `symbolic(robot, "mass_matrix").effect("m_2", 0, 1)`.
        """
        import sympy

        matrix = self.expanded[name] if name else self.expanded.matrix
        wanted = self.symbol(parameter)
        if row is None:
            return matrix.diff(wanted).applyfunc(sympy.factor)
        return sympy.factor(matrix[row, column].diff(wanted))

    def subs(self, values: Mapping[Any, Any]) -> Symbolic:
        """The same with some symbols, or names of symbols, replaced."""
        matrices = {name: matrix.subs(dict(values)) for name, matrix in self.matrices.items()}
        definitions = {symbol: meaning.subs(dict(values)) for symbol, meaning in self.definitions.items()}
        return Symbolic(self.what, matrices, definitions, self.parameters, self.coordinates)

    def numeric(self) -> Symbolic:
        """The same with the robot's own numbers for its parameters; only coordinates are left."""
        return self.expanded.subs({name: parameter.value for name, parameter in self.parameters.items()})

    def function(self, *groups: str, name: str | None = None) -> Callable[..., Any]:
        """A NumPy function of the given groups of coordinates ("q" if none is given), with the robot's own numbers."""
        import sympy

        numeric = self.numeric()
        arguments = [list(self.coordinates[group]) for group in groups or ("q",)]
        compiled: Callable[..., Any] = sympy.lambdify(arguments, numeric[name] if name else numeric.matrix, "numpy")
        return compiled

    def latex(self) -> str:
        """One LaTeX equation for each matrix and each definition."""
        import sympy

        lines = [f"{sympy.latex(sympy.Symbol(name))} = {sympy.latex(matrix)}" for name, matrix in self.matrices.items()]
        lines += [f"{sympy.latex(symbol)} = {sympy.latex(meaning)}" for symbol, meaning in self.definitions.items()]
        return "\n\n".join(lines)

    def __str__(self) -> str:
        """The matrices as SymPy draws them, no row broken however long, and the definitions."""
        import sympy

        lines = [f"{name} =\n{sympy.pretty(matrix, wrap_line=False)}" for name, matrix in self.matrices.items()]
        lines += [f"{symbol} = {meaning}" for symbol, meaning in self.definitions.items()]
        return "\n\n".join(lines)
