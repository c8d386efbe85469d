"""Where one frame is in another, multiplied out: for what is asked for in the base's frame."""

from __future__ import annotations

from dataclasses import dataclass

from catena.spatial.motion import Force, Motion
from catena.spatial.transform import ShiftAlong, Transform
from catena.spatial.vectors import Mat3, Vec3


@dataclass(slots=True)
class Pose:
    """A frame seen from another: the columns of R are its axes, p is its origin."""

    R: Mat3
    p: Vec3

    @classmethod
    def identity(cls) -> Pose:
        """The frame itself."""
        return cls(Mat3(1, 0, 0, 0, 1, 0, 0, 0, 1), Vec3.zero())

    def then(self, phi: Transform) -> Pose:
        """The child frame of a transform that starts at this frame."""
        rows, p = list(self.R.rows), self.p
        for stage in phi.stages:
            if isinstance(stage, ShiftAlong):
                p = p + Vec3(*[row.cycle(stage.axis)[2] for row in rows]) * stage.d
            else:
                rows = [stage.motion_to_child(Motion(Vec3.zero(), row)).linear for row in rows]
        return Pose(Mat3(*[x for row in rows for x in row]), p)

    def after(self, phi: Transform) -> Pose:
        """The same frame, seen from the parent frame of a transform that ends where this pose starts."""
        columns, p = list(self.R.columns), self.p
        for stage in reversed(phi.stages):
            if isinstance(stage, ShiftAlong):
                p = p + Vec3.from_cycle(stage.axis, 0, 0, stage.d)
            else:
                *columns, p = [stage.motion_to_parent(Motion(Vec3.zero(), u)).linear for u in (*columns, p)]
        return Pose(Mat3(*[x for column in columns for x in column]).T, p)

    def motion_out(self, V: Motion) -> Motion:
        """A motion given in this frame, in the outer one, about the outer origin."""
        w = self.R @ V.angular
        return Motion(w, self.R @ V.linear + self.p.cross(w))

    def motion_in(self, V: Motion) -> Motion:
        """A motion given in the outer frame, in this one."""
        return Motion(self.R.T @ V.angular, self.R.T @ (V.linear - self.p.cross(V.angular)))

    def force_in(self, f: Force) -> Force:
        """A wrench or momentum given in the outer frame, about the outer origin, in this one."""
        return Force(self.R.T @ (f.angular - self.p.cross(f.linear)), self.R.T @ f.linear)

    def force_out(self, f: Force) -> Force:
        """A wrench or momentum given in this frame, in the outer one, about the outer origin."""
        linear = self.R @ f.linear
        return Force(self.R @ f.angular + self.p.cross(linear), linear)
