"""What functions of users keep from call to call: found, noticed when it changes, and set back.

A function is tried before it is compiled. What it keeps in its object, its closure, global variables, lists, arrays and
random generators is as before afterwards, so that a function that is called from Python starts where it would have
started; and what changed says that it cannot be compiled.
"""

from __future__ import annotations

import dis
import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

MOST = 5_000
"""Objects that are looked at; what lies beyond is not."""

_ATOMS: tuple[type, ...] = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type(Ellipsis), types.ModuleType),
    *(types.CodeType, types.BuiltinFunctionType, np.generic, np.dtype, np.ufunc),
)
"""What does not change."""

_UNSEEN = {"open", "input", "eval", "exec", "globals", "vars", "locals", "__import__"}
"""Python's own functions whose answers depend on more than what is looked at."""

_HEAP = 1 << 9
"""The flag of classes that can be changed."""

_PACKAGES = ("catena", "numpy", "scipy", "abc", "typing")
"""Whose objects and classes are taken as they are."""


class Kept:
    """What a function keeps, as it is now."""

    def __init__(self, function: Any) -> None:
        self.lasting = True
        """Whether all can be set back: files, generators and other iterators cannot."""
        self.whole = True
        """Whether all was looked at that can give it other numbers next time; foreign code may do anything."""
        self._seen: set[int] = set()
        self._parts: list[tuple[Any, str, Any, Callable[[Any], Any], Callable[[Any], None]]] = []
        self._note(None, "numbers of np.random", lambda _: np.random.get_state(), _set_numpy)  # noqa: NPY002
        self._note(None, "numbers of random", lambda _: random.getstate(), random.setstate)
        stack = [(function, getattr(function, "__name__", "it"))]
        while stack and len(self._seen) < MOST:
            thing, name = stack.pop()
            if id(thing) not in self._seen and not isinstance(thing, _ATOMS) and not _own(thing):
                self._seen.add(id(thing))
                stack += self._looked_at(thing, name)
            elif not _pure(thing):
                self.whole = False
        self.whole &= not stack

    def unchanged(self) -> bool:
        """Whether everything is as it was, but for the numbers that NumPy and Python would draw next."""
        return all(_same(read(thing), before) for thing, _, before, read, _ in self._parts[2:])

    def restored(self) -> str:
        """Set everything back; the name of something that had changed, or nothing."""
        changed = ""
        for thing, name, before, read, write in self._parts:
            if not _same(read(thing), before):
                changed = changed or name
                write(before)
        return changed

    def _note(self, thing: Any, name: str, read: Callable[[Any], Any], write: Callable[[Any], None]) -> Any:
        before = read(thing)
        self._parts.append((thing, name, before, read, write))
        return before

    def _looked_at(self, thing: Any, name: str) -> Iterator[tuple[Any, str]]:
        """Note what of an object can change; the objects within."""
        for kinds, look in _LOOKS:
            if isinstance(thing, kinds):
                return look(self, thing, name)
        if hasattr(type(thing), "__next__"):
            self.lasting = False
            return iter(())
        return self._of_object(thing, name)

    def _of_array(self, thing: Any, name: str) -> Iterator[tuple[Any, str]]:
        if thing.flags.writeable:
            self._note(thing, name, np.copy, partial(np.copyto, thing))
        return iter(())

    def _of_generator(self, thing: Any, name: str) -> Iterator[tuple[Any, str]]:
        if isinstance(thing, random.Random):
            self._note(thing, name, lambda x: x.getstate(), thing.setstate)
        else:
            bits = getattr(thing, "bit_generator", None) or getattr(thing, "_bit_generator", thing)
            self._note(bits, name, lambda bits: bits.state, partial(setattr, bits, "state"))
        return iter(())

    def _of_function(self, function: types.FunctionType, name: str) -> Iterator[tuple[Any, str]]:
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield self._note(cell, variable, _contents, partial(_fill, cell)), variable
        space = function.__globals__
        names = _names(function.__code__)
        self.whole &= names.isdisjoint(_UNSEEN) and not _imports(function.__code__)
        for variable in names:
            if variable in space:
                value = self._note(space, variable, _entry(variable), partial(space.__setitem__, variable))
                yield value, variable
                yield from self._of_module(value, names)
        yield function.__defaults__, name
        yield function.__kwdefaults__, name
        yield function.__dict__, name

    def _of_module(self, module: Any, names: set[str]) -> Iterator[tuple[Any, str]]:
        """What a function may read from a module of a user's."""
        if isinstance(module, types.ModuleType) and module.__name__.partition(".")[0] not in (*_PACKAGES, "math"):
            for name in names & vars(module).keys():
                value = self._note(vars(module), name, _entry(name), partial(vars(module).__setitem__, name))
                yield value, name
                yield from self._of_module(value, names)

    def _of_container(self, thing: Any, name: str) -> Iterator[tuple[Any, str]]:
        before = self._note(thing, name, type(thing).copy, partial(_refill, thing))
        if isinstance(before, dict):
            yield from ((x, str(key)) for key, x in before.items())
        elif not isinstance(before, bytearray):
            yield from ((x, name) for x in before)

    def _of_object(self, thing: Any, name: str) -> Iterator[tuple[Any, str]]:
        yield type(thing), name
        if hasattr(thing, "__dict__"):
            yield thing.__dict__, name
        for kind in type(thing).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if hasattr(thing, slot) and slot != "__dict__":
                    yield self._note(thing, slot, _attribute(slot), partial(_set_attribute, thing, slot)), slot

    def _of_class(self, kind: Any, name: str) -> Iterator[tuple[Any, str]]:
        """Variables of a class that was written in Python, and its functions."""
        if kind.__flags__ & _HEAP and kind.__module__.partition(".")[0] not in _PACKAGES:
            for variable, value in [*vars(kind).items()]:
                shown = variable == "__repr__"  # gives no numbers, and that of dataclasses asks foreign code
                if not variable.startswith("__") or (callable(value) and not shown):
                    yield self._note(kind, variable, _variable(variable), partial(setattr, kind, variable)), variable
            yield kind.__bases__, name


