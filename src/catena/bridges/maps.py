"""What a bridge calls: a function of one robot together with its derivatives, of any order.

Other packages know arrays and nothing else, so all derivatives are by the numbers of the arrays, those of q too: a
quaternion has four directions, along one of which nothing changes. A map and its derivatives are linked as the rules of
automatic differentiation need it::

    f(x)              a map
    f.jvp(by)(x, dx)  how its results change: linear in the directions dx of the inputs `by`
    f.vjp(by)(x, w)   the gradients of the weighted sum of its results: linear in the weights w

Either is a map again, linear in its last inputs, and the :meth:`Map.adjoint` of one is the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.forward_dynamics_products import Acting, forward_dynamics_jvp, forward_dynamics_vjp
from catena.algorithms.joint_losses import with_acting
from catena.algorithms.parameters import with_parameters
from catena.arguments.arrays import Port, Shape, Signature
from catena.errors import UnsupportedError
from catena.functions.derived import in_coordinates, jvp, vjp
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask
from catena.functions.store import Compiled, chosen_shape, has_fast
from catena.functions.watch import Watch
from catena.questions.derivative_products import SHORT

By = tuple[int, ...]
"""Inputs by number."""

Product = Callable[[Sequence[str]], Function]


class Map:
    """A function of one robot: as many arrays in as `signature` says, all of one dtype, and a list of arrays out.

    Inputs have the leading dimensions of the results, or none, in which case they are the same for all samples. Maps
    are compared by identity, and there is one for each derivative: packages may keep what they made of it.

    Args:
        store: what was compiled for the robot.
        function: the function.
        given: the names of the inputs that calls give, in order.
        shape: the shape of kernels that is asked for, "unrolled" or "rolled", or None.
        inverted: the matrix that it needs the inverse of, if any: samples at which there is none are warned of, and
            NaN, in calls with NumPy's arrays.
    """

    def __init__(
        self,
        store: Compiled,
        function: Function,
        given: Sequence[str],
        shape: str | None = None,
        inverted: str = "",
    ) -> None:
        self.function, self.names, self.shape, self._inverted = function, tuple(given), shape, inverted
        self.point = len(self.names)
        """How many inputs come before those that it is linear in."""
        self._store = store
        self._adjoint: Callable[[By], tuple[Map, By]] | None = None
        self._kernels: dict[Any, Any] = {}
        self._derived: dict[tuple[str, By], Map] = {}

    def __repr__(self) -> str:
        return self.function.name

    @cached_property
    def signature(self) -> Signature:
        """What it takes and gives, as of doubles."""
        from catena.kernels.build import signature  # brings in LLVM

        return signature(self._store.tree, self.function, self._present, np.dtype(np.float64))

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs: names and shapes of a sample."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The results: names and shapes of a sample."""
        return self.signature.outputs

    @cached_property
    def samples(self) -> tuple[Shape, ...]:
        """The shapes of a sample of each input."""
        return tuple(port.shape for port in self.inputs)

    @property
    def _present(self) -> tuple[str, ...]:
        return tuple(name for name in self.function.optional if name in self.names)

    @property
    def has_jvp(self) -> bool:
        """Whether it has derivatives: not if it is composed with NumPy alone."""
        return self._smooth.sweeps

    @property
    def has_vjp(self) -> bool:
        """Whether it has gradients of weighted sums: not of a whole matrix either."""
        return self.has_jvp and not self._smooth.dense

    @property
    def _smooth(self) -> Function:
        """What is differentiated: of a function with a recipe the one kernel that gives the same, if there is one."""
        fast = self.function.fast
        served = has_fast(self._store.tree, self.function, self.shape, np.dtype(np.float64))
        return fast if fast is not None and served else self.function

    def kernel(self, dtype: Any) -> Any:
        """The machine code for a dtype, made when first asked for."""
        if dtype not in self._kernels:
            self._kernels[dtype] = self._store.kernel(self.function, self._present, dtype, self.shape)
        return self._kernels[dtype]

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """The results for NumPy's arrays of one dtype."""
        kernel = self.kernel(arrays[0].dtype)
        found = kernel(*arrays)
        results = [np.asarray(x) for x in (found if len(self.outputs) > 1 else (found,))]
        if self._inverted:
            batch = results[0].shape[: results[0].ndim - self.outputs[0].rank]
            seen = [x[None] for x in (*arrays, *results)] if batch == () else [*arrays, *results]
            Watch(self._store, kernel, self._inverted).look(seen[: len(arrays)], seen[len(arrays) :], batch or (1,))
        return results

    @cached_property
    def key(self) -> str:
        """A text that tells it from all other maps, in this process and in the next."""
        tree = self._store.tree
        shape = chosen_shape(tree, self.function, self.shape)
        name = self._store.name_of(self.function, self._present, shape)
        return "/".join((tree.digest().hex(), name, ",".join(self._present), shape))

    def jvp(self, by: By) -> Map:
        """The changes of all results: takes the own inputs, then a direction for each input in `by`."""
        return self._once("jvp", by, self._jvp)

    def vjp(self, by: By) -> Map:
        """The gradients by the inputs in `by`: takes the own inputs, then a weight for each result."""
        return self._once("vjp", by, self._vjp)

    def adjoint(self, some: By) -> tuple[Map, By]:
        """Of a map that is linear in its last inputs: the map that takes weights of its results in their place.

        `some` are those of the linear inputs, counted from 0, whose gradients are wanted. Returns the map and to which
        of the linear inputs its results belong.
        """
        if self._adjoint is None:
            raise UnsupportedError(
                f"{self.function.name}: only its derivatives are linear maps with a transpose; take gradients of it "
                "instead, which are exact by arguments that it is linear in, too"
            )
        return self._adjoint(some)

    def _once(self, what: str, by: By, make: Callable[[By], Map]) -> Map:
        if (what, by) not in self._derived:
            self._derived[what, by] = make(by)
        return self._derived[what, by]

    def _jvp(self, by: By) -> Map:
        wanted = [self.names[i] for i in by]
        made = self._linear(self._products[0](wanted), [f"d{name}" for name in wanted])
        made._adjoint = lambda some: (self.vjp(tuple(by[i] for i in some)), some)
        return made

    def _vjp(self, by: By) -> Map:
        wanted, results = [self.names[i] for i in by], list(self.function.outputs)
        made = self._linear(self._products[1](wanted), [f"w{name}" for name in results])
        made._adjoint = lambda some: (self.jvp(by), tuple(range(len(results))))
        return made

    def _linear(self, function: Function, more: Sequence[str]) -> Map:
        arranged = _arranged(function, [*self.names, *more])
        if self.function.fast is not None:
            arranged = _watched(arranged)
        made = Map(self._store, arranged, list(arranged.inputs), self.shape)
        made.point = len(self.names)
        return made

    @cached_property
    def _products(self) -> tuple[Product, Product]:
        """What gives its derivatives by the names of inputs: the cheapest way that is known."""
        for losses, springs in product((False, True), repeat=2):
            acting = partial(with_acting, losses=losses, springs=springs)
            known = acting(FD3).name, with_parameters(acting(FD3)).name
            if self.function.name in known and self._store.tree.n <= SHORT:
                products = forward_dynamics_jvp, forward_dynamics_vjp
                return partial(self._of_dynamics, products[0], acting), partial(self._of_dynamics, products[1], acting)
        plain = in_coordinates(self._smooth)
        return partial(jvp, plain), partial(vjp, plain)

    def _of_dynamics(self, product: Callable[..., Function], acting: Acting, by: Sequence[str]) -> Function:
        """A product of forward dynamics, with the robot's parameters as an input where it has them."""
        made = product(by, acting, coordinates=True)
        return made if "parameters" not in self.names or "parameters" in by else with_parameters(made)


