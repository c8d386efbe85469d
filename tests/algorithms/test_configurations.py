"""Integrate, difference and normalize as kernels: against fifty digits, SciPy, each other, and for odd numbers."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests import exact_motions
from tests.kernels.targets import kernel, targets
from tests.mechanisms import MOVING

import catena
from catena.algorithms.configurations import DIFFERENCE, INTEGRATE, NORMALIZE
from catena.functions import engine
from catena.functions.linkwise import lowered_for, trace
from catena.functions.on_scalars import evaluate
from catena.trace.derivatives import jacobian
from catena.trace.graph import Expr
from catena.trace.interpret import values

SHAPES = ["unrolled", "rolled"]
REALS = [np.float64, np.float32]
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_real = pytest.mark.parametrize("real", REALS)
each_joint_type = pytest.mark.parametrize("kind", MOVING)


def one_joint(kind: str) -> catena.Robot:
    return catena.random_tree(1, 1, [kind])


def ask(robot: catena.Robot, function, *arrays, shape="unrolled", real=np.float64):
    return engine.kernel(robot, function, kernel=shape, dtype=real)(*[np.asarray(x, real) for x in arrays])


def steps(robot: catena.Robot, count: int, real=np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Configurations, and speeds of all sizes that turn by less than π."""
    rng = np.random.default_rng(2)
    dv = rng.uniform(-1.7, 1.7, (count, robot.nv)) * 10.0 ** rng.uniform(-12, 0.0, (count, 1))
    dv[:2] = 0.0
    return robot.random_configuration(rng, (count,)).astype(real), dv.astype(real)


def furthest(found: np.ndarray, exact: list[list[mpmath.mpf]], size: float) -> float:
    """The largest error, in units in the last place of numbers of a size."""
    errors = [
        abs(mpmath.mpf(float(x)) - e)
        for row, es in zip(found, exact, strict=True)
        for x, e in zip(row, es, strict=True)
    ]
    return float(max(errors)) / float(np.spacing(found.dtype.type(size)))


@each_joint_type
@each_real
@each_shape
def test_as_fifty_digits_say(kind, real, shape) -> None:
    robot = one_joint(kind)
    q, dv = steps(robot, 120, real)
    end = robot.random_configuration(3, (120,)).astype(real)
    with mpmath.workdps(50):
        for function, exact, other, size in (
            (INTEGRATE, exact_motions.integrate, dv, 1.0),
            (DIFFERENCE, exact_motions.difference, end, 2.0),
            (DIFFERENCE, exact_motions.difference, ask(robot, INTEGRATE, q, dv, real=real), 1.0),
        ):
            truth = [exact(kind, a, b) for a, b in zip(q.tolist(), other.tolist(), strict=True)]
            assert furthest(ask(robot, function, q, other, shape=shape, real=real), truth, size) < 6


@each_joint_type
@each_real
def test_difference_undoes_integrate_to_the_last_digits_of_small_steps(kind, real) -> None:
    """From where nothing is turned, nothing is lost: the relative error is that of a few roundings."""
    robot = one_joint(kind)
    _, dv = steps(robot, 200, real)
    q = np.broadcast_to(robot.neutral().astype(real), (200, robot.nq))
    back = ask(robot, DIFFERENCE, q, ask(robot, INTEGRATE, q, dv, real=real), real=real)
    size = np.abs(dv).max(axis=-1, keepdims=True)
    assert np.all(np.abs(back - dv) <= 8 * np.finfo(real).eps * size)


