"""Links and joints as a user sees them: small views, made when asked for, of the rows of a Tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES
from catena.model.tree import Tree

Array = npt.NDArray[Any]
View = TypeVar("View", covariant=True)

_UNDIRECTED = ("spherical", "free")


class _Row:
    """A row of a tree; equal when tree and row are."""

    __slots__ = ("_tree", "index")

    def __init__(self, tree: Tree, index: int) -> None:
        self._tree = tree
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.index == other.index and self._tree == other._tree

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.index, self._tree))

    def of(self, tree: Tree) -> bool:
        """Whether it is a row of this tree, or of an equal one."""
        return self._tree is tree or self._tree == tree


class LinkView(_Row):
    """A moving link: `name`, `index`, `parent`, `joint`, `mass`, `com`, `inertia` (what is fixed to it included)."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The link's name."""
        return self._tree.link_names[self.index]

    @property
    def parent(self) -> str:
        """The name of the link that it hangs on, or of the base."""
        above = int(self._tree.parent[self.index])
        return self._tree.link_names[above] if above >= 0 else self._tree.base_name

    @property
    def joint(self) -> JointView:
        """The joint that carries this link."""
        return JointView(self._tree, self.index)

    @property
    def mass(self) -> float:
        """The mass of the link, kg."""
        return float(self._tree.mass[self.index])

    @property
    def com(self) -> Array:
        """The centre of mass in the link's frame, (3,), m."""
        return np.asarray(self._tree.com[self.index])

    @property
    def inertia(self) -> Array:
        """The inertia about the centre of mass in the link's axes, (3, 3), kg m²."""
        return np.asarray(self._tree.inertia[self.index])

    def __repr__(self) -> str:
        return f"<link {self.name!r} on {self.parent!r}, {self.mass:g} kg>"


class JointView(_Row):
    """A moving joint. What exists per coordinate is a number if there is one coordinate, else an array.

    A joint that mimics another has no coordinates, and an array of no numbers.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The joint's name."""
        return self._tree.joint_names[self.index]

    @property
    def type(self) -> str:
        """The type of the joint: "revolute", "prismatic", "free" and so on."""
        return str(JOINT_TYPES[self._tree.joint_type[self.index]].name)

    @property
    def parent(self) -> str:
        """The name of the link, or of the base, that carries the joint."""
        return LinkView(self._tree, self.index).parent

    @property
    def child(self) -> str:
        """The name of the link that the joint carries."""
        return self._tree.link_names[self.index]

    @property
    def axis(self) -> Array | None:
        """The unit vector in the child's frame along or about which the joint moves (planar: the normal), or None."""
        return None if self.type in _UNDIRECTED else np.asarray(self._tree.joint_rotation[self.index, :, 2])

    @property
    def axis2(self) -> Array | None:
        """The second axis of a universal joint, in the child's frame at joint zero."""
        return np.asarray(self._tree.joint_rotation[self.index, :, 0]) if self.type == "universal" else None

    @property
    def pitch(self) -> float:
        """The pitch of a helical joint, m/rad; 0 for others."""
        return float(self._tree.pitch[self.index])

    @property
    def rotation(self) -> Array:
        """The orientation of the child's frame in the parent's at joint zero, (3, 3)."""
        return np.asarray(self._tree.placement_rotation[self.index])

    @property
    def position(self) -> Array:
        """The origin of the child's frame in the parent's at joint zero, (3,), m."""
        return np.asarray(self._tree.placement_position[self.index])

    @property
    def q_slice(self) -> slice:
        """The place of the joint's coordinates in q."""
        return slice(*map(int, self._tree.q_start[self.index : self.index + 2]))

    @property
    def v_slice(self) -> slice:
        """The place of the joint's speeds in v."""
        return slice(*map(int, self._tree.v_start[self.index : self.index + 2]))

    @property
    def lower(self) -> Any:
        """The lower limit of the coordinate, rad or m; -inf if there is none."""
        return _plain(self._tree.lower[self.q_slice])

    @property
    def upper(self) -> Any:
        """The upper limit of the coordinate, rad or m; inf if there is none."""
        return _plain(self._tree.upper[self.q_slice])

    @property
    def limits(self) -> tuple[Any, Any]:
        """The pair of limits (lower, upper)."""
        return self.lower, self.upper

    @property
    def velocity_limit(self) -> Any:
        """The largest speed allowed, rad/s or m/s; inf if there is no limit."""
        return _plain(self._tree.velocity_limit[self.v_slice])

    @property
    def effort_limit(self) -> Any:
        """The largest torque or force allowed, N m or N; inf if there is no limit."""
        return _plain(self._tree.effort_limit[self.v_slice])

    @property
    def damping(self) -> Any:
        """The viscous damping, N m s/rad or N s/m."""
        return _plain(self._tree.damping[self.v_slice])

    @property
    def friction(self) -> Any:
        """The dry (Coulomb) friction, N m or N."""
        return _plain(self._tree.friction[self.v_slice])

    @property
    def armature(self) -> Any:
        """The inertia of the drive as felt at the joint, kg m² or kg."""
        return _plain(self._tree.armature[self.v_slice])

    @property
    def stiffness(self) -> Any:
        """The stiffness of the joint's spring, N m/rad or N/m."""
        return _plain(self._tree.stiffness[self.v_slice])

    @property
    def rest(self) -> Any:
        """Where the joint's spring is slack, rad or m from zero."""
        return _plain(self._tree.rest[self.v_slice])

    def __repr__(self) -> str:
        return f"<{self.type} joint {self.name!r}: {self.parent!r} → {self.child!r}>"


class Views(Sequence[View], Generic[View]):
    """The links or the joints of a robot, in order base to tip; each is made when asked for."""

    __slots__ = ("_kind", "_tree")

    def __init__(self, kind: Callable[[Tree, int], View], tree: Tree) -> None:
        self._kind = kind
        self._tree = tree

    def __len__(self) -> int:
        return self._tree.n

    @overload
    def __getitem__(self, index: int) -> View: ...
    @overload
    def __getitem__(self, index: slice) -> list[View]: ...
    def __getitem__(self, index: int | slice) -> View | list[View]:
        rows = range(self._tree.n)[index]
        return self._kind(self._tree, rows) if isinstance(rows, int) else [self._kind(self._tree, i) for i in rows]

    def __repr__(self) -> str:
        shown = ", ".join(repr(view) for view in self[:4])
        return f"[{shown}{', ...' if len(self) > 4 else ''}] ({len(self)})"


def _plain(values: Array) -> Any:
    return float(values[0]) if len(values) == 1 else np.asarray(values)
