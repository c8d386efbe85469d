"""The equations of motion, or one step of an integrator, linearised: x' = A x + B u for small x and u.

x is a small change (δq, δv) of the state, δq in the tangent space that `integrate` and `difference` use, and u a small
change of the torques. While a state moves, the tangent space of a joint whose speeds are seen from its child (planar,
spherical, free) turns with it: two states with the same speeds v drift apart by δq' = −ad(v) δq. So with
derivatives of forward dynamics,

    δq' = −ad(v) δq + δv,    δv' = ∂FD/∂q δq + ∂FD/∂v δv + ∂FD/∂τ u

An integrator's step is a function of a :class:`System` and of values that carry their slopes along, so each step is
written once, as in a textbook, and the chain rule is the business of the system. It runs on single expressions
(:class:`_Expressions`) and, for long chains, on arrays (:class:`_Arrays`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from catena.algorithms.carried import CARRIED, carried
from catena.algorithms.configurations import (
    ADVANCE_SLOPES,
    DRIFTS,
    INTEGRATE,
    INTEGRATE_SLOPES,
    advance_slope,
    drift,
    integrate_slope,
)
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.forward_dynamics_derivatives import FORWARD_DYNAMICS_DERIVATIVES, accelerations_and_derivatives
from catena.algorithms.integrators import ADVANCE, advance
from catena.algorithms.joint_losses import AT_JOINTS, AtJoints, with_acting
from catena.functions.derived import jvp
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask, columns
from catena.model.joints import JointType
from catena.scalars import Scalar
from catena.spatial import Dofs
from catena.sweeps import Field


@dataclass(slots=True)
class Sloped:
    """Numbers (..., n) and their slopes (..., nv, m) by m others; n is nq for a configuration, otherwise nv."""

    value: Any
    slopes: Any

    def __add__(self, o: Sloped) -> Sloped:
        return Sloped(self.value + o.value, self.slopes + o.slopes)

    def __mul__(self, s: Scalar) -> Sloped:
        factor = np.asarray(s)
        return Sloped(self.value * factor[..., None], self.slopes * factor[..., None, None])


class System(Protocol):
    """What the step of an integrator needs of a mechanism."""

    def acceleration(self, q: Sloped, v: Sloped, tau: Sloped) -> Sloped:
        """Forward dynamics."""

    def moved(self, q: Sloped, dv: Sloped) -> Sloped:
        """`integrate(q, dv)`."""

    def advanced(self, q: Sloped, v: Sloped, a: Sloped, dt: Any) -> tuple[Sloped, Sloped]:
        """A step of Euler's with the new speeds in q, as joints make it."""


Step = Callable[[System, Sloped, Sloped, Sloped, Any], tuple[Sloped, Sloped]]
"""From q, v and tau, held for the time dt, to q and v after it."""


def semi_implicit(system: System, q: Sloped, v: Sloped, tau: Sloped, dt: Any) -> tuple[Sloped, Sloped]:
    """Symplectic Euler: v⁺ = v + dt FD(q, v, τ), q⁺ = integrate(q, dt v⁺); what turns with a link is turned along."""
    return system.advanced(q, v, system.acceleration(q, v, tau), dt)


def explicit(system: System, q: Sloped, v: Sloped, tau: Sloped, dt: Any) -> tuple[Sloped, Sloped]:
    """Euler: v⁺ = v + dt FD(q, v, τ), q⁺ = integrate(q, dt v)."""
    return system.moved(q, v * dt), v + system.acceleration(q, v, tau) * dt


def midpoint(system: System, q: Sloped, v: Sloped, tau: Sloped, dt: Any) -> tuple[Sloped, Sloped]:
    """The explicit midpoint rule: half a step by Euler, then a whole one with speeds and accelerations from there."""
    half = dt * 0.5
    q_half, v_half = explicit(system, q, v, tau, half)
    return system.moved(q, v_half * dt), v + system.acceleration(q_half, v_half, tau) * dt


CARRIED_SLOPES = jvp(CARRIED, ("q", "v", "a"))

STEPS: Mapping[str, Step] = {"semi_implicit": semi_implicit, "explicit": explicit, "midpoint": midpoint}
"""The integrators whose steps can be linearised, by name."""


