"""Operational-space inertia in O(n): the Υ recursion that goes with the innovations factorization.

    Υ(base) = 0,   Υ(k) = ψᵀ Υ(k+1) ψ + Hᵀ D⁻¹ H                 ψ = φ (I − GH)

Υ(k) is the mobility of link k: Ω = J M⁻¹ Jᵀ of its frame, with J the link's Jacobian. Its inverse, where it has one, is
Khatib's operational-space inertia Λ. Rodriguez & Kreutz (1988) announce it; the recursion is in Part II, section 6.

For two links s and t with the last common link c, Ω(s,t) = ψᵀ(c,s) Υ(c) ψ(c,t): a wrench on t climbs to c, where the
answer of the whole mechanism is known, and the answer goes down to s.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from catena.algorithms.innovations import factor
from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force
from catena.spatial.mobility import Mobility
from catena.sweeps import Field, Links

Matrix = list[list[Scalar]]

Path = dict[int, list[Force]]
"""Forces that climb from a link to the base: for the number of each link on their way, what arrives there."""


def mobility(links: Links, q: Field) -> Field:
    """Ω = J M⁻¹ Jᵀ of every link, in its own frame: six rows of six."""
    G, D = factor(links, q)
    Upsilon, rows = links.fields("Upsilon rows")
    Upsilon[links.base] = Mobility.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        Upsilon[k] = Upsilon[k.parent].carried(phi).through(H, G[k], D[k])
        Omega = Upsilon[k].carried(k.frame)
        rows[k] = [list(row) for row in zip(*[(Omega @ unit).components for unit in _units()], strict=True)]
    return rows


def blocks(links: Any, q: Field, targets: tuple[int, ...]) -> Matrix:
    """Ω of several links together, 6 x 6 blocks in the order of their numbers in `targets`. O(n) for each of them."""
    walk = _Walk(links, q)
    paths = [walk.climb(k, [k.frame @ unit for unit in _units()]) for k in (walk.every[i] for i in targets)]
    matrix: Matrix = [[0] * (6 * len(paths)) for _ in range(6 * len(paths))]
    for s in range(len(paths)):
        for t in range(s + 1):
            _fill(matrix, 6 * s, 6 * t, walk.met(paths[s], paths[t]))
    return matrix


class _Walk:
    """φ, H, G, D and Υ of every link, for walks from a link to the base."""

    def __init__(self, links: Any, q: Field) -> None:
        self.links, self.every = links, list(links)
        self.G, self.D = factor(links, q)
        self.phi, self.H, self.before, self.Upsilon = links.fields("phi H before Upsilon")
        self.Upsilon[links.base] = Mobility.zero()
        for k in links.base_to_tip():
            self.phi[k], self.H[k] = k.joint(q[k])
            self.before[k] = self.Upsilon[k.parent].carried(self.phi[k])
            self.Upsilon[k] = self.before[k].through(self.H[k], self.G[k], self.D[k])

    def climb(self, k: Any, forces: list[Force]) -> Path:
        """ψ(c, k) f for each force f on link k and each link c from k to the base."""
        path = {k.index: forces}
        while k.parent is not self.links.base:
            forces = [self.phi[k] @ self._beyond(k, f) for f in forces]
            k = k.parent
            path[k.index] = forces
        return path

    def _beyond(self, k: Any, f: Force) -> Force:
        """(I − GH) f: what of a force on link k the free joint lets the parent feel."""
        held: Force = self.G[k] @ (self.H[k] @ f)
        return f - held

    def met(self, one: Path, other: Path) -> Matrix:
        """f(c)ᵀ Υ(c) g(c) where two climbs first meet; zero when they only share the base."""
        c = next((number for number in one if number in other), None)
        if c is None:
            return []
        answers = [self.Upsilon[self.every[c]] @ g for g in other[c]]
        return [[answer.dot(f) for answer in answers] for f in one[c]]


def _units() -> list[Force]:
    return [Force.of([int(i == j) for i in range(6)]) for j in range(6)]


def _fill(matrix: Matrix, row: int, column: int, block: Matrix) -> None:
    """Put a block into a symmetric matrix, and its transpose at the mirrored place."""
    for i, entries in enumerate(block):
        for j, x in enumerate(entries):
            matrix[row + i][column + j] = matrix[column + j][row + i] = x


MOBILITY = Function("link_mobilities", mobility, {"q": "q"}, {"mobilities": "link:6,6"})


def mobility_of(targets: tuple[int, ...]) -> Function:
    """The function that gives Ω of the links with these numbers together: (6 m, 6 m)."""
    name = "operational_space/" + ",".join(map(str, targets))
    size = 6 * len(targets)
    return Function(name, partial(blocks, targets=targets), {"q": "q"}, {"Omega": f"dense:{size},{size}"})
