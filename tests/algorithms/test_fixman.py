"""Fixman's partition for rigid bodies: against the articulated recursion, dense matrices and the printed blocks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import block_diag

import catena
from catena.algorithms import determinant, fixman, fixman_determinant, point_mass
from catena.fixman import method as fixman_method
from catena.fixman.potential import fixman_potential
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.model.lowering.lowered import lower
from catena.spatial import Motion
from catena.sweeps import RealLinks

UNITS = [Motion.of([float(i == j) for j in range(6)]) for i in range(6)]
TYPES = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical")


def with_rotors(robot: catena.Robot, rng: np.random.Generator) -> catena.Robot:
    """Rotors on every other axis."""
    rotors = rng.uniform(0.1, 1.0, robot.nv) * (np.arange(robot.nv) % 2)
    return catena.Robot(dataclasses.replace(robot.tree, armature=rotors))


def tree(seed: int, rotors: bool, base: str = "fixed", n: int = 12) -> catena.Robot:
    robot = catena.random_tree(seed, n, base=base)
    return with_rotors(robot, np.random.default_rng(seed)) if rotors else robot


def state(robot: catena.Robot, rng: np.random.Generator) -> dict[str, np.ndarray]:
    v, tau = rng.standard_normal((2, robot.nv))
    return {"q": robot.random_configuration(rng), "v": v, "tau": tau, "f_ext": rng.standard_normal((robot.tree.n, 6))}


def run(robot: catena.Robot, function, values, scalar=float) -> list[np.ndarray]:
    given = {name: values[name] for name in function.inputs if name in values}
    return [np.asarray(x).astype(float) for x in engine.evaluate(robot.tree, function, given, scalar).values()]


def relative(x, y) -> float:
    return float(np.abs(np.asarray(x) - y).max() / np.abs(y).max())


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_forward_dynamics_on_trees_of_all_joint_types(seed, rotors, base, rng) -> None:
    robot = tree(seed, rotors, base)
    values = state(robot, rng)
    (expected,) = run(robot, FORWARD_DYNAMICS["fd4"], values)
    acceleration, wrench = run(robot, fixman.REACTIONS, values)
    assert relative(acceleration, expected) < 1e-11
    (torque,) = run(robot, INVERSE_DYNAMICS, {**values, "a": acceleration})
    assert relative(torque, values["tau"]) < 1e-9
    assert wrench.shape == (robot.tree.n, 6)


@pytest.mark.parametrize("joint_type", TYPES)
def test_each_joint_type(joint_type, rng) -> None:
    robot = catena.random_tree(5, 5, joint_types=joint_type)
    values = state(robot, rng)
    assert relative(run(robot, fixman.FIXMAN, values)[0], run(robot, FORWARD_DYNAMICS["fd4"], values)[0]) < 1e-12


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize("which", ["chain", "tree"])
def test_kernels_of_both_shapes(which, shape, rng) -> None:
    robot = catena.rod_chain(6, radius=0.1) if which == "chain" else catena.random_tree(3, 5, ("revolute", "prismatic"))
    q, v, tau = (np.stack([state(robot, rng)[name] for _ in range(3)]) for name in ("q", "v", "tau"))
    expected = robot.forward_dynamics(q, v, tau)
    found = robot.forward_dynamics(q, v, tau, method="fixman", kernel=shape)
    assert relative(found, expected) < 1e-11
    M = robot.mass_matrix(q).dense()
    assert (
        relative(robot.mass_matrix(q, "fixman", kernel=shape).solve(tau), np.linalg.solve(M, tau[..., None])[..., 0])
        < 1e-11
    )
    assert robot.mass_matrix(q, "fixman", kernel=shape).logdet() == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-11)


def test_bearing_loads_carry_the_links(rng) -> None:
    """At rest, with joints locked by their torques, the wrench through a joint carries the weight of all beyond it."""
    robot = catena.random_tree(2, 6, ("revolute", "prismatic", "spherical"))
    q, zero = robot.random_configuration(rng), np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, zero, zero)
    acceleration, wrench = robot.reactions(q, zero, tau)
    assert acceleration == pytest.approx(zero, abs=1e-9)
    R, p = robot.placements(q)
    for k in range(robot.tree.n):
        beyond = [j for j in range(robot.tree.n) if k in ancestors(robot.tree.parent, j)]
        weights = [robot.tree.mass[j] * -robot.gravity for j in beyond]
        moments = [np.cross(p[j] + R[j] @ robot.tree.com[j] - p[k], w) for j, w in zip(beyond, weights, strict=True)]
        assert R[k] @ wrench[k, 3:] == pytest.approx(np.sum(weights, axis=0), abs=1e-9)
        assert R[k] @ wrench[k, :3] == pytest.approx(np.sum(moments, axis=0), abs=1e-9)


def ancestors(parent, j) -> list[int]:
    found = []
    while j >= 0:
        found.append(j)
        j = int(parent[j])
    return found


@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_log_determinant_and_gradient(seed, rotors, rng) -> None:
    robot = tree(seed, rotors, "floating" if seed else "fixed")
    q = robot.random_configuration(rng)
    (M,) = run(robot, MASS_MATRIX, {"q": q})
    dense = np.linalg.slogdet(M)[1]
    (by_theorem,) = run(robot, fixman_determinant.LOG_DETERMINANT, {"q": q})
    value, torque = run(robot, determinant.FIXMAN_POTENTIAL, {"q": q, "kT": 2.0})
    assert by_theorem == pytest.approx(dense, abs=1e-11)
    assert value == pytest.approx(dense, abs=1e-11)

    h, units = 1e-3, np.eye(robot.nv)
    steps = np.stack([h * units, -h * units, 2 * h * units, -2 * h * units])
    a, b, c, d = engine.kernel(robot, determinant.LOG_DETERMINANT)(robot.integrate(q, steps))
    assert np.abs(-torque - (8 * (a - b) - (c - d)) / (12 * h)).max() < 1e-8  # differences with an error of h⁴


def test_fixman_potential(rng) -> None:
    robot = catena.rod_chain(5, radius=0.1)
    q = robot.random_configuration(rng, (2,))
    potential, torque = fixman_potential(robot, q, kT=[1.0, 2.0])
    assert potential == pytest.approx([0.5, 1.0] * robot.mass_matrix(q).logdet(), rel=1e-13)
    assert torque == pytest.approx(-np.array([[0.5], [1.0]]) * robot.mass_matrix(q).logdet_gradient(), rel=1e-13)


def dense_blocks(robot: catena.Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Y and the rows A and B of errata.md, from 6 x 6 matrices; S and T by QR: nothing is shared with the sweeps."""
    links = RealLinks(lower(robot.tree, regroup=False))
    n, coordinates = len(links), links.coordinates(q.tolist(), "q")
    E, inverses, A, B = np.eye(6 * n), [], [], []
    for k in links:
        phi, H = k.joint(coordinates[k])
        S = np.array([axis.components for axis in H.columns], dtype=float).T
        T = np.linalg.qr(S, mode="complete")[0][:, S.shape[1] :]
        rows = np.linalg.inv(np.hstack([S, T]))
        A.append(rows[: S.shape[1]])
        B.append(rows[S.shape[1] :])
        inverses.append(np.linalg.inv(matrix(k.M)))
        if k.parent is not links.base:
            here, there = slice(6 * k.index, 6 * k.index + 6), slice(6 * k.parent.index, 6 * k.parent.index + 6)
            E[here, there] = -carried(phi)
    return E @ block_diag(*inverses) @ E.T, block_diag(*A), block_diag(*B), block_diag(*inverses)


