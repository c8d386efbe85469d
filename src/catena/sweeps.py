"""The one primitive all algorithms use: sweeps over the links, and fields that carry values from one sweep to the next.

An algorithm loops over ``links.base_to_tip()`` or ``links.tip_to_base()`` and keeps what must outlive the loop's body
in fields: ``V[k]``, ``V[k.parent]``, ``P[k.parent] += …``. Here the links are real and a field is a plain dictionary,
for scalars of any kind: floats, mpmath, SymPy or traced expressions (the unrolled kernels). In
:mod:`catena.trace.recorder` a link stands for all of its kind of joint, and a field is memory: the same
algorithm then leaves a loop behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from catena.model.joints import JOINT_TYPES, JointType, Screw
from catena.model.lowering.lowered import OF_JOINT, Lowered
from catena.scalars import Scalar, arctan2, is_zero, sqrt
from catena.spatial import (
    Axes,
    Dofs,
    Force,
    Mat3,
    Motion,
    RigidInertia,
    ShiftAlong,
    Sym3,
    Transform,
    Turn,
    TurnAbout,
    Vec3,
)

INERTIA = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""The constants that a link's inertia is made of."""


class Link:
    """One link as an algorithm sees it: its inertia, its joint and its parent, in internal frames."""

    parent: Any
    solid: bool
    """Whether the link's own inertia has an inverse."""
    on_solid: bool
    """Whether the parent's has; True on the base where the link's own has."""
    only_child = False
    """Whether the parent is known to have no other child, and so is untouched until this link is joined to it."""

    armature: Dofs
    """Rotor inertia of each degree of freedom."""
    damping: Dofs
    """Torque per speed that each degree of freedom loses."""
    friction: Dofs
    """Torque that each degree of freedom loses to dry friction when it moves."""
    stiffness: Dofs
    """Torque per displacement with which a spring pulls each degree of freedom back."""
    rest: Dofs
    """Where the springs are slack, as a displacement from zero."""

    def __init__(self, joint_type: type[JointType], constants: Mapping[str, Scalar], *of_joint: Dofs) -> None:
        """`of_joint` are Dofs in the order of :data:`~catena.model.lowering.lowered.OF_JOINT`."""
        self.joint_type, self.constants = joint_type, constants
        self.armature, self.damping, self.friction, self.stiffness, self.rest = of_joint

    def adopt(self, parameters: Mapping[str, Any]) -> None:
        """Take inertia, armature, losses and springs from fields of parameters instead of the model.

        A link's ten numbers are in the frame that the user knows: mass, first moment, and moments about its origin in
        Pinocchio's order. Carrying them to the internal frame is linear in them.
        """
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = parameters["inertial"][self]
        M = self.frame.congruence(RigidInertia(m, Vec3(hx, hy, hz), Sym3(xx, xy, xz, yy, yz, zz)))
        self.constants = {**self.constants, **dict(zip(INERTIA, (M.m, *M.h, *M.I), strict=True))}
        for name in OF_JOINT.values():
            setattr(self, name, parameters[name][self])

    def _get(self, *names: str) -> list[Scalar]:
        return [self.constants[name] for name in names]

    @property
    def M(self) -> RigidInertia:
        """The link's own inertia at its frame."""
        m, hx, hy, hz, *moments = self._get(*INERTIA)
        return RigidInertia(m, Vec3(hx, hy, hz), Sym3(*moments))

    @property
    def strain(self) -> Scalar:
        """What the joint's spring and those of its followers hold where they hold least together, in J."""
        return self.constants["strain"]

    def joint(self, q: Dofs) -> tuple[Transform, Axes]:
        """φ, which carries forces from this link to its parent (.T carries motions back), and the joint's axes H."""
        ct, st, a, b, d, ca, sa, angle, c, s, slide, pitch = self._get(
            "ct", "st", "a", "b", "d", "ca", "sa", "phi", "cp", "sp", "r", "pitch"
        )
        placement = Transform.of(
            TurnAbout("z", ct, st), ShiftAlong("x", a), ShiftAlong("y", b), ShiftAlong("z", d), TurnAbout("x", ca, sa)
        )
        motion = self.joint_type.motion(q, pitch, Screw(angle, c, s, slide))
        return placement.then(motion), self.joint_type.axes(q, pitch)

    def bias_acceleration(self, V: Motion, H: Axes, q: Dofs, v: Dofs) -> Motion:
        """a(k): the acceleration of the link that is due to velocities alone."""
        return V.cross(H.T @ v) + self.joint_type.axes_rate(q, v)

    def rotor_bias(self, H: Axes, v: Dofs, armature: Dofs | None = None) -> Dofs:
        """The torques that rotors (armature) need at constant speeds v, because a joint's axes H move with its link.

        The rotors of a joint have the kinetic energy ½ vᵀ A v in its own speeds v, A = diag(armature). Where speeds are
        rates of coordinates that is all; where they are a motion seen from the link (planar, spherical, free joints),
        the momenta A v are carried along by that motion. The bias is linear in the armature, which may be given.
        """
        A = self.armature if armature is None else armature
        if self._at_rest(A):
            return Dofs([0] * self.joint_type.nv)
        return H @ (H.T @ v).cross(_along(H, A * v))

    def rotor_bias_slope(self, H: Axes, v: Dofs, dv: Dofs) -> Dofs:
        """How :meth:`rotor_bias` changes when the speeds v change at the rate dv."""
        if self._at_rest(self.armature):
            return Dofs([0] * self.joint_type.nv)
        A = self.armature
        return H @ ((H.T @ dv).cross(_along(H, A * v)) + (H.T @ v).cross(_along(H, A * dv)))

    def rotor_coriolis(self, H: Axes, v: Dofs, x: Dofs) -> Dofs:
        """The rotors' part of C(q, v) x by Christoffel's symbols: skew in x, and :meth:`rotor_bias` where x = v."""
        if self._at_rest(self.armature):
            return Dofs([0] * self.joint_type.nv)
        A, V, X = self.armature, H.T @ v, H.T @ x
        turned = V.cross(_along(H, A * x)) + X.cross(_along(H, A * v))
        relative = H @ Force.of(V.cross(X).components)
        return (A * relative + H @ turned) * Dofs([0.5] * len(A))

    def _at_rest(self, armature: Dofs) -> bool:
        """Whether rotors with this inertia have no momenta that a joint's motion could carry along."""
        return self.joint_type.flat or all(is_zero(x) for x in armature)

    @property
    def frame(self) -> Transform:
        """From this link's internal frame to the frame the user knows."""
        R = Mat3(*self._get(*[f"F{i}{j}" for i in "xyz" for j in "xyz"]))
        x, y, z = self._get("Fx", "Fy", "Fz")
        return Transform.shift(Vec3(x, y, z)).then(Transform.of(Turn(R)))


