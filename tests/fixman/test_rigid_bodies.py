"""The blocks of Wang & Chirikjian (19) as a public object: against dense matrices and the mass matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.test_fixman import dense_blocks
from tests.mechanisms import WITHOUT_ROTORS, relative, with_rotors

import catena
from catena.fixman import rigid_blocks


@pytest.mark.parametrize("name", WITHOUT_ROTORS)
def test_solutions_and_determinants(name, rng) -> None:
    robot = WITHOUT_ROTORS[name]()
    q, b = robot.random_configuration(rng, (2, 2)), rng.standard_normal((2, 2, robot.nv))
    blocks = rigid_blocks(robot, q)
    M = robot.mass_matrix(q)
    found = blocks.solve(b)
    assert relative(found.x, M.solve(b)) < 1e-10
    assert found.reaction.shape == (2, 2, 6 * robot.tree.n - robot.nv)
    assert found.error < 1e-8
    assert blocks.log_determinant() == pytest.approx(M.logdet(), abs=1e-9)


def test_blocks_are_those_of_the_errata(rng) -> None:
    """Up to the choice of T, and of the frame, which leave Hᵃᵃ and det Hᵇᵇ alone."""
    robot = catena.random_tree(3, 5, ["revolute", "universal", "free"], 0.5)
    q = robot.random_configuration(rng, 2)
    aa, ab, bb = rigid_blocks(robot, q).dense()
    for i in range(2):
        Y, A, B, _ = dense_blocks(robot, q[i])
        assert relative(aa[i], A @ Y @ A.T) < 1e-11
        assert np.linalg.slogdet(bb[i])[1] == pytest.approx(np.linalg.slogdet(B @ Y @ B.T)[1], abs=1e-10)
        schur = aa[i] - ab[i] @ np.linalg.solve(bb[i], ab[i].T)
        assert relative(np.linalg.inv(schur), robot.mass_matrix(q[i]).dense()) < 1e-9


def test_the_picture_of_a_chain_is_block_tridiagonal(rng) -> None:
    robot = catena.rod_chain(4, radius=0.1)
    lines = rigid_blocks(robot, robot.random_configuration(rng)).picture().splitlines()
    assert len(lines) == 4 + 1 + 20
    hard = np.array([list(line.partition("|")[2]) for line in lines[5:]]) == "x"
    i, j = np.indices(hard.shape) // 5
    assert not hard[np.abs(i - j) > 1].any()
    assert hard[i == j].any()


def test_what_has_no_blocks_is_named() -> None:
    with pytest.raises(catena.SingularError, match="link1"):
        rigid_blocks(catena.rod_chain(3), np.zeros(3))
    with pytest.raises(catena.UnsupportedError, match="joint1"):
        rigid_blocks(with_rotors(catena.rod_chain(3, radius=0.1)), np.zeros(3))
    with pytest.raises(catena.ShapeError, match="b: expected"):
        rigid_blocks(catena.rod_chain(3, radius=0.1), np.zeros((2, 3))).solve(np.zeros(4))