@each_shape
def test_all_joints_of_a_tree(shape) -> None:
    robot = catena.random_tree(3, 30, MOVING, 0.5, base="floating")
    q, dv = steps(robot, 50)
    reached = ask(robot, INTEGRATE, q, dv, shape=shape)
    np.testing.assert_allclose(reached, robot.integrate(q, dv), rtol=0, atol=4e-15)
    np.testing.assert_allclose(ask(robot, DIFFERENCE, q, reached, shape=shape), dv, rtol=0, atol=2e-14)
    other = robot.random_configuration(5, (50,))
    np.testing.assert_allclose(ask(robot, DIFFERENCE, q, other, shape=shape), robot.difference(q, other), atol=2e-14)
    np.testing.assert_allclose(ask(robot, NORMALIZE, q * 3.0, shape=shape), robot.normalize(q * 3.0), rtol=1e-15)


@each_real
def test_single_samples_and_batches_are_the_same_bits(real) -> None:
    robot = catena.random_tree(3, 9, MOVING, 0.5, base="floating")
    q, dv = steps(robot, 21, real)
    for function, other in ((INTEGRATE, dv), (DIFFERENCE, robot.random_configuration(4, (21,)))):
        batch = ask(robot, function, q, other, real=real)
        singles = [ask(robot, function, a, b, real=real) for a, b in zip(q, other, strict=True)]
        np.testing.assert_array_equal(batch, singles)


@each_real
@pytest.mark.parametrize("function", [INTEGRATE, DIFFERENCE], ids=lambda f: f.name)
def test_every_processor_gives_the_same_bits(function, real) -> None:
    robot = catena.random_tree(3, 9, MOVING, 0.5, base="floating")
    sizes, outputs = trace(lowered_for(robot.tree, function), function)
    q, dv = steps(robot, 21, real)
    other = dv if function is INTEGRATE else robot.random_configuration(4, (21,)).astype(real)
    first, *rest = [kernel(sizes, outputs, target, real)(q, other) for target in targets().values()]
    for found in rest:
        np.testing.assert_array_equal(found, first)


def test_rotations_as_scipy_has_them() -> None:
    robot = one_joint("spherical")
    q, dv = steps(robot, 300)
    turned = Rotation.from_quat(q) * Rotation.from_rotvec(dv)
    found = Rotation.from_quat(ask(robot, INTEGRATE, q, dv))
    assert np.max((found.inv() * turned).magnitude()) < 2e-15
    end = robot.random_configuration(7, (300,))
    step = (Rotation.from_quat(q).inv() * Rotation.from_quat(end)).as_rotvec()
    np.testing.assert_allclose(ask(robot, DIFFERENCE, q, end), step, atol=5e-15)


@each_shape
@pytest.mark.parametrize("kind", ["spherical", "free", "planar"])
def test_the_shorter_turn(kind, shape) -> None:
    robot = one_joint(kind)
    rng = np.random.default_rng(8)
    q0, q1 = robot.random_configuration(rng, (2, 200))
    v = ask(robot, DIFFERENCE, q0, q1, shape=shape)
    turn = v[:, 2:3] if kind == "planar" else v[:, :3]
    assert np.linalg.norm(turn, axis=-1).max() <= math.pi * (1 + 1e-15)
    if kind == "planar":
        far = q1 + np.array([0, 0, 2 * math.pi * 3])
    else:
        far = np.concatenate([q1[:, :-4], -q1[:, -4:]], axis=-1)
    np.testing.assert_allclose(ask(robot, DIFFERENCE, q0, far, shape=shape), v, atol=5e-14)


SIZES = {np.float64: (1e-320, 1e-300, 1e-160, 3.0, 1e154, 1e308), np.float32: (1e-42, 1e-30, 1e-20, 3.0, 1e19, 1e38)}


@each_real
@each_shape
def test_quaternions_of_any_length(real, shape) -> None:
    robot = one_joint("spherical")
    q, dv = np.array([0.5, -0.5, 0.5, 0.5], real), np.array([0.1, -0.2, 0.3], real)
    expected = ask(robot, INTEGRATE, q, dv, real=real)
    for size in SIZES[real]:
        long = np.asarray(size, real) * q
        near = 4 * np.finfo(real).eps
        np.testing.assert_allclose(ask(robot, NORMALIZE, long, shape=shape, real=real), q, rtol=near)
        np.testing.assert_allclose(ask(robot, INTEGRATE, long, dv, shape=shape, real=real), expected, rtol=near)
        back = ask(robot, DIFFERENCE, long, expected, shape=shape, real=real)
        np.testing.assert_allclose(back, dv, rtol=20 * near)


