"""Forces that act in steps: what one is, and how steps take it where they lead.

A force f − (B/h) v₁ that depends on the speeds at the end of a step, v₁ = v + h a, is f − (B/h) v − B a: what the
accelerations add to it, B, is diagonal in joint coordinates, or an inertia at a link. It goes to the armature, or to
the inertia of the link, inside the factorization: the step costs as much as forward dynamics and is stable however
stiff the force is. What accelerations of *other* links and joints would add is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from catena.algorithms.altered import Altered, AlteredLink
from catena.algorithms.points import motions, outside
from catena.model.actuators import DRIVE
from catena.scalars import Scalar
from catena.spatial import ArticulatedInertia, Dofs, Force, RigidInertia, Transform, Vec3
from catena.sweeps import Field, Links

STIFF = "joint limits, the ground, servos, pins and drag"
"""The stiff forces of the package, in words."""

TAKEN = frozenset(
    ("q", "v", "a", "tau", "dt", "f_ext", "t", "count", "cost", "over", "bound", "gains", "parameters", "recalled")
) | frozenset(("target", "kp", "kd", "speed", "ahead", *DRIVE))
"""Names that arrays of rollouts, of controllers and of actuators have: no array of a force goes by them."""


class Action:
    """What a force does during one step, from its start.

    Give what there is, each a field or anything else that has something for each link; or override the methods.

    Args:
        wrench: on links, a `Force` each, in their internal frames and about the origins of these.
        inertia: what that loses for each unit of acceleration of the link, an `ArticulatedInertia` each.
        torque: at joints, `Dofs` each.
        armature: what that loses for each unit of acceleration of the joint, `Dofs` each.
        memory: what the next step has to know, in the order of the force's `memory`.
    """

    wrench: Any = None
    inertia: Any = None
    torque: Any = None
    added: Any = None
    memory: Sequence[Field] = ()
    one_sided: bool = False
    """Whether it only acts in some directions: see :mod:`catena.algorithms.one_sided`."""

    def __init__(
        self, wrench: Any = None, inertia: Any = None, torque: Any = None, armature: Any = None, memory: Any = ()
    ) -> None:
        self.wrench, self.inertia, self.torque, self.added, self.memory = wrench, inertia, torque, armature, memory

    def torques(self, k: Any) -> Dofs | None:
        """Torques at the joint of link k that do not depend on its accelerations; None for none."""
        return None if self.torque is None else self.torque[k]

    def armature(self, k: Any) -> Dofs | None:
        """What the torques lose for each unit of acceleration; None for nothing."""
        return None if self.added is None else self.added[k]

    def at_link(self, k: Any) -> tuple[Force, ArticulatedInertia | None] | None:
        """The same on the link itself, a wrench and an inertia, both in its internal frame; None for nothing."""
        if self.wrench is None:
            return None
        return self.wrench[k], None if self.inertia is None else self.inertia[k]

    def near(self, k: Any) -> Vec3 | None:
        """A point of the link near which that acts, in its internal frame; None where it does so anywhere."""
        return None

    def remembered(self, links: Links, v: Field) -> Sequence[Field]:
        """What the next step has to know, when this one has led to speeds v."""
        return self.memory

    def again(self, A: Field) -> Action:
        """The same, decided where a step with these accelerations of links leads."""
        return self

    def pressed(self, A: Field) -> Pressed:
        """Of what is one-sided, the forces at these accelerations of links, so far as they may act."""
        raise NotImplementedError


class Pressed(Action):
    """Forces that act as they are, however links accelerate."""

    def products(self, at_rest: Field, A: Field, pushed: Field) -> tuple[Scalar, Scalar]:
        """f·(G + C) f' and f·(G + C) f, from the accelerations of links without forces, with f' and with f."""
        raise NotImplementedError

    def scaled(self, share: Scalar) -> Pressed:
        """A share of the forces."""
        raise NotImplementedError


class ForceElement:
    """A force of a mechanism: subclass it to make one of your own, for `forces=[…]` of steps and rollouts.

    `during` is an algorithm: it is run on traced scalars, loops over `links.base_to_tip()` and `links.tip_to_base()`,
    and keeps what must outlive a loop's body in fields. It becomes part of the machine code of a step.
    """

    name: str
    """What tells it apart from others, in messages too."""
    memory: tuple[str, ...] = ()
    """Those of the arrays that a step gives anew, for the next one."""
    shared: tuple[str, ...] = ()
    """Those of them that are a controller's: they come from there."""
    at_links: bool = True
    """Whether it acts on links, with wrenches; a force that does not acts at joints alone."""
    stiff: bool = True
    """Whether it must be taken where steps lead, by integrators of one stage. One that need not be is asked at every
    stage of any integrator, with the state there and a `dt` of zero where what acts at that very moment is wanted."""
    loops: bool = True
    """Whether it does no more with links than to sweep over them; if not, it is for unrolled kernels only."""

    @property
    def inputs(self) -> Mapping[str, str]:
        """The arrays that `during` takes, by name with their kinds; see `catena.functions.function`."""
        return {}

    def on(self, robot: Any) -> ForceElement | None:
        """The force as it is traced for a robot or a system: itself, or what it becomes there; None if nothing."""
        return self

    def numbers(self, robot: Any) -> Mapping[str, Any]:
        """The arrays, by name, (...) and what their kinds say each; of those in `memory`, what it starts with."""
        return {}

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """What it does in a step of length dt from (q, v); `given` are the arrays, in the order of `inputs`."""
        raise NotImplementedError

    def too_long(self, robot: Any, dt: float) -> str:
        """What to say if steps are too long to follow it; nothing if they are not."""
        return ""


