"""Forward dynamics of one long chain: a link is the sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
from case import Case, Contestant

import catena

GROUP = "one long chain"
LENGTHS = (100, 1000, 10_000, 100_000)
SHARED = 100
"""The longest chain that Pinocchio is asked for too: its model takes n² of memory."""


def cases() -> Iterator[Case]:
    """Rods on revolute joints, every other axis turned."""
    for n in LENGTHS:
        robot = catena.rod_chain(n, 0.1, 0.1)
        q, v, tau = 0.1 * np.random.default_rng(0).standard_normal((3, n))
        out = np.empty(n)
        ask = robot.forward_dynamics
        ours = Contestant(lambda ask=ask, s=(q, v, tau), out=out: ask(*s, out=out), n, lambda out=out: out)
        peers = {"Pinocchio": in_pinocchio(robot, q, v, tau)} if n <= SHARED else {}
        yield Case(GROUP, "forward dynamics", f"{n:,} links", ours, peers, 1e-5)


def in_pinocchio(robot: catena.Robot, *state: np.ndarray) -> Contestant:
    """The same links in Pinocchio, one call."""
    model, parent, tree, before = pin.Model(), 0, robot.tree, pin.SE3.Identity()
    for i, ten in enumerate(robot.parameters().inertial):
        turned = pin.SE3(tree.joint_rotation[i], np.zeros(3))
        link = pin.SE3(tree.placement_rotation[i], tree.placement_position[i])
        parent = model.addJoint(parent, pin.JointModelRZ(), before * link * turned, f"joint{i}")
        before = turned.inverse()
        model.appendBodyToJoint(parent, pin.Inertia.FromDynamicParameters(ten), before)
    data = model.createData()
    return Contestant(lambda: pin.aba(model, data, *state), robot.nv, lambda: np.array(pin.aba(model, data, *state)))