@dataclass(slots=True)
class _Expressions:
    """A mechanism whose numbers are scalars of any kind, in arrays of objects."""

    links: Any
    f_ext: Field | None
    acting: AtJoints
    in_space: bool

    def acceleration(self, q: Sloped, v: Sloped, tau: Sloped) -> Sloped:
        """Forward dynamics, and the chain rule with its derivatives."""
        at, speeds, torques = (self.links.coordinates(x.value, y) for x, y in ((q, "q"), (v, "v"), (tau, "v")))
        vdot, derivatives = accelerations_and_derivatives(self.links, at, speeds, torques, self.f_ext, self.acting)
        dq, dv, dtau = (np.array(matrix, dtype=object) for matrix in derivatives)
        slopes = dq @ q.slopes + dv @ v.slopes + dtau @ tau.slopes
        return Sloped(_gathered(self.links, vdot), slopes)

    def moved(self, q: Sloped, dv: Sloped) -> Sloped:
        """The configuration reached, and the chain rule joint by joint."""
        at, by = self.links.coordinates(q.value, "q"), self.links.coordinates(dv.value, "v")
        (reached,), slopes = self.links.fields("reached"), q.slopes + dv.slopes
        for k in self.links:
            reached[k], own = k.joint_type.integrate(at[k], by[k]), slice(k.v_start, k.v_start + k.joint_type.nv)
            if not k.joint_type.flat:
                by_q, by_dv = _integrate_blocks(k.joint_type, by[k])
                slopes[own] = by_q @ q.slopes[own] + by_dv @ dv.slopes[own]
        return Sloped(_gathered(self.links, reached), slopes)

    def advanced(self, q: Sloped, v: Sloped, a: Sloped, dt: Any) -> tuple[Sloped, Sloped]:
        """The state reached, and the chain rule joint by joint."""
        v1_slopes = (v + a * dt).slopes
        q1_slopes = q.slopes + v1_slopes * dt
        at, speeds, rates = (self.links.coordinates(x.value, y) for x, y in ((q, "q"), (v, "v"), (a, "v")))
        if self.in_space:
            return self._carried(at, speeds, rates, dt, np.concatenate([x.slopes for x in (q, v, a)]))
        reached = advance(self.links, at, speeds, rates, dt)
        for k in self.links:
            if not k.joint_type.flat:
                own = slice(k.v_start, k.v_start + k.joint_type.nv)
                by = _advance_blocks(k.joint_type, speeds[k], rates[k], dt)
                slopes = by @ np.concatenate([x.slopes[own] for x in (q, v, a)])
                q1_slopes[own], v1_slopes[own] = np.split(slopes, 2)
        q1, v1 = (_gathered(self.links, x) for x in reached)
        return Sloped(q1, q1_slopes), Sloped(v1, v1_slopes)

    def _carried(self, q: Field, v: Field, a: Field, dt: Any, slopes: Any) -> tuple[Sloped, Sloped]:
        """The state reached, and the chain rule column by column."""
        found = []
        for column in slopes.T:
            directions = [self.links.coordinates(x, "v") for x in np.split(column, 3)]
            found.append(CARRIED_SLOPES.algorithm(self.links, q, v, a, dt, *directions))
        values = carried(self.links, q, v, a, dt)
        q1, v1 = (
            Sloped(_gathered(self.links, x), np.array([_gathered(self.links, rate) for rate in rates]).T)
            for x, rates in zip(values, zip(*found, strict=True), strict=True)
        )
        return q1, v1


@dataclass(slots=True)
class _Arrays:
    """A mechanism whose numbers are arrays over samples, asked by rolled kernels."""

    ask: Ask
    f_ext: tuple[Any, ...]
    acting: AtJoints
    in_space: bool

    def acceleration(self, q: Sloped, v: Sloped, tau: Sloped) -> Sloped:
        """Forward dynamics, and the chain rule with its derivatives."""
        given = q.value, v.value, tau.value, *self.f_ext
        dq, dv, dtau = self.ask(FORWARD_DYNAMICS_DERIVATIVES[self.acting], *given)
        a = self.ask(with_acting(FD3, *self.acting), *given)
        return Sloped(a, dq @ q.slopes + dv @ v.slopes + dtau @ tau.slopes)

    def moved(self, q: Sloped, dv: Sloped) -> Sloped:
        """The configuration reached, and the chain rule column by column."""
        rates = [np.swapaxes(x, -1, -2) for x in (q.slopes, dv.slopes)]
        slopes = self.ask(INTEGRATE_SLOPES, dv.value[..., None, :], *rates)
        return Sloped(self.ask(INTEGRATE, q.value, dv.value), np.swapaxes(slopes, -1, -2))

    def advanced(self, q: Sloped, v: Sloped, a: Sloped, dt: Any) -> tuple[Sloped, Sloped]:
        """The state reached, and the chain rule column by column."""
        rates = [np.swapaxes(x.slopes, -1, -2) for x in (q, v, a)]
        at = [x.value[..., None, :] for x in ((q, v, a) if self.in_space else (v, a))]
        by = CARRIED_SLOPES if self.in_space else ADVANCE_SLOPES
        slopes = self.ask(by, *at, np.asarray(dt)[..., None], *rates)
        values = self.ask(CARRIED if self.in_space else ADVANCE, q.value, v.value, a.value, dt)
        q1, v1 = (Sloped(x, np.swapaxes(y, -1, -2)) for x, y in zip(values, slopes, strict=True))
        return q1, v1


