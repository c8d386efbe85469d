"""Chains of point masses: section III of Lee & Chirikjian, polymers, the general partition."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import catena
from catena.algorithms import innovations, point_mass
from catena.fixman import Family, partition, planar_blocks
from catena.fixman import method as fixman_method
from catena.fixman.internal_coordinates import distance, turn
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.model.lowering.lowered import lower
from catena.sweeps import RealLinks

extended = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="this machine has no extended precision")


def chain(n: int, rng: np.random.Generator, straight: bool = False):
    theta = np.zeros(n) if straight else rng.uniform(-3, 3, n)
    return theta, rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n)


def inverse_mass_matrix(theta, lengths, masses) -> np.ndarray:
    """(4), then its inverse, in extended precision."""
    n = len(theta)
    theta, L, m = (np.asarray(x, dtype=np.longdouble) for x in (theta, lengths, masses))
    phi = np.cumsum(theta)
    along = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    across = L[:, None] * np.stack([-np.sin(phi), np.cos(phi)], axis=1)
    J = np.zeros((2 * n, 2 * n), dtype=np.longdouble)
    for i in range(n):
        J[2 * i : 2 * i + 2, n : n + i + 1] = along[: i + 1].T
        J[2 * i : 2 * i + 2, : i + 1] = np.cumsum(across[i::-1], axis=0)[::-1].T
    back = inverted(J)
    return np.asarray((back / np.repeat(m, 2)) @ back.T, dtype=float)


def inverted(A: np.ndarray) -> np.ndarray:
    """By Gauss and Jordan, as LAPACK knows no extended precision."""
    n = len(A)
    A = np.hstack([A, np.eye(n, dtype=A.dtype)])
    for i in range(n):
        pivot = i + int(np.argmax(np.abs(A[i:, i])))
        A[[i, pivot]] = A[[pivot, i]]
        A[i] = A[i] / A[i, i]
        others = np.arange(n) != i
        A[others] = A[others] - A[others, i : i + 1] * A[i]
    return A[:, n:]


@extended
@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 50])
@pytest.mark.parametrize("straight", [False, True])
def test_blocks_are_the_inverse_of_the_free_mass_matrix(n, straight, rng) -> None:
    parameters = chain(n, rng, straight)
    H = inverse_mass_matrix(*parameters)
    expected = H[:n, :n], H[:n, n:], H[n:, n:]
    for found, block in zip(planar_blocks(*parameters).dense(), expected, strict=True):
        assert np.abs(found - block).max() < 1e-12


def test_blocks_of_batches_are_those_of_their_samples(rng) -> None:
    theta, lengths, masses = rng.uniform(-3, 3, (2, 3, 6)), rng.uniform(0.5, 1.5, 6), rng.uniform(0.5, 1.5, 6)
    b, together = rng.standard_normal((2, 3, 6)), planar_blocks(theta, lengths, masses)
    solution = together.solve(b)
    for index in np.ndindex(2, 3):
        one = planar_blocks(theta[index], lengths, masses)
        for found, expected in zip(together.dense(), one.dense(), strict=True):
            assert np.array_equal(found[index], expected)
        assert solution.x[index] == pytest.approx(one.solve(b[index]).x, rel=1e-12)
        assert solution.reaction[index] == pytest.approx(one.solve(b[index]).reaction, rel=1e-12)
        assert together.log_determinant()[index] == pytest.approx(one.log_determinant(), abs=1e-12)
    with pytest.raises(catena.ShapeError, match="masses"):
        planar_blocks(theta, lengths, np.ones(5))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_blocks_of_a_floating_base(n, rng) -> None:
    """A mass on two sliders that carries the chain: accelerations and determinants of that robot."""
    theta, lengths, masses = chain(n, rng)
    builder, parent, place = catena.Builder("afloat", gravity=(0, 0, 0)), "y", (0, 0, 0)
    builder.link("x").prismatic("to_x", "base", "x", axis="x").link("y", mass=0.7).prismatic("to_y", "x", "y", axis="y")
    for i in range(n):
        builder.link(f"link{i}", mass=masses[i], com=(lengths[i], 0, 0))
        builder.revolute(f"joint{i}", parent, f"link{i}", position=place)
        parent, place = f"link{i}", (lengths[i], 0, 0)
    M = builder.build().mass_matrix(np.concatenate([[0.1, 0.2], theta]))
    b = rng.standard_normal(n)
    for batch in (theta, np.stack([theta, theta])):
        blocks = planar_blocks(batch, lengths, masses, base_mass=0.7)
        expected = M.solve(np.concatenate([[0, 0], b]))[2:]
        assert blocks.solve(b).x == pytest.approx(np.broadcast_to(expected, batch.shape), rel=1e-11)
        assert blocks.log_determinant() == pytest.approx(M.logdet(), abs=1e-11)


def test_sparsity_is_that_of_equation_24(rng) -> None:
    tt, tl, ll = planar_blocks(*chain(9, rng)).dense()
    i, j = np.indices((9, 9))
    assert np.array_equal(tt != 0, abs(i - j) <= 2)
    inside = (j - i <= 1) & (i - j <= 2)
    inside[0, 0] = False  # the base does not move
    assert np.array_equal(tl != 0, inside)
    assert np.array_equal(ll != 0, abs(i - j) <= 1)


def exact_solution(robot: catena.Robot, theta, b) -> np.ndarray:
    """The articulated recursion at 40 digits."""
    with mpmath.workdps(40):
        links = RealLinks(lower(robot.tree, regroup=False, choose=False), mpmath.mpf)
        q, right = links.coordinates(exact(theta), "q"), links.coordinates(exact(b), "v")
        x = innovations.solve(links, q, *innovations.factor(links, q), right)
        return np.array([float(x[k][0]) for k in links])


def exact(x) -> list:
    return [mpmath.mpf(number) for number in x.tolist()]


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, pytest.param(2000, marks=pytest.mark.slow)])
def test_solution_keeps_its_digits(n, straight, rng) -> None:
    theta, lengths, masses = chain(n, rng, straight)
    robot, b = catena.planar_chain(lengths, masses), rng.standard_normal(n)
    expected = exact_solution(robot, theta, b)
    found = planar_blocks(theta, lengths, masses).solve(b).x
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
    swept = robot.mass_matrix(theta, "fixman").solve(b)
    assert np.abs(swept - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.slow
def test_a_dense_solve_loses_its_digits(rng) -> None:
    robot, b = catena.planar_chain(np.ones(300), 1.0), rng.standard_normal(300)
    expected = exact_solution(robot, np.zeros(300), b)
    dense = np.linalg.solve(robot.mass_matrix(np.zeros(300)).dense(), b)
    assert np.abs(dense - expected).max() > 1e-10 * np.abs(expected).max()
    found = planar_blocks(np.zeros(300), 1.0, 1.0).solve(b).x
    assert np.abs(found - expected).max() < 1e-14 * np.abs(expected).max()


def test_theorem_and_reactions(rng) -> None:
    theta, lengths, masses = chain(8, rng)
    robot, b = catena.planar_chain(lengths, masses), rng.standard_normal((3, 8))
    blocks = planar_blocks(theta, lengths, masses)
    M = robot.mass_matrix(theta).dense()
    assert blocks.log_determinant() == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-12)
    assert blocks.solve(b).x == pytest.approx(np.linalg.solve(M, b.T).T, rel=1e-10)
    H = inverse_mass_matrix(theta, lengths, masses)
    G = np.linalg.inv(H)
    assert blocks.solve(b[0]).reaction == pytest.approx(G[8:, :8] @ blocks.solve(b[0]).x, abs=1e-11)  # −Y of (11)


@pytest.mark.parametrize("shape", [None, "rolled"])
def test_sweeps_with_velocities_gravity_and_wrenches(shape, rng) -> None:
    theta, lengths, masses = chain(7, rng)
    robot = catena.planar_chain(lengths, masses, gravity=(1.0, -9.81, 0.0))
    v, tau = rng.standard_normal((2, 7))
    wrench = rng.standard_normal((7, 6))
    wrench[:, [0, 1, 5]] = 0
    expected = robot.forward_dynamics(theta, v, tau, wrench)
    found = robot.forward_dynamics(theta, v, tau, wrench, method="fixman", kernel=shape)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def branched_plane() -> catena.Robot:
    """Two rods on the end of a third, one of them with another rod."""
    builder = catena.Builder("fork", gravity=(0.0, -9.81, 0.0))
    builder.link("ground")
    ends = {"ground": (0, 0, 0), "a": (1.0, 0, 0), "b": (0.7, 0.2, 0), "c": (0, 0.9, 0), "d": (0.5, 0.5, 0)}
    for name, parent in (("a", "ground"), ("b", "a"), ("c", "a"), ("d", "c")):
        builder.link(name, mass=1.5, com=ends[name])
        builder.revolute(f"to_{name}", parent, name, axis="z", position=ends[parent])
    return builder.build()


def test_planar_trees(rng) -> None:
    robot = branched_plane()
    assert fixman_method.form_of(robot) is fixman_method.PLANAR
    q, v, tau = rng.standard_normal((3, 4))
    values = {"q": q, "v": v, "tau": tau}
    found, tension = engine.evaluate(robot.tree, point_mass.TENSIONS, values).values()
    expected = engine.evaluate(robot.tree, FORWARD_DYNAMICS["fd4"], values)["a"].astype(float)
    assert found.astype(float) == pytest.approx(expected, rel=1e-12)
    assert tension.shape == (4,)
    M = robot.mass_matrix(q).dense()
    assert float(robot.mass_matrix(q, "fixman").logdet()) == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-12)


def test_a_hanging_mass_pulls_with_its_weight() -> None:
    robot = catena.planar_chain([1.0, 1.0], [2.0, 3.0], gravity=(9.81, 0.0, 0.0))
    _, tension = engine.evaluate(robot.tree, point_mass.TENSIONS, {"q": [0, 0], "v": [0, 0], "tau": [0, 0]}).values()
    assert tension.astype(float) == pytest.approx([5 * 9.81, 3 * 9.81])


@pytest.mark.parametrize("coordinates", ["torsions", "torsions+angles"])
def test_polymers(coordinates, rng) -> None:
    n = 9
    robot = catena.point_mass_chain(
        rng.uniform(1, 1.5, n), rng.uniform(1, 2, n), rng.uniform(1.5, 2.5, n), rng.uniform(-3, 3, n),
        coordinates=coordinates, gravity=(0.0, 0.0, -9.81),
    )  # fmt: skip
    q = rng.uniform(-1, 1, (2, robot.nq))
    v, tau = rng.standard_normal((2, 2, robot.nv))
    found = robot.forward_dynamics(q, v, tau, method="fixman")
    assert found == pytest.approx(robot.forward_dynamics(q, v, tau), rel=1e-9, abs=1e-9)
    M = robot.mass_matrix(q)
    assert robot.mass_matrix(q, "fixman").logdet() == pytest.approx(M.logdet(), abs=1e-11)
    q[0, 2] = np.nan  # stays in its own sample
    assert np.isnan(robot.forward_dynamics(q, v, tau, method="fixman")[0]).all()
    assert np.array_equal(robot.forward_dynamics(q, v, tau, method="fixman")[1], found[1])
    assert np.isnan(robot.mass_matrix(q, "fixman").logdet()).tolist() == [True, False]


@pytest.mark.parametrize("coordinates", ["torsions", "torsions+angles"])
def test_polymers_on_a_floating_base(coordinates, rng) -> None:
    """With torsions alone, three atoms move freely as one body, which is cut loose; else no link is."""
    robot = catena.point_mass_chain(np.ones(8), rng.uniform(1, 2, 9), 2.0, coordinates=coordinates, base="floating")
    assert fixman_method.form_of(robot) is fixman_method.RIGID
    q = robot.random_configuration(rng, (4,))
    first = 7 if coordinates == "torsions" else 3
    q[..., first:] = rng.uniform(-1, 1, (4, robot.nq - first))
    v, tau = rng.standard_normal((2, 4, robot.nv))
    expected = robot.forward_dynamics(q, v, tau)
    found = robot.forward_dynamics(q, v, tau, method="fixman")
    assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
    M = robot.mass_matrix(q, method="fixman")
    assert M.logdet() == pytest.approx(np.linalg.slogdet(M.dense())[1], abs=1e-10)


@pytest.mark.parametrize("coordinates", ["torsions", "torsions+angles"])
@pytest.mark.parametrize("n", [3, 6, 15])
def test_estimated_errors_of_polymers_are_not_too_small(n, coordinates, rng) -> None:
    robot = catena.point_mass_chain(np.ones(n), rng.uniform(1, 2, n), 2.0, coordinates=coordinates)
    robot, rest = robot.with_gravity((0, 0, 0)), np.zeros(robot.nv)
    for right in (rng.standard_normal(robot.nv), np.eye(robot.nv)[-1], np.ones(robot.nv)):
        q = robot.random_configuration(rng)
        solution = catena.fixman.solve_with_error(robot, q, right)
        with mpmath.workdps(30):
            known = catena.evaluate(robot, "forward_dynamics", q, rest, right, scalar=mpmath.mpf)
            true = max(abs(x - y) for x, y in zip(exact(solution.x), known, strict=True)) / max(map(abs, known))
        assert true / 3 < solution.error < 1e-10


def test_a_large_residual_is_not_a_large_error(rng) -> None:
    """M of a straight chain has entries of size n³: its product with the right x is off by many times b."""
    n = 100_000
    robot, q, b = catena.planar_chain(np.ones(n), 1.0), np.zeros(n), rng.integers(-99, 99, n).astype(float)
    turned = b - np.append(b[1:], 0.0)  # torques on links; all numbers here are integers, so that nothing is rounded
    links = 2 * turned - np.append(turned[1:], 0.0) - np.append(0.0, turned[:-1])
    links[0] -= turned[0]  # the base does not move
    x = links - np.append(0.0, links[:-1])
    solution = catena.fixman.solve_with_error(robot, q, b)
    assert np.abs(solution.x - x).max() <= solution.error * np.abs(x).max()
    assert solution.error < 1e-13
    assert np.abs(robot.mass_matrix(q) @ np.nextafter(x, np.inf) - b).max() > np.abs(b).max()


def branched_polymer() -> catena.Robot:
    """A side chain on the second atom, as in isobutane's torsions."""
    builder = catena.Builder("branched", gravity=(0.0, 0.0, 0.0))
    builder.link("ground")
    ends = {"ground": (0, 0, 0), "a": (1.0, 0.5, 0), "b": (0.2, 1.0, 0.3), "c": (0.9, 0.9, -0.4), "d": (0.1, 0.2, 1.0)}
    for name, parent in (("a", "ground"), ("b", "a"), ("c", "a"), ("d", "b")):
        axis = ends[parent] if parent != "ground" else (1.0, 0.0, 0.0)
        builder.link(name, mass=1.0 + len(parent), com=ends[name])
        builder.revolute(f"to_{name}", parent, name, axis=axis, position=ends[parent])
    return builder.build()


