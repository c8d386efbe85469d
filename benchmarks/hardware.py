"""What one core can do at best, measured by NumPy: arithmetic in a product of matrices, and memory."""

from __future__ import annotations

import numpy as np
from timing import best

SIZE = 768
"""Rows of the matrices: large enough for the product to run at full speed."""

LARGE = 1 << 24
"""Numbers in an array that no cache holds."""


def limits() -> dict[str, float]:
    """Operations in a nanosecond, and bytes that a copy reads and writes in one."""
    rng = np.random.default_rng(0)
    A, B, C = rng.standard_normal((2, SIZE, SIZE))[0], rng.standard_normal((SIZE, SIZE)), np.empty((SIZE, SIZE))
    x, y = np.zeros(LARGE), np.zeros(LARGE)
    times = best({"product": lambda: np.matmul(A, B, out=C), "copy": lambda: np.copyto(y, x)}, 1.0)
    return {"operations": 2e-9 * SIZE**3 / times["product"], "bytes": 16e-9 * LARGE / times["copy"]}
