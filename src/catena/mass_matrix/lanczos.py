"""The largest eigenvalue of a symmetric operator that is known by what it does to vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def largest_eigenvalue(action: Callable[[Array], Array], start: Array, steps: int) -> Any:
    """The largest eigenvalue of a symmetric positive definite action: Lanczos with full reorthogonalization.

    Of a matrix without rows it is 1, as if it were the identity.
    """
    if not steps:
        return np.ones(start.shape[:-1])
    x = start / np.linalg.norm(start, axis=-1, keepdims=True)
    basis, T = [x], np.zeros((*start.shape[:-1], steps, steps))
    for j in range(steps):
        y = action(basis[j])
        T[..., j, j] = np.sum(basis[j] * y, axis=-1)
        for _ in range(2):
            for b in basis:
                y = y - np.sum(b * y, axis=-1, keepdims=True) * b
        if j + 1 < steps:
            length = np.linalg.norm(y, axis=-1)
            T[..., j, j + 1] = T[..., j + 1, j] = length
            basis.append(y / np.where(length > 0, length, 1)[..., None])
    return np.linalg.eigvalsh(T)[..., -1]