def matrix(M) -> np.ndarray:
    return np.array([(M @ axis).components for axis in UNITS], dtype=float).T


def carried(phi) -> np.ndarray:
    return np.array([(phi.T @ axis).components for axis in UNITS], dtype=float).T


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_are_the_pipeline_13_on_the_blocks(seed, rng) -> None:
    robot = catena.random_tree(seed, 7)
    q, b = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    Y, A, B, inverses = dense_blocks(robot, q)
    c, d = A @ Y @ A.T @ b, B @ Y @ A.T @ b
    e = np.linalg.solve(B @ Y @ B.T, d)
    x = c - A @ Y @ B.T @ e
    (found,) = run(robot, fixman.SOLVE, {"q": q, "b": b})
    assert relative(found, x) < 1e-11
    (M,) = run(robot, MASS_MATRIX, {"q": q})
    assert relative(M @ x, b) < 1e-10
    K = np.linalg.inv(np.vstack([A, B]))
    total = -np.linalg.slogdet(inverses)[1] + 2 * np.linalg.slogdet(K)[1] + np.linalg.slogdet(B @ Y @ B.T)[1]
    assert total == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-11)


def test_only_samples_that_lose_digits_are_warned_of() -> None:
    chain, rng = catena.rod_chain(300, axes="z", radius=0.1), np.random.default_rng(0)
    q, v, tau = rng.standard_normal((3, 4, 300))
    q[1], v[2], tau[2] = 0.0, 0.0, 0.0
    found = chain.forward_dynamics(q, v, tau, method="fixman")
    assert relative(found, chain.forward_dynamics(q, v, tau)) < 1e-9
    one_by_one = [chain.forward_dynamics(*each, method="fixman") for each in zip(q, v, tau, strict=True)]
    np.testing.assert_array_equal(found, one_by_one)
    straight, right = catena.rod_chain(3000, axes="z", radius=0.1), np.zeros((2, 3000))
    right[1] = rng.standard_normal(3000)
    expected = straight.mass_matrix(right).logdet()
    for _ in range(3):  # the second call takes another way, without Python in between
        with pytest.warns(catena.PrecisionWarning, match="relative error"):
            both = straight.mass_matrix(right, "fixman").logdet()
        assert both == pytest.approx(expected, rel=1e-4)
        with pytest.warns(catena.PrecisionWarning, match="relative error"):
            assert straight.mass_matrix(right[0], "fixman").logdet() == pytest.approx(expected[0], rel=1e-4)


