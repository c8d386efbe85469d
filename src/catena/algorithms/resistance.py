"""Dry friction of joints that sticks: a force that a step takes where it leads.

Dry friction is a bristle that each joint drags along. Stretched by z it pulls back with F z / δ; it is never longer
than δ, and slides beyond that with the friction F that the model gives. z is remembered from step to step. A force of
constant size turns with the speed: taken at the end of a step it is −F v₁ / |v|, which cannot drive a joint back, but
grows and shrinks with the speed. What a joint gained or lost in the step before is therefore taken away again, so far
as the joint does not come near to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from catena.algorithms.force_elements import Action, ForceElement
from catena.scalars import Scalar, absolute, is_zero, maximum, minimum, where
from catena.spatial import Dofs
from catena.sweeps import Field, Links

DEFLECTION = 1e-7
"""δ of joints: how far a joint gives way, in rad or m, before it slides."""


class _Bristle(NamedTuple):
    """What friction does at one degree of freedom: its pull and what accelerations add to it, for each unit of F.

    Then the bristle before the step stretches it, and 1 where the joint slides, 0 where it sticks.
    """

    pull: Scalar
    added: Scalar
    z: Scalar
    slides: Scalar


class _Friction(Action):
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


class JointFriction(ForceElement):
    """Dry friction of all joints, which sticks."""

    name = "sticking"
    inputs: Mapping[str, str] = MappingProxyType({"bristles": "joint", "gained": "joint"})
    memory = ("bristles", "gained")
    at_links = False

    def numbers(self, robot: Any) -> Mapping[str, Any]:
        """Bristles that nothing stretches, of joints that gained nothing."""
        return {name: [0.0] * robot.nv for name in self.memory}

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """Friction in a step of length dt from (q, v)."""
        return _Friction(v, dt, *given)
