"""Every MJCF model inside the packages mujoco and dm_control against MuJoCo: placements, masses, centre of mass."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers import center_of_mass, placements

from catena import robots
from catena.errors import LoadError
from catena.load import load

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-12
FREE, BALL, SLIDE, HINGE = range(4)


def compiled(file: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mujoco.MjSpec.from_file(str(file)).compile()


def model_files() -> list[Path]:
    found = [robots.path("crane")]
    for package in ("mujoco", "dm_control"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found += sorted(Path(spec.origin).parent.rglob("*.xml"))
    return found


FILES = model_files()


def random_qpos(model: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random qpos, and the same configuration in Catena's coordinates."""
    qpos = rng.uniform(-2.0, 2.0, model.nq)
    q = qpos.copy()
    for joint in np.flatnonzero(model.jnt_type < SLIDE):
        start = model.jnt_qposadr[joint] + (3 if model.jnt_type[joint] == FREE else 0)
        quaternion = rng.normal(size=4)
        qpos[start : start + 4] = quaternion / np.linalg.norm(quaternion)
        q[start : start + 4] = np.roll(qpos[start : start + 4], -1)
    return qpos, q


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-3:]))
def test_agrees_with_mujoco(file: Path) -> None:
    try:
        model = compiled(file)
    except ValueError:
        with pytest.raises(LoadError, match=file.name):
            load(file)
        return
    tree = load(file).tree
    assert (tree.nq, tree.nv) == (model.nq, model.nv)
    weightless = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    np.testing.assert_array_equal(tree.gravity, np.zeros(3) if weightless else model.opt.gravity)
    data, rng = mujoco.MjData(model), np.random.default_rng(11)
    moving = np.flatnonzero(model.body_treeid >= 0)
    assert tree.mass.sum() == pytest.approx(model.body_mass[moving].sum(), rel=TOLERANCE, abs=1e-15)
    for _ in range(3):
        data.qpos, q = random_qpos(model, rng)
        mujoco.mj_kinematics(model, data)
        ours = placements(tree, q)
        for body in range(1, model.nbody):
            rotation, position = ours[model.body(body).name or f"body{body}"]
            np.testing.assert_allclose(rotation, data.xmat[body].reshape(3, 3), rtol=0, atol=TOLERANCE)
            np.testing.assert_allclose(position, data.xpos[body], rtol=0, atol=TOLERANCE)
        if len(moving):
            expected = model.body_mass[moving] @ data.xipos[moving] / model.body_mass[moving].sum()
            np.testing.assert_allclose(center_of_mass(tree, q), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-3:]))
def test_joints_carry_what_mujoco_says(file: Path) -> None:
    """Limits, armature, damping and friction, joint by joint (joints are in MuJoCo's order)."""
    try:
        model = compiled(file)
    except ValueError:
        pytest.skip("MuJoCo does not compile it")
    tree = load(file).tree
    order = np.arange(model.nv)
    for joint in range(model.njnt):
        start, q = model.jnt_dofadr[joint], model.jnt_qposadr[joint]
        if model.jnt_type[joint] == FREE:
            order[start : start + 6] = start + np.array([3, 4, 5, 0, 1, 2])
        elif model.jnt_type[joint] >= SLIDE:
            limits = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
            assert (tree.lower[q], tree.upper[q]) == tuple(limits)
    np.testing.assert_array_equal(tree.armature, model.dof_armature[order])
    np.testing.assert_array_equal(tree.damping, model.dof_damping[order])
    np.testing.assert_array_equal(tree.friction, model.dof_frictionloss[order])


def test_models_were_found() -> None:
    assert sum("dm_control" in str(file) for file in FILES) > 50 or importlib.util.find_spec("dm_control") is None
