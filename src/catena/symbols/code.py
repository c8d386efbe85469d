"""Symbolic results as source code: plain functions in Python and C, and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from catena.errors import UnsupportedError

if TYPE_CHECKING:
    from catena.symbols.result import Symbolic

_WIDE = 120
"""Rows of matrices that are longer than this are broken."""

_GROUPS = ("q", "qdot", "qddot", "tau")


def code(result: Symbolic, language: str, parameters: str) -> str:
    """The source of a function that computes the matrices of a result; see :meth:`Symbolic.code`."""
    if language not in ("python", "c", "latex"):
        raise UnsupportedError(f"code: expected 'python', 'c' or 'latex', found {language!r}")
    if parameters not in ("numbers", "named"):
        raise UnsupportedError(f"parameters: expected 'numbers' or 'named', found {parameters!r}")
    if language == "latex":
        return latex(result)
    return (python if language == "python" else c)(result, parameters == "named")


def groups_of(result: Symbolic) -> list[str]:
    """The groups of coordinates that a result depends on, with q first in any case."""
    free = _symbols(result)
    return [group for group in _GROUPS if group == "q" or free & set(result.coordinates[group])]


def python(result: Symbolic, named: bool) -> str:
    """A Python function of sequences of coordinates, and of a mapping of parameters if they are named."""
    from sympy import pycode

    groups = groups_of(result)
    lines = [f"def {_identifier(result.what)}({', '.join([*groups, *['parameters'] * named])}):"]
    lines += [f"    {name} = {value}" for name, value in _inputs(result, groups, named, "python")]
    lines += [f"    {_identifier(str(symbol))} = {_printed(pycode, x)}" for symbol, x in result.definitions.items()]
    for name, matrix in result.matrices.items():
        lines += [f"    {_output(name)} = ["]
        for i in range(matrix.rows):
            lines += _row([_printed(pycode, x) for x in matrix.row(i)])
        lines += ["    ]"]
    lines += [f"    return {', '.join(_output(name) for name in result.matrices)}"]
    return "import math\n\n\n" + "\n".join(lines) + "\n"


def _row(entries: list[str]) -> list[str]:
    """A row of a Python matrix, on as many lines as it takes."""
    line = f"        [{', '.join(entries)}],"
    return [line] if len(line) <= _WIDE else ["        [", *[f"            {x}," for x in entries], "        ],"]


def c(result: Symbolic, named: bool) -> str:
    """A C function that writes each matrix, row by row, to an array of its own."""
    from sympy import ccode

    groups = groups_of(result)
    arguments = [f"const double *{group}" for group in groups] + ["const double *parameters"] * named
    arguments += [f"double *{_output(name)}" for name in result.matrices]
    lines = ["#include <math.h>", ""]
    if named:
        order = ", ".join(_identifier(name) for name in result.parameters)
        lines += [f"/* parameters: {order} */"]
    lines += [f"void {_identifier(result.what)}({', '.join(arguments)})", "{"]
    lines += [f"    const double {name} = {value};" for name, value in _inputs(result, groups, named, "c")]
    for symbol, x in result.definitions.items():
        lines += [f"    const double {_identifier(str(symbol))} = {_printed(ccode, x)};"]
    for name, matrix in result.matrices.items():
        lines += [f"    {_output(name)}[{i}] = {_printed(ccode, x)};" for i, x in enumerate(matrix)]
    return "\n".join([*lines, "}", ""])


def latex(result: Symbolic) -> str:
    """An equation for each definition, in order, then one for each matrix."""
    import sympy

    lines = [f"{sympy.latex(symbol)} &= {sympy.latex(x)} \\\\" for symbol, x in result.definitions.items()]
    lines += [f"{sympy.latex(sympy.Symbol(name))} &= {sympy.latex(x)} \\\\" for name, x in result.matrices.items()]
    return "\n".join([r"\begin{align*}", *lines, r"\end{align*}"])


def _inputs(result: Symbolic, groups: Iterable[str], named: bool, language: str) -> Iterable[tuple[str, str]]:
    """What the symbols that are used stand for: places in the coordinates, and parameters or their numbers."""
    free = _symbols(result)
    for group in groups:
        for i, symbol in enumerate(result.coordinates[group]):
            if symbol in free:
                yield str(symbol), f"{group}[{i}]"
    used = {str(symbol) for symbol in free}
    for i, (name, parameter) in enumerate(result.parameters.items()):
        if name in used:
            place = f"parameters[{i}]" if language == "c" else f"parameters[{name!r}]"
            yield _identifier(name), place if named else repr(parameter.value)


def _symbols(result: Symbolic) -> set[Any]:
    found: set[Any] = set()
    for x in [*result.definitions.values(), *result.matrices.values()]:
        found |= x.free_symbols
    return found - set(result.definitions)


def _printed(printer: Any, x: Any) -> str:
    """An expression as source on one line, with names that a compiler takes."""
    return _identifier(" ".join(str(printer(_renamed(x))).split()))


def _renamed(x: Any) -> Any:
    odd = {symbol: symbol.func(_identifier(symbol.name)) for symbol in x.free_symbols if "," in symbol.name}
    return x.xreplace(odd) if odd else x


def _identifier(name: str) -> str:
    """l_1,2 as l_1_2."""
    return re.sub(r"(?<=\d),(?=\d)", "_", name)


def _output(name: str) -> str:
    """The name of an output, apart from those of symbols."""
    return f"{name}_out"


def numeric(result: Symbolic) -> Callable[..., Any]:
    """The Python function of a result with the robot's numbers, compiled to work on arrays."""
    import numpy as np

    names: dict[str, Any] = {}
    source = python(result, False).replace("math.atan2", "math.arctan2").replace("import math\n", "")
    exec(source, {"math": np}, names)
    function: Callable[..., Any] = names[_identifier(result.what)]
    return function
