"""Robot: an immutable mechanism and every question a user asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from catena.arguments.links import LinkLike, link_name
from catena.arguments.scalars import a_robot
from catena.errors import ModelError, ShapeError, kind_of
from catena.exchange.asking import Exchanging
from catena.functions import engine
from catena.functions.store import Compiled
from catena.model import checks, edit
from catena.model.merge import compose
from catena.model.parts import JointPart, Parts
from catena.model.sound import check_sound
from catena.model.tree import Frame, Tree
from catena.operators.asking import HasOperators
from catena.parameters import trees
from catena.parameters.record import Parameters, record_of
from catena.questions.configurations import ConfigurationSpace
from catena.questions.denoc import Denoc
from catena.questions.derivative_products import DerivativeProducts
from catena.questions.derivatives import Derivatives
from catena.questions.description import Description
from catena.questions.dynamics import Dynamics
from catena.questions.energy import Energies
from catena.questions.inverse_kinematics import InverseKinematics
from catena.questions.links import LinkDynamics
from catena.questions.operational import Operational
from catena.questions.parameters import HasParameters
from catena.questions.stepping import Stepping
from catena.simulation.rollouts import Rollouts

Array = npt.NDArray[Any]


class Robot(
    Description,
    ConfigurationSpace,
    Dynamics,
    Derivatives,
    DerivativeProducts,
    Stepping,
    Rollouts,
    Operational,
    Energies,
    LinkDynamics,
    InverseKinematics,
    HasOperators,
    Denoc,
    HasParameters,
    Exchanging,
):
    """A robot: a tree of rigid links joined to a base, and all that can be asked of it.

        robot = catena.load("arm.urdf")
        a = robot.forward_dynamics(q, v, tau)  # q is (..., nq); v, tau and a are (..., nv)

    Robots are made by `catena.load`, `catena.Builder`, `catena.rod_chain` and other makers of chains, or from a `Tree`.
    They are immutable, hashable, picklable and safe to share between threads; two are equal when they have the same
    content. Arrays broadcast over leading dimensions. The machine code for a question is made when it is first asked,
    and kept on disk.
    """

    __slots__ = ("__weakref__", "tree")

    def __init__(self, tree: Tree) -> None:
        if not isinstance(tree, Tree):
            raise ModelError(f"a Robot is made from a Tree, not from {kind_of(tree)}; see catena.Builder")
        check_sound(tree)
        engine.prepare()
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "_compiled", Compiled(tree))
        object.__setattr__(self, "_own", ())

    def with_gravity(self, gravity: npt.ArrayLike) -> Robot:
        """The same robot under another gravity.

            on_the_moon = robot.with_gravity((0, 0, -1.62))

        `gravity` is 3 numbers in the base's frame, m/s².
        """
        return type(self)(edit.with_gravity(self.tree, gravity))

    def with_parameters(self, parameters: Parameters | npt.ArrayLike, *, check: bool = True) -> Robot:
        """The same robot with other inertial parameters, armature, damping, friction, springs and gravity.

            stronger = robot.with_parameters(robot.parameters().replace(armature=0.1))

        `parameters` is a record, or a vector such as `robot.parameters().vector`, 10 links + 5 nv + 3 numbers. A set
        that no robot can have is refused with a ModelError that names the link or joint and the reason, unless
        `check=False`; masses and joint numbers below zero are refused in any case. To compute with many sets no robot
        is needed: see `parameters=` of `forward_dynamics` and others. O(n).
        """
        return type(self)(trees.with_parameters(self.tree, record_of(self.tree, parameters, check)))

    def with_joints(
        self,
        *,
        damping: Any = None,
        friction: Any = None,
        armature: Any = None,
        stiffness: Any = None,
        rest: Any = None,
        limits: Any = None,
        velocity_limit: Any = None,
        effort_limit: Any = None,
    ) -> Robot:
        """The same robot with other damping, friction, armature, springs or limits of its joints.

            robot.with_joints(damping=0.1, limits={"elbow": (-2.0, 2.0)})

        Each is one number for all joints, one for each degree of freedom, (nv,), or a mapping from joints, by name or
        number, to numbers, which leaves other joints as they are; what is not given stays. `stiffness` is that of
        springs, N m/rad or N/m, and `rest` where they are slack. `limits` are a pair (lower, upper) of numbers or of
        arrays (nq,), or a mapping from joints to such pairs, in rad or m. O(n).
        """
        given = {
            "damping": damping,
            "friction": friction,
            "armature": armature,
            "stiffness": stiffness,
            "rest": rest,
            "velocity_limit": velocity_limit,
            "effort_limit": effort_limit,
        }
        return type(self)(trees.with_joints(self, limits, **given))

    def subtree(self, link: LinkLike) -> Robot:
        """The part of the robot that hangs on a link, as a robot of its own.

        It has `link` (a name, a number or one of `robot.links`), the joint that carries it and all links beyond, on a
        fixed base in place of the link's parent. Gravity keeps its numbers, now in the frame of that parent. O(n).
        """
        if isinstance(link, str) and link == self.base_name:
            return self
        return type(self)(edit.subtree(self.tree, self.link_index(link)))

    def locked(self, positions: Mapping[Any, npt.ArrayLike]) -> Robot:
        """The robot with some joints locked (frozen) at given positions.

            stiff = arm.locked({"elbow": 0.5, "wrist": 0.0})

        `positions` maps joints, by name or number, to their coordinates: one number (rad or m), or one for each
        coordinate. The joints disappear from q and v; the links that they carry are merged into their parents and stay
        as frames. O(n).
        """
        if not isinstance(positions, Mapping):
            raise ShapeError(f"locked: positions must map joints to coordinates, got {kind_of(positions)}")
        return type(self)(edit.locked(self.tree, {self.joint_index(joint): q for joint, q in positions.items()}))

    def attach(
        self,
        other: Robot,
        link: LinkLike,
        rotation: npt.ArrayLike | None = None,
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        prefix: str = "",
    ) -> Robot:
        """The robot with another one attached to it: the base of `other` is bolted to `link`.

            with_hand = arm.attach(hand, "flange", position=(0, 0, 0.1), prefix="hand_")

        `link` is a link, a frame or the base. `rotation` (3, 3) and `position` (3 numbers, m) place the base of `other`
        in that link's frame; `prefix` goes before the names of its links and joints, which must differ from those that
        are there. The coordinates of `other` come after all others. Gravity is this robot's. O(n).
        """
        other = a_robot("attach", other)
        name, turned = link_name(self.tree, link), np.eye(3) if rotation is None else rotation
        bolt = JointPart(f"attaching {other.name}", "fixed", name, "", turned, position)
        turn, shift = checks.joint_placements(Parts(JointPart, [bolt]))
        at = self.frame(name)
        place = Frame(at.link, *compose((at.rotation, at.position), (turn[0], shift[0])))
        return type(self)(edit.attached(self.tree, [edit.Added(other.tree, place, prefix)]))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Robot cannot be changed (tried to set {name!r}); see with_gravity, locked, attach")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Robot cannot be changed (tried to delete {name!r})")

    def __eq__(self, other: object) -> bool:
        return self.tree == other.tree if isinstance(other, Robot) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.tree)

    def __reduce__(self) -> tuple[type[Robot], tuple[Tree]]:
        """Only the tree is pickled: what was computed from it is computed again when wanted."""
        return type(self), (self.tree,)
