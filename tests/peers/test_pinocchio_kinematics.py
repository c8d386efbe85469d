"""Every URDF file of example-robot-data against Pinocchio: joints, masses, centre of mass, placements of every link."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.helpers import center_of_mass, placements, random_configuration

from catena import robots
from catena.errors import LoadError
from catena.load import load
from catena.model.tree import Tree

pin = pytest.importorskip("pinocchio")

DATA = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
OWN = [robots.path(name) for name in robots.names() if robots.path(name).suffix == ".urdf"]
FILES = [file for file in sorted(DATA.rglob("*.urdf")) if file.name != "ur3.urdf"] + OWN
TOLERANCE = 1e-12


@lru_cache(maxsize=1)
def loaded(file: Path, base: str) -> tuple[Tree, Any]:
    root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
    return load(file, base, mimic="independent").tree, pin.buildModelFromUrdf(str(file), *root)


def pinocchio_configuration(tree: Tree, model: Any, q: np.ndarray) -> np.ndarray:
    """Catena's q in Pinocchio's order, where a continuous joint is (cos, sin) and so is a planar joint's angle."""
    result = np.empty(model.nq)
    for name, start, end in zip(tree.joint_names, tree.q_start, tree.q_start[1:], strict=False):
        own, peer = q[start:end], model.joints[model.getJointId(name)]
        if peer.nq > len(own):
            own = np.concatenate([own[:-1], [np.cos(own[-1]), np.sin(own[-1])]])
        result[peer.idx_q : peer.idx_q + peer.nq] = own
    return result


def test_data_is_there() -> None:
    assert len(FILES) >= 60


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-3:]).replace("_description", ""))
def test_agrees_with_pinocchio(file: Path, base: Literal["fixed", "floating"]) -> None:
    tree, model = loaded(file, base)
    assert sorted(tree.joint_names) == sorted(list(model.names)[1:])
    assert tree.nv == model.nv
    assert tree.mass.sum() == pytest.approx(pin.computeTotalMass(model), rel=TOLERANCE, abs=1e-15)
    data, rng = model.createData(), np.random.default_rng(7)
    frames = {frame.name: i for i, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY}
    for _ in range(3):
        q = random_configuration(tree, rng)
        peer_q = pinocchio_configuration(tree, model, q)
        pin.framesForwardKinematics(model, data, peer_q)
        ours = placements(tree, q)
        assert set(frames) <= set(ours)
        for name, index in frames.items():
            rotation, position = ours[name]
            np.testing.assert_allclose(rotation, data.oMf[index].rotation, rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(position, data.oMf[index].translation, rtol=0, atol=TOLERANCE)
        if tree.mass.sum() > 0:
            expected = pin.centerOfMass(model, data, peer_q)
            np.testing.assert_allclose(center_of_mass(tree, q), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-3:]).replace("_description", ""))
def test_bodies_and_limits_agree_with_pinocchio(file: Path, base: Literal["fixed", "floating"]) -> None:
    """Merged inertias as Pinocchio sees them, and limits."""
    tree, model = loaded(file, base)
    for i, name in enumerate(tree.joint_names):
        index = model.getJointId(name)
        inertia, peer = model.inertias[index], model.joints[index]
        scale = max(1.0, np.abs(inertia.inertia).max())
        assert tree.mass[i] == pytest.approx(inertia.mass, rel=TOLERANCE)
        if inertia.mass > 0:
            np.testing.assert_allclose(tree.com[i], inertia.lever, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(tree.inertia[i], inertia.inertia, rtol=0, atol=TOLERANCE * scale)
        if peer.nq == 1:
            q, v = tree.q_start[i], tree.v_start[i]
            assert tree.lower[q] == model.lowerPositionLimit[peer.idx_q]
            assert tree.upper[q] == model.upperPositionLimit[peer.idx_q]
            assert tree.velocity_limit[v] == model.upperVelocityLimit[peer.idx_v]
            assert tree.effort_limit[v] == model.upperEffortLimit[peer.idx_v]
            assert tree.damping[v] == model.damping[peer.idx_v]
            assert tree.friction[v] == model.upperDryFrictionLimit[peer.idx_v]


def test_the_empty_file_is_refused_clearly() -> None:
    file = DATA / "ur_description" / "urdf" / "ur3.urdf"
    with pytest.raises(LoadError, match=r"ur3\.urdf.*no links"):
        load(file)


ONE_JOINT = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>
<mass value="2"/><inertia ixx="1" iyy="1.1" izz="1.3" ixy="0.1" ixz="0.2" iyz="0.05"/></inertial></link>
<joint name="j" type="{}"><origin xyz="1 2 3" rpy="0.3 -0.2 0.1"/><parent link="a"/><child link="b"/>
<axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("joint_type", ["planar", "floating"])
def test_joint_types_that_no_file_has(joint_type: str) -> None:
    tree, model = load(ONE_JOINT.format(joint_type)).tree, pin.buildModelFromXML(ONE_JOINT.format(joint_type))
    q = random_configuration(tree, np.random.default_rng(3))
    data = model.createData()
    pin.forwardKinematics(model, data, pinocchio_configuration(tree, model, q))
    rotation, position = placements(tree, q)["b"]
    np.testing.assert_allclose(rotation, data.oMi[1].rotation, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(position, data.oMi[1].translation, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(tree.com[0], model.inertias[1].lever, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(tree.inertia[0], model.inertias[1].inertia, rtol=0, atol=TOLERANCE)
