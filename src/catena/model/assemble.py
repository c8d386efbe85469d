"""From parts to a Tree: names, order, fixed joints merged, everything checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model import checks
from catena.model.axes import axis_frame, two_axis_frame, unit
from catena.model.joints import BY_NAME
from catena.model.merge import Bodies, merged, steiner
from catena.model.mimic import eliminated
from catena.model.numbers import BASES, chosen
from catena.model.parts import JointPart, LinkPart, Mimic, Parts
from catena.model.singular import check_leaves
from catena.model.topology import arrange, listed
from catena.model.tree import Tree

Array = npt.NDArray[Any]

FIXED = "fixed"
ROOT_JOINT = "root_joint"
WORLD = "world"
UNDIRECTED = ("spherical", "free")


def assemble(
    link_parts: Iterable[LinkPart],
    joint_parts: Iterable[JointPart],
    *,
    name: str = "robot",
    base: Literal["fixed", "floating"] = "fixed",
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
    warnings: Iterable[str] = (),
    strict: bool = True,
    mimic: str = "independent",
) -> Tree:
    """Checks the parts and makes the Tree of which they are the links and joints; `Robot(tree)` is the caller's step.

    Links are ordered base to tip, depth first, children in the order of `joints`. The one link without a parent is the
    base (`base="fixed"`) or moves freely, by a joint "root_joint" (`base="floating"`). Links hanging on fixed joints
    are merged into what carries them and stay as frames.

    `strict=False` is for files of real robots, which have faults their users live with. Then two faults are warnings
    instead of errors: a moving leaf that nothing holds back (no mass, no inertia about its axis, no armature), so that
    the mass matrix has no inverse; and an inertia that is not positive semidefinite about the centre of mass but is so
    about the link's origin, or whose link is fixed to another that makes up for it.

    With `mimic="eliminated"`, joints that mimic others have no coordinates of their own.

    Raises ModelError or a child of it for anything else wrong. Cost: O(n).
    """
    links = link_parts if isinstance(link_parts, Parts) else Parts(LinkPart, link_parts)
    joints = joint_parts if isinstance(joint_parts, Parts) else Parts(JointPart, joint_parts)
    notes = list(warnings)
    _check_types(joints)
    if chosen("base", base, BASES) == "floating":
        links, joints = _floating(links, joints)
    topology = arrange(links, joints)
    mass, com, inertia = checks.link_numbers(links, strict, notes)
    rotation, position = checks.joint_placements(joints)

    fixed = np.array([name == FIXED for name in joints.column("type")], dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all numbers is refused by name
        bodies = merged(topology, fixed, rotation, position, mass, com, inertia)
        _check_bodies(bodies, links)
    moving = joints.select(bodies.joint)
    axes = _joint_rotations(moving)
    names, rules = links.column("name"), _mimic(moving, notes)
    tree = Tree(
        name=name,
        parent=bodies.parent,
        placement_rotation=bodies.placement_rotation,
        placement_position=bodies.placement_position,
        joint_rotation=axes,
        mass=bodies.mass[1:],
        com=bodies.com[1:],
        inertia=bodies.inertia[1:],
        gravity=checked_gravity(gravity),
        link_names=[names[i] for i in bodies.link[1:]],
        joint_names=moving.column("name"),
        base_name=names[bodies.link[0]],
        base_mass=float(bodies.mass[0]),
        base_com=bodies.com[0],
        base_inertia=bodies.inertia[0],
        frames={names[i]: frame for i, frame in bodies.frames.items()},
        mimic=rules,
        meshes={names[i]: tuple(shapes) for i, shapes in enumerate(links.column("meshes")) if shapes},
        **_coordinates(moving),
    )
    if mimic == "eliminated":
        tree = eliminated(tree)
    notes.extend((*tree.warnings, *check_leaves(tree, strict)))
    return replace(tree, warnings=tuple(notes))


def checked_gravity(gravity: npt.ArrayLike) -> Array:
    """`gravity` as 3 finite numbers (m/s²)."""
    fault = ModelError(f"gravity: expected 3 finite numbers in m/s², found {shown(gravity)}")
    return checks.stacked([gravity], (3,), lambda _: fault).reshape(3)


def starts(sizes: Array) -> Array:
    """Where each of consecutive pieces of the given sizes starts, and the end: (n + 1,) int64."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _check_types(joints: Parts[JointPart]) -> None:
    types = joints.column("type")
    if set(types) <= BY_NAME.keys():
        return
    for i, name in enumerate(types):
        if name not in BY_NAME:
            raise checks.joint_fault(joints[i], f"a type out of {', '.join(BY_NAME)}", shown(name), "choose one")


