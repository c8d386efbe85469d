"""Lowering passes change frames and parameters, never the joint-space dynamics."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import catena
from catena.functions.catalogue import FD4, INVERSE_DYNAMICS, MASS_MATRIX
from catena.functions.engine import evaluate, lowered_for, trace
from catena.functions.function import Function
from catena.model.joints import BY_NAME
from catena.model.lowering.lowered import Frames, lower
from catena.model.lowering.placement import factored
from catena.robots import path
from catena.trace.graph import live

MOVING = [name for name in BY_NAME if name != "fixed"]


def with_passes(function: Function, *, regroup: bool, choose: bool) -> Function:
    return Function(
        function.name, function.algorithm, function.inputs, function.outputs, function.optional, regroup, choose
    )


def mass_matrix(tree, q, **passes):
    return evaluate(tree, with_passes(MASS_MATRIX, **passes), {"q": q})["M"].astype(float)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("passes", [{"regroup": True, "choose": False}, {"regroup": False, "choose": True}])
def test_each_pass_leaves_the_mass_matrix_as_it_is(seed, passes):
    robot = catena.random_tree(seed, 9, joint_types=MOVING, branching=0.4)
    q = robot.random_configuration(seed)
    plain = mass_matrix(robot.tree, q, regroup=False, choose=False)
    lowered = mass_matrix(robot.tree, q, **passes)
    np.testing.assert_allclose(lowered, plain, atol=1e-12 * np.abs(plain).max())


def test_each_pass_saves_operations():
    robot = catena.load(path("seven_dof_arm"))

    def operations(**passes):
        function = with_passes(FD4, **passes)
        outputs = trace(lowered_for(robot.tree, function), function)[1]
        return sum(node.op in ("add", "sub", "mul", "div") for node in live(outputs["a"]))

    plain = operations(regroup=False, choose=False)
    assert operations(regroup=True, choose=False) < plain
    assert operations(regroup=True, choose=True) <= operations(regroup=True, choose=False)


def test_regrouping_empties_what_a_revolute_joint_cannot_feel():
    robot = catena.random_tree(1, 8, joint_types=["revolute"])  # every parent is heavy enough to take it in
    constants = lower(robot.tree).constants
    for name in ("m", "hz", "Iyy"):
        assert np.all(constants[name] == 0)


def rotation_z(c, s):
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def rotation_x(c, s):
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


@pytest.mark.parametrize("tilt", [0.0, 1e-13, 1e-7, 1e-3, 0.3, np.pi / 2, 3.0, np.pi])
@pytest.mark.parametrize("seed", range(5))
def test_a_factored_placement_is_the_placement(tilt, seed):
    rng = np.random.default_rng(seed)
    theta, phi = rng.uniform(-np.pi, np.pi, 2)
    R = (
        rotation_z(np.cos(theta), np.sin(theta))
        @ rotation_x(np.cos(tilt), np.sin(tilt))
        @ rotation_z(np.cos(phi), np.sin(phi))
    )
    p = rng.standard_normal(3)
    f = factored(R, p)
    first, tilted, last = rotation_z(f["ct"], f["st"]), rotation_x(f["ca"], f["sa"]), rotation_z(f["cp"], f["sp"])
    np.testing.assert_allclose(first @ tilted @ last, R, atol=4e-15)
    origin = first @ (np.array([f["a"], f["b"], f["d"]]) + tilted @ [0, 0, f["r"]])
    np.testing.assert_allclose(origin, p, atol=1e-13)
    assert max(abs(f[name]) for name in "abdr") < 50 * np.linalg.norm(p), "a common normal far away would cost digits"


def test_wrenches_in_user_frames_survive_the_change_of_frames():
    robot = catena.random_tree(5, 7, joint_types=MOVING, branching=0.3)
    rng = np.random.default_rng(5)
    q, v, a = robot.random_configuration(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    f_ext = rng.standard_normal((robot.tree.n, 6))
    values = {"q": q, "v": v, "a": a, "f_ext": f_ext}
    results = [
        evaluate(robot.tree, with_passes(INVERSE_DYNAMICS, regroup=passes, choose=passes), values)["tau"].astype(float)
        for passes in (False, True)
    ]
    np.testing.assert_allclose(results[0], results[1], atol=1e-12 * np.abs(results[0]).max())


def test_aligned_frames_have_joint_axes_along_z():
    robot = catena.random_tree(1, 6, joint_types=["revolute", "prismatic"])
    frames = Frames.aligned(robot.tree)
    np.testing.assert_allclose(frames.rotation[:, :, 2], [joint.axis for joint in robot.joints], atol=1e-15)


def test_regrouping_spares_a_parent_with_little_inertia():
    """A hair of a link between heavy ones would turn regrouped masses into lost digits."""
    builder = catena.Builder("hair")
    builder.link("heavy", mass=5.0, com=(0.2, 0, 0), inertia=np.diag([0.01, 0.1, 0.1]))
    builder.link("hair", mass=1e-6, com=(0.01, 0, 0), inertia=1e-12 * np.eye(3))
    builder.link("tip", mass=5.0, com=(0.2, 0, 0), inertia=np.diag([0.01, 0.1, 0.1]))
    builder.revolute("a", "base", "heavy", axis=(0, 0, 1))
    builder.revolute("b", "heavy", "hair", axis=(1, 0, 0), position=(0.5, 0, 0))
    builder.revolute("c", "hair", "tip", axis=(0, 1, 0), position=(0.1, 0.1, 0))
    constants = lower(builder.build().tree).constants
    assert constants["m"][2] > 0, "the tip keeps its mass"


def test_digits_survive_near_gimbal_lock():
    """Three joints without mass between them, two axes almost in line: D is tiny, and must still be right."""
    builder = (
        catena.Builder("hip").link("a").link("b").link("thigh", mass=3.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.01))
    )
    builder.revolute("z", "base", "a", axis="z").revolute("x", "a", "b", axis="x").revolute("y", "b", "thigh", axis="y")
    robot = builder.build()
    q, v, tau = np.array([0.3, np.pi / 2 - 1e-4, 0.2]), np.array([0.1, 0.2, -0.3]), np.array([1.0, -2.0, 0.5])
    values = {"q": q, "v": v, "tau": tau}
    with mpmath.workdps(50):
        exact = next(iter(evaluate(robot.tree, FD4, values, mpmath.mpf).values())).astype(float)
    for passes in (False, True):
        function = with_passes(FD4, regroup=passes, choose=passes)
        found = next(iter(evaluate(robot.tree, function, values).values())).astype(float)
        assert np.abs(found - exact).max() < 1e-11 * np.abs(exact).max()
