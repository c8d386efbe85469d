"""From parts to trees: order, frames, merged inertias."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import placements

from catena.errors import ModelError
from catena.model.assemble import assemble
from catena.model.lie import quaternion_normalized, rotation_matrix
from catena.model.merge import steiner
from catena.model.parts import JointPart, LinkPart, Mimic

BALL = 0.1 * np.eye(3)


def links(*names: str) -> list[LinkPart]:
    return [LinkPart(name, 1.0, (0.1, 0.2, 0.3), BALL) for name in names]


def rotation(rng: np.random.Generator) -> np.ndarray:
    return rotation_matrix(quaternion_normalized(rng.standard_normal(4)))


def test_depth_first_in_the_order_given() -> None:
    joints = [
        JointPart("jc", "revolute", "b", "c"),
        JointPart("ja", "revolute", "root", "a"),
        JointPart("jd", "prismatic", "a", "d"),
        JointPart("jb", "revolute", "root", "b"),
    ]
    tree = assemble(links("d", "c", "root", "b", "a"), joints)
    assert tuple(tree.link_names) == ("a", "d", "b", "c")
    assert tuple(tree.joint_names) == ("ja", "jd", "jb", "jc")
    assert tree.parent.tolist() == [-1, 0, -1, 2]
    assert tree.base_name == "root"
    assert tree.base_mass == 1.0


def test_floating_base() -> None:
    tree = assemble(links("root", "a"), [JointPart("j", "revolute", "root", "a")], base="floating")
    assert tuple(tree.joint_names) == ("root_joint", "j")
    assert (tree.nq, tree.nv, tree.base_name, tree.base_mass) == (8, 7, "world", 0.0)
    taken = assemble(links("world", "a"), [JointPart("root_joint", "revolute", "world", "a")], base="floating")
    assert (taken.base_name, taken.joint_names[0]) == ("world_", "root_joint_")


def test_one_link_alone() -> None:
    tree = assemble(links("block"), [])
    assert (tree.n, tree.nq, tree.base_mass) == (0, 0, 1.0)
    assert assemble(links("block"), [], base="floating").nv == 6


def test_fixed_joints_are_merged(rng: np.random.Generator) -> None:
    """Mass, centre of mass, inertia and every frame are those of the links laid out one by one."""
    parts, joints = [LinkPart("base")], []
    for i in range(12):
        spread = rng.standard_normal((3, 3))
        inertia = np.trace(spread @ spread.T) * np.eye(3) - spread @ spread.T
        parts.append(LinkPart(f"part{i}", rng.uniform(0, 2), rng.standard_normal(3), inertia))
        parent = "base" if i == 0 else parts[rng.integers(1, i + 1)].name
        joint_type = "revolute" if i in (0, 4) else "fixed"
        place = rotation(rng), rng.standard_normal(3)
        joints.append(JointPart(f"joint{i}", joint_type, parent, f"part{i}", *place, axis=rng.standard_normal(3)))
    tree = assemble(parts, joints)
    apart = assemble(parts, [j._replace(type="revolute") for j in joints], strict=False)
    assert tree.n == 2
    assert set(tree.frames) == {f"part{i}" for i in range(12)} - {"part0", "part4"}
    q = rng.uniform(-1, 1, 2)
    spread_q = np.zeros(apart.nq)
    for name, value in zip(tree.joint_names, q, strict=True):
        spread_q[list(apart.joint_names).index(name)] = value
    merged, separate = placements(tree, q), placements(apart, spread_q)
    for name, (turn, shift) in separate.items():
        np.testing.assert_allclose(merged[name][0], turn, atol=1e-14)
        np.testing.assert_allclose(merged[name][1], shift, atol=1e-13)
    np.testing.assert_allclose(_total(tree, merged), _total(apart, separate), atol=1e-12)


def _total(tree: object, poses: object) -> np.ndarray:
    """Mass, first moment and inertia about the base's origin of all links together."""
    total = np.zeros((1, 3, 3)), np.zeros(3), 0.0
    inertia, moment, mass = total
    for i, name in enumerate(tree.link_names):  # type: ignore[attr-defined]
        turn, shift = poses[name]  # type: ignore[index]
        centre = turn @ tree.com[i] + shift  # type: ignore[attr-defined]
        mass = mass + tree.mass[i]  # type: ignore[attr-defined]
        moment = moment + tree.mass[i] * centre  # type: ignore[attr-defined]
        inertia = inertia + turn @ tree.inertia[i] @ turn.T + tree.mass[i] * steiner(centre)  # type: ignore[attr-defined]
    return np.concatenate([inertia.ravel(), moment, [mass]])


