"""System: several robots and objects, and the constraints that close loops between them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import of_systems
from catena.arguments.words import one_of
from catena.errors import ModelError, UnknownNameError, UnsupportedError, kind_of
from catena.functions import engine
from catena.functions.closures import Closures
from catena.functions.store import Compiled
from catena.later import reading_files
from catena.load import Base, Source, load_closed
from catena.model import checks
from catena.model.constraints import AnyConstraint, Constraint, Coupling
from catena.model.couplings import check_couplings
from catena.model.forest import WORLD, Standing, forest
from catena.model.joints import JOINT_TYPES
from catena.model.lie import rotation_from
from catena.model.mimic import couplings, refuse_followers, whole_tree
from catena.model.parts import JointPart, Parts
from catena.model.sound import check_sound
from catena.model.tree import Tree
from catena.operators.asking import HasClosedOperators
from catena.parameters.record import Parameters, record_of
from catena.parameters.trees import with_parameters
from catena.questions.closed_derivatives import ClosedDerivatives
from catena.questions.closed_inverse_kinematics import ClosedInverseKinematics
from catena.questions.closed_links import ClosedLinks
from catena.questions.closed_operational import ClosedOperational
from catena.questions.closed_torques import Torques
from catena.questions.configurations import ConfigurationSpace
from catena.questions.description import Description
from catena.questions.dynamics import JointTorques
from catena.questions.energy import Energies
from catena.questions.operational import Operational
from catena.questions.parameters import HasParameters
from catena.robot import Robot
from catena.simulation.closed_rollouts import ClosedRollouts
from catena.system_file import is_toml, system_of

Array = npt.NDArray[Any]
Robots = Sequence[Robot] | Mapping[str, Robot]


class _Unanswered(UnsupportedError, AttributeError):
    """A question that only Robots answer; an AttributeError too, so that `hasattr` says so."""


class System(
    Description,
    ClosedOperational,
    Operational,
    Energies,
    JointTorques,
    Torques,
    ClosedLinks,
    ClosedInverseKinematics,
    ClosedDerivatives,
    ClosedRollouts,
    HasClosedOperators,
    HasParameters,
    ConfigurationSpace,
):
    """Robots and objects side by side in one world, and constraints between their frames.

        two = catena.System(
            {"left": arm, "right": arm},
            objects=[box],
            constraints=[catena.Weld("left/tool", "box"), catena.Weld("right/tool", "box")],
            placements={"right": ((1.2, 0.0, 0.0), (0.0, 0.0, np.pi))},
        )
        a, forces = two.forward_dynamics(q, v, tau)

    All trees together are one forest: q, v and torques are those of the robots, then of the objects, one after the
    other, and frames are "left/tool", "box" (an object's own body) or "world". Placements, energies, Jacobians and the
    mass matrix are those of the forest, `system.forest`; dynamics, and whatever needs the inverse of the mass matrix,
    are those of the closed system, or refused by name. Systems are immutable and can be pickled.

    Args:
        robots: Robots, which go by their own names; or a mapping from names to Robots.
        objects: the same for what is held: Robots whose root moves freely.
        constraints: what is held between frames, such as `catena.Weld`, and couplings of joints.
        placements: where robots stand, by name: a position (3 numbers, m), or a position and a rotation (3x3 matrix,
            3 angles, or quaternion). Objects, and robots that are left out, are at the origin.
        gravity: 3 numbers, m/s²; that of the robots if left out.
        mimic: "coupled": joints that a file says mimic others do, by couplings that come after the other constraints;
            "independent": they move on their own, as in the robots.
        name: the name of the system.
    """

    __slots__ = ("__weakref__", "closures", "constraints", "tree")

    constraints: tuple[AnyConstraint, ...]

    def __init__(
        self,
        robots: Robots,
        objects: Robots = (),
        constraints: Iterable[AnyConstraint] = (),
        *,
        placements: Mapping[str, Any] | None = None,
        gravity: npt.ArrayLike | None = None,
        mimic: str = "coupled",
        name: str = "system",
    ) -> None:
        mimic = one_of("mimic", mimic, ("coupled", "independent"))
        found = _named("robots", robots), _named("objects", objects)
        if mimic == "independent":
            for _, robot in (*found[0], *found[1]):
                refuse_followers(robot.tree, "a system with mimic='independent'")
        if not isinstance(placements, Mapping | None):
            raise ModelError(f"placements: expected a mapping from names, found {kind_of(placements)}")
        places = dict(placements or {})
        trees = [_standing(n, whole_tree(r.tree), places, kind == 1) for kind in (0, 1) for n, r in found[kind]]
        if places:
            raise UnknownNameError.among("robot to place", next(iter(places)), [tree.name for tree in trees])
        if not isinstance(constraints, Iterable):
            raise ModelError(f"constraints: expected a list of them, found {kind_of(constraints)}")
        tree = forest(trees, gravity, name)
        self._set(tree, (*constraints, *(couplings(tree) if mimic == "coupled" else ())))

    @classmethod
    @of_systems("held")
    def load(
        cls,
        path_or_text: Source,
        base: Base = "fixed",
        *,
        package_roots: Iterable[str | os.PathLike[str]] = (),
        mimic: str = "coupled",
    ) -> System:
        """Load one closed mechanism from a file, or from the text of one: a robot with the loops that the file closes.

            bar = catena.System.load(catena.robots.path("four_bar"))
            two = catena.System.load("two_arms.toml")

        Of MJCF, the equality constraints <connect>, <weld> and <joint> close loops; those on tendons and flexes, and
        those that are not active, are left out with a warning. Of URDF, mimic joints are coupled. Names are those of
        the file, without anything before them, and the base keeps its name. Other arguments are those of `catena.load`
        and of System.

        TOML (a path that ends in ".toml", or text of several lines that does not start with "<") says which robots and
        objects there are, where they stand and what holds them together; the files that it names lie in its own folder
        or in `package_roots`, and `base` and `mimic` are what it says. Errors are LoadErrors that name the table, its
        line and the key.
        """
        mimic = one_of("mimic", mimic, ("coupled", "independent"))
        if is_toml(path_or_text):
            return system_of(path_or_text, package_roots, cls)
        robot, constraints = load_closed(path_or_text, base, package_roots)
        return restored(robot.tree, (*constraints, *(couplings(robot.tree) if mimic == "coupled" else ())))

    def _set(self, tree: Tree, constraints: tuple[AnyConstraint, ...]) -> None:
        check_sound(tree)
        engine.prepare()
        for attribute, value in (("tree", tree), ("_compiled", Compiled(tree)), ("_own", ())):
            object.__setattr__(self, attribute, value)
        for constraint in constraints:
            self._check(constraint)
        _check_names(constraints)
        check_couplings(constraints)
        object.__setattr__(self, "constraints", constraints)
        closures = Closures(constraints, self.frame, self.joint_index, partial(_sparse_contact, tree))
        object.__setattr__(self, "closures", closures)

    @property
    def _closed(self) -> bool:
        return bool(self.constraints)

    @property
    def forest(self) -> Robot:
        """The robots and objects without the constraints, as one robot."""
        return _forest(self.tree)

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """The names of the constraints, in the order of `forces`."""
        return tuple(constraint.name for constraint in self.constraints)

    def _check(self, constraint: AnyConstraint) -> None:
        if not isinstance(constraint, Constraint | Coupling):
            raise ModelError(
                f"a constraint: expected one such as catena.Weld('left/tool', 'box'), found a "
                f"{type(constraint).__name__}"
            )
        try:
            if isinstance(constraint, Coupling):
                self._check_joints(constraint)
            else:
                self._check_frames(constraint)
        except UnknownNameError as error:
            raise UnknownNameError(f"constraint {constraint.name!r}: {error}") from None

    def _check_joints(self, coupling: Coupling) -> None:
        for joint in coupling.terms:
            kind = JOINT_TYPES[self.tree.joint_type[self.joint_index(joint)]]
            if kind.nv != 1:
                raise ModelError(
                    f"constraint {coupling.name!r}: joint {joint!r} is {kind.name} and has {kind.nv} degrees of "
                    "freedom; a coupling takes joints of one",
                    joint=joint,
                )

    def _check_frames(self, constraint: Constraint) -> None:
        first, second = (self.frame(side.frame).link for side in constraint.sides)
        if first == second:
            body = self.base_name if first < 0 else self.tree.link_names[first]
            raise ModelError(
                f"constraint {constraint.name!r}: both frames are fixed to {body!r}, so there is nothing to hold; "
                "give frames of two bodies",
                link=body,
            )

    @of_systems("held")
    def with_constraints(self, constraints: Iterable[AnyConstraint]) -> System:
        """The same robots and objects under other constraints."""
        return restored(self.tree, tuple(constraints))

    @of_systems("held")
    def with_parameters(self, parameters: Parameters | npt.ArrayLike, *, check: bool = True) -> System:
        """The same system with other inertial parameters, armature, damping, friction, springs and gravity.

        Arguments are those of `Robot.with_parameters`; the numbers are those of `system.parameters()`.
        """
        return restored(with_parameters(self.tree, record_of(self.tree, parameters, check)), self.constraints)

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(Robot, name) and not hasattr(System, name):
            raise _Unanswered(
                f"{name} is asked of a Robot: there is none that honours the constraints of a System; "
                f"system.forest.{name} is that of the robots and objects without them"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a System cannot be changed (tried to set {name!r}); see with_constraints")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a System cannot be changed (tried to delete {name!r})")

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, System) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[Any, ...]:
        return self.tree, *[(c.name, c.content()) for c in self.constraints]

    def __reduce__(self) -> tuple[Any, ...]:
        """Only the tree and the constraints are pickled."""
        return restored, (self.tree, self.constraints)


def restored(tree: Tree, constraints: tuple[AnyConstraint, ...]) -> System:
    """A system from its forest and its constraints."""
    system = System.__new__(System)
    system._set(tree, constraints)
    return system


def _forest(tree: Tree) -> Robot:
    return tree.once("forest", lambda: Robot(tree))


def _sparse_contact(tree: Tree, q: Array, links: Array, wrenches: Array) -> Callable[[Array], Array]:
    """Contact systems of many constraints, by operators."""
    with reading_files("operators"):
        from catena.operators.closed import sparse_contact

    return sparse_contact(_forest(tree), q, links, wrenches)


def _named(what: str, robots: Robots) -> list[tuple[str, Robot]]:
    """Robots with their names, which must differ."""
    if isinstance(robots, Robot):
        raise ModelError(f"{what}: expected a list or a mapping, found a Robot; give [{robots.name}]")
    if not isinstance(robots, Iterable):
        raise ModelError(f"{what}: expected a list or a mapping of Robots, found {kind_of(robots)}")
    found = list(robots.items()) if isinstance(robots, Mapping) else [(r.name, r) for r in map(_checked, robots)]
    for name, robot in found:
        _checked(robot)
        if not isinstance(name, str) or not name or name == WORLD or "/" in name:
            raise ModelError(f"{what}: expected names without '/' other than {WORLD!r}, found {name!r}")
    if (twice := _twice(name for name, _ in found)) is not None:
        raise ModelError(f"{what}: several are named {twice!r}; give a mapping, such as {{'left': arm, 'right': arm}}")
    return found


def _checked(robot: Any) -> Robot:
    if not isinstance(robot, Robot):
        raise ModelError(f"a system is made of Robots, found {kind_of(robot)}")
    return robot


def _standing(name: str, tree: Tree, places: dict[str, Any], is_object: bool) -> Standing:
    given = places.pop(name, (0.0, 0.0, 0.0))
    paired = isinstance(given, Sequence) and len(given) == 2 and not isinstance(given, str)
    position, rotation = given if paired else (given, np.eye(3))
    part = JointPart(f"placement of {name}", "fixed", WORLD, name, rotation_from(rotation), position)
    turn, shift = checks.joint_placements(Parts(JointPart, [part]))
    return Standing(name, tree, turn[0], shift[0], is_object)


def _check_names(constraints: Sequence[AnyConstraint]) -> None:
    if (name := _twice(constraint.name for constraint in constraints)) is not None:
        raise ModelError(f"several constraints are named {name!r}; give them different names with name=…")


def _twice(names: Iterable[str]) -> str | None:
    """The first name that there is more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
