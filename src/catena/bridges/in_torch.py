"""Questions as functions of Torch: one custom operator for all maps, with the rules that Torch composes.

The operator gets its map by name, because that is what the graphs of `torch.compile` can hold. Its gradient is the same
operator with another map, so that gradients have gradients. `torch.func` cannot transform operators with gradients, so
outside graphs the operator is called through an `autograd.Function` with the same rules, and one for forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from catena.arguments.arrays import Port
from catena.bridges.asked import Asked
from catena.bridges.maps import Map
from catena.bridges.samples import common, leading, spread, summed, with_one_more
from catena.errors import ShapeError

Run = Callable[[Map, Sequence[Any]], list[Any]]

_maps: dict[str, Map] = {}
"""The maps that graphs may call, by name. A graph may be run as long as the process lives, so they stay."""


def call(asked: Asked) -> Callable[..., Any]:
    """The question as a function of Torch's tensors."""

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def described(*names: str) -> tuple[Any, ...]:
        of = asked.map(names)
        return _name(of), of.samples

    def function(*args: Any, **kwargs: Any) -> Any:
        given = asked.given(args, kwargs)
        name, own = described(*given)
        tensors = _alike(asked, {name: _tensor(asked, name, x) for name, x in given.items()})
        shapes = [tuple(x.shape) for x in tensors]
        dimensions = common(shapes, own)
        if dimensions is None:
            dimensions = asked.leading(tuple(given), shapes)  # which says what does not fit
        arrays = [spread(x, shape, dimensions, torch.broadcast_to) for x, shape in zip(tensors, own, strict=True)]
        compiling = torch.compiler.is_compiling()
        results = operator(arrays, name) if compiling else Differentiable.apply(name, *arrays)
        return asked.results(results)

    return function


def _tensor(asked: Asked, name: str, value: Any) -> Any:
    """An array as a tensor whose numbers can be read as an array's."""
    if not isinstance(value, torch.Tensor):
        return asked.taken(name, value, torch.tensor)
    if value.is_nested or value.is_quantized or value.layout is not torch.strided:
        how = "dequantize" if value.is_quantized else "to_padded_tensor" if value.is_nested else "to_dense"
        raise ShapeError(f"{asked.question}: {name} must be a dense tensor; give what its {how} gives")
    return value


def _alike(asked: Asked, tensors: Mapping[str, Any]) -> list[Any]:
    """The tensors in the dtype to compute in: float64 if there is one among them, otherwise float32."""
    kinds = {x.dtype for x in tensors.values()}
    empty = [name for name, x in tensors.items() if x.device.type == "meta"]
    if empty and len(empty) < len(tensors):
        raise ShapeError(f"{asked.question}: {empty[0]} is on the device meta, without numbers, and others are not")
    for name, x in tensors.items():
        if x.dtype.is_complex:
            raise ShapeError(f"{asked.question}: {name} must hold real numbers, got {x.dtype}")
    if not any(kind.is_floating_point for kind in kinds):
        kinds = {torch.get_default_dtype()}
    return [x.to(torch.float64 if torch.float64 in kinds else torch.float32) for x in tensors.values()]


def _name(of: Map) -> str:
    _maps.setdefault(of.key, of)
    return of.key


def _computed(tensors: Sequence[Any], name: str) -> list[Any]:
    """On the CPU, in the tensors' own memory."""
    arrays = [x.detach().cpu().numpy() for x in tensors]
    return [torch.from_numpy(x).to(tensors[0].device) for x in _maps[name](*arrays)]


def _shapes(tensors: Sequence[Any], name: str) -> list[Any]:
    of = _maps[name]
    dimensions = leading(of, [x.shape for x in tensors])
    return [tensors[0].new_empty((*dimensions, *port.shape)) for port in of.outputs]


def _directly(of: Map, tensors: Sequence[Any]) -> list[Any]:
    """The operator, which `torch.compile` puts into graphs."""
    return list(operator(list(tensors), _name(of)))