def _watched(function: Function) -> Function:
    """The same function, refused for samples that only a recipe without derivatives can answer."""

    def recipe(ask: Ask, *arrays: Any) -> Any:
        found = ask(function, *arrays)
        results = found if isinstance(found, tuple) else (found,)
        known = all(np.isfinite(x).all() for x in arrays)
        if known and not all(np.isfinite(x).all() for x in results):
            raise UnsupportedError(
                f"{function.question}: there are samples without derivatives here, at which constraints depend on each "
                "other and forces are not unique, or M has no inverse; leave out redundant constraints, or ask the "
                "system's own forward_dynamics_jvp for the derivatives of accelerations"
            )
        return found

    name = f"{function.name}/watched"
    return replace(function, name=name, algorithm=by_recipe, recipe=recipe, double=True, fast=function)


def _arranged(function: Function, order: Sequence[str]) -> Function:
    """The same function with just these inputs, in this order; its arrays get names that no derivative has."""

    def algorithm(links: Any, *given: Any) -> Any:
        known = dict(zip(order, given, strict=True))
        return function.algorithm(links, *[known.get(name) for name in function.inputs])

    def renamed(some: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"x{i}" for i, name in enumerate(order) if name in some)

    return replace(
        function,
        name=f"{function.name}/{','.join(order)}",
        algorithm=algorithm,
        inputs={f"x{i}": function.inputs[name] for i, name in enumerate(order)},
        outputs={f"y{i}": k for i, k in enumerate(function.outputs.values())},
        optional=(),
        shared=renamed(function.shared),
        positive=renamed(function.positive),
    )
