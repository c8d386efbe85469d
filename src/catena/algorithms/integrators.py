"""One step in time, on the configuration manifold: integrators, each around any algorithm of forward dynamics.

A step leads from (q, v) to the state a time dt later, under torques and wrenches that are held during the step, or that
are laws, asked at every stage. Stages move from q
along tangent vectors u, as `integrate` does, so that quaternions stay what they are. Where speeds are seen from the
moving link (planar, spherical and free joints), q(t) = q exp(u(t)) has the rate u̇ = v + ½ [u, v] + 1/12 [u, [u, v]] + …
(Munthe-Kaas 1998), without which a method of Runge and Kutta would lose its order; elsewhere u̇ = v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from catena.algorithms.carried import carried
from catena.algorithms.force_elements import Acting, Action, ForceElement, Wrenches, exerted, resisted
from catena.algorithms.one_sided import settled
from catena.functions.function import Function
from catena.scalars import Scalar, is_zero
from catena.spatial import Dofs, Force
from catena.sweeps import Field, Links

Accelerations = Callable[..., Field]
"""`accelerations(links, q, v, after)`: of the joints at a state, a time `after` the start of the step, under what acts
then; with a further argument `ahead`, a time, forces that are not stiff act as they will after that time."""

Acts = Callable[[Scalar, Field, Field], Field]
"""What acts as a law: a field of torques or wrenches at a time after the start of a step, and a state (q, v)."""

State = tuple[Field, Field]

Advance = Callable[[Links, Field, Field, Field, Scalar], State]
"""Where accelerations lead to in a step of one stage: of q, v, a and dt."""


def advance(links: Links, q: Field, v: Field, a: Field, dt: Scalar) -> State:
    """The state that accelerations a lead to in dt, new speeds in q; what turns with a link is turned along."""
    q1, v1 = links.fields("q1 v1")
    for k in links.base_to_tip():
        q1[k], v1[k] = k.joint_type.advance(q[k], v[k], a[k], dt)
    return q1, v1


def semi_implicit(
    links: Links, accelerations: Accelerations, q: Field, v: Field, dt: Scalar, advance: Advance = advance
) -> State:
    """Euler's method with the new speeds in q, of order 1.

    Without losses, springs and gravity keep their energy for long. What speeds make of each other (centrifugal and
    Coriolis' forces) is taken from the start: it changes the energy by a share that is proportional to dt.
    """
    return advance(links, q, v, accelerations(links, q, v, 0), dt)


def midpoint(links: Links, accelerations: Accelerations, q: Field, v: Field, dt: Scalar) -> State:
    """The explicit midpoint rule, of order 2: a step with the rates found half a step ahead."""
    q1, v1 = links.fields("q1 v1")
    half = dt * 0.5
    qm, vm, _ = stage(links, q, v, v, accelerations(links, q, v, 0), half)
    a = accelerations(links, qm, vm, half)
    for k in links.base_to_tip():
        v1[k] = v[k] + a[k].scaled(dt)
        q1[k] = k.joint_type.integrate(q[k], vm[k].scaled(dt))  # the term of [u, v] vanishes in the middle
    return q1, v1


def rk4(links: Links, accelerations: Accelerations, q: Field, v: Field, dt: Scalar) -> State:
    """The classical method of Runge and Kutta, of order 4, on the manifold: four forward dynamics."""
    q1, v1 = links.fields("q1 v1")
    half, sixth = dt * 0.5, dt * (1 / 6)
    a1 = accelerations(links, q, v, 0)
    q2, v2, u2 = stage(links, q, v, v, a1, half)
    a2 = accelerations(links, q2, v2, half)
    q3, v3, u3 = stage(links, q, v, u2, a2, half)
    a3 = accelerations(links, q3, v3, half)
    q4, v4, u4 = stage(links, q, v, u3, a3, dt)
    a4 = accelerations(links, q4, v4, dt)
    for k in links.base_to_tip():
        v1[k] = v[k] + (a1[k] + a2[k] + a2[k] + a3[k] + a3[k] + a4[k]).scaled(sixth)
        u = (v[k] + u2[k] + u2[k] + u3[k] + u3[k] + u4[k]).scaled(sixth)
        q1[k] = k.joint_type.integrate(q[k], u)
    return q1, v1


def stage(links: Links, q: Field, v: Field, u_rate: Field, v_rate: Field, dt: Scalar) -> tuple[Field, Field, Field]:
    """The state that rates lead to from (q, v) in dt, and the rate u̇ of the tangent vector u there."""
    qs, vs, rate = links.fields("qs vs rate")
    for k in links.base_to_tip():
        u = u_rate[k].scaled(dt)
        qs[k] = k.joint_type.integrate(q[k], u)
        vs[k] = v[k] + v_rate[k].scaled(dt)
        rate[k] = _tangent_rate(k, q[k], u, vs[k])
    return qs, vs, rate


def _tangent_rate(k: Any, q: Dofs, u: Dofs, v: Dofs) -> Dofs:
    """u̇ at q exp(u) where the joint has speeds v: the first terms of the inverse of the exponential's derivative."""
    if k.joint_type.flat:
        return v
    _, H = k.joint(q)  # of these joints, the axes are the same everywhere
    first = _bracket(H, u, v)
    return v + first.scaled(0.5) + _bracket(H, u, first).scaled(1 / 12)


def _bracket(H: Any, x: Dofs, y: Dofs) -> Dofs:
    """[x, y] of two motions of a joint, along its axes, which are unit vectors."""
    return H @ Force.of((H.T @ x).cross(H.T @ y).components)  # type: ignore[no-any-return]


def linearly_implicit(
    links: Links, accelerations: Accelerations, q: Field, v: Field, dt: Scalar, advance: Advance = advance
) -> State:
    """Semi-implicit Euler with springs and damping taken at the end of the step, of order 1: stable however stiff.

    A spring k and a damper d act on q + h v₁ and on v₁ = v + h a. What a adds to their torques, −(h²k + h d) a, is
    diagonal in joint coordinates: it goes to the armature, and all costs as much as forward dynamics.
    """
    return semi_implicit(links, lambda links, q, v, after: accelerations(links, q, v, after, dt), q, v, dt, advance)


@dataclass(frozen=True)
class _Left:
    """The torques that are left for the dynamics, at each link: tau and those of forces."""

    tau: Field
    actions: Sequence[Action]

    def __getitem__(self, k: Any) -> Dofs:
        torques: Dofs = self.tau[k]
        for each in self.actions:
            more = each.torques(k)
            torques = torques if more is None else torques + more
        return torques


INTEGRATORS: Mapping[str, Callable[..., State]] = {
    "semi_implicit": semi_implicit,
    "midpoint": midpoint,
    "rk4": rk4,
    "linearly_implicit": linearly_implicit,
}
"""Steps by name."""

ONE_STAGE = ("semi_implicit", "linearly_implicit")
"""Those that ask for accelerations once, at the start: only these know where the step will lead."""


def rates_function(dynamics: Function, forces: Sequence[ForceElement] = ()) -> Function:
    """The right-hand side of the equations of motion: how fast coordinates q and speeds v change."""
    acting = Acting(forces)  # none of them stiff

    def algorithm(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None, *given: Any) -> State:
        (rates,) = links.fields("rates")
        for k in links.base_to_tip():
            rates[k] = k.joint_type.rates(q[k], v[k])
        actions = acting.during(links, q, v, 0, dict(zip(acting.inputs, given, strict=True)))
        return rates, _moved(links, dynamics, q, v, tau, f_ext, actions, acting.at_links)

    inputs = {"q": "q", "v": "v", "tau": "tau", "f_ext": "force", **acting.inputs}
    name = "/".join(["rates", dynamics.name, *acting.words])
    return replace(dynamics, name=name, algorithm=algorithm, inputs=inputs, outputs={"q": "q", "v": "v"})


def _moved(
    links: Any,
    dynamics: Function,
    q: Field,
    v: Field,
    tau: Field,
    f_ext: Field | None,
    actions: Sequence[Action],
    resisting: bool,
) -> Field:
    """Accelerations under torques, wrenches and what forces do, `resisting` if some act on links or resist them."""
    if resisting:
        links, f_ext = resisted(links, actions), Wrenches(f_ext, actions)  # type: ignore[assignment]
    return dynamics.algorithm(links, q, v, _Left(tau, actions), f_ext)  # type: ignore[no-any-return]


def step_function(
    integrator: str,
    dynamics: Function,
    forces: Sequence[ForceElement] = (),
    in_space: bool = False,
    telling: bool = False,
) -> Function:
    """One step as a function: from (q, v), torques tau, a step dt and perhaps wrenches to the state (q, v) after it.

    `dynamics` is any function of forward dynamics. Torques and wrenches may be laws (:data:`Acts`). Further inputs are
    those of `forces`, and what they remember is given after the state. Stiff ones, for steps of one stage
    (:data:`ONE_STAGE`), are asked once, at the start of the step; all others at each stage. `in_space` says that steps
    of one stage are those of :mod:`catena.algorithms.carried`. With `telling` it gives, in place of the state, the
    wrench on each link that forces exert at the start of the step, and a point near which that acts, in the link's
    frame; zero where there is none.
    """
    in_space = in_space and integrator in ONE_STAGE
    advance = partial(INTEGRATORS[integrator], advance=carried) if in_space else INTEGRATORS[integrator]
    acting = Acting(forces)
    stiff, others = acting.only(lambda force: force.stiff), acting.only(lambda force: not force.stiff)
    inputs = {"q": "q", "v": "v", "tau": "tau", "dt": "robot", "f_ext": "force", **acting.inputs}

    def algorithm(
        links: Links, q: Field, v: Field, tau: Field | Acts, dt: Scalar, f_ext: Field | Acts | None = None, *given: Any
    ) -> tuple[Field, ...]:
        at = dict(zip(acting.inputs, given, strict=True))
        once = stiff.during(links, q, v, dt, at)
        acted: list[tuple[Field, Sequence[Action]]] = []

        def accelerations(links: Links, q: Field, v: Field, after: Scalar, ahead: Scalar = 0) -> Field:
            torques: Any = tau(after, q, v) if callable(tau) else tau
            wrenches: Any = f_ext(after, q, v) if callable(f_ext) else f_ext
            known = others.during(links, q, v, ahead, at)
            resisting = bool(once) or others.at_links or not is_zero(ahead)

            def solve(actions: Sequence[Action]) -> Field:
                return _moved(links, dynamics, q, v, torques, wrenches, actions, resisting)

            a, actions = settled(links, q, [*known, *once], solve)
            acted.append((a, actions))
            return a

        state = advance(links, accelerations, q, v, dt)
        told = exerted(links, q, *acted[0]) if telling else state
        ended = acted[-1][1][-len(once) :] if once else []
        return *told, *[field for each in ended for field in each.remembered(links, state[1])]

    said = [word for word, holds in (("telling", telling), ("carried", in_space)) if holds]
    return Function(
        "/".join(["step", integrator, dynamics.name, *said, *acting.words]),
        algorithm,
        inputs=inputs,
        outputs={**({"wrench": "force", "point": "point"} if telling else {"q": "q", "v": "v"}), **stiff.memory},
        optional=("f_ext",),
        positive=("dt",),
        regroup=dynamics.regroup,
        choose=dynamics.choose,
        cut=dynamics.cut,
    )


ADVANCE = Function(
    "advance",
    advance,
    inputs={"q": "q", "v": "v", "a": "v", "dt": "robot"},
    outputs={"q": "q", "v": "v"},
)
"""A step of Euler's with the new speeds in q, for accelerations that come from elsewhere."""

STAGE = Function(
    "stage",
    stage,
    inputs={"q": "q", "v": "v", "u_rate": "v", "v_rate": "v", "dt": "robot"},
    outputs={"q": "q", "v": "v", "rate": "v"},
)
"""One stage of a method of Runge and Kutta, for accelerations that come from elsewhere, as those of closed chains."""