def test_branched_polymers(rng) -> None:
    robot = branched_polymer()
    assert fixman_method.form_of(robot) is fixman_method.RIGID
    q, b = rng.standard_normal((2, 4))
    M = robot.mass_matrix(q).dense()
    assert robot.mass_matrix(q, "fixman").solve(b) == pytest.approx(np.linalg.solve(M, b), rel=1e-11)
    assert float(robot.mass_matrix(q, "fixman").logdet()) == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-12)


def test_partition_in_any_coordinates_is_the_planar_chain(rng) -> None:
    theta, lengths, masses = chain(6, rng)
    phi = np.cumsum(theta)
    x = np.cumsum(lengths[:, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1), axis=0)
    points = np.concatenate([x, [[0.0, 0.0], [-1.0, 0.0]]])
    second, first, own = np.array([7, 6, 0, 1, 2, 3]), np.array([6, 0, 1, 2, 3, 4]), np.arange(6)
    parts = partition(
        [Family(turn, np.stack([second, first, own], axis=1))],
        [Family(distance, np.stack([first, own], axis=1))],
        np.concatenate([masses, [np.inf, np.inf]]),
        dimension=2,
    )
    found, expected = parts.at(points), planar_blocks(theta, lengths, masses)
    for block, known in zip((found.aa, found.ab, found.bb), expected.dense(), strict=True):
        assert np.abs(block.toarray() - known).max() < 1e-13
    b = rng.standard_normal(6)
    assert found.solve(b).x == pytest.approx(expected.solve(b).x, rel=1e-12)
    assert found.log_determinant() == pytest.approx(expected.log_determinant(), abs=1e-13)
    assert parts.coordinates(points)[1] == pytest.approx(lengths)


