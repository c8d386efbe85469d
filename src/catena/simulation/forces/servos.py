"""What of a servo a step takes at its end: `catena.controllers.servo` gives what acts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from catena.algorithms.force_elements import Action, ForceElement
from catena.scalars import Scalar
from catena.spatial import Dofs
from catena.sweeps import Field, Links


class _Pulled(Action):
    """Servos during a step: what they do besides the torques that they have at its start."""

    def __init__(self, v: Field, dt: Scalar, kp: Field, kd: Field) -> None:
        self.v, self.dt, self.kp, self.kd = v, dt, kp, kd

    def torques(self, k: Any) -> Dofs | None:
        """−kp h v: the joint will have moved on by then."""
        return -Dofs([self.dt * (p * u) for p, u in zip(self.kp[k], self.v[k], strict=True)])

    def armature(self, k: Any) -> Dofs | None:
        """h² kp + h kd."""
        return Dofs([self.dt * (self.dt * p + d) for p, d in zip(self.kp[k], self.kd[k], strict=True)])


class Servos(ForceElement):
    """Joints that are pulled to a target by kp (target − q) − kd v, of which a controller gives what acts at once."""

    name, at_links = "servos", False
    inputs: Mapping[str, str] = MappingProxyType({"kp": "joint", "kd": "joint"})
    shared = ("kp", "kd")

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """The servos in a step of length dt."""
        return _Pulled(v, dt, *given)
