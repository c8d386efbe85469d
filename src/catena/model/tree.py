"""Tree: a mechanism as read-only arrays, one row per moving link, base to tip."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError
from catena.model.actuators import Actuator
from catena.model.joints import codes_here, names_of_users
from catena.model.names import Names, freeze_names
from catena.model.parts import Mimic

Array = npt.NDArray[Any]
Value = TypeVar("Value")

_CHUNK = 65_536
_INDICES = ("parent", "joint_type", "q_start", "v_start")  # machine code finds its way by these


class Frame(NamedTuple):
    """A frame fixed to a moving link (-1: to the base): its orientation and origin in that link's frame."""

    link: int
    rotation: Array
    position: Array


class FrozenMapping(Mapping[str, Value], Generic[Value]):
    """A mapping nobody can change; unlike MappingProxyType it can be pickled."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Value] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A tree of n moving links; fixed joints are merged already. Everything the algorithms need, and nothing derived.

    Link i's pose in its parent's frame is placement · Q · J(q) · Qᵀ: Q = `joint_rotation[i]` turns the joint's
    canonical axes (1-dof joints move about or along z) into the link's frame, J is the map of type `joint_type[i]`
    (`JOINT_TYPES` in joints.py). Link i's coordinates are q[q_start[i]:q_start[i + 1]], its speeds likewise; a joint
    that mimics another may have none, and then follows it (mimic.py).

    Arrays may be stride-0 broadcasts, so that a uniform chain costs almost nothing: never assume contiguity.
    Equal by content (name included, warnings not); a broadcast array equals and hashes as its dense copy.
    Nothing is checked here: whoever computes with a tree asks `check_sound` (sound.py) first, as `Robot` does.
    """

    name: str
    parent: Array  # (n,) int64; parent[i] < i, -1 is the base
    joint_type: Array  # (n,) int8
    placement_rotation: Array  # (n, 3, 3), the link's frame in its parent's at joint zero
    placement_position: Array  # (n, 3)
    joint_rotation: Array  # (n, 3, 3), Q
    pitch: Array  # (n,), m/rad, helical joints only
    mass: Array  # (n,)
    com: Array  # (n, 3), in the link's frame
    inertia: Array  # (n, 3, 3), about the centre of mass, in the link's axes
    q_start: Array  # (n + 1,) int64
    v_start: Array  # (n + 1,) int64
    lower: Array  # (nq,), -inf where unlimited
    upper: Array  # (nq,)
    velocity_limit: Array  # (nv,)
    effort_limit: Array  # (nv,)
    damping: Array  # (nv,)
    friction: Array  # (nv,)
    armature: Array  # (nv,)
    gravity: Array  # (3,)
    link_names: Sequence[str]
    joint_names: Sequence[str]
    base_name: str
    base_mass: float = 0.0  # what is bolted to the base
    base_com: Array = field(default_factory=lambda: np.zeros(3))
    base_inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    frames: Mapping[str, Frame] = field(default_factory=FrozenMapping)  # links merged by fixed joints
    mimic: Mapping[str, Mimic] = field(default_factory=FrozenMapping)  # by joint name
    meshes: Mapping[str, tuple[Any, ...]] = field(default_factory=FrozenMapping)  # by link name
    warnings: tuple[str, ...] = ()
    stiffness: Array = field(default_factory=lambda: np.zeros(0))  # (nv,), none at all if left out
    rest: Array = field(default_factory=lambda: np.zeros(0))  # (nv,), where springs are slack: from zero, in speeds
    actuators: Mapping[str, Actuator] = field(default_factory=FrozenMapping)  # by name; none if the file has none
    strain: Array = field(default_factory=lambda: np.zeros(0))  # (n,), J, in a joint's spring with those of followers

    def __post_init__(self) -> None:
        for name in ("stiffness", "rest"):
            if np.shape(getattr(self, name)) == (0,) and np.shape(self.armature) != (0,):
                object.__setattr__(self, name, np.broadcast_to(0.0, np.shape(self.armature)))
        if np.shape(self.strain) == (0,) and np.shape(self.mass) != (0,):
            object.__setattr__(self, "strain", np.broadcast_to(0.0, np.shape(self.mass)))
        for name, value in self._named(np.ndarray):
            object.__setattr__(self, name, _read_only(_own(value) if name in _INDICES else value))
        for name, value in self._named(dict):
            object.__setattr__(self, name, FrozenMapping(value))
        for name in ("link_names", "joint_names"):
            names = getattr(self, name)
            object.__setattr__(self, name, freeze_names(names) if isinstance(names, Iterable) else names)

    @property
    def n(self) -> int:
        """Number of moving links, and of joints."""
        return len(self.parent)

    @property
    def nq(self) -> int:
        """Length of a configuration."""
        return int(self.q_start[-1])

    @property
    def nv(self) -> int:
        """Length of a velocity: the degrees of freedom."""
        return int(self.v_start[-1])

    def _named(self, kind: type) -> list[tuple[str, Any]]:
        return [(f.name, getattr(self, f.name)) for f in fields(self) if isinstance(getattr(self, f.name), kind)]

    def joint_of(self, dof: int) -> int:
        """The joint, which is a link's number, that has a degree of freedom."""
        return int(np.searchsorted(self.v_start, dof, side="right")) - 1

    def digest(self) -> bytes:
        """A 16-byte fingerprint of the content, the same in every process. Cost: O(n) once, then kept."""
        return self.once("digest", lambda: _digest(self, {"warnings"}))

    def code_digest(self) -> bytes:
        """The same without what no machine code depends on: what the robot is called and how it is drawn."""
        return self.once("digest of code", lambda: _digest(self, {"warnings", "name", "meshes"}))

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` makes of this tree, made when it is first asked for under this key, and kept."""
        kept: dict[Hashable, Any] = self.__dict__.setdefault("_kept", {})
        if key not in kept:
            kept[key] = make()
        found: Value = kept[key]
        return found

    def __hash__(self) -> int:
        return int.from_bytes(self.digest()[:8], "little", signed=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or (self.n == other.n and self.digest() == other.digest())

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """The first two protocols of pickle know less than a tree needs; there it travels in the third."""
        return (pickle.loads, (pickle.dumps(self, 2),)) if protocol < 2 else super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        """The fields; a broadcast array is stored as the little it holds."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        if names := names_of_users(self.joint_type):
            state["joint names"] = names
        return {name: _Packed.of(value) if isinstance(value, np.ndarray) else value for name, value in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        names = state.pop("joint names", {})
        if state.keys() != {f.name for f in fields(self)}:
            raise ModelError(
                "a pickled Tree: expected the fields of this version of Catena, found others; make it anew"
            )
        for name, value in state.items():
            object.__setattr__(self, name, value.unpacked() if isinstance(value, _Packed) else value)
        if names:  # codes are given in the order in which a process gets to know types
            sizes = np.diff(self.q_start), np.diff(self.v_start)
            object.__setattr__(self, "joint_type", _read_only(codes_here(names, self.joint_type, *sizes)))

    def __repr__(self) -> str:
        return f"Tree({self.name!r}, n={self.n}, nq={self.nq}, nv={self.nv})"


class _Packed(NamedTuple):
    """An array without its repetitions along broadcast axes."""

    core: Array
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: Array) -> _Packed:
        return cls(np.ascontiguousarray(without_repetitions(array)), array.shape)

    def unpacked(self) -> Array:
        return _read_only(np.broadcast_to(self.core, self.shape))


def without_repetitions(array: Array) -> Array:
    """The array with one row along each axis that a broadcast repeats."""
    return array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]


def _own(array: Array) -> Array:
    """The array, or a copy if somebody else could still change it."""
    owner: Any = array if array.base is None else array.base
    if isinstance(owner, np.ndarray) and not owner.flags.writeable:
        return array
    core = np.array(without_repetitions(array))
    core.flags.writeable = False
    return np.broadcast_to(core, array.shape)


def _read_only(array: Array) -> Array:
    """A view of `array` that refuses writing; its owner's own view is not touched."""
    view: Array = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _digest(tree: Tree, without: Collection[str]) -> bytes:
    state = hashlib.blake2b(digest_size=16)
    for f in fields(tree):
        if f.name not in without:
            state.update(f.name.encode())
            _feed(state, getattr(tree, f.name))
    if names := names_of_users(tree.joint_type):
        _feed(state, tuple(f"{code} {name}" for code, name in sorted(names.items())))
    return state.digest()


def _feed(state: hashlib.blake2b, value: Any) -> None:
    """Adds `value` to the hash; arrays and names go in by pieces, so that broadcasts are never made dense at once."""
    if isinstance(value, np.ndarray):
        state.update(repr((value.dtype.str, value.shape)).encode())
        for start in range(0, len(value), _CHUNK):
            # adding 0 turns -0.0 into 0.0, which it equals
            state.update(np.ascontiguousarray(value[start : start + _CHUNK] + 0).tobytes())
    elif isinstance(value, Names):
        state.update(repr(value).encode("utf-8", "surrogatepass"))
    elif isinstance(value, tuple):
        state.update(f"[{len(value)}]".encode())
        for start in range(0, len(value), _CHUNK):
            piece = value[start : start + _CHUNK]
            if all(type(item) is str for item in piece):
                state.update("".join([f"{len(item)}:{item}" for item in piece]).encode("utf-8", "surrogatepass"))
            else:
                for item in piece:
                    _feed(state, item)
    elif isinstance(value, Mapping):
        for key in sorted(value):
            _feed(state, (key,))
            _feed(state, value[key])
    else:
        state.update(repr(value + 0.0 if isinstance(value, float) else value).encode())
