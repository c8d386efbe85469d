"""Closed chains beside Pinocchio's constrained dynamics, at states that meet the constraints."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from tests.closed_systems import CLOSED_MODELS, around, closed_model, near, state
from tests.mechanisms import relative
from tests.peers.pinocchio_peer import Peer

import catena
from catena.model.constraints import Constraint
from catena.model.joints import JOINT_TYPES
from catena.model.tree import Tree

XARM = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
XARM = XARM / "xarm_description" / "urdf" / "xarm7.urdf"
PIN_JOINTS = {"revolute": "JointModelRZ", "continuous": "JointModelRZ", "prismatic": "JointModelPZ"}
PIN_JOINTS |= {"free": "JointModelFreeFlyer"}
PLACES = {"left": np.eye(4), "right": np.eye(4)}
PLACES["right"][:3] = np.array([[-1.0, 0, 0, 0.9], [0, -1.0, 0, 0.1], [0, 0, 1.0, 0]])


def two_arms(*kinds: type[Constraint]) -> catena.System:
    """Two xArm7 and a box between them."""
    arm = catena.load(XARM)
    body = catena.Builder("box").link("body", mass=2.0, com=(0.01, 0.02, 0.03), inertia=(0.02, 0.03, 0.04))
    held = [
        kind(f"{side}/link7", "box", (0, 0, 0.1), second_position=(x, 0, 0), second_rotation=(0.1, 0.5, 0.3))
        for kind, side, x in zip(kinds, PLACES, (-0.2, 0.2), strict=True)
    ]
    placements = {side: (place[:3, 3], place[:3, :3]) for side, place in PLACES.items()}
    return catena.System(dict.fromkeys(PLACES, arm), [body.build(base="floating")], held, placements=placements)


def same_arms() -> Any:
    """The same open trees in Pinocchio."""
    model = pin.Model()
    for side, place in PLACES.items():
        arm = pin.buildModelFromUrdf(str(XARM))
        for i in range(1, arm.njoints):
            arm.names[i] = f"{side}/{arm.names[i]}"
        for frame in arm.frames:
            frame.name = f"{side}/{frame.name}"
        model = pin.appendModel(model, arm, 0, pin.SE3(place))
    free = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "box/root_joint")
    inertia = pin.Inertia(2.0, np.array([0.01, 0.02, 0.03]), np.diag([0.02, 0.03, 0.04]))
    model.appendBodyToJoint(free, inertia, pin.SE3.Identity())
    return model


def same_constraints(system: catena.System, model: Any, frames: Mapping[int, Any] | None = None) -> Any:
    """The constraints in Pinocchio, without its stabilisation; `frames` place links on their joints."""
    models = pin.StdVec_RigidConstraintModel()
    for constraint in system.constraints:
        ends = []
        for side in constraint.sides:
            at = system.frame(side.frame)
            joint = model.getJointId(system.tree.joint_names[at.link]) if at.link >= 0 else 0
            place = pin.SE3(at.rotation, at.position) * pin.SE3(side.rotation, side.position)
            ends += [joint, place if frames is None else frames[at.link] * place]
        kind = pin.ContactType.CONTACT_6D if constraint.holds == 6 else pin.ContactType.CONTACT_3D
        models.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
    return models


def same_tree(tree: Tree) -> tuple[Any, dict[int, Any]]:
    """A mechanism of revolute, prismatic and free joints, link by link, in Pinocchio."""
    model, frames = pin.Model(), {-1: pin.SE3.Identity()}  # frames: from a link's joint to the link itself
    for i in range(tree.n):
        turn = pin.SE3(tree.joint_rotation[i], np.zeros(3))
        place = frames[int(tree.parent[i])] * pin.SE3(tree.placement_rotation[i], tree.placement_position[i]) * turn
        kind = getattr(pin, PIN_JOINTS[JOINT_TYPES[tree.joint_type[i]].name])()
        above = model.getJointId(tree.joint_names[tree.parent[i]]) if tree.parent[i] >= 0 else 0
        joint = model.addJoint(above, kind, place, tree.joint_names[i])
        frames[i] = turn.inverse()
        inertia = pin.Inertia(float(tree.mass[i]), np.array(tree.com[i]), np.array(tree.inertia[i]))
        model.appendBodyToJoint(joint, inertia, frames[i])
    return model, frames


def constrained(system: catena.System, model: Any, models: Any, q: Any, v: Any, tau: Any) -> np.ndarray:
    """Pinocchio's accelerations; the proximal iterations take redundant constraints too."""
    peer, data, datas = Peer.of(system.forest, model), model.createData(), pin.StdVec_RigidConstraintData()
    for each in models:
        datas.append(each.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    a = pin.constraintDynamics(model, data, peer.q(q), peer.v(v), peer.v(tau), models, datas, settings)
    return peer.ours(a)


@pytest.mark.parametrize("kind", [catena.Weld, catena.PointWithFriction, catena.Ball])
def test_two_arms_on_one_box(kind: type[Constraint], rng: np.random.Generator) -> None:
    system, model = two_arms(kind, kind), same_arms()
    models = same_constraints(system, model)
    for _ in range(3):
        q, v, tau = state(system, rng)
        a = system.forward_dynamics(q, v, tau).a
        assert relative(a, constrained(system, model, models, q, v, tau)) < 1e-9


@pytest.mark.parametrize("arms", [3, 10])
@pytest.mark.parametrize("kind", ["Weld", "PointWithFriction"])
def test_more_arms_on_one_box(arms: int, kind: str, rng: np.random.Generator) -> None:
    system = around(arms, [kind])
    model, frames = same_tree(system.tree)
    models = same_constraints(system, model, frames)
    q, v, tau = state(system, rng, 0.3)
    a = system.forward_dynamics(q, v, tau, kernel="rolled").a
    assert relative(a, constrained(system, model, models, q, v, tau)) < 1e-9


@pytest.mark.parametrize("name", CLOSED_MODELS)
def test_closed_models(name: str, rng: np.random.Generator) -> None:
    pytest.importorskip("mujoco")
    system = closed_model(name)
    model, frames = same_tree(system.tree)
    models = same_constraints(system, model, frames)
    for _ in range(3):
        q = near(system, CLOSED_MODELS[name](system), 0.1, rng)
        v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
        a = system.forward_dynamics(q, v, tau).a
        assert relative(a, constrained(system, model, models, q, v, tau)) < 1e-9


def test_derivatives_of_a_dog_on_four_feet(rng: np.random.Generator) -> None:
    dog, q = catena.load(catena.robots.path("quadruped"), base="floating"), np.zeros(19)
    q[6:] = [1.0, *4 * [0.1, 0.5, -1.0]]
    feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    held = [catena.Ball("world", f"quadruped/{foot}", dog.placement(q, foot).position) for foot in feet]
    system = catena.System([dog], constraints=held)
    model, frames = same_tree(system.tree)
    models, peer, data = same_constraints(system, model, frames), Peer.of(system.forest, model), model.createData()
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    datas, settings = pin.StdVec_RigidConstraintData(), pin.ProximalSettings(1e-14, 1e-12, 100)
    for each in models:
        datas.append(each.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    pin.constraintDynamics(model, data, peer.q(q), peer.v(v), peer.v(tau), models, datas, settings)
    pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)
    order = peer.ours(np.arange(18.0)).astype(int)
    theirs = [x[np.ix_(order, order)] for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau)]
    assert relative(np.hstack(system.forward_dynamics_derivatives(q, v, tau)), np.hstack(theirs)) < 1e-9