def test_what_is_fixed_to_the_base_does_not_move() -> None:
    joints = [JointPart("f", "fixed", "root", "a", position=(1, 0, 0)), JointPart("j", "revolute", "a", "b")]
    tree = assemble(links("root", "a", "b"), joints)
    assert tree.base_mass == 2.0
    np.testing.assert_allclose(tree.base_com, [0.6, 0.2, 0.3])
    assert tree.frames["a"].link == -1
    np.testing.assert_array_equal(tree.placement_position, [[1, 0, 0]])


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, -2, 0), (0, 0, 1e-200), (-1e200, 0, 0), (0, 3, 0), (0, 0, -1)])
def test_canonical_axes_are_exact(axis: tuple[float, ...]) -> None:
    tree = assemble(links("root", "a"), [JointPart("j", "revolute", "root", "a", axis=axis)])
    Q = tree.joint_rotation[0]
    assert set(np.unique(Q)) <= {-1.0, 0.0, 1.0}
    np.testing.assert_array_equal(Q[:, 2], np.sign(axis))
    assert np.linalg.det(Q) == 1.0
    if axis == (0, 0, 1e-200):
        np.testing.assert_array_equal(Q, np.eye(3))


def test_slanted_axes(rng: np.random.Generator) -> None:
    axes = rng.standard_normal((20, 3))
    joints = [JointPart(f"j{i}", "revolute", "root", f"a{i}", axis=axis) for i, axis in enumerate(axes)]
    Q = assemble(links("root", *[f"a{i}" for i in range(20)]), joints).joint_rotation
    np.testing.assert_allclose(Q[:, :, 2], axes / np.linalg.norm(axes, axis=1, keepdims=True), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(Q @ np.swapaxes(Q, 1, 2), np.broadcast_to(np.eye(3), (20, 3, 3)), atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(Q), 1)


def test_universal_axes() -> None:
    joint = JointPart("u", "universal", "root", "a", axis=(0, 2, 0), axis2=(0, 0, -3))
    Q = assemble(links("root", "a"), [joint]).joint_rotation[0]
    np.testing.assert_array_equal(Q, [[0, -1, 0], [0, 0, 1], [-1, 0, 0]])


def test_limits_and_drives_per_coordinate() -> None:
    joints = [
        JointPart("u", "universal", "root", "a", lower=(-1, -2), upper=3, damping=(0.1, 0.2), velocity_limit=4),
        JointPart("c", "continuous", "a", "b", lower=-1, upper=1, effort_limit=5, friction=0.3, armature=0.4),
    ]
    tree = assemble(links("root", "a", "b"), joints)
    inf = np.inf
    assert tree.lower.tolist() == [-1, -2, -inf]
    assert tree.upper.tolist() == [3, 3, inf]
    assert tree.velocity_limit.tolist() == [4, 4, inf]
    assert tree.effort_limit.tolist() == [inf, inf, 5]
    assert tree.damping.tolist() == [0.1, 0.2, 0]
    assert tree.friction.tolist() == [0, 0, 0.3]
    assert tree.armature.tolist() == [0, 0, 0.4]


def test_mimic_and_meshes_are_kept() -> None:
    parts = [LinkPart("root"), LinkPart("a", 1, (1, 0, 0), BALL, ("a.stl",)), LinkPart("b", 1, (1, 0, 0), BALL)]
    joints = [
        JointPart("j", "revolute", "root", "a"),
        JointPart("k", "revolute", "root", "b", mimic=Mimic("j", 2.0, 0.5)),
    ]
    tree = assemble(parts, joints, warnings=["from the file"])
    assert tree.mimic["k"] == ("j", 2.0, 0.5)
    assert dict(tree.meshes) == {"a": ("a.stl",)}
    assert tree.warnings == ("from the file",)


def test_parts_may_change_afterwards() -> None:
    com = np.array([1.0, 0, 0])
    tree = assemble([LinkPart("root"), LinkPart("a", 1, com, BALL)], [JointPart("j", "revolute", "root", "a")])
    com[0] = 5.0
    assert tree.com[0, 0] == 1.0


def test_a_hundred_thousand_links_in_one_chain() -> None:
    """No recursion: the depth of a chain does not matter."""
    n = 100_000
    parts = [LinkPart(f"l{i}", 1.0, (0.1, 0, 0), BALL) for i in range(n + 1)]
    joint_types = ["revolute", "fixed", "prismatic", "fixed"]
    joints = [JointPart(f"j{i}", joint_types[i % 4], f"l{i}", f"l{i + 1}", position=(0, 0, 0.1)) for i in range(n)]
    tree = assemble(parts, joints)
    assert (tree.n, len(tree.frames)) == (n // 2, n // 2)


def test_base_must_be_known() -> None:
    with pytest.raises(ModelError, match="floating"):
        assemble(links("a"), [], base="flying")  # type: ignore[arg-type]