def test_partition_takes_one_function_of_all_points(rng) -> None:
    """A double pendulum in Cartesian coordinates and lengths, against its mass matrix."""

    def soft(base, a, b):
        return [turn(base - (a - base), base, a), turn(base, a, b)]

    def hard(base, a, b):
        return [distance(base, a), distance(a, b)]

    theta = rng.uniform(-2, 2, 2)
    phi = np.cumsum(theta)
    x = np.cumsum([[0.0, 0.0], [np.cos(phi[0]), np.sin(phi[0])], [np.cos(phi[1]), np.sin(phi[1])]], axis=0)
    blocks = partition(soft, hard, [np.inf, 1.0, 2.0], dimension=2).at(x)
    assert blocks.bb.toarray() == pytest.approx(np.array([[1.0, -np.cos(theta[1])], [-np.cos(theta[1]), 1.5]]))


def test_refusals() -> None:
    with pytest.raises(catena.SingularError, match="link 2"):
        planar_blocks([0.0, 0.0], 1.0, [1.0, 0.0])
    with pytest.raises(catena.ShapeError, match="expected shape"):
        partition([], [Family(distance, [[0, 1]])], np.ones(2)).at(np.zeros((3, 3)))
    with pytest.raises(catena.ShapeError, match="from 0 to 1"):
        partition([], [Family(distance, [[0, 2]])], np.ones(2))
    for repeats in (2, 40):
        same = partition([], [Family(distance, [[0, 1]] * repeats)], np.ones(2)).at(np.eye(2, 3))
        with pytest.raises(catena.SingularError, match="not independent"):
            same.log_determinant_of_hard()
    with pytest.raises(catena.SingularError, match="expected 6 soft and hard"):
        partition([], [Family(distance, [[0, 1]])], np.ones(2)).at(np.eye(2, 3)).log_determinant()


