"""New trees from old ones: another gravity, a part of it, joints frozen, one attached to another."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model import checks
from catena.model.actuators import Actuator, by_joint
from catena.model.assemble import checked_gravity, starts
from catena.model.joints import JOINT_TYPES, Screw
from catena.model.merge import Bodies, Pose, compose, merged
from catena.model.mimic import followers
from catena.model.parts import JointPart
from catena.model.topology import Topology, listed
from catena.model.tree import Frame, Tree
from catena.spatial import Dofs, Force

Array = npt.NDArray[Any]

_PER_LINK = (
    "joint_type",
    "placement_rotation",
    "placement_position",
    "joint_rotation",
    "pitch",
    "mass",
    "com",
    "inertia",
    "strain",
)
_NAMES = ("link_names", "joint_names")
_PER_Q = ("lower", "upper")
_PER_V = ("velocity_limit", "effort_limit", "damping", "friction", "armature", "stiffness", "rest")


def with_gravity(tree: Tree, gravity: npt.ArrayLike) -> Tree:
    """The same tree under another gravity (3 numbers, m/s², in the base's frame)."""
    return replace(tree, gravity=checked_gravity(gravity))


def subtree(tree: Tree, link: int) -> Tree:
    """`link` and everything beyond it, with the joint that carries it, on a fixed base in place of its parent."""
    keep = np.zeros(tree.n, dtype=bool)
    keep[link] = True
    for i, above in enumerate(tree.parent[link + 1 :].tolist(), link + 1):
        keep[i] = above >= link and keep[above]
    members = np.flatnonzero(keep)
    number = np.full(tree.n + 1, -1)
    number[members] = np.arange(len(members))
    above = int(tree.parent[link])
    parent = number[tree.parent[members]]
    parent[0] = -1
    frames = {
        name: frame._replace(link=int(number[frame.link]))
        for name, frame in tree.frames.items()
        if frame.link >= 0 and keep[frame.link]
    }
    return _selected(
        tree,
        members,
        parent=parent,
        frames=frames,
        base_name=tree.link_names[above] if above >= 0 else tree.base_name,
        base_mass=0.0,
        base_com=np.zeros(3),
        base_inertia=np.zeros((3, 3)),
    )


def locked(tree: Tree, positions: Mapping[int, npt.ArrayLike]) -> Tree:
    """The tree with the joints `positions` frozen there and their links merged, as if they had been fixed joints."""
    positions = _with_followers(tree, positions)
    turn, shift = np.array(tree.placement_rotation), np.array(tree.placement_position)
    fixed = np.zeros(tree.n, dtype=bool)
    for i, q in positions.items():
        turn[i], shift[i] = compose((turn[i], shift[i]), _joint_pose(tree, i, q))
        fixed[i] = True
    everything = list(range(tree.n + 1))  # link 0 is the base here
    topology = Topology(everything, [k - 1 for k in everything], [-1, *(tree.parent + 1).tolist()])
    bodies = merged(
        topology,
        fixed,
        turn,
        shift,
        np.concatenate([[tree.base_mass], tree.mass]),
        np.concatenate([tree.base_com[None], tree.com]),
        np.concatenate([tree.base_inertia[None], tree.inertia]),
    )
    return _selected(
        tree,
        np.array(bodies.joint, dtype=np.int64),
        parent=bodies.parent,
        placement_rotation=bodies.placement_rotation,
        placement_position=bodies.placement_position,
        mass=bodies.mass[1:],
        com=bodies.com[1:],
        inertia=bodies.inertia[1:],
        base_mass=float(bodies.mass[0]),
        base_com=bodies.com[0],
        base_inertia=bodies.inertia[0],
        frames=_frames_after(tree, bodies),
    )


def _with_followers(tree: Tree, positions: Mapping[int, npt.ArrayLike]) -> dict[int, Any]:
    """The positions with those of joints that mimic the ones given, which cannot be locked by themselves."""
    found, places = followers(tree), dict(positions)
    for joint, follows in ({} if found is None else found.rules).items():
        if joint in positions:
            name, leader = tree.joint_names[joint], tree.joint_names[follows.leader]
            raise ModelError(f"joint {name!r} mimics {leader!r} and cannot be locked; lock {leader!r}", joint=name)
        if follows.leader in positions:
            _joint_pose(tree, follows.leader, positions[follows.leader])  # refuses what is no coordinate
            places[joint] = follows.ratio * float(np.ravel(positions[follows.leader])[0]) + follows.offset
    return places


class Added(NamedTuple):
    """A tree to be bolted to another one: at which frame of that, what goes before its names, and a name of a link."""

    tree: Tree
    at: Frame
    prefix: str
    known_as: Mapping[str, int] = {}
    """Names by which links of it are known besides, and their numbers in it."""


def attached(tree: Tree, others: Sequence[Added]) -> Tree:
    """`tree` with the bases of others bolted to it, each at a frame of it. Linear in the links of all."""
    joined, n, nq, nv = tree, tree.n, tree.nq, tree.nv
    links, joints, frames = list(tree.link_names), list(tree.joint_names), dict(tree.frames)
    taken, joints_taken = {*links, tree.base_name, *frames}, set(joints)
    rows: dict[str, list[Any]] = {name: [] for name in (*_PER_LINK, *_PER_Q, *_PER_V, "parent", "q_start", "v_start")}
    for other, at, prefix, known_as in others:
        place: Pose = (at.rotation, at.position)
        joined = _bolted(joined, other, at.link, place)
        own, own_joints = ([prefix + name for name in names] for names in (other.link_names, other.joint_names))
        new = {prefix + other.base_name: Frame(at.link, *place)}
        for name, frame in other.frames.items():
            inner = (frame.rotation, frame.position)
            on_base = Frame(at.link, *compose(place, inner))
            new[prefix + name] = on_base if frame.link < 0 else Frame(frame.link + n, *inner)
        _check_clashes("link", taken, [*own, *new])
        _check_clashes("joint", joints_taken, own_joints)
        new |= {name: Frame(n + link, np.eye(3), np.zeros(3)) for name, link in known_as.items()}
        frames |= new
        taken.update(own, new)
        joints_taken.update(own_joints)
        links += own
        joints += own_joints
        for name in _PER_LINK + _PER_Q + _PER_V:
            rows[name].append(getattr(other, name))
        ground = np.flatnonzero(other.parent < 0)
        turn, shift = (np.array(rows[f"placement_{what}"].pop()) for what in ("rotation", "position"))
        turn[ground], shift[ground] = place[0] @ turn[ground], place[1] + shift[ground] @ place[0].T
        rows["placement_rotation"].append(turn)
        rows["placement_position"].append(shift)
        rows["parent"].append(np.where(other.parent < 0, at.link, other.parent + n))
        rows["q_start"].append(other.q_start[1:] + nq)
        rows["v_start"].append(other.v_start[1:] + nv)
        n, nq, nv = n + other.n, nq + other.nq, nv + other.nv
    mimic = {
        prefix + name: rule._replace(master=prefix + rule.master)
        for other, _, prefix, _ in others
        for name, rule in other.mimic.items()
    }
    meshes = {prefix + name: mesh for other, _, prefix, _ in others for name, mesh in other.meshes.items()}
    arrays: dict[str, Any] = {name: np.concatenate([getattr(joined, name), *more]) for name, more in rows.items()}
    return replace(
        joined,
        **arrays,
        link_names=links,
        joint_names=joints,
        frames=frames,
        mimic={**tree.mimic, **mimic},
        actuators=_all_actuators([(tree, ""), *[(other, prefix) for other, _, prefix, _ in others]]),
        meshes={**tree.meshes, **meshes},
        warnings=(*tree.warnings, *[each for other, *_ in others for each in other.warnings]),
    )


def _all_actuators(trees: Sequence[tuple[Tree, str]]) -> dict[str, Actuator]:
    """The actuators of all trees, with prefixes; of one that names none one for each joint, if another names some."""
    found: dict[str, Actuator] = {}
    for tree, prefix in trees if any(tree.actuators for tree, _ in trees) else ():
        for name, each in (tree.actuators or by_joint(tree)).items():
            new = prefix + name
            while new in found:
                new += "_"
            found[new] = replace(each, joint=prefix + each.joint)
    return found


def _selected(tree: Tree, rows: Array, **changed: Any) -> Tree:
    """The rows of a tree, with the given fields set instead."""
    nq, nv = np.diff(tree.q_start)[rows], np.diff(tree.v_start)[rows]
    coordinates, speeds = _places(tree.q_start, rows, nq), _places(tree.v_start, rows, nv)
    fields: dict[str, Any] = {name: _rows(getattr(tree, name), rows) for name in _PER_LINK + _NAMES}
    fields |= {name: getattr(tree, name)[coordinates] for name in _PER_Q}
    fields |= {name: getattr(tree, name)[speeds] for name in _PER_V}
    fields |= {"q_start": starts(nq), "v_start": starts(nv)}
    joints, frames = set(fields["joint_names"]), changed.get("frames", tree.frames)
    known = {*fields["link_names"], *frames, changed.get("base_name", tree.base_name)}
    fields["mimic"] = {name: rule for name, rule in tree.mimic.items() if name in joints}
    fields["actuators"] = {name: each for name, each in tree.actuators.items() if each.joint in joints}
    fields["meshes"] = {name: mesh for name, mesh in tree.meshes.items() if name in known}
    return replace(tree, **(fields | changed))


def _rows(values: Array | Sequence[str], rows: Array) -> Array | Sequence[str]:
    return np.asarray(values[rows]) if isinstance(values, np.ndarray) else [values[i] for i in rows.tolist()]


def _places(start: Array, rows: Array, sizes: Array) -> Array:
    """Indices of all coordinates of the given rows, in order."""
    ends = np.cumsum(sizes)
    return np.asarray(np.repeat(start[rows] - (ends - sizes), sizes) + np.arange(int(sizes.sum())))


def _joint_pose(tree: Tree, i: int, q: npt.ArrayLike) -> Pose:
    """How far joint i moves its link from the placement, at coordinates q, in the link's axes."""
    joint_type, name = JOINT_TYPES[tree.joint_type[i]], tree.joint_names[i]
    part = JointPart(name, joint_type.name, "", "")
    shape = () if np.ndim(q) == 0 and joint_type.nq == 1 else (joint_type.nq,)
    fault = checks.joint_fault(
        part, f"{joint_type.nq} finite coordinates to lock it at", shown(q), "give them in rad or m"
    )
    values = checks.stacked([q], shape, lambda _: fault).ravel()
    try:
        dofs = joint_type.normalize(Dofs(values.tolist()))
    except ZeroDivisionError:
        raise fault from None
    if not np.isfinite(dofs.values).all():
        raise fault
    motion = joint_type.motion(dofs, float(tree.pitch[i]), Screw(0, 1, 0, 0))
    pulls = [motion @ Force.of([0, 0, 0, *unit]) for unit in np.eye(3).tolist()]
    columns = np.array([list(pull.components) for pull in pulls], dtype=float)
    turn = columns[:, 3:].T
    shift = np.cross(columns[:, 3:], columns[:, :3]).sum(axis=0) / 2  # Σ u × (p × u) over three unit vectors is 2 p
    Q = tree.joint_rotation[i]
    return Q @ turn @ Q.T, Q @ shift


def _frames_after(tree: Tree, bodies: Bodies) -> dict[str, Frame]:
    """The frames of a tree whose links were merged into bodies: old ones moved along, merged links new."""
    number = {link: body - 1 for body, link in enumerate(bodies.link)}  # link 0 is the base
    frames = {}
    for name, frame in tree.frames.items():
        place = (frame.rotation, frame.position)
        if frame.link + 1 in number:
            frames[name] = frame._replace(link=number[frame.link + 1])
        else:
            carrier = bodies.frames[frame.link + 1]
            frames[name] = Frame(carrier.link, *compose((carrier.rotation, carrier.position), place))
    return frames | {tree.link_names[link - 1]: frame for link, frame in bodies.frames.items()}


def _bolted(tree: Tree, other: Tree, link: int, place: Pose) -> Tree:
    """`tree` with the mass of `other`'s base added to `link` (-1: to the base)."""
    if not other.base_mass and not other.base_inertia.any():
        return tree
    topology = Topology([0, 1], [-1, 0], [-1, 0])
    mass = tree.base_mass if link < 0 else tree.mass[link]
    com = tree.base_com if link < 0 else tree.com[link]
    inertia = tree.base_inertia if link < 0 else tree.inertia[link]
    body = merged(
        topology,
        np.ones(1, dtype=bool),
        place[0][None],
        place[1][None],
        np.array([mass, other.base_mass]),
        np.stack([com, other.base_com]),
        np.stack([inertia, other.base_inertia]),
    )
    if link < 0:
        return replace(tree, base_mass=float(body.mass[0]), base_com=body.com[0], base_inertia=body.inertia[0])
    new: dict[str, Any] = {name: np.array(getattr(tree, name)) for name in ("mass", "com", "inertia")}
    for name, values in new.items():
        values[link] = getattr(body, name)[0]
    return replace(tree, **new)


def _check_clashes(what: str, old: Container[str], new: Sequence[str]) -> None:
    clashes = sorted(name for name in set(new) if name in old)
    if clashes:
        raise ModelError(
            f"both robots have {what}s named {listed(clashes)}; names must be unique: give a prefix such as 'left_'",
            **{what: clashes[0]},
        )
