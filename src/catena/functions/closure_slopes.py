"""Derivatives of closed chains' forward dynamics as functions: machine code, and what answers redundant constraints.

The equations M a + b = τ + Jᵀλ and J a + J̇v = 0 are differentiated along a direction: what is left of both sides with a
and λ held is a generalised force and a rate, and the response of the closed chain answers to these. The recipe here
does so for one direction after the other with what is right for redundant constraints too; see
:mod:`catena.algorithms.closed_derivatives` for machine code, which leaves such samples to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import closed_derivatives
from catena.algorithms.closed_derivatives import NOTHING
from catena.algorithms.closure_tolerances import DEPENDENT_ROWS
from catena.algorithms.joint_losses import AtJoints, with_acting
from catena.algorithms.newton_euler import INVERSE_DYNAMICS
from catena.algorithms.regressor import columns_of, torques_by_parameters
from catena.functions.derived import jvp
from catena.functions.function import Function, by_recipe
from catena.functions.least_norm import LeastNorm
from catena.functions.linearization import linearized, rolled
from catena.functions.recipes import Ask, times

if TYPE_CHECKING:
    from catena.functions.closures import Closures

Array = npt.NDArray[Any]


class ClosureSlopes:
    """The derivatives of what these constraints do."""

    def __init__(self, closures: Closures) -> None:
        self._closures = closures
        self._named: dict[tuple[Any, ...], Function] = {}

    def accelerations(self, given: Sequence[str], acting: AtJoints = NOTHING) -> Function:
        """Of the accelerations by q, v and tau, of calls that give "f_ext" or not, with what acts at joints."""
        outputs = dict.fromkeys(("dq", "dv", "dtau"), "dense:nv,nv")
        return self._named_after("acceleration_derivatives", {}, outputs, given, acting, partial(self._columns, 0))

    def forces(self, given: Sequence[str], acting: AtJoints = NOTHING) -> Function:
        """Of the constraints' wrenches likewise."""
        outputs = dict.fromkeys(("dq", "dv", "dtau"), f"dense:{len(self._closures.constraints)},6,nv")
        return self._named_after("force_derivatives", {}, outputs, given, acting, partial(self._columns, 1))

    def along(self, given: Sequence[str], acting: AtJoints = NOTHING) -> Function:
        """The change of the accelerations along directions."""
        directions = {"dq": "v", "dv": "v", "dtau": "tau"}

        def recipe(acting: AtJoints, ask: Ask, *arrays: Array) -> Array:
            return self._along(acting, ask, *arrays)[0]

        return self._named_after("acceleration_jvp", directions, {"a": "v"}, given, acting, recipe)

    def against(self, given: Sequence[str], acting: AtJoints = NOTHING) -> Function:
        """The gradients of weighted sums of the accelerations."""
        outputs = {"dq": "tau", "dv": "tau", "dtau": "v"}

        def recipe(acting: AtJoints, ask: Ask, q: Array, v: Array, tau: Array, weight: Array, *f_ext: Array) -> Any:
            matrices = self._columns(0, acting, ask, q, v, tau, *f_ext)
            return tuple(times(np.swapaxes(matrix, -1, -2), weight) for matrix in matrices)

        return self._named_after("acceleration_vjp", {"weight": "tau"}, outputs, given, acting, recipe)

    def linearized(self, given: Sequence[str], acting: AtJoints = NOTHING) -> Function:
        """The equations of motion, linearised."""
        slopes = self.accelerations(given, acting)
        assert slopes.fast is not None
        algorithm, recipe = partial(linearized, slopes=slopes.fast.algorithm), partial(rolled, slopes=slopes)
        outputs, name = {"A": "dense:2nv,2nv", "B": "dense:2nv,nv"}, f"linearize/{slopes.name}"
        fast = Function(f"{name}/fast", algorithm, slopes.inputs, outputs, loops=False)
        return Function(name, by_recipe, slopes.inputs, outputs, recipe=recipe, double=True, fast=fast)

    def by_parameters(self, given: Sequence[str], acting: AtJoints = NOTHING) -> Function:
        """Of the accelerations by the parameters: what the closed chain answers to −Y, the regressor's columns."""
        closures, pushed = self._closures, ("f_ext",) if "f_ext" in given else ()
        dynamics = with_acting(closures.forward_dynamics(pushed), *acting)

        def recipe(ask: Ask, q: Array, v: Array, *others: Array) -> Array:
            needed = torques_by_parameters(ask, acting, q, v, np.asarray(ask(dynamics, q, v, *others)[0]))
            still = np.zeros((*needed.shape[:-1], closures.rows))
            return -np.swapaxes(np.asarray(ask(closures.response, q[..., None, :], needed, still)[0]), -1, -2)

        name, outputs = f"forward_dynamics_parameter_derivatives/{dynamics.name}", {"derivatives": columns_of(acting)}
        return Function(name, by_recipe, dynamics.inputs, outputs, recipe=recipe, double=True)

    def _named_after(
        self,
        name: str,
        more: dict[str, str],
        outputs: dict[str, str],
        given: Sequence[str],
        acting: AtJoints,
        recipe: Callable[..., Any],
    ) -> Function:
        """A function of :mod:`catena.algorithms.closed_derivatives`, and a recipe for what that leaves."""
        pushed = ("f_ext",) if "f_ext" in given else ()
        key = name, pushed, acting
        if key not in self._named:
            inputs = {"q": "q", "v": "v", "tau": "tau", **more, **dict.fromkeys(pushed, "force")}
            options: Any = {"closures": self._closures.closures, "acting": acting}
            algorithm = partial(getattr(closed_derivatives, name), **options)
            known = "/".join(("forward_dynamics", "closed", name, *pushed, self._closures.digest)) + acting.suffix
            fast = Function(f"{known}/fast", algorithm, inputs, outputs, loops=False)
            by_hand = partial(recipe, acting)
            self._named[key] = Function(known, by_recipe, inputs, outputs, recipe=by_hand, double=True, fast=fast)
        return self._named[key]

    def _columns(
        self, which: int, acting: AtJoints, ask: Ask, q: Array, v: Array, tau: Array, *f_ext: Array
    ) -> tuple[Array, ...]:
        """All columns of the derivatives, as one batch."""
        nv = ask.tree.nv
        directions = np.split(np.eye(3 * nv), 3, axis=1)
        wide = [x[..., None, :] for x in (q, v, tau)]
        found = self._along(acting, ask, *wide, *directions, *[f[..., None, :, :] for f in f_ext])[which]
        found = np.moveaxis(found, -2 - which, -1)
        return tuple(found[..., i * nv : (i + 1) * nv] for i in range(3))

    def _along(
        self,
        acting: AtJoints,
        ask: Ask,
        q: Array,
        v: Array,
        tau: Array,
        dq: Array,
        dv: Array,
        dtau: Array,
        *f_ext: Array,
    ) -> tuple[Array, Array]:
        """The change of the accelerations and of the constraints' wrenches along directions, λ being of least norm."""
        closures, kernels, needs = self._closures, self._slopes, with_acting(INVERSE_DYNAMICS, *acting)
        dynamics = with_acting(closures.forward_dynamics(("f_ext",) if f_ext else ()), *acting)
        a = np.asarray(ask(dynamics, q, v, tau, *f_ext)[0])
        J = np.asarray(ask(closures.jacobian, q))
        inverse = LeastNorm(J, DEPENDENT_ROWS).inverse
        lam = times(np.swapaxes(inverse, -1, -2), ask(needs, q, v, a, *f_ext) - tau)
        still = np.zeros(ask.tree.nv)
        needed = ask(jvp(needs, ("q", "v", "a")), q, v, a, dq, dv, still, *f_ext)
        push = dtau - needed + ask(kernels.forces, q, lam, dq)
        drift = ask(kernels.rates, q, a, dq) + ask(kernels.bias, q, v, dq, dv)
        change, forces = ask(closures.response, q, push, -drift)
        least = ask(kernels.rates, q, times(inverse, lam), dq)  # redundant rows turn, and λ with them
        more = ask(closures.forces, q, least - times(J, times(inverse, least)))
        turned = ask(kernels.exerted, q, lam, dq)
        return np.asarray(change), np.asarray(forces) + more + np.asarray(turned).reshape(forces.shape)

    @cached_property
    def _slopes(self) -> _Slopes:
        return _Slopes(self._closures)


class _Slopes:
    """The derivatives along directions of q of what constraints hold: J x, Jᵀλ, wrenches; and of J̇v."""

    def __init__(self, closures: Closures) -> None:
        self.rates = jvp(closures.rates, ("q",))
        self.forces = jvp(closures.torques, ("q",))
        self.exerted = jvp(closures.forces, ("q",))
        self.bias = jvp(closures.bias, ("q", "v"))
