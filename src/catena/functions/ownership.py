"""Whether a function is the package's own, which its name tells from others, or made of what a user wrote.

The sources of the package are part of every key of compiled code, so that names are enough there. What a user wrote may
change under its name, in a notebook or from one process to the next: it is known by what was traced.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from catena.functions.function import Function
from catena.model.joints import in_kernels
from catena.model.tree import Tree

FIXED = frozenset({"builtins", "catena", "collections", "functools", "itertools", "math", "numpy", "operator", "types"})
"""Packages whose sources do not change under a name, or are in the key of compiled code."""

NAMED_BY_TRACE = "catena.simulation"
"""Here functions of users have been traced before they reach a Function, and what came of it is in its name."""

LEAVES = (str, bytes, int, float, complex, np.ndarray, np.generic, Tree, BuiltinFunctionType, type(None))
"""What holds no code that could change."""


def is_own(function: Function, tree: Tree) -> bool:
    """Whether name and tree tell what a function does: nothing in it, and no joint of the tree, is a user's."""
    kept = function.__dict__  # a Function does not change, and recipes ask for the same ones again and again
    if "_own" not in kept:
        kept["_own"] = _own(function, set())
    return bool(kept["_own"]) and tree.once("own joints", lambda: _own_joints(tree))


def _own_joints(tree: Tree) -> bool:
    return all(_in_package(in_kernels(code).__module__) for code in np.unique(tree.joint_type).tolist())


def _in_package(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in FIXED


def _own(x: Any, seen: set[int]) -> bool:
    """Whether code of the package is all that can be reached from an object: by closures, defaults and attributes."""
    if id(x) in seen or isinstance(x, LEAVES):
        return True
    seen.add(id(x))
    if isinstance(x, FunctionType):
        module = x.__globals__.get("__name__")
    else:
        module = (x if isinstance(x, type) else type(x)).__module__
    if not _in_package(module):
        return False
    return str(module).startswith(NAMED_BY_TRACE) or all(_own(part, seen) for part in _parts(x))


def _parts(x: Any) -> Iterator[Any]:
    """What an object is made of."""
    if isinstance(x, FunctionType):
        for cell in x.__closure__ or ():
            with suppress(ValueError):  # nothing in it yet
                yield cell.cell_contents
        yield from (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
    elif isinstance(x, MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, functools.partial):
        yield from (x.func, *x.args, *x.keywords.values())
    elif isinstance(x, Mapping):
        yield from x.values()
    elif isinstance(x, list | tuple | set | frozenset):
        yield from x
    elif not isinstance(x, type):
        slots = [getattr(x, name, None) for of in type(x).__mro__ for name in getattr(of, "__slots__", ())]
        yield from (*slots, *getattr(x, "__dict__", {}).values())