@each_shape
def test_bad_numbers_stay_in_their_sample_and_nobody_is_warned(shape) -> None:
    robot = catena.random_tree(3, 9, MOVING, 0.5, base="floating")
    q, dv = steps(robot, 12)
    good = ask(robot, INTEGRATE, q, dv, shape=shape)
    for row, bad in enumerate((math.nan, math.inf, 0.0, 1e200, -math.inf)):
        q[row + 3] = bad
    dv[9], dv[10] = math.nan, 1e300
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ask(robot, INTEGRATE, q, dv, shape=shape)
        ask(robot, DIFFERENCE, q, good, shape=shape)
        ask(robot, NORMALIZE, q, shape=shape)
        robot.integrate(q, dv)
        robot.difference(q, good)
        robot.normalize(q)
    fine = [0, 1, 2, 8, 11]
    np.testing.assert_array_equal(found[fine], good[fine])
    assert np.isnan(found[5, 3:7]).all()  # a quaternion of zeros
    assert np.isnan(ask(robot, NORMALIZE, q, shape=shape)[[3, 4, 5, 7], 3:7]).all()


@each_shape
def test_flat_coordinates_are_added(shape) -> None:
    robot = catena.random_tree(2, 8, ["revolute", "prismatic", "helical", "cylindrical", "universal"], 0.5)
    q, dv = steps(robot, 40)
    np.testing.assert_array_equal(ask(robot, INTEGRATE, q, dv, shape=shape), q + dv)
    np.testing.assert_array_equal(ask(robot, DIFFERENCE, dv, q, shape=shape), q - dv)
    np.testing.assert_array_equal(ask(robot, NORMALIZE, q, shape=shape), q)


def test_the_readable_reference_runs_on_other_numbers() -> None:
    robot = catena.random_tree(3, 9, MOVING, 0.5, base="floating")
    q, dv = steps(robot, 3)
    for number in (float, mpmath.mpf):
        found = evaluate(robot.tree, INTEGRATE, {"q": q[2], "dv": dv[2]}, number)["q"]
        np.testing.assert_allclose(np.array(found, dtype=float), ask(robot, INTEGRATE, q[2], dv[2]), atol=4e-15)


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.7])
@pytest.mark.parametrize("kind", ["planar", "spherical", "free"])
def test_derivatives_are_finite_at_rest_too(kind, size) -> None:
    robot = one_joint(kind)
    q, v = robot.random_configuration(1), size * np.random.default_rng(1).uniform(-1, 1, robot.nv)
    sizes, outputs = trace(lowered_for(robot.tree, INTEGRATE), INTEGRATE)
    for function, given in ((INTEGRATE, {"q": q, "dv": v}), (DIFFERENCE, {"q0": q, "q1": robot.integrate(q, v)})):
        sizes, outputs = trace(lowered_for(robot.tree, function), function)
        flat = [x for output in outputs.values() for x in output]
        name = "dv" if function is INTEGRATE else "q1"
        graph = next(x.graph for x in flat if isinstance(x, Expr))
        entries = jacobian(flat, [graph.input(name, i) for i in range(sizes[name])])
        dense = np.zeros((len(flat), sizes[name]))
        for (i, j), slope in zip(entries, values(list(entries.values()), given), strict=True):
            dense[i, j] = slope
        h = 1e-6
        ahead, behind = (
            ask(robot, function, *[x + step * np.eye(len(x)) if n == name else x for n, x in given.items()])
            for step in (h, -h)
        )
        np.testing.assert_allclose(dense, ((ahead - behind) / (2 * h)).T, atol=1e-8)
