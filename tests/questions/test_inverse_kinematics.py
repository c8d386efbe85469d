"""Inverse kinematics: what it finds is where it was asked for, within limits; what it cannot reach it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.odd_values import Raising

import catena
from catena import poses, robots


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load(robots.path("seven_dof_arm"))


@pytest.fixture(scope="module")
def limited() -> catena.Robot:
    """A redundant arm with narrow limits."""
    builder = catena.Builder("limited")
    for i in range(7):
        builder.link(f"link{i}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        at = {"position": (0.0, 0.0, 0.15)}
        parent = f"link{i - 1}" if i else "base"
        builder.revolute(f"joint{i}", parent, f"link{i}", "zyzyzyx"[i], lower=-2.0, upper=1.5 + 0.1 * i, **at)
    return builder.link("tool").fixed("mount", "link6", "tool", position=(0.1, 0.0, 0.1)).build()


def pose_of(robot: catena.Robot, q: Any, link: str) -> Any:
    return poses.pose(*robot.placement(q, link))


def off(robot: catena.Robot, q: Any, link: str, target: Any) -> Any:
    """The largest entry of the difference of two poses, for each sample."""
    return np.abs(pose_of(robot, q, link) - target).max(axis=(-1, -2))


def test_poses_of_random_configurations_are_reached_within_limits(limited: catena.Robot) -> None:
    target = pose_of(limited, limited.random_configuration(1, 500), "tool")
    q, reached, error = limited.inverse_kinematics({"tool": target}, rng=2)
    assert reached.all()
    assert (error <= 1e-9).all()
    assert (off(limited, q, "tool", target) < 4e-9).all()
    assert (q >= limited.lower).all()
    assert (q <= limited.upper).all()


@pytest.mark.parametrize("seed", range(3))
def test_every_joint_type(seed: int) -> None:
    robot = catena.random_tree(seed, 7, branching=0.3)
    tip = robot.links[-1].name
    target = pose_of(robot, robot.random_configuration(seed, 20), tip)
    q, reached, _ = robot.inverse_kinematics({tip: target}, rng=seed)
    assert reached.all()
    assert (off(robot, q, tip, target) < 1e-8).all()
    np.testing.assert_allclose(robot.normalize(q), q, atol=1e-12)


def test_several_frames_and_parts_of_poses(arm: catena.Robot) -> None:
    truth = arm.random_configuration(3, (4, 5))
    elbow, tool = arm.placement(truth, "elbow").position, arm.placement(truth, "tool")
    q, reached, error = arm.inverse_kinematics({"elbow": elbow, "tool": (tool.rotation, None)}, rng=4)
    assert q.shape == (4, 5, 7)
    assert reached.shape == error.shape == (4, 5)
    assert reached.all()
    np.testing.assert_allclose(arm.placement(q, "elbow").position, elbow, atol=1e-8)
    np.testing.assert_allclose(arm.placement(q, "tool").rotation, tool.rotation, atol=1e-8)
    turn = Rotation.from_euler("xyz", [0.2, -0.4, 1.0])
    q, reached, _ = arm.inverse_kinematics({"tool": turn}, rng=4)
    assert reached
    np.testing.assert_allclose(arm.placement(q, "tool").rotation, turn.as_matrix(), atol=1e-8)


def test_one_target_gives_one_answer(arm: catena.Robot) -> None:
    target = pose_of(arm, arm.random_configuration(5), "tool")
    q, reached, error = arm.inverse_kinematics({"tool": target}, rng=0)
    assert q.shape == (7,)
    assert (np.shape(reached), np.shape(error)) == ((), ())
    again = arm.inverse_kinematics({arm.links[-1]: pose_of(arm, q, arm.links[-1].name)}, q0=q, restarts=0)
    np.testing.assert_allclose(again.q, q, atol=1e-8)
    assert arm.inverse_kinematics({"tool": np.zeros((0, 4, 4))}).q.shape == (0, 7)


def test_targets_in_the_world(arm: catena.Robot) -> None:
    stand = poses.pose(Rotation.from_rotvec([0.3, -0.2, 0.9]).as_matrix(), [1.0, -2.0, 0.5])
    q = arm.random_configuration(np.random.default_rng(5), (3,))
    target = stand @ pose_of(arm, q, "tool")
    found = arm.inverse_kinematics({"tool": target}, rng=0, base=stand)
    assert found.reached.all()
    assert np.abs(stand @ pose_of(arm, found.q, "tool") - target).max() < 1e-8
    place = arm.inverse_kinematics({"tool": target[0, :3, 3]}, rng=0, base=stand)
    assert np.abs((stand @ pose_of(arm, place.q, "tool"))[:3, 3] - target[0, :3, 3]).max() < 1e-8
    with pytest.raises(catena.ShapeError, match="whole pose"):
        arm.inverse_kinematics({"tool": target}, base=[0.0, 0.0, 1.0])


def test_the_same_seed_gives_the_same_bits(arm: catena.Robot) -> None:
    target = pose_of(arm, arm.random_configuration(6, 50), "tool")
    first, second = (arm.inverse_kinematics({"tool": target}, rng=9) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.error, second.error)


def test_solutions_are_near_where_they_were_wanted(arm: catena.Robot) -> None:
    """No small motion along the solutions brings the arm nearer to q0: the way there is orthogonal to them."""
    rng = np.random.default_rng(7)
    q0 = arm.random_configuration(rng, 40)
    target = pose_of(arm, arm.integrate(q0, 0.2 * rng.standard_normal((40, 7))), "tool")
    q, reached, _ = arm.inverse_kinematics({"tool": target}, q0=q0, rng=1)
    assert reached.all()
    free = np.linalg.svd(arm.jacobian(q, "tool"))[2][:, -1]
    inside = ((q > arm.lower) & (q < arm.upper)).all(axis=1)
    assert inside.sum() > 30
    along = np.abs(np.einsum("bi,bi->b", free, q - q0))
    assert np.quantile(along[inside], 0.9) < 1e-3


def test_what_cannot_be_reached_is_said(arm: catena.Robot) -> None:
    good = pose_of(arm, arm.random_configuration(8), "tool")
    far, nothing = good.copy(), good.copy()
    far[:3, 3] = 50.0, 0.0, 0.0
    nothing[0, 3] = np.nan
    q, reached, error = arm.inverse_kinematics({"tool": np.stack([good, far, nothing, good])}, rng=3, restarts=6)
    assert reached.tolist() == [True, False, False, True]
    assert 40 < error[1] < 60
    assert np.isnan(error[2])
    assert np.isfinite(q).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (({},), "at least one target"),
        (({"tool": np.eye(3)[:2, :2]},), r"targets\['tool'\] must be a pose \(\.\.\., 4, 4\)"),
        (({"tool": 2 * np.eye(4)},), "rotation matrix"),
        (({"tool": (None, None)},), "neither"),
        (({"tool": [[1.0], [2.0, 3.0]]},), "rows differ in size"),
        (({"tool": "there"},), "must hold real numbers"),
        (({"tool": None},), "must hold real numbers"),
        (({"tool": np.eye(4)}, np.zeros(3)), r"q0 must have shape \(\.\.\., 7\)"),
        (({"tool": np.zeros((4, 3)), "elbow": np.zeros((5, 3))},), "do not broadcast"),
    ],
)
def test_bad_targets(arm: catena.Robot, given: Any, words: str) -> None:
    with pytest.raises(catena.ShapeError, match=words):
        arm.inverse_kinematics(*given)


def test_bad_options(arm: catena.Robot) -> None:
    target = {"tool": np.eye(4)}
    with pytest.raises(catena.UnknownNameError, match="no link or frame named 'tol'"):
        arm.inverse_kinematics({"tol": np.eye(4)})
    with pytest.raises(catena.CatenaError, match="restarts must be"):
        arm.inverse_kinematics(target, restarts=-1)
    with pytest.raises(catena.CatenaError, match="tolerance must be"):
        arm.inverse_kinematics(target, tolerance=0.0)
    with pytest.raises(catena.ShapeError, match="'elbow', which has no target"):
        arm.inverse_kinematics(target, weights={"elbow": 1.0})
    with pytest.raises(catena.ShapeError, match="weights must be a mapping"):
        arm.inverse_kinematics(target, weights=3.0)  # type: ignore[arg-type]
    with pytest.raises(catena.UnsupportedError, match="up to 250 links, this one has 300"):
        catena.rod_chain(300).inverse_kinematics({0: np.eye(4)})
    with pytest.raises(catena.ShapeError, match="must be a positive number"):
        arm.inverse_kinematics(target, weights={"tool": -1.0})
    with pytest.raises(catena.ShapeError, match="must be a positive number"):
        arm.inverse_kinematics(target, weights={"tool": Raising()})


def test_weights_decide_between_targets(arm: catena.Robot) -> None:
    """Of two targets that contradict each other, the one that counts more is missed by less."""
    here = arm.placement(arm.random_configuration(9), "tool").position
    missed = []
    for weight in (0.1, 10.0):
        q, _, _ = arm.inverse_kinematics(
            {"tool": here, "elbow": (0.0, 0.0, -3.0)}, weights={"tool": weight}, rng=1, restarts=3
        )
        missed.append(np.linalg.norm(arm.placement(q, "tool").position - here))
    assert missed[1] < missed[0]


def test_targets_seen_from_a_frame_that_moves(rng: np.random.Generator) -> None:
    """Two arms of a tree, the hand of one as the hand of the other sees it, anywhere; the base of the tree floats."""
    tree = catena.random_tree(rng, 9, ("revolute", "spherical"), 0.5, base="floating")
    hand, eye = tree.links[8].name, tree.links[5].name
    wanted = [
        poses.relative(*(poses.pose(*tree.placement(q, x)) for x in (eye, hand)))
        for q in tree.random_configuration(rng, 5)
    ]
    q, reached, _ = tree.inverse_kinematics({hand: np.stack(wanted)}, rng=0, relative_to=eye)
    assert reached.all()
    found = [poses.pose(*tree.placement(q, x)) for x in (eye, hand)]
    assert np.abs(poses.relative(*found) - wanted).max() < 1e-8
    with pytest.raises(catena.UnknownNameError, match="nose"):
        tree.inverse_kinematics({hand: wanted[0]}, relative_to="nose")
    with pytest.raises(catena.ShapeError, match="base or relative_to"):
        tree.inverse_kinematics({hand: wanted[0]}, relative_to=eye, base=np.eye(4))
