"""Algorithms on letters, kept as the recursions they are: an ordered list of short definitions.

The sweeps run on traced scalars with a letter for every number. What they write to a field gets the paper's name for it
(M̂_i, ψ̂_i, m̂_i, η̃_i, …), sines and cosines are S_i and C_i, outputs are U_1_2 and so on, and what is used twice or grows
long gets a name t_k. So the number of definitions grows as the number of operations does: linearly for dynamics,
quadratically for U.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from catena.model.lowering.lowered import Lowered
from catena.scalars import Scalar
from catena.spatial import (
    ArticulatedInertia,
    Axes,
    Columns,
    Dofs,
    Force,
    Motion,
    RigidInertia,
    SmallSymmetric,
    Transform,
)
from catena.spatial.leaves import leaves
from catena.sweeps import RealField
from catena.symbols.mechanism import Letters, SymbolicLinks
from catena.symbols.ring import QUARTER
from catena.trace.graph import COMPARISONS, LEAF, Expr, Graph, live

LONGEST = 12
"""Expressions of more operations than this are taken apart."""

_PAPERS = {
    "M": "Mhat", "P": "Mhat", "psi": "psihat", "G": "psihat", "m": "mhat", "D": "mhat", "eta": "etatilde",
    "z": "etatilde", "tau_hat": "tauhat", "tau_tilde": "tautilde", "mu": "mutilde", "vdot": "qddot", "t": "t", "V": "t",
}  # fmt: skip
"""What the papers call what the algorithms keep in fields; other fields are called as they are."""

_SIX = ("wx", "wy", "wz", "vx", "vy", "vz")
_UPPER, _ALL = ("xx", "xy", "xz", "yy", "yz", "zz"), tuple(a + b for a in "xyz" for b in "xyz")


class Traced:
    """Letters as leaves of a traced graph; what `Letters` ask of a ring."""

    def __init__(self) -> None:
        self.graph = Graph()

    def variable(self, name: str) -> Scalar:
        """The leaf of that name."""
        return 0.5 * math.pi if name == QUARTER else self.graph.input(name, 0)

    def sincos(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Sine and cosine of a constant angle."""
        return self.graph.sin(angle), self.graph.cos(angle)


class NamedField(RealField):
    """A field that remembers under which name each scalar was last kept."""

    def __init__(self, name: str, kept: dict[str, Expr]) -> None:
        super().__init__()
        self._name, self._kept = _PAPERS.get(name, name), kept

    def __setitem__(self, link: Any, value: Any) -> None:
        super().__setitem__(link, value)
        if isinstance(value, Transform | Axes) or link.index < 0:
            return
        for place, x in _parts(value, link):
            if isinstance(x, Expr) and x.op != LEAF:
                self._kept[f"{self._name}_{place}"] = x


def _parts(value: Any, link: Any) -> list[tuple[str, Any]]:
    """The scalars of an object with what tells them apart: degrees of freedom by their numbers, the rest by link."""
    found = leaves(value)
    if isinstance(value, Dofs):
        return [(str(link.v_start + i + 1), x) for i, x in enumerate(found)]
    if isinstance(value, SmallSymmetric) and len(value.lower) == 1:
        return [(str(link.v_start + 1), value.lower[0][0])]
    if isinstance(value, ArticulatedInertia):
        names = [f"J{i}" for i in _UPPER] + [f"H{i}" for i in _ALL] + [f"M{i}" for i in _UPPER]
    elif isinstance(value, RigidInertia):
        names = ["m", "hx", "hy", "hz", *[f"I{i}" for i in _UPPER]]
    elif isinstance(value, Force | Motion):
        names = list(_SIX)
    elif isinstance(value, Columns):
        found = [x for column in value.columns for x in column.components]
        several = len(value.columns) > 1
        names = [f"{j + 1 if several else ''}{i}" for j in range(len(value.columns)) for i in _SIX]
    elif isinstance(value, SmallSymmetric):
        found = [x for row in value.lower for x in row]
        names = [f"{i + 1}{j + 1}" for i in range(len(value.lower)) for j in range(i + 1)]
    else:
        names = [str(i + 1) for i in range(len(found))]
    own = str(link.index + 1)
    return [(own if len(found) == 1 else f"{own}_{name}", x) for name, x in zip(names, found, strict=True)]


class NamingLinks(SymbolicLinks):
    """Links with letters, whose fields give names."""

    def __init__(self, letters: Letters, ring: Traced, lowered: Lowered, *, weightless: bool = False) -> None:
        super().__init__(letters, ring, lowered, weightless=weightless)  # type: ignore[arg-type]
        self.kept: dict[str, Expr] = {}
        for i, link in enumerate(self._links):
            frame = {name: float(lowered.constants[name][i]) for name in lowered.constants if name[0] == "F"}
            link.constants = {**link.constants, **frame}

    def fields(self, names: str) -> list[RealField]:
        """New fields under these names."""
        return [NamedField(name, self.kept) for name in names.split()]