def _advance_blocks(joint_type: type[JointType], v: Dofs, a: Dofs, dt: Any) -> Any:
    """The derivatives of `advance` of one joint, its coordinates before its speeds, by coordinates, v and a."""
    n = joint_type.nv
    units = [np.split(unit, 3) for unit in np.eye(3 * n, dtype=object)]
    found = [advance_slope(joint_type, v, a, dt, *[Dofs(x.tolist()) for x in unit]) for unit in units]
    return np.array([[*q, *v] for q, v in found], dtype=object).T


def _integrate_blocks(joint_type: type[JointType], dv: Dofs) -> tuple[Any, Any]:
    """The derivatives of `integrate` of one joint by its coordinates and by dv, as arrays of objects."""
    units, rest = np.eye(joint_type.nv, dtype=object).tolist(), Dofs([0] * joint_type.nv)
    by_q = [list(integrate_slope(joint_type, dv, Dofs(unit), rest)) for unit in units]
    by_dv = [list(integrate_slope(joint_type, dv, rest, Dofs(unit))) for unit in units]
    return np.array(by_q, dtype=object).T, np.array(by_dv, dtype=object).T


def _gathered(links: Any, field: Field) -> Any:
    """The numbers of all joints in one array of objects."""
    numbers = [x for k in links for x in field[k]]
    found = np.empty(len(numbers), dtype=object)
    found[:] = numbers
    return found


def _slopes_of(step: Step, system: System, nv: int, q: Any, v: Any, tau: Any, dt: Any) -> tuple[Any, Any]:
    """A and B: the slopes of what a step reaches by (δq, δv, u), 3 nv columns."""
    unit = np.eye(3 * nv, dtype=object if q.dtype == object else float)
    by_q, by_v, by_tau = unit[:nv], unit[nv : 2 * nv], unit[2 * nv :]
    reached = step(system, Sloped(q, by_q), Sloped(v, by_v), Sloped(tau, by_tau), dt)
    batch = np.broadcast_shapes(*[x.slopes.shape[:-2] for x in reached])
    both = np.concatenate([np.broadcast_to(x.slopes, (*batch, nv, 3 * nv)) for x in reached], axis=-2)
    return both[..., : 2 * nv], both[..., 2 * nv :]


def linearized_step(
    links: Any,
    q: Field,
    v: Field,
    tau: Field,
    dt: Scalar,
    f_ext: Field | None = None,
    *,
    step: Step,
    acting: AtJoints,
    in_space: bool,
) -> tuple[Any, Any]:
    """A and B of one step of an integrator. For unrolled kernels only."""
    system, state = _Expressions(links, f_ext, acting, in_space), (_gathered(links, q), _gathered(links, v))
    return _slopes_of(step, system, links.nv, *state, _gathered(links, tau), dt)


def _rolled_step(
    ask: Ask, q: Any, v: Any, tau: Any, dt: Any, *f_ext: Any, step: Step, acting: AtJoints, in_space: bool
) -> tuple[Any, Any]:
    return _slopes_of(step, _Arrays(ask, f_ext, acting, in_space), ask.tree.nv, q, v, tau, dt)


Slopes = Callable[..., tuple[Any, Any, Any]]
"""The derivatives of accelerations by q, v and tau, from links, q, v, tau and, perhaps, wrenches."""


