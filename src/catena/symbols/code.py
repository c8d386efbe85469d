"""Symbolic results as source code: plain functions in Python and C, and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from catena.arguments.words import one_of
from catena.errors import UnsupportedError, shown

if TYPE_CHECKING:
    from catena.symbols.result import Symbolic

_WIDE = 120
"""Rows of matrices that are longer than this are broken."""


def code(result: Symbolic, language: str, parameters: str, interface: str | None = None) -> str:
    """The source of a function that computes the matrices of a result; see :meth:`Symbolic.code`."""
    language = one_of("language", language, ("python", "c", "latex"))
    parameters = one_of("kind of parameters", parameters, ("numbers", "named"))
    if interface not in (None, "casadi") or (interface and language != "c"):
        raise UnsupportedError(f"interface: expected None, or 'casadi' for code in C, found {shown(interface)}")
    if language == "latex":
        return latex(result)
    if interface == "casadi":
        return with_casadi(result, parameters == "named")
    return (python if language == "python" else c)(result, parameters == "named")


def groups_of(result: Symbolic) -> list[str]:
    """The groups of coordinates that a result depends on, with q first in any case."""
    free = _symbols(result)
    return [group for group, symbols in result.coordinates.items() if group == "q" or free & set(symbols)]


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


_CASADI = """
typedef double casadi_real;
typedef long long int casadi_int;

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

static const casadi_int IN_SHAPE[{inputs}][3] = {{{in_shapes}}};
static const casadi_int OUT_SHAPE[{outputs}][3] = {{{out_shapes}}};
static const char *const IN_NAME[{inputs}] = {{{in_names}}};
static const char *const OUT_NAME[{outputs}] = {{{out_names}}};

EXPORT int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)
{{
    static const casadi_real zero[{widest}] = {{0}};
    const casadi_real *in[{inputs}];
    casadi_real {rows};
    int i, j;
    (void)iw, (void)w, (void)mem;
    for (i = 0; i < {inputs}; ++i)
        in[i] = arg[i] ? arg[i] : zero;
    {name}_rows({call});
{copies}
    return 0;
}}

EXPORT int {name}_alloc_mem(void) {{ return 0; }}
EXPORT int {name}_init_mem(int mem) {{ (void)mem; return 0; }}
EXPORT void {name}_free_mem(int mem) {{ (void)mem; }}
EXPORT int {name}_checkout(void) {{ return 0; }}
EXPORT void {name}_release(int mem) {{ (void)mem; }}
EXPORT void {name}_incref(void) {{}}
EXPORT void {name}_decref(void) {{}}
EXPORT casadi_int {name}_n_in(void) {{ return {inputs}; }}
EXPORT casadi_int {name}_n_out(void) {{ return {outputs}; }}
EXPORT casadi_real {name}_default_in(casadi_int i) {{ (void)i; return 0; }}
EXPORT const char *{name}_name_in(casadi_int i) {{ return i >= 0 && i < {inputs} ? IN_NAME[i] : 0; }}
EXPORT const char *{name}_name_out(casadi_int i) {{ return i >= 0 && i < {outputs} ? OUT_NAME[i] : 0; }}
EXPORT const casadi_int *{name}_sparsity_in(casadi_int i) {{ return i >= 0 && i < {inputs} ? IN_SHAPE[i] : 0; }}
EXPORT const casadi_int *{name}_sparsity_out(casadi_int i) {{ return i >= 0 && i < {outputs} ? OUT_SHAPE[i] : 0; }}
EXPORT int {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w)
{{
    if (sz_arg) *sz_arg = {inputs};
    if (sz_res) *sz_res = {outputs};
    if (sz_iw) *sz_iw = 0;
    if (sz_w) *sz_w = 0;
    return 0;
}}
"""


def with_casadi(result: Symbolic, named: bool) -> str:
    """The C function behind CasADi's interface of external functions: dense matrices, column by column there."""
    name, groups = _identifier(result.what), groups_of(result)
    sizes = {group: len(result.coordinates[group]) for group in groups}
    sizes |= {"parameters": len(result.parameters)} if named else {}
    shapes = {output: matrix.shape for output, matrix in result.matrices.items()}
    copies = [
        f"    if (res[{k}])\n        for (i = 0; i < {m}; ++i)\n            for (j = 0; j < {n}; ++j)\n"
        f"                res[{k}][i + {m} * j] = {_output(output)}[{n} * i + j];"
        for k, (output, (m, n)) in enumerate(shapes.items())
    ]
    interface = _CASADI.format(
        name=name,
        inputs=len(sizes),
        outputs=len(shapes),
        in_shapes=", ".join(f"{{{size}, 1, 1}}" for size in sizes.values()),
        out_shapes=", ".join(f"{{{m}, {n}, 1}}" for m, n in shapes.values()),
        in_names=", ".join(f'"{x}"' for x in sizes),
        out_names=", ".join(f'"{x}"' for x in shapes),
        widest=max(1, *sizes.values()),
        rows=", ".join(f"{_output(x)}[{max(1, m * n)}]" for x, (m, n) in shapes.items()),
        call=", ".join([f"in[{i}]" for i in range(len(sizes))] + [_output(x) for x in shapes]),
        copies="\n".join(copies),
    )
    return c(result, named).replace(f"void {name}(", f"static void {name}_rows(") + interface


def latex(result: Symbolic) -> str:
    """An equation for each definition, in order, then one for each matrix."""
    import sympy

    lines = [f"{sympy.latex(symbol)} &= {sympy.latex(x)} \\\\" for symbol, x in result.definitions.items()]
    for name, matrix in result.matrices.items():
        rows = sympy.latex(matrix).replace(r"\\", "\\\\\n")  # a line of source for each row
        lines += [f"{sympy.latex(sympy.Symbol(name))} &= {rows} \\\\"]
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
