"""States and torques turned into those of Pinocchio and MuJoCo mean the same there, and come back as they were."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import catena
from catena import robots

SHAPE = (2, 3)


def states(robot: catena.Robot) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    v, tau = rng.standard_normal((2, *SHAPE, robot.nv))
    return robot.random_configuration(rng, SHAPE), v, tau


def back(robot: catena.Robot, found: Any, q: Any, v: Any, a: Any, tau: Any) -> None:
    assert np.allclose(robot.difference(q, found.q), 0.0, atol=1e-12)
    for ours, expected in zip(found[1:], (v, a, tau), strict=True):
        assert np.allclose(ours, expected, rtol=1e-12, atol=1e-12)


class TestPinocchio:
    pin = pytest.importorskip("pinocchio")

    @pytest.mark.parametrize(("name", "base"), [("seven_dof_arm", "fixed"), ("quadruped", "floating")])
    def test_forward_dynamics_agree_there(self, name: str, base: Any) -> None:
        pin = self.pin
        robot = catena.load(name, base=base)
        root = (pin.JointModelFreeFlyer(),) if base == "floating" else ()
        model = pin.buildModelFromUrdf(str(robots.path(name)), *root)
        data = model.createData()
        q, v, tau = states(robot)
        a = robot.forward_dynamics(q, v, tau)
        theirs = robot.to_pinocchio(model, q, v, a, tau)
        assert theirs.q.shape == (*SHAPE, model.nq)
        for k in np.ndindex(SHAPE):
            found = pin.aba(model, data, theirs.q[k], theirs.v[k], theirs.tau[k])
            assert np.allclose(found, theirs.a[k], rtol=1e-9, atol=1e-9)
        back(robot, robot.from_pinocchio(model, *theirs), q, v, a, tau)


class TestMujoco:
    mujoco = pytest.importorskip("mujoco")

    @pytest.mark.parametrize("name", ["crane", "two_arms_with_box", "four_bar"])
    def test_forward_dynamics_agree_there(self, name: str) -> None:
        mujoco = self.mujoco
        spec = mujoco.MjSpec.from_file(str(robots.path(name)))
        for equality in list(spec.equalities):
            spec.delete(equality)
        model = spec.compile()
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", catena.ModelWarning)
            robot = catena.load(model)
        data = mujoco.MjData(model)
        q, v, tau = states(robot)
        a = robot.forward_dynamics(q, v, tau, joint_losses=True)
        theirs = robot.to_mujoco(model, q, v, a, tau)
        for k in np.ndindex(SHAPE):
            data.qpos, data.qvel, data.qfrc_applied = theirs.q[k], theirs.v[k], theirs.tau[k]
            mujoco.mj_forward(model, data)
            if not robot.friction.any() and not robot.stiffness.any():
                assert np.allclose(data.qacc, theirs.a[k], rtol=1e-7, atol=1e-7)
        back(robot, robot.from_mujoco(model, *theirs), q, v, a, tau)

    def test_a_model_loads_as_its_file_does(self) -> None:
        path = robots.path("crane")
        model = self.mujoco.MjModel.from_xml_path(str(path))
        assert catena.load(model) == catena.load(path)
        closed = self.mujoco.MjModel.from_xml_path(str(robots.path("four_bar")))
        assert len(catena.System.load(closed).constraints) == len(catena.System.load("four_bar").constraints)
        with pytest.raises(catena.LoadError, match="base must be"):
            catena.load(model, base="afloat")  # type: ignore[arg-type]