def recorded(
    question: Any, letters: Letters, lowered: Lowered, names: dict[str, list[str]], weightless: bool = False
) -> tuple[dict[str, Any], dict[Any, Any]]:
    """The matrices that a question gives, of SymPy expressions, and the definitions of the symbols in them, in order.

    `question` takes the links and the inputs, a list of scalars for each group of `names`, and gives rows of scalars by
    name.
    """
    ring = Traced()
    links = NamingLinks(letters, ring, lowered, weightless=weightless)
    inputs = {group: [ring.variable(name) for name in members] for group, members in names.items()}
    return _written(links.kept, question(links, inputs))


def _written(kept: dict[str, Expr], results: dict[str, Any]) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Matrices of rows of traced scalars as SymPy matrices, and definitions for what has a name."""
    from sympy import Matrix, Symbol

    outputs = [x for rows in results.values() for row in rows for x in row]
    nodes = live([x for x in outputs if isinstance(x, Expr)])
    known: dict[int, str] = {}
    shortest_first = sorted(kept.items(), key=lambda item: item[0].count("_"))  # m̂_6 is also an entry of M̂_6
    for name, node in [*shortest_first, *_outputs(results).items()]:
        known.setdefault(node.id, name)
    uses = Counter(a.id for node in nodes for a in node.args if isinstance(a, Expr) and node.op != LEAF)
    uses.update(x.id for x in outputs if isinstance(x, Expr))
    definitions: dict[Any, Any] = {}
    text: dict[int, Any] = {}
    size: dict[int, int] = {}
    taken: set[str] = {str(node.args[0]) for node in nodes if node.op == LEAF}

    def name_for(node: Expr) -> str:
        name = known.get(node.id) or _sine(node) or f"t_{len(definitions) + 1}"
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    for node in nodes:
        if node.op == LEAF:
            text[node.id], size[node.id] = Symbol(node.args[0]), 0
            continue
        arguments = [text[a.id] if isinstance(a, Expr) else _number(a) for a in node.args]
        written = _OPERATIONS[node.op](*arguments)
        length = 1 + sum(size[a.id] for a in node.args if isinstance(a, Expr))
        again = uses[node.id] > 1 and node.op != "neg"
        if node.id in known or _sine(node) or again or length > LONGEST:
            symbol = Symbol(name_for(node))
            definitions[symbol] = written
            written, length = symbol, 0
        text[node.id], size[node.id] = written, length
    matrices = {
        name: Matrix([[text[x.id] if isinstance(x, Expr) else _number(x) for x in row] for row in rows])
        for name, rows in results.items()
    }
    return matrices, definitions


def _outputs(results: dict[str, Any]) -> dict[str, Expr]:
    """Names for the entries of matrices that are not numbers or letters: U_1_2, qddot_3."""
    found = {}
    for name, rows in results.items():
        for i, row in enumerate(rows, 1):
            for j, x in enumerate(row, 1):
                if isinstance(x, Expr) and x.op not in (LEAF, "neg"):
                    found[f"{name}_{i}" if len(row) == 1 else f"{name}_{i}_{j}"] = x
    return found


def _sine(node: Expr) -> str | None:
    """S_i or C_i for the sine or cosine of coordinate i."""
    inner = node.args[0] if node.op in ("sin", "cos") else None
    if not isinstance(inner, Expr) or inner.op != LEAF:
        return None
    name = str(inner.args[0])
    return f"{node.op[0].upper()}_{name[2:] if name.startswith('q_') else name}"


def _number(x: Any) -> Any:
    from sympy import Float, Integer

    return Integer(int(x)) if float(x).is_integer() else Float(repr(float(x)), 17)


def _plain(name: str) -> Any:
    def apply(*arguments: Any) -> Any:
        import sympy

        return getattr(sympy, name)(*arguments)

    return apply


def _choice(op: str) -> Any:
    def apply(a: Any, b: Any, x: Any, y: Any) -> Any:
        import sympy

        relation = {"lt": sympy.Lt, "le": sympy.Le, "eq": sympy.Eq}[op]
        return sympy.Piecewise((x, relation(a, b)), (y, True))

    return apply


_OPERATIONS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    **{name: _plain(name) for name in ("sin", "cos", "sqrt", "log", "exp")},
    "arctan2": _plain("atan2"),
    "abs": _plain("Abs"),
    **{op: _choice(op) for op in COMPARISONS},
}