def linearized(
    links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None = None, *, slopes: Slopes
) -> tuple[Any, Any]:
    """A and B of the equations of motion. For unrolled kernels only."""
    dq, dv, dtau = slopes(links, q, v, tau, f_ext)
    turning = np.zeros((links.nv, links.nv), dtype=object)
    for k in links:
        own, size = slice(k.v_start, k.v_start + k.joint_type.nv), k.joint_type.nv
        for i in range(size):
            turning[own, k.v_start + i] = list(drift(k.joint_type, v[k], Dofs([int(i == j) for j in range(size)])))
    return _assembled(turning, *(np.array(matrix, dtype=object).reshape(turning.shape) for matrix in (dq, dv, dtau)))


def rolled(ask: Ask, q: Any, v: Any, tau: Any, *f_ext: Any, slopes: Function) -> tuple[Any, Any]:
    """The same from a function that answers with the derivatives of accelerations."""
    derivatives = ask(slopes, q, v, tau, *f_ext)
    return _assembled(columns(ask, DRIFTS, ask.tree.nv, v), *derivatives)


def _assembled(turning: Any, dq: Any, dv: Any, dtau: Any) -> tuple[Any, Any]:
    """A and B from their blocks."""
    one = np.broadcast_to(np.eye(dq.shape[-1], dtype=dq.dtype), dq.shape)
    A = np.block([[np.broadcast_to(turning, dq.shape), one], [dq, dv]])
    return A, np.concatenate([np.zeros_like(dtau), dtau], axis=-2)


def step_by_columns(step: Function) -> Function:
    """A and B of a step of any kind: its derivative along unit vectors, all in one batch of one kernel."""
    directions = ("dq", "dv", "dtau")
    along = replace(jvp(step, ("q", "v", "tau")), loops=False)

    def recipe(ask: Ask, q: Any, v: Any, tau: Any, dt: Any, *f_ext: Any) -> tuple[Any, Any]:
        nv = ask.tree.nv
        known = {"q": q[..., None, :], "v": v[..., None, :], "tau": tau[..., None, :], "dt": dt[..., None]}
        known |= dict(zip(directions, np.split(np.eye(3 * nv), 3, axis=1), strict=True))
        if f_ext:
            known["f_ext"] = f_ext[0][..., None, :, :]
        reached = ask(along, *[known[name] for name in along.inputs if name in known])
        both = np.swapaxes(np.concatenate(reached, axis=-1), -1, -2)
        return both[..., : 2 * nv], both[..., 2 * nv :]

    inputs = {name: kind for name, kind in _STEP.items() if name in step.inputs}
    name = f"linearize/{step.name}"
    return Function(name, by_recipe, inputs, _OUTPUTS, optional=("f_ext",), recipe=recipe, double=True)


_OUTPUTS = {"A": "dense:2nv,2nv", "B": "dense:2nv,nv"}
_FLOW = {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"}
_STEP = {"q": "q", "v": "v", "tau": "tau", "dt": "robot", "f_ext": "force"}


def _function(integrator: str | None, acting: AtJoints, in_space: bool = False) -> Function:
    name = "linearize" + (f"/{integrator}" if integrator else "") + ("/carried" if in_space else "") + acting.suffix
    if integrator is None:

        def slopes(links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None) -> Any:
            return accelerations_and_derivatives(links, q, v, tau, f_ext, acting)[1]

        algorithm = partial(linearized, slopes=slopes)
        recipe = partial(rolled, slopes=FORWARD_DYNAMICS_DERIVATIVES[acting])
        return Function(name, algorithm, _FLOW, _OUTPUTS, optional=("f_ext",), recipe=recipe, steepness=1)
    options: Any = {"step": STEPS[integrator], "acting": acting, "in_space": in_space}
    algorithm, recipe = partial(linearized_step, **options), partial(_rolled_step, **options)
    steepness = 16 if integrator == "midpoint" else 1  # products of whole matrices
    return Function(name, algorithm, _STEP, _OUTPUTS, optional=("f_ext",), recipe=recipe, steepness=steepness)


LINEARIZE = {(name, acting): _function(name, acting) for name in (None, *STEPS) for acting in AT_JOINTS}
"""By the name of an integrator, or None for the equations of motion, and by what acts at joints."""

LINEARIZE_CARRIED = {acting: _function("semi_implicit", acting, in_space=True) for acting in AT_JOINTS}
"""The step of "semi_implicit" where joints that turn in space stand behind others."""
