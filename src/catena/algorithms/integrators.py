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
from itertools import islice
from typing import Any

from catena.algorithms.altered import Altered, AlteredLink
from catena.algorithms.joint_losses import losses_at
from catena.algorithms.resistance import JointFriction, Resistance, Resisting, Wrenches, resisted
from catena.algorithms.springs import slack, springs_at, stretch_at
from catena.functions.function import Function
from catena.scalars import Scalar, is_zero
from catena.spatial import Dofs, Force
from catena.sweeps import Field, Links

Accelerations = Callable[..., Field]
"""`accelerations(links, q, v, after)`: of the joints at a state, a time `after` the start of the step, under what acts
then; with a further argument `ahead`, a time, springs and damping act as they will after that time."""

Acts = Callable[[Scalar, Field, Field], Field]
"""What acts as a law: a field of torques or wrenches at a time after the start of a step, and a state (q, v)."""

State = tuple[Field, Field]


def semi_implicit(links: Links, accelerations: Accelerations, q: Field, v: Field, dt: Scalar) -> State:
    """Euler's method with the new speeds in q, of order 1; without losses, energy errors stay bounded for long."""
    return advance(links, q, v, accelerations(links, q, v, 0), dt)


def advance(links: Links, q: Field, v: Field, a: Field, dt: Scalar) -> State:
    """The state that accelerations a lead to in dt, new speeds in q; what turns with a link is turned along."""
    q1, v1 = links.fields("q1 v1")
    for k in links.base_to_tip():
        q1[k], v1[k] = k.joint_type.advance(q[k], v[k], a[k], dt)
    return q1, v1


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


def linearly_implicit(links: Links, accelerations: Accelerations, q: Field, v: Field, dt: Scalar) -> State:
    """Semi-implicit Euler with springs and damping taken at the end of the step, of order 1: stable however stiff.

    A spring k and a damper d act on q + h v₁ and on v₁ = v + h a. What a adds to their torques, −(h²k + h d) a, is
    diagonal in joint coordinates: it goes to the armature, and all costs as much as forward dynamics.
    """
    return semi_implicit(links, lambda links, q, v, after: accelerations(links, q, v, after, dt), q, v, dt)


@dataclass(frozen=True)
class _Acting:
    """The torques that are left for the dynamics at (q, v), at each link: tau less losses and springs.

    Springs are taken where speeds lead within a time `ahead`. With `sticking`, dry friction is among what resists.
    """

    tau: Field
    q: Field
    v: Field
    losses: bool
    springs: bool
    ahead: Scalar
    resisting: Sequence[Resisting] = ()
    sticking: bool = False

    def __getitem__(self, k: Any) -> Dofs:
        torques: Dofs = self.tau[k]
        if self.losses:
            torques = torques - (k.damping * self.v[k] if self.sticking else losses_at(k, self.v[k]))
        if self.springs and not slack(k):
            torques = torques - self._springs(k)
        for resisting in self.resisting:
            more = resisting.torques(k)
            torques = torques if more is None else torques + more
        return torques

    def _springs(self, k: Any) -> Dofs:
        """What springs take; ahead of time as far as the stiffness along the axes says."""
        moved = self.v[k].scaled(self.ahead)
        if k.joint_type.flat:
            return k.stiffness * (stretch_at(k, self.q[k]) + moved)  # type: ignore[no-any-return]
        return springs_at(k, self.q[k]) + k.stiffness * moved  # type: ignore[no-any-return]


def _stiffened(links: Links, dt: Scalar, losses: bool, springs: bool) -> Altered:
    """Links whose joints resist accelerations as springs and dampers do within a step; their rotors' bias is as before.

    What they add goes to the armature.
    """

    def stiffened(k: Any) -> AlteredLink:
        armature = k.armature
        if losses:
            armature = armature + k.damping.scaled(dt)
        if springs and not slack(k):
            armature = armature + k.stiffness.scaled(dt * dt)
        return AlteredLink(k, armature=armature)

    return Altered(links, stiffened)


INTEGRATORS: Mapping[str, Callable[..., State]] = {
    "semi_implicit": semi_implicit,
    "midpoint": midpoint,
    "rk4": rk4,
    "linearly_implicit": linearly_implicit,
}
"""Steps by name."""

ONE_STAGE = ("semi_implicit", "linearly_implicit")
"""Those that ask for accelerations once, at the start: only these know where the step will lead."""


def rates_function(dynamics: Function, joint_losses: bool = False, springs: bool = True) -> Function:
    """The right-hand side of the equations of motion: how fast coordinates q and speeds v change."""

    def algorithm(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> State:
        (rates,) = links.fields("rates")
        for k in links.base_to_tip():
            rates[k] = k.joint_type.rates(q[k], v[k])
        acting = _Acting(tau, q, v, joint_losses, springs, 0)
        return rates, dynamics.algorithm(links, q, v, acting, f_ext)

    inputs = {"q": "q", "v": "v", "tau": "v", "f_ext": "force"}
    name = "/".join(["rates", dynamics.name, *_words(joint_losses, springs)])
    return replace(dynamics, name=name, algorithm=algorithm, inputs=inputs, outputs={"q": "q", "v": "v"})


def _words(joint_losses: bool, springs: bool) -> list[str]:
    return [*(["losses"] if joint_losses else []), *(["springs"] if springs else [])]


def step_function(
    integrator: str,
    dynamics: Function,
    joint_losses: bool = False,
    springs: bool = True,
    resistances: Sequence[Resistance] = (),
) -> Function:
    """One step as a function: from (q, v), torques tau, a step dt and perhaps wrenches to the state (q, v) after it.

    `dynamics` is any function of forward dynamics, without losses: those, and springs, are taken into account here.
    Torques and wrenches may be laws (:data:`Acts`). Further inputs are those of `resistances`, which are for steps of
    one stage (:data:`ONE_STAGE`), and what they remember is given after the state.
    """
    advance = INTEGRATORS[integrator]
    inputs = {"q": "q", "v": "v", "tau": "v", "dt": "robot", "f_ext": "force"}
    inputs.update({name: kind for law in resistances for name, kind in law.inputs.items()})
    sticking = any(isinstance(law, JointFriction) for law in resistances)

    def algorithm(
        links: Links, q: Field, v: Field, tau: Field | Acts, dt: Scalar, f_ext: Field | Acts | None = None, *more: Any
    ) -> tuple[Field, ...]:
        given = iter(more)
        resisting = [law.during(links, q, v, dt, list(islice(given, len(law.inputs)))) for law in resistances]

        def accelerations(links: Links, q: Field, v: Field, after: Scalar, ahead: Scalar = 0) -> Field:
            torques: Any = tau(after, q, v) if callable(tau) else tau
            wrenches: Any = f_ext(after, q, v) if callable(f_ext) else f_ext
            acting = _Acting(torques, q, v, joint_losses, springs, ahead, resisting, sticking)
            swept: Any = links if is_zero(ahead) else _stiffened(links, ahead, joint_losses, springs)
            if resisting:
                swept, wrenches = resisted(swept, resisting), Wrenches(wrenches, resisting)
            return dynamics.algorithm(swept, q, v, acting, wrenches)  # type: ignore[no-any-return]

        state = advance(links, accelerations, q, v, dt)
        return *state, *[field for each in resisting for field in each.remembered(links, state[1])]

    return Function(
        "/".join(
            ["step", integrator, dynamics.name, *_words(joint_losses, springs), *[law.name for law in resistances]]
        ),
        algorithm,
        inputs=inputs,
        outputs={"q": "q", "v": "v", **{name: inputs[name] for law in resistances for name in law.memory}},
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
