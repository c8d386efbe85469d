"""Edited robots move as the originals do."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import center_of_mass, placements

import catena
from catena.model.lie import quaternion_normalized, rotation_matrix


def rotation(rng: np.random.Generator) -> np.ndarray:
    return rotation_matrix(quaternion_normalized(rng.standard_normal(4)))


def assert_same(ours: tuple[np.ndarray, np.ndarray], theirs: tuple[np.ndarray, np.ndarray]) -> None:
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-13)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-13)


def total_mass(robot: catena.Robot) -> float:
    return robot.total_mass + robot.tree.base_mass


def test_with_gravity() -> None:
    robot = catena.rod_chain(3)
    moon = robot.with_gravity((0, 0, -1.62))
    assert moon != robot
    assert moon.gravity.tolist() == [0, 0, -1.62]
    assert moon.with_gravity(robot.gravity) == robot
    with pytest.raises(catena.ModelError, match="gravity"):
        robot.with_gravity(9.81)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_locked(seed: int, base: str, rng: np.random.Generator) -> None:
    """Every link is where it was with the joints there; the mass and its centre stay; all joint types."""
    robot = catena.random_tree(seed, 20, base=base)
    q = robot.random_configuration(seed)
    names = [joint.name for joint in robot.joints if rng.random() < 0.5]
    locked = robot.locked({name: q[robot.joint(name).q_slice] for name in names})
    assert [joint.name for joint in locked.joints] == [j.name for j in robot.joints if j.name not in names]
    rest = np.concatenate([q[joint.q_slice] for joint in robot.joints if joint.name not in names] or [[]])
    before, after = placements(robot.tree, q), placements(locked.tree, rest)
    assert set(after) == set(before)
    for name in before:
        assert_same(after[name], before[name])
    assert total_mass(locked) == pytest.approx(total_mass(robot))
    if locked.tree.base_mass == 0:
        np.testing.assert_allclose(center_of_mass(locked.tree, rest), center_of_mass(robot.tree, q), atol=1e-13)


def test_locking_in_steps_is_locking_at_once() -> None:
    robot = catena.random_tree(5, 8, ("revolute",))
    steps = robot.locked({"joint3": 0.3}).locked({"joint4": -0.4}).locked({"joint1": 1.0})
    at_once = robot.locked({"joint1": 1.0, "joint3": 0.3, "joint4": -0.4})
    q = at_once.random_configuration(0)
    before, after = placements(at_once.tree, q), placements(steps.tree, q)
    for name in before:
        assert_same(after[name], before[name])
    np.testing.assert_allclose(steps.tree.inertia, at_once.tree.inertia, atol=1e-13)
    np.testing.assert_allclose(steps.tree.com, at_once.tree.com, atol=1e-13)


def test_locked_keeps_the_rest() -> None:
    robot = catena.random_tree(5, 8, ("revolute", "spherical"))
    assert robot.locked({}) == robot
    everything = robot.locked({j.name: robot.neutral()[j.q_slice] for j in robot.joints})
    assert (everything.nv, len(everything.joints), everything.total_mass) == (0, 0, 0.0)
    assert everything.frame("link8").link == -1


def test_bad_locks() -> None:
    robot = catena.random_tree(5, 8, ("spherical",))
    with pytest.raises(catena.UnknownNameError, match="joint1"):
        robot.locked({"joit1": 0.0})
    for value in (0.0, [1, 2, 3], [0, 0, 0, np.nan], [0, 0, 0, 0], "up"):
        with pytest.raises(catena.ModelError, match="joint2"):
            robot.locked({"joint2": value})


@pytest.mark.parametrize("seed", range(4))
def test_subtree(seed: int) -> None:
    """The links below one move relative to its parent as in the whole robot."""
    robot = catena.random_tree(seed, 25, branching=0.4)
    root = robot.links[6]
    part, q = robot.subtree(root.name), robot.random_configuration(seed)
    whole = placements(robot.tree, q)
    own = np.concatenate([q[robot.joint(joint.name).q_slice] for joint in part.joints])
    turn, shift = whole[root.parent]
    assert part.base_name == root.parent
    assert part.links[0].name == root.name
    descendants = {root.name}
    for link in robot.links[7:]:
        descendants |= {link.name} if link.parent in descendants else set()
    assert {link.name for link in part.links} == descendants
    for name, pose in placements(part.tree, own).items():
        assert_same((turn @ pose[0], shift + turn @ pose[1]), whole[name])
    for link in part.links:
        np.testing.assert_array_equal(link.inertia, robot.link(link.name).inertia)


def test_subtree_of_everything_and_of_nothing() -> None:
    robot = catena.rod_chain(4)
    assert robot.subtree("base") is robot
    assert robot.subtree("link1") == robot
    with pytest.raises(catena.UnknownNameError):
        robot.subtree("link5")


def gripper() -> catena.Robot:
    return (
        catena.Builder("gripper", base="palm")
        .link("palm", 0.5, (0, 0, 0.05), (1e-3, 2e-3, 2e-3))
        .link("camera", 0.1, (0, 0.1, 0))
        .link("finger", 0.2, (0, 0.02, 0), (1e-4, 1e-4, 1e-4))
        .fixed("mount", "palm", "camera", position=(0.1, 0, 0))
        .prismatic("close", "palm", "finger", axis="y", position=(0, 0, 0.1))
        .build()
    )


@pytest.mark.parametrize("at", ["link4", "tool", "base"])
def test_attach(at: str, rng: np.random.Generator) -> None:
    tool = catena.Builder("stub").link("tool", 0.3, (0, 0, 0.1)).build()
    arm = catena.random_tree(8, 6).attach(tool, "link3", position=(0, 0, 1))
    turn, shift = rotation(rng), rng.standard_normal(3)
    both = arm.attach(gripper(), at, turn, shift, prefix="left_")
    q, close = arm.random_configuration(1), 0.03
    alone, together = placements(arm.tree, q), placements(both.tree, np.append(q, close))
    R, p = alone[at]
    for name, pose in alone.items():
        assert_same(together[name], pose)
    for name, pose in placements(gripper().tree, np.array([close])).items():
        assert_same(together["left_" + name], (R @ turn @ pose[0], p + R @ (shift + turn @ pose[1])))
    assert total_mass(both) == pytest.approx(total_mass(arm) + total_mass(gripper()))
    assert both.joint("left_close").q_slice == slice(arm.nq, arm.nq + 1)


def test_attaching_moves_no_mass() -> None:
    """The centre of mass of the whole is that of its parts, where they are."""
    arm = catena.rod_chain(3, 0.5, 1.0)
    both = arm.attach(gripper(), "link3", position=(0.5, 0, 0))
    q, close = np.array([0.3, -0.4, 0.5]), 0.02
    R, p = placements(arm.tree, q)["link3"]
    palm = p + R @ [0.5, 0, 0]
    parts = [(3.0, center_of_mass(arm.tree, q)), (0.5, palm + R @ [0, 0, 0.05]), (0.1, palm + R @ [0.1, 0.1, 0])]
    parts.append((0.2, palm + R @ [0, 0.02 + close, 0.1]))
    expected = sum(m * c for m, c in parts) / sum(m for m, _ in parts)
    np.testing.assert_allclose(center_of_mass(both.tree, np.append(q, close)), expected, atol=1e-14)


def test_names_must_not_clash() -> None:
    arm = catena.rod_chain(3)
    with pytest.raises(catena.ModelError, match="prefix"):
        arm.attach(arm, "link3")
    double = arm.attach(arm, "link3", position=(1, 0, 0), prefix="second_")
    assert len(double.links) == 6
    with pytest.raises(catena.UnknownNameError):
        arm.attach(arm, "tip", prefix="x_")
    with pytest.raises(catena.ModelError, match="orthonormal"):
        arm.attach(arm, "link3", rotation=np.zeros((3, 3)), prefix="x_")
