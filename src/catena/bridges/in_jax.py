"""Questions as functions of JAX: one primitive for all maps, with the rules that JAX composes.

The derivative of a map is another map, linear in its directions, and the transpose of that is a third: so forward and
reverse mode, and both again for second derivatives, come from these rules alone. On CPUs compiled programs call kernels
directly (:mod:`catena.bridges.xla`); elsewhere, and where that is not possible, they call back to Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from catena.bridges.asked import Asked
from catena.bridges.maps import Map
from catena.bridges.samples import leading, spread, summed, with_one_more
from catena.bridges.xla import custom_call
from catena.errors import ShapeError

primitive = Primitive("catena")
primitive.multiple_results = True


def bind(of: Map, *arrays: Any) -> list[Any]:
    """The results of a map for arrays of one dtype, each with all leading dimensions or none."""
    return list(primitive.bind(*arrays, of=of))


def call(asked: Asked) -> Callable[..., Any]:
    """The question as a function of JAX's arrays."""

    def function(*args: Any, **kwargs: Any) -> Any:
        given = asked.given(args, kwargs)
        arrays = [asked.taken(name, x, jnp.asarray) for name, x in given.items()]
        dimensions = asked.leading(tuple(given), [x.shape for x in arrays])
        dtype, of = _dtype(asked, arrays), asked.map(tuple(given))
        spreads = zip(arrays, of.samples, strict=True)
        results = bind(of, *[spread(x.astype(dtype), own, dimensions, jnp.broadcast_to) for x, own in spreads])
        return asked.results(results)

    return function


def _dtype(asked: Asked, arrays: Sequence[Any]) -> Any:
    """What to compute in: float64 if there is one among the arrays, otherwise float32."""
    try:
        found = jnp.result_type(*arrays, float)
    except (TypeError, ValueError) as error:  # keys of random numbers, numbers of eight bits and less
        kinds = ", ".join(str(x.dtype) for x in arrays)
        raise ShapeError(
            f"{asked.question}: arrays must be float32 or float64, or go with them, got {kinds}"
        ) from error
    if not jnp.issubdtype(found, jnp.floating):
        raise ShapeError(f"{asked.question}: arrays must hold real numbers, got {found}")
    return found if found.itemsize == 8 else jnp.dtype(jnp.float32)


def _shapes(*arrays: Any, of: Map) -> list[Any]:
    dimensions, dtype = leading(of, [x.shape for x in arrays]), arrays[0].dtype
    return [jax.core.ShapedArray(dimensions + port.shape, dtype) for port in of.outputs]


def _at_once(*arrays: Any, of: Map) -> list[Any]:
    return _compiled(of)(*arrays)


@functools.lru_cache(maxsize=4096)
def _compiled(of: Map) -> Callable[..., list[Any]]:
    return jax.jit(functools.partial(bind, of))  # type: ignore[no-any-return]


def _jvp(values: Sequence[Any], directions: Sequence[Any], *, of: Map) -> tuple[list[Any], list[Any]]:
    """Values and how they change: by the inputs that move, and by linear inputs as the map itself says."""
    results = bind(of, *values)
    moving = tuple(i for i, d in enumerate(directions[: of.point]) if type(d) is not ad.Zero)
    changes = []
    if moving:
        changes.append(bind(of.jvp(moving), *values, *[directions[i] for i in moving]))
    linear = directions[of.point :]
    if any(type(d) is not ad.Zero for d in linear):
        changes.append(bind(of, *values[: of.point], *[ad.instantiate_zeros(d) for d in linear]))
    return results, [functools.reduce(ad.add_jaxvals, parts) for parts in zip(*changes, strict=True)]


def _transpose(weights: Sequence[Any], *values: Any, of: Map) -> list[Any]:
    """The gradients by linear inputs; those that are the same for all samples get the sum over these."""
    unknown = [ad.is_undefined_primal(x) for x in values]
    some = tuple(i for i in range(len(values) - of.point) if unknown[of.point + i])
    adjoint, which = of.adjoint(some)
    found = bind(adjoint, *values[: of.point], *[ad.instantiate_zeros(w) for w in weights])
    by_input = dict(zip(which, found, strict=True))
    gradients: list[Any] = [None] * len(values)
    for i in some:
        gradients[of.point + i] = summed(by_input[i], values[of.point + i].aval.ndim)
    return gradients


def _batched(arrays: Sequence[Any], axes: Sequence[int | None], *, of: Map) -> tuple[list[Any], list[int]]:
    """One more leading dimension; inputs without any stay as they are."""
    results = bind(of, *with_one_more(of, arrays, axes, jnp.moveaxis, jnp.broadcast_to))
    return results, [0] * len(results)


def _lowered(context: Any, *operands: Any, of: Map) -> Any:
    """On CPUs: the kernel as a custom call."""
    name = custom_call(of, context.avals_in[0].dtype)
    if name is None:
        return _lowered_to_callback(context, *operands, of=of)
    return jax.ffi.ffi_lowering(name)(context, *operands)


def _called_back(*arrays: Any, of: Map) -> Any:
    dimensions, dtype = leading(of, [x.shape for x in arrays]), arrays[0].dtype
    shapes = [jax.ShapeDtypeStruct(dimensions + port.shape, dtype) for port in of.outputs]
    return jax.pure_callback(lambda *given: of(*map(np.asarray, given)), shapes, *arrays)


_lowered_to_callback = mlir.lower_fun(_called_back, multiple_results=True)

primitive.def_abstract_eval(_shapes)
primitive.def_impl(_at_once)
ad.primitive_jvps[primitive] = _jvp
ad.primitive_transposes[primitive] = _transpose
batching.primitive_batchers[primitive] = _batched
mlir.register_lowering(primitive, _lowered_to_callback)
mlir.register_lowering(primitive, _lowered, platform="cpu")