def _floating(links: Parts[LinkPart], joints: Parts[JointPart]) -> tuple[Parts[LinkPart], Parts[JointPart]]:
    """The same parts with the root link on a free joint in a new, empty base."""
    root = links[arrange(links, joints).order[0]].name
    world = _unused(WORLD, set(links.column("name")))
    carrier = JointPart(_unused(ROOT_JOINT, set(joints.column("name"))), "free", world, root)
    return links.followed_by(LinkPart(world)), joints.followed_by(carrier)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _check_bodies(bodies: Bodies, links: Parts[LinkPart]) -> None:
    """Every moving body's inertia about its frame's origin is positive semidefinite, fixed children included."""
    about = bodies.inertia + bodies.mass[:, None, None] * steiner(bodies.com)
    for i in np.flatnonzero(~np.isfinite(8 * np.abs(about).sum(axis=(1, 2))))[:1]:  # with room for sums over a few
        link = links[bodies.link[i]].name
        raise ModelError(
            f"link {link!r}: expected a mass and a centre of mass that numbers can hold the inertia of, found mass "
            f"{bodies.mass[i]:g} kg at {bodies.com[i].tolist()} m with moments "
            f"{np.diagonal(bodies.inertia[i]).tolist()} kg m²; give it in kg and m",
            link=link,
        )
    doubtful = np.flatnonzero(~checks.plainly_definite(about)) if len(about) >= checks.MANY else np.arange(len(about))
    about = about[doubtful]
    rounding = checks.RELATIVE * np.abs(about).max(axis=(1, 2)) + checks.ABSOLUTE * bodies.mass[doubtful]
    bad = np.linalg.eigvalsh(about)[:, 0] < -rounding
    if bad.any():
        i = int(doubtful[np.argmax(bad)])
        raise checks.indefinite_inertia(links[bodies.link[i]].name, np.linalg.eigvalsh(bodies.inertia[i]))


def _joint_rotations(joints: Parts[JointPart]) -> Array:
    """Q of every moving joint: the canonical frame of its type in the child's frame."""
    frames: Array = np.tile(np.eye(3), (len(joints), 1, 1))
    types = joints.column("type")
    directed = [i for i, name in enumerate(types) if name not in UNDIRECTED]
    if not directed:
        return frames
    axis = unit(checks.joint_axes(joints.select(directed)))
    frames[directed] = axis_frame(axis)
    double = [k for k, i in enumerate(directed) if types[i] == "universal" and joints[i].axis2 is not None]
    if double:
        owners = joints.select([directed[k] for k in double])
        second = unit(checks.joint_axes(owners, second=True))
        slanted = np.abs(np.sum(second * axis[double], axis=1)) > 1e-6
        if slanted.any():
            i = int(np.argmax(slanted))
            raise checks.joint_fault(
                owners[i], "axis2 perpendicular to axis", f"{owners[i].axis} and {owners[i].axis2}", "turn one of them"
            )
        frames[np.array(directed)[double]] = two_axis_frame(axis[double], second)
    return frames


def _coordinates(joints: Parts[JointPart]) -> dict[str, Any]:
    """The fields of Tree that belong to joints' coordinates and speeds."""
    types = list(map(BY_NAME.__getitem__, joints.column("type")))
    nq, nv = (np.array([getattr(cls, size) for cls in types], dtype=np.int64) for size in ("nq", "nv"))
    q_owner, v_owner = np.repeat(np.arange(len(joints)), nq), np.repeat(np.arange(len(joints)), nv)
    inf = float("inf")
    lower = checks.per_coordinate(joints, "lower", nq, -inf)
    upper = checks.per_coordinate(joints, "upper", nq, inf)
    for limits, endless in ((lower, -inf), (upper, inf)):
        limits[np.repeat([cls.name == "continuous" for cls in types], nq).astype(bool)] = endless
    checks.require(lower <= upper, lower, q_owner, joints, "lower limits not above upper ones", "swap or correct them")
    per_speed = {
        field: checks.per_coordinate(joints, field, nv, inf)
        for field in ("velocity_limit", "effort_limit", "damping", "friction", "armature", "stiffness")
    }
    rest = checks.per_coordinate(joints, "rest", nv, inf)
    checks.require(np.isfinite(rest), rest, v_owner, joints, "a finite rest of its spring", "correct it")
    for field, values in per_speed.items():
        good = values >= 0 if field.endswith("limit") else (values >= 0) & np.isfinite(values)
        checks.require(good, values, v_owner, joints, f"{field} of zero or more", "correct it")
    pitch = checks.stacked(
        [pitch if cls.name == "helical" else 0.0 for cls, pitch in zip(types, joints.column("pitch"), strict=True)],
        (),
        lambda i: checks.joint_fault(joints[i], "a finite pitch", shown(joints[i].pitch), "give it in m/rad"),
    )
    return {
        "joint_type": np.array([cls.code for cls in types], dtype=np.int8),
        "pitch": pitch,
        "q_start": starts(nq),
        "v_start": starts(nv),
        "lower": lower,
        "upper": upper,
        "rest": rest,
        **per_speed,
    }


def _mimic(joints: Parts[JointPart], notes: list[str]) -> dict[str, Mimic]:
    """Which joints mimic which; those that mimic one that does not exist, or is fixed, are added to the `notes`."""
    names = joints.column("name")
    rules = {name: rule for name, rule in zip(names, joints.column("mimic"), strict=True) if rule is not None}
    known = set(names) if rules else set()
    lost = [name for name, rule in rules.items() if rule.master not in known]
    if lost:
        notes.append(f"joints that mimic a joint which does not move or exist: {listed(lost)}")
    return rules
