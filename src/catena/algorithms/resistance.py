"""Stiff forces that resist a motion, taken where a step leads: dry friction that sticks, the ends of a joint's range.

A force f − (B/h) v₁ that depends on the speeds at the end of a step, v₁ = v + h a, is f − (B/h) v − B a: what the
accelerations add to it, B, is diagonal in joint coordinates, or a 3 x 3 block at a point of a link. It goes to the
armature, or to the inertia of the link, inside the factorization: the step costs as much as forward dynamics and is
stable however stiff the force is.

Dry friction is a bristle that each joint drags along. Stretched by z it pulls back with F z / δ; it is never longer
than δ, and slides beyond that with the friction F that the model gives. z is remembered from step to step. A force of
constant size turns with the speed: taken at the end of a step it is −F v₁ / |v|, which cannot drive a joint back, but
grows and shrinks with the speed. What a joint gained or lost in the step before is therefore taken away again, so far
as the joint does not come near to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from catena.algorithms.altered import Altered, AlteredLink
from catena.scalars import Scalar, absolute, is_zero, maximum, minimum, where
from catena.spatial import ArticulatedInertia, Dofs, Force, RigidInertia, Transform, Vec3
from catena.sweeps import Field, Links

DEFLECTION = 1e-7
"""δ of joints: how far a joint gives way, in rad or m, before it slides."""


class Resisting:
    """What resists during one step. Here nothing does: laws override what they have to say."""

    def torques(self, k: Any) -> Dofs | None:
        """Torques at the joint of link k that do not depend on its accelerations; None for none."""
        return None

    def armature(self, k: Any) -> Dofs | None:
        """What the torques lose for each unit of acceleration; None for nothing."""
        return None

    def at_link(self, k: Any) -> tuple[Force, ArticulatedInertia] | None:
        """The same on the link itself, a wrench and an inertia, both in its internal frame; None for nothing."""
        return None

    def near(self, k: Any) -> Vec3 | None:
        """A point of the link near which that acts, in its internal frame; None where it does so anywhere."""
        return None

    def remembered(self, links: Links, v: Field) -> list[Field]:
        """What the next step has to know, when this one has led to speeds v."""
        return []


class Resistance(Protocol):
    """A law of resistance: `inputs` by name with their kinds, of which `memory` are those that a step gives anew."""

    @property
    def name(self) -> str:
        """What tells it apart from others."""

    @property
    def inputs(self) -> Mapping[str, str]:
        """The arrays that it takes."""

    @property
    def memory(self) -> tuple[str, ...]:
        """Those of them that are carried from step to step."""

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Resisting:
        """What resists in a step of length dt from (q, v)."""


class _Bristle(NamedTuple):
    """What friction does at one degree of freedom: its pull and what accelerations add to it, for each unit of F.

    Then the bristle before the step stretches it, and 1 where the joint slides, 0 where it sticks.
    """

    pull: Scalar
    added: Scalar
    z: Scalar
    slides: Scalar


class _Friction(Resisting):
    """Dry friction during a step from speeds `v`: how far `bristles` are stretched, how much speed joints gained.

    Where a joint has stuck, that is zero. In the step in which it breaks away, slow and after it has stuck, nothing is
    known of where its speed leads, and friction is F.
    """

    def __init__(self, v: Field, dt: Scalar, bristles: Field, gained: Field) -> None:
        self.v, self.dt, self.bristles, self.gained = v, dt, bristles, gained

    def _each(self, k: Any) -> list[_Bristle]:
        """What friction does at a joint."""
        return [self._one(*given) for given in zip(self.bristles[k], self.v[k], self.gained[k], strict=True)]

    def _one(self, z: Scalar, v: Scalar, gained: Scalar) -> _Bristle:
        """What it does at a degree of freedom of speed v."""
        ahead, speed = z + 2.0 * self.dt * v, absolute(v)
        slides = sliding(z * v, absolute(z) >= DEFLECTION, absolute(ahead) > 3.0 * DEFLECTION)
        share = slides(DEFLECTION / maximum(absolute(ahead), DEFLECTION), 1.0)
        more = slides(2.0 * self.dt * minimum(maximum(gained, -0.5 * speed), speed), 0.0)
        full = where(ahead < 0.0, -1.0, 1.0)
        fast = where(speed * self.dt < DEFLECTION, 0.0, 1.0)
        moves = slides(where(absolute(gained) > 0.0, 1.0, fast), 1.0)
        pull = where(moves > 0.0, share * (ahead - full * more) * (1.0 / DEFLECTION), full)
        added = moves * share * (self.dt * self.dt * (2.0 / DEFLECTION))
        return _Bristle(pull, added, slides(full * DEFLECTION, z), slides(1.0, 0.0))

    def torques(self, k: Any) -> Dofs | None:
        """−F z / δ with the bristle of the end of the step, so far as it does not depend on accelerations."""
        if all(is_zero(x) for x in k.friction):
            return None
        return Dofs([-F * one.pull for F, one in zip(k.friction, self._each(k), strict=True)])

    def armature(self, k: Any) -> Dofs | None:
        """2 h² F / δ, or less where the joint slides."""
        if all(is_zero(x) for x in k.friction):
            return None
        return Dofs([F * one.added for F, one in zip(k.friction, self._each(k), strict=True)])

    def remembered(self, links: Links, v: Field) -> list[Field]:
        """The bristles, stretched by the step and never longer than δ, and the speed that joints gained."""
        bristles, gained = links.fields("bristles gained")
        for k in links.base_to_tip():
            each = [*zip(self._each(k), v[k], self.v[k], strict=True)]
            new = [one.z + self.dt * u for one, u, _ in each]
            bristles[k] = Dofs([minimum(maximum(z, -DEFLECTION), DEFLECTION) for z in new])
            gained[k] = Dofs([one.slides * (absolute(u) - absolute(before)) for one, u, before in each])
        return [bristles, gained]


def sliding(product: Scalar, full: Any, far: Any) -> Callable[[Scalar, Scalar], Scalar]:
    """A function that chooses between what a bristle does when it slides and when it sticks.

    It slides when it is `full`, as long as can be, or is led `far`, to three times that, which no sticking bristle is.
    One that is let go, the `product` of its stretch and its speed below zero, sticks: friction would otherwise drive
    what turns back to and fro.
    """

    def choose(slides: Scalar, sticks: Scalar) -> Scalar:
        return where(product >= 0.0, where(full, slides, where(far, slides, sticks)), sticks)

    return choose


class JointFriction:
    """Dry friction of all joints, which sticks."""

    name = "sticking"
    inputs: Mapping[str, str] = MappingProxyType({"bristles": "v", "gained": "v"})
    memory = ("bristles", "gained")

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Resisting:
        """Friction in a step of length dt from (q, v)."""
        return _Friction(v, dt, *given)


class _Ends(Resisting):
    """Springs at the ends of the ranges of joints, during a step."""

    def __init__(
        self, q: Field, v: Field, dt: Scalar, lower: Field, upper: Field, stiffness: Field, damping: Field
    ) -> None:
        self.q, self.v, self.dt = q, v, dt
        self.lower, self.upper, self.stiffness, self.damping = lower, upper, stiffness, damping

    def _pushes(self, k: Any) -> Iterator[tuple[Scalar, Scalar]]:
        """For each degree of freedom the torque of its spring, and what it loses for each unit of acceleration.

        Beyond an end by e, k (e + h v₁) + d v₁ pushes back, if it does so with the speed of the start.
        """
        h = self.dt
        for i, (x, u) in enumerate(zip(self.q[k], self.v[k], strict=True)):
            stiffness, damping = self.stiffness[k][i], self.damping[k][i]
            slope = h * stiffness + damping
            above, below = x - self.upper[k][i], self.lower[k][i] - x
            down, up = stiffness * above + slope * u, stiffness * below - slope * u
            torque = where(above > 0.0, -maximum(down, 0.0), where(below > 0.0, maximum(up, 0.0), 0.0))
            yield torque, where(absolute(torque) > 0.0, h * slope, 0.0)

    def torques(self, k: Any) -> Dofs | None:
        """Back into the range, where the joint is beyond it."""
        return Dofs([torque for torque, _ in self._pushes(k)]) if k.joint_type.flat else None

    def armature(self, k: Any) -> Dofs | None:
        """h² k + h d of a spring that pushes."""
        return Dofs([added for _, added in self._pushes(k)]) if k.joint_type.flat else None


class JointLimits:
    """Springs with dampers that push joints back into their ranges; joints with quaternions have none."""

    name = "limits"
    inputs: Mapping[str, str] = MappingProxyType(
        {"lower": "coordinates", "upper": "coordinates", "limit_stiffness": "v", "limit_damping": "v"}
    )
    memory = ()

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Resisting:
        """The springs in a step of length dt."""
        return _Ends(q, v, dt, *given)


class _Pulled(Resisting):
    """Servos during a step: what they do besides the torques that they have at its start."""

    def __init__(self, v: Field, dt: Scalar, kp: Field, kd: Field) -> None:
        self.v, self.dt, self.kp, self.kd = v, dt, kp, kd

    def torques(self, k: Any) -> Dofs | None:
        """−kp h v: the joint will have moved on by then."""
        return -Dofs([self.dt * (p * u) for p, u in zip(self.kp[k], self.v[k], strict=True)])

    def armature(self, k: Any) -> Dofs | None:
        """h² kp + h kd."""
        return Dofs([self.dt * (self.dt * p + d) for p, d in zip(self.kp[k], self.kd[k], strict=True)])


class Servos:
    """Joints that are pulled to a target by kp (target − q) − kd v, of which a controller gives what acts at once."""

    name = "servos"
    inputs: Mapping[str, str] = MappingProxyType({"kp": "v", "kd": "v"})
    memory = ()

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Resisting:
        """The servos in a step of length dt."""
        return _Pulled(v, dt, *given)


def resisted(links: Links, resisting: Sequence[Resisting]) -> Altered:
    """Links that resist accelerations, each at its joint and by itself, as forces do that a step takes at its end."""

    def altered(k: Any) -> _ResistedLink:
        added = [each.armature(k) for each in resisting]
        armature = sum((x for x in added if x is not None), start=k.armature)
        props = tuple(x[1] for each in resisting if (x := each.at_link(k)) is not None)
        return _ResistedLink(k, armature=armature, _props=props)

    return Altered(links, altered)


class _ResistedLink(AlteredLink):
    """A link with another armature, and another inertia in the mass matrix; its bias forces are as before.

    Wrenches on it come in its internal frame.
    """

    _props: tuple[ArticulatedInertia, ...]

    @property
    def M(self) -> RigidInertia:
        """The link's own inertia, with what resists in its articulated form."""
        M = self._link.M
        return _Propped(M.m, M.h, M.I, self._props) if self._props else M

    @property
    def frame(self) -> Transform:
        """Where wrenches are given: here."""
        return Transform.of()


@dataclass(slots=True)
class _Propped(RigidInertia):
    """The inertia of a link that is held by forces of its own."""

    props: tuple[ArticulatedInertia, ...] = ()

    @property
    def articulated(self) -> ArticulatedInertia:
        """The inertia that accelerations meet."""
        return sum(self.props, start=RigidInertia(self.m, self.h, self.I).articulated)


@dataclass(frozen=True)
class Wrenches:
    """The wrenches on links, in their internal frames: those that are given, and those of what resists."""

    f_ext: Field | None
    resisting: Sequence[Resisting]

    def __getitem__(self, k: Any) -> Force:
        given = [] if self.f_ext is None else [k._link.frame @ self.f_ext[k]]
        found = [x[0] for r in self.resisting if (x := r.at_link(k)) is not None]
        return sum([*given, *found], start=Force.zero())
