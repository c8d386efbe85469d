"""Forward kinematics written apart from the package, straight from the definition of a Tree, as an oracle for tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES
from catena.model.tree import Tree

Array = npt.NDArray[np.float64]
JOINT_TYPE_NAMES = {joint.code: joint.name for joint in JOINT_TYPES}
Placements = Mapping[str, tuple[Array, Array]]


def quaternion_to_rotation(quaternion: npt.ArrayLike) -> Array:
    """The rotation of a quaternion x, y, z, w (normalised first)."""
    x, y, z, w = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    v = np.array([x, y, z])
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return (w * w - v @ v) * np.eye(3) + 2.0 * np.outer(v, v) + 2.0 * w * cross


def about_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_x(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def joint_motion(joint_type: str, q: Array, pitch: float) -> tuple[Array, Array]:
    """J(q): rotation and position of a joint's moved canonical frame."""
    zero = np.zeros(3)
    if joint_type in ("revolute", "continuous"):
        return about_z(q[0]), zero
    if joint_type == "prismatic":
        return np.eye(3), np.array([0.0, 0.0, q[0]])
    if joint_type == "helical":
        return about_z(q[0]), np.array([0.0, 0.0, pitch * q[0]])
    if joint_type == "cylindrical":
        return about_z(q[0]), np.array([0.0, 0.0, q[1]])
    if joint_type == "universal":
        return about_z(q[0]) @ about_x(q[1]), zero
    if joint_type == "planar":
        return about_z(q[2]), np.array([q[0], q[1], 0.0])
    if joint_type == "spherical":
        return quaternion_to_rotation(q), zero
    if joint_type == "free":
        return quaternion_to_rotation(q[3:]), np.asarray(q[:3], dtype=float)
    raise AssertionError(joint_type)


def placements(tree: Tree, q: Array) -> Placements:
    """Rotation and position, in the base's frame, of every link and of every frame, by name."""
    poses: list[tuple[Array, Array]] = []
    for i, parent in enumerate(tree.parent):
        R, p = poses[parent] if parent >= 0 else (np.eye(3), np.zeros(3))
        Q = tree.joint_rotation[i]
        own = q[tree.q_start[i] : tree.q_start[i + 1]]
        turn, shift = joint_motion(JOINT_TYPE_NAMES[int(tree.joint_type[i])], own, tree.pitch[i])
        at = R @ tree.placement_rotation[i] @ Q
        poses.append((at @ turn @ Q.T, p + R @ tree.placement_position[i] + at @ shift))
    found = dict(zip(tree.link_names, poses, strict=True))
    found[tree.base_name] = (np.eye(3), np.zeros(3))
    for name, frame in tree.frames.items():
        R, p = poses[frame.link] if frame.link >= 0 else (np.eye(3), np.zeros(3))
        found[name] = (R @ frame.rotation, p + R @ frame.position)
    return found


def center_of_mass(tree: Tree, q: Array) -> Array:
    """Of what moves, in the base's frame."""
    poses = placements(tree, q)
    points = [poses[name][1] + poses[name][0] @ com for name, com in zip(tree.link_names, tree.com, strict=True)]
    return np.asarray(tree.mass @ np.reshape(points, (-1, 3)) / tree.mass.sum())


def random_configuration(tree: Tree, rng: np.random.Generator) -> Array:
    """Every coordinate uniform between -3 and 3, whatever its limits; quaternions uniform over rotations."""
    q = rng.uniform(-3.0, 3.0, tree.nq)
    for joint_type, end in zip(tree.joint_type, tree.q_start[1:], strict=True):
        if JOINT_TYPE_NAMES[int(joint_type)] in ("spherical", "free"):
            quaternion = rng.normal(size=4)
            q[end - 4 : end] = quaternion / np.linalg.norm(quaternion)
    return q