def test_batches_of_configurations(rng) -> None:
    """What a batch gives is what each of its configurations gives."""
    bonds = Family(distance, [[0, 1], [1, 2], [2, 3]])
    places = Family(lambda a: [a.x, a.y, a.z], [[0]])
    others = Family(lambda a, b: [(b - a).x, (b - a).z], [[0, 1], [1, 2], [2, 3]])
    system = partition([places, others], [bonds], rng.uniform(1, 2, 4))
    x = rng.standard_normal((2, 3, 4, 3))
    blocks, b = system.at(x), rng.standard_normal((2, 3, 9))
    solution, soft_hard = blocks.solve(b), system.coordinates(x)
    assert solution.x.shape == (2, 3, 9)
    assert solution.reaction.shape == (2, 3, 3)
    for i in np.ndindex(2, 3):
        alone = system.at(x[i])
        assert np.allclose(solution.x[i], alone.solve(b[i]).x, rtol=1e-11)
        assert np.allclose(solution.reaction[i], alone.solve(b[i]).reaction, rtol=1e-11)
        assert np.isclose(blocks.log_determinant()[i], alone.log_determinant(), rtol=1e-12)
        assert np.isclose(blocks.log_determinant_of_hard()[i], alone.log_determinant_of_hard(), rtol=1e-12)
        for found, expected in zip(soft_hard, system.coordinates(x[i]), strict=True):
            assert np.array_equal(found[i], expected)
    assert isinstance(alone.log_determinant(), float)
    assert np.array_equal(blocks.solve(b[0, 0]).x, blocks.solve(np.broadcast_to(b[0, 0], b.shape)).x)
    empty = system.at(np.zeros((0, 4, 3)))
    assert empty.solve(b[0, 0]).x.shape == (0, 9)
    assert empty.log_determinant().shape == (0,)
    with pytest.raises(catena.ShapeError, match="b: expected 9"):
        blocks.solve(b[0, :2])
    with pytest.raises(catena.ShapeError, match="positions"):
        system.at(x[..., :2])