def test_lost_digits_are_warned_of() -> None:
    straight = catena.rod_chain(3000, axes="z", radius=0.1)
    with pytest.warns(catena.PrecisionWarning, match="relative error"):
        found = straight.mass_matrix(np.zeros(3000), "fixman").logdet()
    assert found == pytest.approx(float(straight.mass_matrix(np.zeros(3000)).logdet()), rel=1e-4)
    solution = catena.fixman.solve_with_error(straight, np.zeros(3000), np.ones(3000))
    assert 1e-9 < solution.log_determinant_error < 1e-4
    assert solution.error < 1e-10


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no wider floats to compare with")
@pytest.mark.parametrize("axes", ["z", "zy"])
@pytest.mark.parametrize(("n", "straight"), [(n, x) for n in (10, 100, 1000) for x in (True, False)] + [(10_000, True)])
def test_estimated_errors_are_not_too_small(n, straight, axes) -> None:
    rng = np.random.default_rng(n)
    robot = catena.rod_chain(n, axes=axes, radius=0.1, gravity=(0.0, 0.0, 0.0))
    q, b = np.zeros(n) if straight else rng.uniform(-1, 1, n), rng.standard_normal(n)
    values = {"q": q, "v": np.zeros(n), "tau": b}
    wide = {name: x.astype(np.longdouble) for name, x in values.items()}
    (exact,) = engine.evaluate(robot.tree, FORWARD_DYNAMICS["fd4"], wide, np.longdouble).values()
    solution = catena.fixman.solve_with_error(robot, q, b)
    true = relative(solution.x, exact.astype(np.longdouble))
    assert true / 3 < solution.error < 100 * true + 1e-14


def test_point_masses_get_their_own_form() -> None:
    assert fixman_method.form_of(catena.planar_chain(np.ones(4), 1.0)) is fixman_method.PLANAR
    assert fixman_method.form_of(catena.rod_chain(4, radius=0.1)) is fixman_method.RIGID
    assert fixman_method.PLANAR.forward is point_mass.POINT_MASS
