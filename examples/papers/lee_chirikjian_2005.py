"""Lee & Chirikjian (2005): what do the equations of the planar chain give, and is it linear in N?

Not here: the numbers of Fig. 2, whose picture and range of N are lost; the comparison itself is made.
"""

from __future__ import annotations

import time

import numpy as np

import catena
from catena.fixman import Family, partition, planar_blocks
from catena.fixman.internal_coordinates import distance, turn

LENGTHS = (100, 200, 400, 800)


def positions(theta: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(14), after two points that do not move: one on the negative x axis, and the base."""
    turned = np.cumsum(theta)
    ends = np.cumsum(lengths[:, None] * np.stack([np.cos(turned), np.sin(turned)], axis=1), axis=0)
    return np.concatenate([[[-1.0, 0.0], [0.0, 0.0]], ends])


def mass_matrix_of_all(theta: np.ndarray, lengths: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """G (4) of angles and lengths, from slopes of (14) by differences."""
    q, n, h = np.concatenate([theta, lengths]), len(theta), 1e-6
    moved = [[positions(*np.split(q + sign * h * e, [n])) for sign in (1, -1)] for e in np.eye(2 * n)]
    slopes = np.array([(above - below)[2:] / (2 * h) for above, below in moved])
    return np.einsum("iak,a,jak->ij", slopes, masses, slopes)


def main() -> None:
    rng = np.random.default_rng(0)
    n = 8
    theta, lengths, masses, b = rng.uniform(-2, 2, (5, n)), *rng.uniform(1, 2, (3, n))
    chain, blocks = catena.planar_chain(lengths, masses), planar_blocks(theta, lengths, masses)
    M, (tt, tl, ll) = chain.mass_matrix(theta).dense(), blocks.dense()
    G = np.array([mass_matrix_of_all(angles, lengths, masses) for angles in theta])
    H = np.block([[tt, tl], [np.swapaxes(tl, 1, 2), ll]])

    def show(number: str, what: str, error: float) -> None:
        print(f"{number:11}{what:62}{error:.0e}")

    print("section II: any coordinates of point masses, here traced")
    i = np.arange(n)
    angles, bars = Family(turn, np.stack([i, i + 1, i + 2], axis=1)), Family(distance, np.stack([i + 1, i + 2], axis=1))
    parted = partition([angles], [bars], np.concatenate([[np.inf, np.inf], masses]), dimension=2)
    traced = parted.at([positions(x, lengths) for x in theta])
    show("(3)-(7)", "H = ∂q/∂x diag(1/m) ∂q/∂xᵀ is G⁻¹, G (4) by differences", np.abs(H @ G - np.eye(2 * n)).max())
    show("(8)", "det G · det Hᵇᵇ = det Gᵃᵃ", np.abs(traced.log_determinant() - np.linalg.slogdet(M)[1]).max())
    x = np.linalg.solve(M, np.broadcast_to(b, theta.shape)[..., None])[..., 0]
    show("(9)-(13)", "c = Hᵃᵃb, d = Hᵇᵃb, Hᵇᵇe = d, x = c − Hᵃᵇe", np.abs(traced.solve(b).x / x - 1).max())
    pull = np.einsum("...ij,...j->...i", G[:, n:, :n], x)  # what holds the lengths, −e = Gᵇᵃ q̈
    show("(11)", "−e, the forces along the bars", np.abs(traced.solve(b).reaction / pull - 1).max())
    print("section III: the planar chain")
    found = [parted.coordinates(positions(x, lengths)) for x in theta]
    back = max(np.abs(np.concatenate(pair) - [*x, *lengths]).max() for pair, x in zip(found, theta, strict=True))
    show("(14)-(19)", "positions from θ and L, and back", back)
    one = parted.at(positions(theta[0], lengths))
    same = max(np.abs(x[0] - y.toarray()).max() for x, y in ((tt, one.aa), (tl, one.ab), (ll, one.bb)))
    show("(20)-(23)", "blocks from cosines and sines, beside the traced ones", same)
    straight = planar_blocks(np.zeros(n), lengths, masses).solve(b).x
    direct = chain.mass_matrix(np.zeros(n)).solve(b)
    show("(21)", "in its nonsingular form, at θ = 0", np.abs(straight / direct - 1).max())
    print("(24)       the pattern of H^θθ, H^θL and H^LL")
    for rows in zip(tt[0], tl[0], ll[0], strict=True):
        print("    " * 3 + "   ".join("".join("x" if abs(x) > 0 else "." for x in row) for row in rows))
    schur = tt - tl @ np.linalg.solve(ll, np.swapaxes(tl, 1, 2))
    show("(25)", "(G^θθ)⁻¹ = H^θθ − H^θL (H^LL)⁻¹ H^Lθ", np.abs(schur @ M - np.eye(n)).max())
    show("", "the solution in O(N)", np.abs(blocks.solve(b).x / x - 1).max())
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
