"""The decoupled natural orthogonal complement and reverse Gaussian elimination: the papers' identities."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers import placements
from tests.mechanisms import ALL, relative

import catena
from catena.errors import ShapeError
from catena.questions.denoc import NaturalOrthogonalComplement

TOLERANCE = 1e-11


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def transposed(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)


def mass_matrix(robot: catena.Robot, q: np.ndarray) -> np.ndarray:
    return np.asarray(robot.mass_matrix(q).dense())


def test_twists_are_those_of_the_mass_centres(robot: catena.Robot, rng: np.random.Generator) -> None:
    q, v = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    step = 1e-6

    def centres(at: np.ndarray) -> np.ndarray:
        poses = placements(robot.tree, at)
        return np.array(
            [poses[n][1] + poses[n][0] @ c for n, c in zip(robot.tree.link_names, robot.tree.com, strict=True)]
        )

    noc = robot.natural_orthogonal_complement(q)
    moved = centres(robot.integrate(q, step * v)) - centres(robot.integrate(q, -step * v))
    assert relative(noc.c, centres(q)) < TOLERANCE
    assert np.abs(noc.twists(v)[:, 3:] - moved / (2 * step)).max() < 1e-7 * max(1.0, np.abs(moved).max() / step)


def test_dense_and_applied_agree(robot: catena.Robot, rng: np.random.Generator) -> None:
    noc = NaturalOrthogonalComplement(robot, robot.random_configuration(rng, (2,)))
    T = noc.dense()
    v, w = rng.standard_normal((2, robot.nv)), rng.standard_normal((2, robot.tree.n, 6))
    assert relative(noc.twists(v).reshape(2, -1), np.einsum("bij,bj->bi", T, v)) < TOLERANCE
    assert relative(noc.torques(w), np.einsum("bji,bj->bi", T, w.reshape(2, -1))) < TOLERANCE


def test_generalized_inertia_matrix(robot: catena.Robot, rng: np.random.Generator) -> None:
    """(10), (13), (14) and (16) give the mass matrix."""
    q = robot.random_configuration(rng)
    noc, n = NaturalOrthogonalComplement(robot, q), robot.tree.n
    expected = mass_matrix(robot, q)
    generalized = np.zeros((6 * n, 6 * n))
    for i in range(n):
        generalized[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = noc.M[i]
    T = noc.dense()
    assert relative(T.T @ generalized @ T + np.diag(robot.armature), expected) < TOLERANCE
    assert relative(noc.mass_matrix(), expected) < TOLERANCE
    blocks = noc.T_l.T @ generalized @ noc.T_l
    for i in range(n):
        for j in range(i + 1):
            block = blocks[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            assert np.abs(block - noc.composite_bodies[i] @ noc.B(i, j)).max() < 1e-11 * np.abs(blocks).max()  # (14)


def test_carrying_twists_is_transitive(rng: np.random.Generator) -> None:
    """(6): B_ij B_jk = B_ik along a chain."""
    noc = NaturalOrthogonalComplement(ALL["revolute chain"](), rng.uniform(-3, 3, 7))
    assert relative(noc.B(5, 3) @ noc.B(3, 1), noc.B(5, 1)) < TOLERANCE
    assert np.array_equal(noc.B(2, 2), np.eye(6))


def test_udu_by_22a(robot: catena.Robot, rng: np.random.Generator) -> None:
    q = robot.random_configuration(rng, (2,))
    noc = NaturalOrthogonalComplement(robot, q)
    U, D = noc.udu()
    assert relative(U @ D @ transposed(U), mass_matrix(robot, q)) < TOLERANCE


def test_elimination_is_the_recursion(robot: catena.Robot, rng: np.random.Generator) -> None:
    """The numbers of every step (30) are the expressions (31) with the recursion (35); E_2 ⋯ E_n I = L_2 (17)."""
    q = robot.random_configuration(rng)
    noc, tree = NaturalOrthogonalComplement(robot, q), robot.tree
    matrix = noc.mass_matrix()
    done = noc.eliminate(steps=True)
    U, D = noc.udu()
    assert relative(done.U, U) < TOLERANCE
    assert relative(done.D, D) < TOLERANCE
    assert sorted(done.L) == sorted(done.E) == list(range(1, tree.n))
    product = matrix
    for k in reversed(range(1, tree.n)):
        product = done.E[k] @ product
        assert np.abs(product - done.L[k]).max() < 1e-11 * np.abs(matrix).max()
        bodies = noc.eliminated_bodies(k)
        for i in range(k):
            rows = slice(tree.v_start[i], tree.v_start[i + 1])
            for j in range(i + 1):
                columns = slice(tree.v_start[j], tree.v_start[j + 1])
                element = noc.joint(i).T @ bodies[i] @ noc.B(i, j) @ noc.joint(j)  # (31)
                element = element + np.diag(tree.armature[rows]) if i == j else element
                assert np.abs(done.L[k][rows, columns] - element).max() < 1e-11 * np.abs(matrix).max()
    last = done.L[1] if tree.n > 1 else matrix
    assert np.abs(np.triu(last, 1) - np.triu(D, 1)).max() < 1e-11 * np.abs(matrix).max()


def test_alpha_is_the_normalised_psi(rng: np.random.Generator) -> None:
    """(31) with (33), which 1997's (25)-(26) leave unnormalised: α_ik = p_iᵀ B_kiᵀ ψ̂_k."""
    noc = NaturalOrthogonalComplement(ALL["revolute chain"](), rng.uniform(-3, 3, 7))
    U, _ = noc.udu()
    for k in range(7):
        for i in range(k):
            assert U[i, k] == pytest.approx(noc.p[i] @ noc.B(k, i).T @ noc.psi[k], rel=1e-9, abs=1e-11)


def test_bad_shapes(rng: np.random.Generator) -> None:
    noc = NaturalOrthogonalComplement(ALL["revolute chain"](), np.zeros(7))
    with pytest.raises(ShapeError, match=r"\(\.\.\., 7\)"):
        noc.twists(np.zeros(6))
    with pytest.raises(ShapeError, match=r"\(\.\.\., 7, 6\)"):
        noc.torques(np.zeros((6, 6)))
