"""Questions of Dask arrays: each chunk of samples is asked by itself, when it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from catena.arguments.arrays import Port
from catena.arguments.chunks import Call, over_chunks
from catena.errors import UnsupportedError

if TYPE_CHECKING:
    from catena.functions.question import Answer, Answering


def in_chunks(asked: Answering, name: str, values: Mapping[str, Any], how: Answer) -> tuple[Any, ...]:
    """The results of a question as Dask arrays, for values of all its parameters, some of which are Dask's."""
    signature = how.signature
    if values.get("out") is not None:
        raise UnsupportedError(f"{signature.question}: out cannot be given with Dask arrays, which are computed later")
    root, make, own = asked._anew()
    arrays, ports = [x for x, _ in own], [port for _, port in own]
    known = {port.name: port for port in signature.inputs}
    places: dict[str, Any] = {}
    for parameter, value in values.items():
        if isinstance(value, Mapping):
            places[parameter] = dict(zip(value, range(len(arrays), len(arrays) + len(value)), strict=True))
            arrays += value.values()
            ports += [Port(f"{parameter}[{key!r}]", (6,)) for key in value]
        elif parameter in how.sources:
            places[parameter] = len(arrays)
            arrays.append(value)
            ports.append(known[parameter])
    options = {parameter: x for parameter, x in values.items() if parameter not in places and parameter != "out"}
    call = Call(_answered, root, (make, len(own), name, places, options))
    outputs = signature.outputs
    return over_chunks(call, arrays, ports, outputs, [signature.dtype] * len(outputs), signature.question)


def _answered(
    root: Any, arrays: Sequence[Any], make: Any, own: int, name: str, places: Mapping[str, Any], options: Any
) -> tuple[Any, ...]:
    """The answer for one chunk; `places` says which of the arrays each parameter is."""
    asked = root if make is None else make(root, *arrays[:own])
    given = {
        parameter: {key: arrays[i] for key, i in at.items()} if isinstance(at, dict) else arrays[at]
        for parameter, at in places.items()
    }
    found = getattr(asked, name)(**given, **options)
    return found if isinstance(found, tuple) else (found,)