def test_branched_systems_are_eliminated_along_their_branches(rng) -> None:
    """Forty bonds that no order makes a narrow band: potential, force and solutions against whole matrices."""
    parents = [-1, *[int(rng.integers(max(0, i - 12), i)) for i in range(1, 41)]]
    bonds = Family(distance, [[parent, i] for i, parent in enumerate(parents) if parent >= 0])
    branched = catena.fixman.partition([], [bonds], rng.uniform(1, 2, 41))
    hard = branched.hard_coordinates
    assert hard._matrix is not None
    assert hard._matrix._sparse is not None
    x = rng.standard_normal((3, 41, 3))
    found = branched.potential(x, [1.0, 2.0, 3.0])
    for i, kT in enumerate((1.0, 2.0, 3.0)):
        assert found.potential[i] == pytest.approx(0.5 * kT * np.linalg.slogdet(branched.at(x[i]).bb.toarray())[1])
    h, direction = 1e-5, rng.standard_normal((41, 3))
    above, below = (branched.potential(x[1] + sign * h * direction, 2.0).potential for sign in (1, -1))
    assert np.sum(found.force[1] * direction) == pytest.approx(-(above - below) / (2 * h), rel=1e-7)
    b = rng.standard_normal((3, 40))
    solved = hard.solve(hard.factors(hard.slopes(x)), b)
    for i in range(3):
        assert branched.at(x[i]).bb @ solved[i] == pytest.approx(b[i], abs=1e-11)
