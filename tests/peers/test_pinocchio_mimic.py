"""Robots with mimic joints against Pinocchio, which eliminates them too, and against the same without rules."""

from __future__ import annotations

import sysconfig
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import mimics

import catena
from catena.functions import catalogue, coupled
from catena.functions.function import Function
from catena.functions.on_scalars import evaluate
from catena.model.singular import check_invertible

pin = pytest.importorskip("pinocchio")

ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
NAMES = ["panda", "talos_full_v2", "romeo", "baxter", "pr2", "tiago_pro", "alex_psyonic_hands"]
REFUSED = ("talos_full_v2", "romeo", "alex_psyonic_hands")
"""Robots whose rules Pinocchio does not take: it wants the leader before the follower."""
PATHS = {"gripper": str(catena.robots.path("gripper")), "hand": mimics.HAND}


def _source(name: str) -> str:
    if name in PATHS:
        return PATHS[name]
    found = sorted(ROBOTS.rglob(f"{name}.urdf"))
    if not found:
        pytest.skip(f"example-robot-data has no {name}")
    return str(found[0])


def _of(robot: catena.Robot, function: Function, *given: np.ndarray) -> np.ndarray:
    """A function run link by link: these robots are large, and are asked few times."""
    (result,) = evaluate(robot.tree, function, dict(zip(function.inputs, given, strict=False))).values()
    found: np.ndarray = result.astype(float)
    return found


def _pair(source: str) -> mimics.Pair:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mimics.pair(catena.load(source, mimic="independent"))


@pytest.mark.parametrize("name", [*PATHS, *NAMES])
def test_mass_matrix_and_forward_dynamics(name: str, rng: np.random.Generator) -> None:
    robot, full, G, *_ = pair = _pair(_source(name))
    q, v, a = (rng.uniform(-1, 1, n) for n in (robot.nq, robot.nv, robot.nv))
    M = G.T @ _of(full, catalogue.MASS_MATRIX, pair.wide(q)) @ G
    tau = M @ a + G.T @ _of(full, catalogue.BIAS, pair.wide(q), G @ v)
    np.testing.assert_allclose(_of(robot, catalogue.MASS_MATRIX, q), M, atol=1e-12 * np.abs(M).max())
    np.testing.assert_allclose(_of(robot, catalogue.INVERSE_DYNAMICS, q, v, a), tau, atol=1e-12 * np.abs(tau).max())
    try:
        check_invertible(robot.tree)
    except catena.SingularError:
        return  # fingers without mass, leaders and followers
    found = _of(robot, coupled.FORWARD_DYNAMICS, q, v, tau)
    np.testing.assert_allclose(M @ found - tau, M @ a - tau, atol=1e-10 * np.abs(tau).max())


@pytest.mark.parametrize("name", ["gripper", *[name for name in NAMES if name not in REFUSED]])
def test_pinocchio(name: str, rng: np.random.Generator) -> None:
    source = _source(name)
    robot = _pair(source).robot
    model: Any = pin.buildModelFromUrdf(source, True)
    assert model.nv == robot.nv
    own = [joint.name for joint in robot.joints if joint.v_slice.stop > joint.v_slice.start]
    order = [int(model.joints[model.getJointId(name)].idx_v) for name in own]
    its, back = model.createData(), np.argsort(order)
    q, v, a = (rng.uniform(-1, 1, robot.nv) for _ in range(3))
    there = pin.integrate(model, pin.neutral(model), q[back])
    tau = pin.rnea(model, its, there, v[back], a[back])[order]
    M = pin.crba(model, its, there)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    np.testing.assert_allclose(_of(robot, catalogue.MASS_MATRIX, q), M, atol=1e-10 * np.abs(M).max())
    np.testing.assert_allclose(_of(robot, catalogue.INVERSE_DYNAMICS, q, v, a), tau, atol=1e-10 * np.abs(tau).max())
    found = _of(robot, coupled.FORWARD_DYNAMICS, q, v, tau)
    np.testing.assert_allclose(M @ found, M @ a, atol=1e-10 * np.abs(tau).max())
