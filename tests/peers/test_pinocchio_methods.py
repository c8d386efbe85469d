"""Every method of forward dynamics beside Pinocchio's, on random chains and trees of all joint types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from tests.mechanisms import relative
from tests.peers.pinocchio_peer import Peer

import catena
from catena.algorithms.forward_dynamics import METHODS
from catena.algorithms.newton_euler import RECURSIVE_SPATIAL_DYNAMICS
from catena.algorithms.two_sweep import TWO_SWEEP
from catena.functions import engine

EVERY = {**METHODS, "two_sweep": TWO_SWEEP}
X, Z = np.eye(3)[0], np.eye(3)[2]


def cylindrical(pitch: float) -> Any:
    joint = pin.JointModelComposite()
    joint.addJoint(pin.JointModelRZ())
    joint.addJoint(pin.JointModelPZ())
    return joint


JOINTS = {
    "revolute": lambda pitch: pin.JointModelRZ(),
    "continuous": lambda pitch: pin.JointModelRUBZ(),
    "prismatic": lambda pitch: pin.JointModelPZ(),
    "helical": pin.JointModelHZ,
    "cylindrical": cylindrical,
    "universal": lambda pitch: pin.JointModelUniversal(Z, X),
    "planar": lambda pitch: pin.JointModelPlanar(),
    "spherical": lambda pitch: pin.JointModelSpherical(),
    "free": lambda pitch: pin.JointModelFreeFlyer(),
}


def peer_of(robot: catena.Robot) -> Peer:
    """The robot in Pinocchio, whose joint frames are our canonical ones."""
    model, tree = pin.Model(), robot.tree
    for joint, link in zip(robot.joints, range(tree.n), strict=True):
        parent = int(tree.parent[link])
        Q = tree.joint_rotation[link]
        above = tree.joint_rotation[parent].T if parent >= 0 else np.eye(3)
        place = pin.SE3(above @ tree.placement_rotation[link] @ Q, above @ tree.placement_position[link])
        number = model.addJoint(parent + 1, JOINTS[joint.type](tree.pitch[link]), place, joint.name)
        body = pin.Inertia(tree.mass[link], Q.T @ tree.com[link], Q.T @ tree.inertia[link] @ Q)
        model.appendBodyToJoint(number, body, pin.SE3.Identity())
    return Peer.of(robot, model)


MECHANISMS = {
    "revolute chain": lambda: catena.random_tree(1, 8, ["revolute"], 0.0),
    "prismatic and revolute chain": lambda: catena.random_tree(2, 8, ["revolute", "prismatic"], 0.0),
    "spherical tree": lambda: catena.random_tree(3, 9, ["spherical", "revolute"], 0.5),
    "floating tree": lambda: catena.random_tree(4, 9, ["revolute", "prismatic", "spherical"], 0.5, base="floating"),
    "chain of all joint types": lambda: catena.random_tree(5, 14, list(JOINTS), 0.0),
    "tree of all joint types": lambda: catena.random_tree(6, 14, list(JOINTS), 0.5),
    "weightless tree": lambda: catena.random_tree(7, 12, list(JOINTS), 0.4, gravity=(0, 0, 0)),
    "tilted floating tree": lambda: catena.random_tree(8, 9, list(JOINTS), 0.4, base="floating", gravity=(1, -2, 3)),
}


def case(name: str, seed: int) -> tuple[Peer, dict[str, np.ndarray], list[Any]]:
    """A state of a mechanism, and wrenches on its links in both engines."""
    robot = MECHANISMS[name]()
    peer, rng = peer_of(robot), np.random.default_rng(seed)
    (v, tau), f_ext = rng.standard_normal((2, robot.nv)), rng.standard_normal((robot.tree.n, 6))
    turned = [robot.tree.joint_rotation[i].T for i in range(robot.tree.n)]
    wrenches = [pin.Force(Q @ w[3:], Q @ w[:3]) for Q, w in zip(turned, f_ext, strict=True)]
    values = {"q": robot.random_configuration(rng), "v": v, "tau": tau, "f_ext": f_ext}
    return peer, values, [pin.Force.Zero(), *wrenches]


@pytest.mark.parametrize("wrenches", [False, True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_method(name: str, wrenches: bool) -> None:
    peer, values, forces = case(name, 1)
    model, data = peer.model, peer.model.createData()
    state = peer.q(values["q"]), peer.v(values["v"]), peer.v(values["tau"])
    if not wrenches:
        del values["f_ext"]
    expected = peer.ours(pin.aba(model, data, *state, *([forces] if wrenches else [])))
    for method, function in EVERY.items():
        found = engine.evaluate(peer.robot.tree, function, values)["a"]
        assert relative(found, expected) < 1e-10, method
    assert relative(peer.robot.forward_dynamics(**values), expected) < 1e-10


@pytest.mark.parametrize("name", MECHANISMS)
def test_link_velocities_accelerations_and_forces(name: str) -> None:
    peer, values, forces = case(name, 2)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    values["a"] = values.pop("tau")
    pin.rnea(model, data, peer.q(values["q"]), peer.v(values["v"]), peer.v(values["a"]), forces)
    interlink = [force.copy() for force in data.f]
    pin.forwardKinematics(model, data, peer.q(values["q"]), peer.v(values["v"]), peer.v(values["a"]))
    found = engine.evaluate(robot.tree, RECURSIVE_SPATIAL_DYNAMICS, values)
    expected: dict[str, list[np.ndarray]] = {"velocity": [], "acceleration": [], "force": []}
    for link in range(robot.tree.n):
        Q, number = robot.tree.joint_rotation[link], link + 1
        rate = pin.getClassicalAcceleration(model, data, number, pin.LOCAL)
        for name_, both in (("velocity", data.v[number]), ("acceleration", rate), ("force", interlink[number])):
            expected[name_].append(np.concatenate([Q @ both.angular, Q @ both.linear]))
    for name_, rows in expected.items():
        assert relative(found[name_], rows) < 1e-10, name_