def _along(H: Axes, momenta: Dofs) -> Force:
    """The momentum with these parts along the axes, which are unit vectors."""
    return Force.of((H.T @ momenta).components)


class Field(Protocol):
    """One value for each link, and one for the base."""

    def __getitem__(self, link: Any) -> Any:
        """The value at a link, or at ``links.base``."""

    def __setitem__(self, link: Any, value: Any) -> None:
        """Set the value at a link, or at ``links.base``."""


class Links(Protocol):
    """The links of a mechanism, to sweep over."""

    base: Any
    tip: Any
    gravity: Motion

    def fields(self, names: str) -> Sequence[Field]:
        """New fields, one for each of the names."""

    def base_to_tip(self) -> Iterator[Any]:
        """Every link after its parent."""

    def tip_to_base(self) -> Iterator[Any]:
        """Every link before its parent."""

    def adopting(self, parameters: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Have gravity, the links' inertias and what their joints have from parameters for a while, not the model."""


def at_base(links: Links, value: Any) -> Field:
    """A field that holds a value at the base alone: something of the whole mechanism."""
    (field,) = links.fields("at_base")
    field[links.base] = value
    return field


class Nowhere:
    """What the base takes in when nobody asks for it."""

    def __add__(self, other: Any) -> Nowhere:
        return self


class Base:
    """The parent of the links that stand on the ground."""

    index = -1


class RealLink(Link):
    """A link of a given mechanism, with its number."""

    leader: RealLink
    """The link whose joint this one's follows: itself unless joints mimic each other."""
    ratio: Scalar = 1
    """How far the joint moves when its leader moves by one."""

    def __init__(
        self, index: int, v_start: int, joint_type: type[JointType], constants: Mapping[str, Scalar], *of_joint: Dofs
    ) -> None:
        super().__init__(joint_type, constants, *of_joint)
        self.index, self.v_start, self.leader = index, v_start, self


class RealField(dict[int, Any]):
    """A value for each link's number, written and read link by link."""

    def __getitem__(self, link: Any) -> Any:
        if link.index < 0:
            return self.get(-1, Nowhere())
        return super().__getitem__(link.index)

    def __setitem__(self, link: Any, value: Any) -> None:
        super().__setitem__(link.index, value)


def _sharpen(constants: dict[str, Scalar]) -> None:
    """Make each cosine and sine a point of the unit circle in the scalar's own precision, not just in a float's."""
    for c, s in (("ct", "st"), ("ca", "sa"), ("cp", "sp")):
        if constants[c] != 0 and constants[s] != 0:
            length = sqrt(constants[c] * constants[c] + constants[s] * constants[s])
            constants[c], constants[s] = constants[c] / length, constants[s] / length
    constants["phi"] = arctan2(constants["sp"], constants["cp"])


def _lowered_constants(lowered: Lowered, number: Callable[[float], Scalar]) -> list[dict[str, Scalar]]:
    columns = {name: column.tolist() for name, column in lowered.constants.items()}
    found = [{name: number(column[i]) for name, column in columns.items()} for i in range(lowered.n)]
    if number is not float:
        for constants in found:
            _sharpen(constants)
    return found


class RealLinks:
    """The links of a mechanism, one object each, with constants of the scalar type that ``number`` makes of a float.

    ``constants`` of each link, where they are given, take the place of the lowered ones.
    """

    def __init__(
        self,
        lowered: Lowered,
        number: Callable[[float], Scalar] = float,
        constants: Sequence[Mapping[str, Scalar]] | None = None,
    ) -> None:
        self.base, self.lowered = Base(), lowered
        self.gravity = Motion(Vec3.zero(), Vec3(*[number(g) for g in lowered.gravity.tolist()]))
        self._links: list[RealLink] = []
        of_joint = [getattr(lowered, name).tolist() for name in OF_JOINT.values()]
        solid, on_solid = lowered.solid.tolist(), lowered.on_solid.tolist()
        constants = _lowered_constants(lowered, number) if constants is None else constants
        for i, (parent, code) in enumerate(zip(lowered.parent.tolist(), lowered.joint_type.tolist(), strict=True)):
            joint_type = JOINT_TYPES[code]
            start = int(lowered.v_start[i])
            dofs = [Dofs([number(x) for x in column[start : start + joint_type.nv]]) for column in of_joint]
            link = RealLink(i, start, joint_type, constants[i], *dofs)
            link.parent = self._links[parent] if parent >= 0 else self.base
            link.solid, link.on_solid = solid[i], on_solid[i]
            self._links.append(link)
        if lowered.followers is not None:
            for i, follows in lowered.followers.rules.items():
                self._links[i].leader, self._links[i].ratio = self._links[follows.leader], number(follows.ratio)

    @property
    def nv(self) -> int:
        """The degrees of freedom of the whole mechanism, those of joints that mimic others included."""
        return int(self.lowered.v_start[-1])

    @property
    def leaders(self) -> list[RealLink]:
        """The links whose joints follow no other."""
        return [link for link in self._links if link.leader is link]

    @contextmanager
    def adopting(self, parameters: Mapping[str, Any]) -> Iterator[None]:
        """Have gravity, the links' inertias and what their joints have from parameters for a while, not the model."""
        before = self.gravity, [dict(vars(link)) for link in self._links]
        self.gravity = Motion(Vec3.zero(), Vec3(*parameters["gravity"]))
        for link in self._links:
            link.adopt(parameters)
        try:
            yield
        finally:
            self.gravity, own = before
            for link, attributes in zip(self._links, own, strict=True):
                vars(link).update(attributes)

    @property
    def tip(self) -> Any:
        """The last link of a chain, for what its fields hold after all sweeps."""
        return self._links[-1]

    def __len__(self) -> int:
        return len(self._links)

    def __iter__(self) -> Iterator[RealLink]:
        return iter(self._links)

    def fields(self, names: str) -> list[RealField]:
        """New empty fields, one for each of the names."""
        return [RealField() for _ in names.split()]

    def base_to_tip(self) -> Iterator[RealLink]:
        """Every link after its parent."""
        return iter(self._links)

    def tip_to_base(self) -> Iterator[RealLink]:
        """Every link before its parent."""
        return reversed(self._links)

    def coordinates(self, values: Sequence[Scalar], space: str) -> RealField:
        """A field of Dofs from one long vector: ``space`` "q" or "v" tells how many numbers belong to each joint."""
        start = self.lowered.q_start if space == "q" else self.lowered.v_start
        field = RealField()
        for link in self._links:
            field[link] = Dofs(list(values[int(start[link.index]) : int(start[link.index + 1])]))
        return field
