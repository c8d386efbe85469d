"""One step in time of a closed chain: any integrator around its forward dynamics, and a way back to where loops close.

Accelerations are those of :mod:`catena.algorithms.closed_chains`. They are unique where constraints are redundant too,
though forces are not: the contact system is damped, by far less than what independent directions have in it, and solved
again for what that leaves short (proximal iterations). So no rank has to be decided on the way.

A step ends with M⁻¹Jᵀ where it leads: along these directions q is moved until the loops are closed, and v until their
rates vanish, both as little as possible in kinetic energy. One factorization serves both, as Newton's method with a
Jacobian that is kept. For unrolled kernels only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from catena.algorithms.closed_chains import free_innovations, rates, residual
from catena.algorithms.closure_tolerances import CORRECTIONS, DAMPING, ROUNDS
from catena.algorithms.contact_system import Closure, Contact, combined, less, rows_of, smooth
from catena.algorithms.force_elements import ForceElement
from catena.algorithms.integrators import State, step_function
from catena.functions.function import Function
from catena.scalars import Scalar, largest, where
from catena.spatial import Dofs
from catena.sweeps import Field, Links


def accelerations(
    links: Links,
    q: Field,
    v: Field,
    tau: Field,
    f_ext: Field | None = None,
    gains: Sequence[Scalar] | None = None,
    driven: Sequence[Scalar] | None = None,
    *,
    closures: Sequence[Closure],
) -> Field:
    """Joint accelerations; see :func:`catena.algorithms.closed_chains.forward_dynamics`."""
    contact = Contact(links, q, closures, DAMPING)
    e = free_innovations(links, contact.whitener, q, v, tau, f_ext)
    return smooth(links, contact.whitener, contact.met(e, contact.wanted(v, gains, driven), ROUNDS)[1])


def on_the_constraints(
    links: Any, q: Field, v: Field, driven: Sequence[Scalar] | None = None, *, closures: Sequence[Closure]
) -> State:
    """The state near (q, v) that meets the constraints; q stays where a correction would not bring it nearer.

    Rows that are driven have residuals and rates that are given, in place of zero.
    """
    contact = Contact(links, q, closures, DAMPING)

    def moved(short: Sequence[Scalar]) -> Field:
        """M⁻¹Jᵀ λ with the rates −`short`."""
        still = dict.fromkeys(range(links.nv), 0)
        return smooth(links, contact.whitener, combined(still, contact.C, contact.factors.solve([-x for x in short])))

    r = residual(links, q, closures=closures)
    places, speeds, _ = rows_of(driven, len(r))
    r = less(r, places)
    for _ in range(CORRECTIONS):
        trial, change = links.fields("trial")[0], moved(r)
        for k in links.base_to_tip():
            trial[k] = k.joint_type.integrate(q[k], change[k])
        new = less(residual(links, trial, closures=closures), places)
        better = largest(new) < largest(r)
        q, r = _chosen(links, better, trial, q), [where(better, x, y) for x, y in zip(new, r, strict=True)]
    for _ in range(CORRECTIONS):
        change = moved(less(rates(links, q, v, closures=closures), speeds))
        v = _sum(links, v, change)
    return q, v


def _chosen(links: Links, condition: Any, x: Field, y: Field) -> Field:
    (chosen,) = links.fields("chosen")
    for k in links.base_to_tip():
        chosen[k] = Dofs([where(condition, a, b) for a, b in zip(x[k], y[k], strict=True)])
    return chosen


def _sum(links: Links, x: Field, y: Field) -> Field:
    (total,) = links.fields("total")
    for k in links.base_to_tip():
        total[k] = x[k] + y[k]
    return total


def closed_step(
    integrator: str,
    name: str,
    closures: Sequence[Closure],
    forces: Sequence[ForceElement],
    more: Mapping[str, str],
    projected: bool,
    recipe: Callable[..., Any],
    in_space: bool,
    telling: bool,
) -> Function:
    """One step as a function, as of :func:`catena.algorithms.integrators.step_function`; `name` tells closures apart.

    `more` are its last inputs and their kinds: Baumgarte's "gains", and what rows are "driven" at. `projected` says
    whether it ends on the constraints. `recipe` is for many links.
    """

    def stepping(known: Mapping[str, Any]) -> Function:
        def algorithm(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
            return accelerations(links, q, v, tau, f_ext, closures=closures, **known)

        dynamics = Function(
            f"closed/{name}", algorithm, {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"}, {"a": "v"}
        )
        return step_function(integrator, dynamics, forces, in_space, telling)

    plain = stepping({})

    def algorithm(links: Links, *given: Any) -> tuple[Field, ...]:
        known = dict(zip(more, given[len(plain.inputs) :], strict=True))
        step = stepping(known) if more else plain
        q, v, *memory = step.algorithm(links, *given[: len(plain.inputs)])
        if projected and closures and not telling:
            q, v = on_the_constraints(links, q, v, known.get("driven"), closures=closures)
        return q, v, *memory

    words = [plain.name, *more, *(["projected"] if projected else [])]
    inputs = {**plain.inputs, **more}
    return replace(plain, name="/".join(words), algorithm=algorithm, inputs=inputs, recipe=recipe)
