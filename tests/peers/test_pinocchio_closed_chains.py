"""Closed chains beside Pinocchio's constrained dynamics, at states that meet the constraints."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from tests.closed_systems import state
from tests.mechanisms import relative
from tests.peers.pinocchio_peer import Peer

import catena
from catena.model.constraints import Constraint

XARM = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
XARM = XARM / "xarm_description" / "urdf" / "xarm7.urdf"
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


def same_constraints(system: catena.System, model: Any) -> Any:
    """The constraints in Pinocchio, without its stabilisation."""
    models = pin.StdVec_RigidConstraintModel()
    for constraint in system.constraints:
        ends = []
        for side in constraint.sides:
            at = system.frame(side.frame)
            joint = model.getJointId(system.tree.joint_names[at.link])
            place = pin.SE3(at.rotation, at.position) * pin.SE3(side.rotation, side.position)
            ends += [joint, place]
        kind = pin.ContactType.CONTACT_6D if constraint.holds == 6 else pin.ContactType.CONTACT_3D
        models.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
    return models


@pytest.mark.parametrize("kind", [catena.Weld, catena.PointWithFriction, catena.Ball])
def test_two_arms_on_one_box(kind: type[Constraint], rng: np.random.Generator) -> None:
    system, model = two_arms(kind, kind), same_arms()
    peer = Peer.of(system.forest, model)
    models = same_constraints(system, model)
    for _ in range(3):
        q, v, tau = state(system, rng)
        data, datas = model.createData(), pin.StdVec_RigidConstraintData()
        for each in models:
            datas.append(each.createData())
        pin.initConstraintDynamics(model, data, models, datas)
        settings = pin.ProximalSettings(1e-14, 1e-14, 20)
        theirs = pin.constraintDynamics(model, data, peer.q(q), peer.v(v), peer.v(tau), models, datas, settings)
        assert relative(system.forward_dynamics(q, v, tau).a, peer.ours(theirs)) < 1e-9
