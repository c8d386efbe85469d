"""Derivatives of closed chains' forward dynamics as functions: machine code, and what answers redundant constraints.

The equations M a + b = τ + Jᵀλ and J a + J̇v = 0 are differentiated along a direction: what is left of both sides with a
and λ held is a generalised force and a rate, and the response of the closed chain answers to these. The recipe here
does so for one direction after the other with what is right for redundant constraints too; see
:mod:`catena.algorithms.closed_derivatives` for machine code, which leaves such samples to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import closed_derivatives
from catena.algorithms.closure_tolerances import DEPENDENT_ROWS
from catena.algorithms.newton_euler import INVERSE_DYNAMICS
from catena.functions.derived import jvp
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask, times

if TYPE_CHECKING:
    from catena.functions.closures import Closures

Array = npt.NDArray[Any]


class ClosureSlopes:
    """The derivatives of what these constraints do."""

    def __init__(self, closures: Closures) -> None:
        self._closures = closures
        self._named: dict[tuple[str, ...], Function] = {}

    def accelerations(self, given: Sequence[str]) -> Function:
        """Of the accelerations by q, v and tau, of calls that give "f_ext" or not."""
        return self._matrices("acceleration_derivatives", "dense:nv,nv", given)

    def forces(self, given: Sequence[str]) -> Function:
        """Of the constraints' wrenches likewise."""
        return self._matrices("force_derivatives", f"dense:{len(self._closures.constraints)},6,nv", given)

    @cached_property
    def along(self) -> Function:
        """The change of the accelerations along directions."""
        inputs = {"q": "q", **dict.fromkeys(("v", "tau", "dq", "dv", "dtau"), "v")}
        name = f"forward_dynamics_jvp/closed/{self._closures.digest}"
        recipe = lambda ask, *arrays: self._along(ask, *arrays)[0]  # noqa: E731
        return Function(name, by_recipe, inputs, {"a": "v"}, recipe=recipe, double=True)

    def _matrices(self, name: str, shape: str, given: Sequence[str]) -> Function:
        more = ("f_ext",) if "f_ext" in given else ()
        key = name, *more
        if key not in self._named:
            inputs = {"q": "q", "v": "v", "tau": "v", **dict.fromkeys(more, "force")}
            outputs, digest = dict.fromkeys(("dq", "dv", "dtau"), shape), self._closures.digest
            algorithm = partial(getattr(closed_derivatives, name), closures=self._closures.closures)
            known = "/".join(("forward_dynamics_derivatives", "closed", name, *more, digest))
            fast = Function(f"{known}/fast", algorithm, inputs, outputs, loops=False)
            recipe = partial(self._columns, int(name == "force_derivatives"))
            self._named[key] = Function(known, by_recipe, inputs, outputs, recipe=recipe, double=True, fast=fast)
        return self._named[key]

    def _columns(self, which: int, ask: Ask, q: Array, v: Array, tau: Array, *f_ext: Array) -> tuple[Array, ...]:
        """All columns of the derivatives, as one batch."""
        nv = ask.tree.nv
        directions = np.split(np.eye(3 * nv), 3, axis=1)
        wide = [x[..., None, :] for x in (q, v, tau)]
        found = self._along(ask, *wide, *directions, *[f[..., None, :, :] for f in f_ext])[which]
        found = np.moveaxis(found, -2 - which, -1)
        return tuple(found[..., i * nv : (i + 1) * nv] for i in range(3))

    def _along(
        self, ask: Ask, q: Array, v: Array, tau: Array, dq: Array, dv: Array, dtau: Array, *f_ext: Array
    ) -> tuple[Array, Array]:
        """The change of the accelerations and of the constraints' wrenches along directions, λ being of least norm."""
        closures, kernels = self._closures, self._slopes
        a = np.asarray(ask(closures.forward_dynamics(("f_ext",) if f_ext else ()), q, v, tau, *f_ext)[0])
        J = np.asarray(ask(closures.jacobian, q))
        inverse = np.linalg.pinv(finite(J), rcond=DEPENDENT_ROWS)
        lam = times(np.swapaxes(inverse, -1, -2), ask(INVERSE_DYNAMICS, q, v, a, *f_ext) - tau)
        still = np.zeros(ask.tree.nv)
        needed = ask(kernels.torques, q, v, a, dq, dv, still, *f_ext)
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
    """The derivatives along directions of q of what constraints hold: J x, Jᵀλ, wrenches; and of J̇v and torques."""

    def __init__(self, closures: Closures) -> None:
        self.rates = jvp(closures.rates, ("q",))
        self.forces = jvp(closures.torques, ("q",))
        self.exerted = jvp(closures.forces, ("q",))
        self.bias = jvp(closures.bias, ("q", "v"))
        self.torques = jvp(INVERSE_DYNAMICS, ("q", "v", "a"))


def finite(matrices: Array) -> Array:
    """Matrices (..., m, n), zero in place of those that hold anything but numbers: no other suffers from them."""
    good = np.isfinite(matrices).all(axis=(-1, -2), keepdims=True)
    return np.where(good, matrices, 0.0)
