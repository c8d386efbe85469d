"""Lee & Chirikjian (2005): what do the equations of the planar chain give, and is it linear in N?

Not here: the numbers of Fig. 2, whose picture and range of N are lost; the comparison itself is made.
"""

from __future__ import annotations

import time

import numpy as np

import catena
from catena.fixman import planar_blocks

LENGTHS = (100, 200, 400, 800)


def main() -> None:
    rng = np.random.default_rng(0)
    n = 8
    theta, lengths, masses, b = (
        rng.uniform(-2, 2, (5, n)),
        rng.uniform(1, 2, n),
        rng.uniform(1, 2, n),
        rng.uniform(1, 2, n),
    )
    chain, blocks = catena.planar_chain(lengths, masses), planar_blocks(theta, lengths, masses)
    M = chain.mass_matrix(theta).dense()
    tt, tl, ll = blocks.dense()
    print("(24): the pattern of H^θθ, H^θL and H^LL")
    for rows in zip(tt[0], tl[0], ll[0], strict=True):
        print("   ", "   ".join("".join("x" if abs(x) > 0 else "." for x in row) for row in rows))
    schur = tt - tl @ np.linalg.solve(ll, np.swapaxes(tl, 1, 2))
    print(f"(9), (25)  (G^θθ)⁻¹ = H^θθ − H^θL (H^LL)⁻¹ H^Lθ   {np.abs(schur @ M - np.eye(n)).max():.0e}")
    x = np.linalg.solve(M, np.broadcast_to(b, theta.shape)[..., None])[..., 0]
    print(f"(11)-(13)  the solution in O(N)                    {np.abs(blocks.solve(b).x / x - 1).max():.0e}")
    difference = np.abs(blocks.log_determinant() - np.linalg.slogdet(M)[1]).max()
    print(f"(8)        det G · det H^LL = det G^θθ             {difference:.0e}")
    straight = planar_blocks(np.zeros(n), lengths, masses).solve(b).x
    direct = chain.mass_matrix(np.zeros(n)).solve(b)
    print(f"(21)       in its nonsingular form, at θ = 0       {np.abs(straight / direct - 1).max():.0e}")
    print("Fig. 2     N, µs for O(N) and for a dense solution")
    for size in LENGTHS:
        angles, right = rng.uniform(-2, 2, size), rng.standard_normal(size)
        matrix = catena.planar_chain(np.ones(size), 1.0).mass_matrix(angles).dense()
        times = []
        for fast in (True, False):
            took = []
            for _ in range(3):
                start = time.perf_counter()
                _ = planar_blocks(angles, 1.0, 1.0).solve(right) if fast else np.linalg.solve(matrix, right)
                took.append(time.perf_counter() - start)
            times.append(1e6 * min(took))
        print(f"{size:14}{times[0]:10.0f}{times[1]:10.0f}")


if __name__ == "__main__":
    main()
