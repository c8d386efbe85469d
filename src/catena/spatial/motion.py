"""Spatial vectors, angular part first: motions (ω, v) and forces (moment, force)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, overload

from catena.scalars import Scalar
from catena.spatial.vectors import Vec3

Spatial = TypeVar("Spatial", bound="_SpatialVector")


@dataclass(slots=True)
class _SpatialVector:
    angular: Vec3
    linear: Vec3

    @classmethod
    def zero(cls: type[Spatial]) -> Spatial:
        """Six zeros."""
        return cls(Vec3.zero(), Vec3.zero())

    @classmethod
    def of(cls: type[Spatial], components: list[Scalar]) -> Spatial:
        """From six components, angular first."""
        return cls(Vec3(*components[:3]), Vec3(*components[3:]))

    @property
    def components(self) -> list[Scalar]:
        """The six components, angular first."""
        return [*self.angular, *self.linear]

    def __add__(self: Spatial, o: Spatial) -> Spatial:
        return type(self)(self.angular + o.angular, self.linear + o.linear)

    def __sub__(self: Spatial, o: Spatial) -> Spatial:
        return type(self)(self.angular - o.angular, self.linear - o.linear)

    def __neg__(self: Spatial) -> Spatial:
        return type(self)(-self.angular, -self.linear)

    def __mul__(self: Spatial, s: Scalar) -> Spatial:
        return type(self)(self.angular * s, self.linear * s)


@dataclass(slots=True)
class Motion(_SpatialVector):
    """A spatial velocity or acceleration: (ω, v) of the point at the frame's origin."""

    def dot(self, force: Force) -> Scalar:
        """The power of a force along this motion."""
        return self.angular.dot(force.angular) + self.linear.dot(force.linear)

    @overload
    def cross(self, o: Motion) -> Motion: ...
    @overload
    def cross(self, o: Force) -> Force: ...
    def cross(self, o: Motion | Force) -> Motion | Force:
        """The rate of change of ``o`` carried along by this motion: motion × motion, or motion ×* force."""
        w, v = self.angular, self.linear
        if isinstance(o, Motion):
            return Motion(w.cross(o.angular), w.cross(o.linear) + v.cross(o.angular))
        return Force(w.cross(o.angular) + v.cross(o.linear), w.cross(o.linear))


@dataclass(slots=True)
class Force(_SpatialVector):
    """A wrench or a momentum: (moment about the frame's origin, force)."""
