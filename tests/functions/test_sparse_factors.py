"""Sparse matrices without factors are refused: SuperLU alone crashes on some."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse

from catena.functions.sparse_factors import sparse_factors

CRASHES = 3998
"""The seed of a matrix on which SuperLU, left alone, reads and writes where it must not."""


def random_matrix(seed: int) -> sparse.csc_matrix:
    """Ones and zeros, most often singular, with a place for a pivot in each row and column."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    A = rng.integers(-1, 2, (n, n)) * (rng.random((n, n)) < rng.uniform(0.5, 3) / n)
    rows, columns = np.nonzero(A)
    at = np.append(rows, np.arange(n)), np.append(columns, rng.permutation(n))
    values = np.append(A[rows, columns].astype(float), np.zeros(n))
    return sparse.coo_matrix((values, at), shape=(n, n)).tocsc()


def factor(numbers: range) -> None:
    for number in numbers:
        for order in ("COLAMD", "NATURAL"):
            A = random_matrix(number)
            try:
                factors = sparse_factors(A, order)
            except RuntimeError:
                assert np.linalg.matrix_rank(A.toarray()) < A.shape[0]
                continue
            b = np.ones(A.shape[0])
            if np.linalg.cond(A.toarray()) < 1e9:
                assert np.abs(A @ factors.solve(b) - b).max() < 1e-5
                assert np.abs(A.T @ factors.solve(b, "T") - b).max() < 1e-5
            back = (factors.L @ factors.U)[factors.perm_r][:, factors.perm_c]
            assert np.abs(back - A).max() < 1e-12


def test_zero_pivots_do_not_crash() -> None:
    """In a process of its own, with memory that malloc fills, so that what is read beyond its end is noticed."""
    code = f"from tests.functions import test_sparse_factors as test; test.factor(range({CRASHES}, {CRASHES + 200}))"
    environment = {**os.environ, "MALLOC_PERTURB_": "85"}
    ran = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], env=environment, check=False)
    assert ran.returncode == 0


def test_what_is_nearly_singular_has_factors_still() -> None:
    A = np.diag([1.0, 1e-9, 2.0]) + np.triu(np.ones((3, 3)), 1)
    factors = sparse_factors(sparse.csc_matrix(A), "NATURAL")
    assert np.allclose(factors.solve(A @ np.arange(3.0)), np.arange(3.0), atol=1e-6)


def test_too_few_places_for_pivots_are_refused() -> None:
    with pytest.raises(RuntimeError, match="no place"):
        sparse_factors(sparse.coo_matrix([[0.0, 1, 0], [0, 1, 0], [1, 0, 1]]))