class Acting:
    """Forces that act together, their arrays under names that differ from each other."""

    def __init__(self, forces: Sequence[ForceElement] = ()) -> None:
        self.each: list[tuple[ForceElement, dict[str, str]]] = []
        """The forces, each with the names of its arrays among those of all: its own, numbered where these are taken."""
        taken = set(TAKEN)
        for force in forces:
            names = {own: own if own in force.shared else _free(own, taken) for own in force.inputs}
            self.each.append((force, names))
            taken.update(names.values())

    def only(self, chosen: Callable[[ForceElement], bool]) -> Acting:
        """Some of them, with the same names."""
        some = Acting()
        some.each = [(force, names) for force, names in self.each if chosen(force)]
        return some

    @property
    def inputs(self) -> dict[str, str]:
        """The kinds of all arrays, by name."""
        return {name: force.inputs[own] for force, names in self.each for own, name in names.items()}

    @property
    def memory(self) -> dict[str, str]:
        """The kinds of those that steps give anew, by name."""
        return {names[own]: force.inputs[own] for force, names in self.each for own in force.memory}

    @property
    def at_links(self) -> bool:
        """Whether some of them act on links."""
        return any(force.at_links for force, _ in self.each)

    @property
    def words(self) -> list[str]:
        """What names of functions end with."""
        return [force.name for force, _ in self.each]

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Mapping[str, Any]) -> list[Action]:
        """What all of them do in a step; `given` are arrays by name."""
        return [force.during(links, q, v, dt, [given[name] for name in names.values()]) for force, names in self.each]


def _free(own: str, taken: Container[str]) -> str:
    """The name itself, or the first number after it that makes it a free one."""
    return own if own not in taken else next(name for i in count(2) if (name := f"{own}{i}") not in taken)


def resisted(links: Links, actions: Sequence[Action]) -> Altered:
    """Links that resist accelerations, each at its joint and by itself, as forces do that a step takes at its end."""

    def altered(k: Any) -> _ResistedLink:
        added = [each.armature(k) for each in actions]
        armature = sum((x for x in added if x is not None), start=k.armature)
        found = [x[1] for each in actions if (x := each.at_link(k)) is not None]
        return _ResistedLink(k, armature=armature, _props=tuple(P for P in found if P is not None))

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
    """The wrenches on links, in their internal frames: those that are given, and those of forces."""

    f_ext: Field | None
    actions: Sequence[Action]

    def __getitem__(self, k: Any) -> Force:
        given = [] if self.f_ext is None else [k._link.frame @ self.f_ext[k]]
        found = [x[0] for each in self.actions if (x := each.at_link(k)) is not None]
        return sum([*given, *found], start=Force.zero())


def exerted(links: Links, q: Field, a: Field, actions: Sequence[Action]) -> tuple[Field, Field]:
    """The wrench on each link of what acted in a step with accelerations a, and a point near which it acts.

    A force gives a wrench f and an inertia P at a link, and acts with f − P J a, where J a is what a is on the link.
    Both are in the link's frame, and zero where there is none.
    """
    (wrench, point), (_, A) = links.fields("wrench point"), motions(links, q, a)
    for k in links.base_to_tip():
        found = [x for each in actions if (x := each.at_link(k)) is not None]
        acts = [f if P is None else f - P @ A[k] for f, P in found]
        wrench[k] = k.frame.inv @ sum(acts, start=Force.zero())
        places = [place for each in actions if (place := each.near(k)) is not None]
        point[k] = outside(k.frame, places[0]) if places else Vec3.zero()
    return wrench, point
