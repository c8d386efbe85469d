"""Joint coordinates and edited robots against Pinocchio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers import placements

import catena

pin = pytest.importorskip("pinocchio")

# name, Pinocchio's joint, and our coordinates and speeds in Pinocchio's order
JOINTS = {
    "revolute": (pin.JointModelRZ, [0], [0]),
    "prismatic": (pin.JointModelPZ, [0], [0]),
    "spherical": (pin.JointModelSpherical, [0, 1, 2, 3], [0, 1, 2]),
    "planar": (pin.JointModelPlanar, [0, 1, 2], [0, 1, 2]),
    "free": (pin.JointModelFreeFlyer, [0, 1, 2, 3, 4, 5, 6], [3, 4, 5, 0, 1, 2]),
}


def one_joint(joint_type: str) -> tuple[catena.Robot, Any]:
    """A single joint of both engines; Pinocchio's joints move along or about z as well."""
    builder = catena.Builder().link("body", 1.0, (0.1, 0.2, 0.3), (1, 1, 1))
    robot = getattr(builder, joint_type)("joint", "base", "body").build()
    model = pin.Model()
    model.addJoint(0, JOINTS[joint_type][0](), pin.SE3.Identity(), "joint")
    return robot, model


def to_peer(joint_type: str, q: np.ndarray) -> np.ndarray:
    if joint_type == "planar":
        return np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])
    return q[JOINTS[joint_type][1]]


@pytest.mark.parametrize("joint_type", JOINTS)
def test_integrate_difference_and_placement(joint_type: str, rng: np.random.Generator) -> None:
    robot, model = one_joint(joint_type)
    data, order = model.createData(), JOINTS[joint_type][2]
    for scale in (1.0, 1.0, 1e-3, 1e-7):
        q0, dv = robot.random_configuration(rng), scale * rng.uniform(-1.5, 1.5, robot.nv)
        q1 = robot.integrate(q0, dv)
        peer = pin.integrate(model, to_peer(joint_type, q0), dv[order])
        pin.forwardKinematics(model, data, peer)
        turn, shift = placements(robot.tree, q1)["body"]
        np.testing.assert_allclose(data.oMi[1].rotation, turn, atol=1e-14)
        np.testing.assert_allclose(data.oMi[1].translation, shift, atol=1e-14)
        q2 = robot.random_configuration(rng)
        step = pin.difference(model, to_peer(joint_type, q0), to_peer(joint_type, q2))
        np.testing.assert_allclose(robot.difference(q0, q2)[order], step, atol=1e-12)


@pytest.mark.parametrize("name", ["panda", "talos_reduced", "g1_29dof_rev_1_0"])
def test_locked_robots(name: str, example_urdfs: list[Path], rng: np.random.Generator) -> None:
    """Joints frozen here and by buildReducedModel leave the same bodies in the same places."""
    files = [file for file in example_urdfs if file.stem == name]
    if not files:
        pytest.skip(f"no {name} in this version of example-robot-data")
    robot, model = catena.load(files[0], mimic="independent"), pin.buildModelFromUrdf(str(files[0]))
    q = robot.random_configuration(rng)
    peer_q = np.array([q[robot.joint(joint).q_slice][0] for joint in list(model.names)[1:]])
    frozen = [joint.name for joint in robot.joints if joint.index % 3 == 1]
    ours = robot.locked({joint: q[robot.joint(joint).q_slice] for joint in frozen})
    theirs = pin.buildReducedModel(model, [model.getJointId(joint) for joint in frozen], peer_q)
    rest = np.concatenate([q[robot.joint(joint.name).q_slice] for joint in ours.joints])
    peer_rest = np.array([rest[ours.joint(joint).q_slice][0] for joint in list(theirs.names)[1:]])
    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, peer_rest)
    poses = placements(ours.tree, rest)
    for joint in ours.joints:
        number = theirs.getJointId(joint.name)
        inertia, link = theirs.inertias[number], ours.link(joint.child)
        assert link.mass == pytest.approx(inertia.mass, rel=1e-13)
        np.testing.assert_allclose(link.com, inertia.lever, atol=1e-13)
        np.testing.assert_allclose(link.inertia, inertia.inertia, atol=1e-12)
        np.testing.assert_allclose(poses[joint.child][0], data.oMi[number].rotation, atol=1e-13)
        np.testing.assert_allclose(poses[joint.child][1], data.oMi[number].translation, atol=1e-13)
