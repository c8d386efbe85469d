"""Functions that are derivatives of other functions, for one direction or one weight at a time: no matrix is formed.

    jvp(FD3, by=("q", "v"))    forward: how the outputs change as q and v move in given directions
    vjp(FD3, by=("q", "v"))    in reverse: the gradient of a weighted sum of the outputs by q and v

Both take any :class:`~catena.functions.function.Function` and give another, for kernels of both shapes, at a small
multiple of its cost. Nothing is derived by hand: the algorithm runs on expressions and what it leaves behind is
transformed, a graph by :mod:`catena.trace.derivatives`, recorded sweeps by :mod:`catena.trace.recorder.derivatives`.
An algorithm may call the algorithm of such a function like any other; it can be differentiated again.

All is in the tangent space of `integrate`: directions and gradients of configurations, and derivatives of results that
are configurations, have the kind "v". For a free joint that is the spatial velocity of the body in its own frame.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from catena.errors import UnknownNameError, UnsupportedError
from catena.functions.derived.pieces import gathered, spread, unpacked
from catena.functions.derived.rolled import rolled_jvp, rolled_vjp
from catena.functions.derived.unrolled import unrolled_jvp, unrolled_vjp
from catena.functions.function import Function
from catena.trace.recorder import RolledLinks


def jvp(function: Function, by: Sequence[str]) -> Function:
    """The derivatives of all outputs along directions of the inputs `by`: Jacobian times vector.

    Its inputs are those of the function and "d" + name for each name in `by`, of the kind that a direction has: first
    all that the function must have and their directions, then the optional ones and theirs. Where the function has an
    input of that name already, as a derivative has, the direction's ends in "_". Its outputs have the names of the
    function's.
    """
    by = _checked(function, by)
    of = _new_names("d", by, function.inputs)
    inputs = _with_more(function, {of[name]: (tangent_kind(function.inputs[name]), name) for name in by})
    outputs = {name: tangent_kind(k) for name, k in function.outputs.items()}
    made = _derived(function, f"jvp:{','.join(by)}", inputs, outputs)
    flat = unpacked(function)

    def algorithm(links: Any, *given: Any) -> Any:
        arguments = dict(zip(inputs, given, strict=True))
        directions = {name: arguments[of[name]] for name in by if arguments[of[name]] is not None}
        transform = rolled_jvp if isinstance(links, RolledLinks) else unrolled_jvp
        found = transform(links, flat, spread(function.inputs, arguments), spread(function.inputs, directions))
        return _one_or_all(gathered(function.outputs, found))

    optional = (*function.optional, *[of[name] for name in by if name in function.optional])
    return replace(made, algorithm=algorithm, optional=optional)


def vjp(function: Function, by: Sequence[str]) -> Function:
    """The gradients by the inputs `by` of the outputs' sum, weighted: vector times Jacobian.

    Its inputs are those of the function and "w" + name for each output, the weights, with "_" at the end where there is
    such an input already; first all that the function must have, then the weights, then the optional ones. Its outputs
    are "d" + name for each name in `by`: optional inputs among those must then be given.
    """
    by = _checked(function, by)
    if function.dense:
        raise UnsupportedError(f"{function.name} gives a whole matrix: expected arrays that weights can be given for")
    of = _new_names("w", function.outputs, function.inputs)
    inputs = _with_more(function, {of[name]: (dual_kind(k), "") for name, k in function.outputs.items()})
    outputs = {f"d{name}": dual_kind(function.inputs[name]) for name in by}
    made = _derived(function, f"vjp:{','.join(by)}", inputs, outputs)
    flat = unpacked(function)

    def algorithm(links: Any, *given: Any) -> Any:
        arguments = dict(zip(inputs, given, strict=True))
        weights = spread(function.outputs, {name: arguments[of[name]] for name in function.outputs})
        wanted = list(spread(function.inputs, {name: arguments[name] for name in by}))
        transform = rolled_vjp if isinstance(links, RolledLinks) else unrolled_vjp
        found = transform(links, flat, spread(function.inputs, arguments), list(weights.values()), wanted)
        return _one_or_all(gathered(outputs, found))

    optional = tuple(name for name in function.optional if name not in by)
    return replace(made, algorithm=algorithm, optional=optional)


_TANGENT = {"q": "v", "coordinates": "rates"}
_DUAL = {"v": "tau", "tau": "v", "rates": "slopes", "slopes": "rates"}


def tangent_kind(kind_name: str) -> str:
    """The kind of array that directions have where the array itself has this kind."""
    return _TANGENT.get(kind_name, kind_name)


def dual_kind(kind_name: str) -> str:
    """The kind of array that weights and gradients have where the array itself has this kind."""
    tangent = tangent_kind(kind_name)
    return _DUAL.get(tangent, tangent)


def in_coordinates(function: Function) -> Function:
    """The same function, to be differentiated by the numbers of q themselves, with or without unit quaternions.

    Directions, weights and gradients then have as many numbers as q has, and results that are configurations change in
    as many. That is what tools expect that know nothing of tangent spaces.
    """

    def plain(kinds: Mapping[str, str]) -> dict[str, str]:
        return {name: "coordinates" if k == "q" else k for name, k in kinds.items()}

    name = f"{function.name}/coordinates"
    return replace(function, name=name, inputs=plain(function.inputs), outputs=plain(function.outputs))


def _derived(function: Function, suffix: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Function:
    return replace(function, name=f"{function.name}/{suffix}", inputs=inputs, outputs=outputs, recipe=None)


def _checked(function: Function, by: Sequence[str]) -> tuple[str, ...]:
    for name in by:
        if name not in function.inputs:
            raise UnknownNameError.among(f"input of {function.name}", name, function.inputs)
    if not function.sweeps:
        raise UnsupportedError(f"{function.name} is composed with NumPy: it has no sweeps that could be differentiated")
    return tuple(by)


def _new_names(letter: str, of: Iterable[str], taken: Container[str]) -> dict[str, str]:
    """Names for what belongs to these arrays, none of them taken."""
    found: dict[str, str] = {}
    for name in of:
        found[name] = letter + name
        while found[name] in taken:
            found[name] += "_"
    return found


def _with_more(function: Function, more: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The inputs of a function and more of them, each with its kind and the input it belongs to; optional ones last."""
    required = {name: k for name, k in function.inputs.items() if name not in function.optional}
    optional = {name: k for name, k in function.inputs.items() if name in function.optional}
    early = {name: k for name, (k, of) in more.items() if of not in optional}
    late = {name: k for name, (k, of) in more.items() if of in optional}
    return {**required, **early, **optional, **late}


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)