def _transformed(of: Map, tensors: Sequence[Any]) -> list[Any]:
    """The operator in the form that `torch.func` can transform."""
    return list(Differentiable.apply(_name(of), *tensors))


def _gradients(run: Run, of: Map, tensors: Sequence[Any], weights: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
    """The gradients by the inputs that need one: by those that the map is linear in from its adjoint."""
    given = [_zeros(of, tensors, p) if w is None else w for w, p in zip(weights, of.outputs, strict=True)]
    wanted = [i for i, needs in enumerate(needed) if needs]
    point, some = tuple(i for i in wanted if i < of.point), tuple(i - of.point for i in wanted if i >= of.point)
    found: dict[int, Any] = {}
    if point:
        found.update(zip(point, run(of.vjp(point), [*tensors, *given]), strict=True))
    if some:
        adjoint, which = of.adjoint(some)
        results = run(adjoint, [*tensors[: of.point], *given])
        found.update(zip([of.point + i for i in which], results, strict=True))
    return [summed(found[i], x.ndim) if i in wanted else None for i, x in enumerate(tensors)]


def _changes(of: Map, tensors: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
    """How the results change: by the inputs that move, and by linear inputs as the map itself says."""
    moving = tuple(i for i, d in enumerate(directions[: of.point]) if d is not None)
    changes = []
    if moving:
        changes.append(_transformed(of.jvp(moving), [*tensors, *[directions[i] for i in moving]]))
    linear = directions[of.point :]
    if any(d is not None for d in linear):
        steps = [torch.zeros_like(x) if d is None else d for d, x in zip(linear, tensors[of.point :], strict=True)]
        changes.append(_transformed(of, [*tensors[: of.point], *steps]))
    return [sum(parts[1:], parts[0]) for parts in zip(*changes, strict=True)]


def _zeros(of: Map, tensors: Sequence[Any], port: Port) -> Any:
    return tensors[0].new_zeros((*leading(of, [x.shape for x in tensors]), *port.shape))


def _spread_out(of: Map, tensors: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    return with_one_more(of, tensors, axes, torch.movedim, torch.broadcast_to)


class Differentiable(torch.autograd.Function):  # type: ignore[misc]
    """The operator for `torch.func`: gradients, directions and batches in any order, of any order."""

    @staticmethod
    def forward(name: str, *tensors: Any) -> tuple[Any, ...]:
        """The results."""
        return tuple(operator(list(tensors), name))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what derivatives need."""
        ctx.name, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
        """Gradients by the inputs."""
        of, tensors = _maps[ctx.name], ctx.saved_tensors
        return None, *_gradients(_transformed, of, tensors, weights, ctx.needs_input_grad[1:])

    @staticmethod
    def jvp(ctx: Any, name: None, *directions: Any) -> tuple[Any, ...]:
        """Changes of the results."""
        return tuple(_changes(_maps[ctx.name], ctx.saved_tensors, directions))

    @staticmethod
    def vmap(info: Any, axes: Sequence[int | None], name: str, *tensors: Any) -> tuple[tuple[Any, ...], Any]:
        """One more leading dimension."""
        results = _transformed(_maps[name], _spread_out(_maps[name], tensors, axes[1:]))
        return tuple(results), (0,) * len(results)


def _keep(ctx: Any, inputs: tuple[Any, str], output: Any) -> None:
    tensors, ctx.name = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, weights: Sequence[Any]) -> tuple[list[Any], None]:
    return _gradients(_directly, _maps[ctx.name], ctx.saved_tensors, weights, ctx.needs_input_grad[0]), None


def _batched(info: Any, axes: tuple[Sequence[int | None], None], tensors: Sequence[Any], name: str) -> Any:
    results = _directly(_maps[name], _spread_out(_maps[name], tensors, axes[0]))
    return results, [0] * len(results)


operator = torch.library.custom_op(
    "catena::call", _computed, mutates_args=(), schema="(Tensor[] tensors, str name) -> Tensor[]"
)
operator.register_fake(_shapes)
operator.register_autograd(_backward, setup_context=_keep)
operator.register_vmap(_batched)