_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
_LOOKS: tuple[tuple[Any, Callable[[Kept, Any, str], Iterator[tuple[Any, str]]]], ...] = (
    (types.FunctionType, Kept._of_function),
    (types.MethodType, lambda kept, x, name: iter([(x.__self__, name), (x.__func__, name)])),
    (partial, lambda kept, x, name: iter([(x.func, name), (x.args, name), (x.keywords, name)])),
    (np.ndarray, Kept._of_array),
    (_GENERATORS, Kept._of_generator),
    ((dict, list, set, bytearray, deque), Kept._of_container),
    ((tuple, frozenset), lambda kept, x, name: iter([(each, name) for each in x])),
    ((staticmethod, classmethod), lambda kept, x, name: iter([(x.__func__, name)])),
    (property, lambda kept, x, name: iter([(x.fget, name)])),
    (type, Kept._of_class),
)
"""How objects are looked at, by their kinds."""


def _pure(thing: Any) -> bool:
    """Whether something that is not looked into gives the same for the same: not so functions of foreign C code."""
    if not isinstance(thing, types.BuiltinFunctionType):
        return True
    home = getattr(thing.__self__, "__name__", "") if isinstance(thing.__self__, types.ModuleType) else ""
    return (
        home.partition(".")[0] in (*_PACKAGES, "math", "builtins", "_operator", "cmath")
        and thing.__name__ not in _UNSEEN
    )


def _own(thing: Any) -> bool:
    """Whether it is of this package, whose robots and compiled code change without being another."""
    return type(thing).__module__.partition(".")[0] in _PACKAGES and not isinstance(thing, (np.ndarray, *_GENERATORS))


def _names(code: types.CodeType) -> set[str]:
    """Names of global variables that code speaks of, with those of functions within it."""
    found = set(code.co_names)
    for inner in code.co_consts:
        found |= _names(inner) if isinstance(inner, types.CodeType) else set()
    return found


def _imports(code: types.CodeType) -> bool:
    """Whether code, or that of functions within it, imports something when it runs."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return dis.opmap["IMPORT_NAME"] in code.co_code[::2] or any(map(_imports, inner))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _fill(cell: Any, value: Any) -> None:
    cell.cell_contents = value


def _entry(name: str) -> Callable[[Any], Any]:
    return lambda space: space.get(name)


def _variable(name: str) -> Callable[[Any], Any]:
    return lambda kind: vars(kind).get(name)


def _attribute(name: str) -> Callable[[Any], Any]:
    return lambda thing: getattr(thing, name, None)


def _set_attribute(thing: Any, name: str, value: Any) -> None:
    object.__setattr__(thing, name, value)


def _set_numpy(state: Any) -> None:
    np.random.set_state(state)  # noqa: NPY002


def _refill(thing: Any, before: Any) -> None:
    if isinstance(thing, list | bytearray):
        thing[:] = before
        return
    thing.clear()
    (thing.extend if isinstance(thing, deque) else thing.update)(before)


def _same(x: Any, y: Any) -> bool:
    """Whether nothing changed: the same objects, in the same places."""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if isinstance(x, np.ndarray):
        if x.dtype == object:
            return x.shape == y.shape and all(a is b for a, b in zip(x.flat, y.flat, strict=True))
        return bool(x.shape == y.shape and np.asarray(x).tobytes() == np.asarray(y).tobytes())
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(_same(x[key], y[key]) for key in x)
    if isinstance(x, list | tuple | deque):
        return len(x) == len(y) and all(map(_same, x, y))
    if isinstance(x, int | float | str | bytes | bytearray | complex | np.generic):
        return bool(x == y or (x != x and y != y))
    if isinstance(x, set | frozenset):
        return bool(x == y)
    return False
