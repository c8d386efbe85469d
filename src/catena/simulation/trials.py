"""Functions of users, tried before they are compiled: twice on traced numbers, and on a few plain ones.

What is compiled is what was traced here. A function that gives something else the second time, that keeps something
from call to call, or that gives other numbers when it is called, is no function of its arguments alone: it is refused,
and all that it keeps is set back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.simulation.kept import Kept
from catena.simulation.traced_numbers import FAILING, UNHEARD, heard
from catena.simulation.tracing import alone, digest, traced
from catena.trace.graph import LEAF, Expr, Graph, Operand
from catena.trace.interpret import values
from catena.trace.substitute import substituted

Array = npt.NDArray[Any]

SIZES = (0.0, 0.9, 0.4, 3.0)
"""How large the numbers of the states are that a function is called with, and below, when it is."""

TIMES = (0.0, 0.0, 1.3, 12.5)

NEARLY = 1e-9
"""How far what was traced may be from what a function gives when it is called, beside the largest number."""


@dataclass(frozen=True)
class Expressions:
    """What a function gave for traced numbers: a function of named leaves."""

    results: Sequence[Operand]

    @property
    def digest(self) -> str:
        """What tells it apart from others, the same in every process."""
        return digest(self.results)

    def depends_on(self, name: str) -> bool:
        """Whether some number of an argument has a part in it."""
        seen: set[int] = set()
        left = [x for x in self.results if isinstance(x, Expr)]
        while left:
            node = left.pop()
            if node.op == LEAF and node.args[0] == name:
                return True
            new = {id(x): x for x in node.args if isinstance(x, Expr) and id(x) not in seen}
            seen.update(new)
            left += new.values()
        return False

    def on(self, **given: Any) -> list[Any]:
        """The same of other scalars: one for each leaf, by name, those of an array in a sequence."""
        numbers = {name: [*x] if isinstance(x, Sequence | np.ndarray) else [x] for name, x in given.items()}
        graphs = [x.graph for each in numbers.values() for x in each if isinstance(x, Expr)]
        return substituted(self.results, lambda n: _leaf(n, numbers), graphs[0] if graphs else None)


def _leaf(node: Expr, given: Mapping[str, Sequence[Any]]) -> Any:
    return given[node.args[0]][node.args[1]] if node.op == LEAF else None


def tried(
    function: Any,
    sizes: Mapping[str, int | None],
    traced_by: Callable[..., Sequence[Operand]],
    called_by: Callable[..., Any],
) -> Expressions:
    """The expressions that a function of the user gives; TypeError, or what the function raises, if there are none.

    Args:
        function: of the user, whatever it keeps.
        sizes: the names of its arguments, with how many numbers each has; None for one that is a number.
        traced_by: calls it with traced numbers, and gives expressions and floats.
        called_by: calls it with floats and arrays, and gives the same as an array, of any shape.
    """
    kept = Kept(function)
    if not kept.lasting:
        raise TypeError("it keeps an iterator or a file, which cannot be set back after a trial")
    changed, failure = "", None
    try:
        FAILING.set(quotients := [0])
        first = Expressions(_traced(sizes, traced_by))
        _uncaught(-quotients[0], sizes, traced_by)
        if first.digest != Expressions(_traced(sizes, traced_by)).digest:
            raise TypeError("it gives something else each time that it is called")
        _compared(first, sizes, called_by)
    except Exception as error:  # whatever the function does with what it does not expect
        failure = error
    finally:
        changed = kept.restored()
    if changed:
        raise TypeError(f"it changes {changed!r}, which it keeps; see catena.controllers.remembering")
    if failure is not None:
        raise failure
    return first


def _traced(sizes: Mapping[str, int | None], traced_by: Callable[..., Any]) -> list[Any]:
    graph = Graph()
    with np.errstate(all="warn"):  # what the caller has NumPy do is another matter
        UNHEARD.set(heard())
    leaves = [
        alone(graph.input(name, 0)) if size is None else traced(graph.input(name, i) for i in range(size))
        for name, size in sizes.items()
    ]
    return [*traced_by(*leaves)]


def _uncaught(quotients: int, sizes: Mapping[str, int | None], traced_by: Callable[..., Any]) -> None:
    """TypeError if a function catches the error of one of its quotients, which machine code does not raise."""
    for i in range(1, quotients + 1):
        FAILING.set([i])
        try:
            _traced(sizes, traced_by)
        except ZeroDivisionError:
            continue
        finally:
            FAILING.set([0])
        raise TypeError("it catches what is raised where it divides by zero")


def _compared(found: Expressions, sizes: Mapping[str, int | None], called_by: Callable[..., Any]) -> None:
    """TypeError if what was traced gives other numbers than the function itself, called."""
    rng = np.random.default_rng(7)
    for t, size in zip(TIMES, SIZES, strict=True):
        at = {name: rng.uniform(-size, size, count or 1) for name, count in sizes.items() if count != 0}
        at.update({name: np.zeros(0) for name, count in sizes.items() if count == 0})
        if "t" in at:
            at["t"] = np.array([t])
        for x in at.values():
            x.flags.writeable = False
        arguments = [float(at[name][0]) if count is None else at[name] for name, count in sizes.items()]
        with np.errstate(all="ignore"):
            try:
                called = np.asarray(called_by(*arguments), float).ravel()
            except ArithmeticError:  # 1 / 0 of Python's floats
                continue
            expected = values(found.results, at).ravel()
            scale = np.max(np.abs(called), initial=1.0, where=np.isfinite(called))
            same = (called == expected) | (np.isnan(called) & np.isnan(expected))
            if called.shape != expected.shape or not (same | (np.abs(called - expected) <= NEARLY * scale)).all():
                raise TypeError("it gives other numbers when it is called than those that were traced")
