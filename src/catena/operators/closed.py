"""The operators of a closed system: Rodriguez & Kreutz (1988), Part II, as derived on the page of closed chains.

Constraints exert wrenches on frames. Q takes their multipliers to the wrenches on the two frames of each, B these to
the links, and what unit multipliers leave at the joints on their way to the base is C = H ψ B Q. Then

    Ω = Cᵀ D⁻¹ C                                   of the contact system Ω λ = −(J̇ θ̇ + J θ̈ᶠ)
    θ̈ = θ̈ᶠ + (I − HΨL)ᵀ D⁻¹ C λ                    free motion, and the correction

Inverses are sparse equations, as those of all operators are: for many small loops they cost little more than a sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from catena.algorithms.closure_tolerances import ADDED
from catena.operators.algebra import Operators
from catena.operators.elementary import Inverse, Matrix, Named
from catena.operators.expression import Operator
from catena.operators.structure import Space

if TYPE_CHECKING:
    from catena.robot import Robot
    from catena.system import System

Array = npt.NDArray[Any]


class ClosedStates(NamedTuple):
    """Free motion θ̈ᶠ (..., nv), multipliers λ (..., k), and the accelerations of the closed system θ̈ (..., nv)."""

    free: Array
    lam: Array
    acceleration: Array


class ClosedOperators(Operators):
    """The operators of a system: those of its trees, with the frames of all constraints as tips, and Q, C and Ω.

    The tips are the two frames of each constraint, one after the other. Vectors of the space "held" have a number for
    each direction that a constraint holds, (..., k), in the order of `system.constraints`.
    """

    def __init__(self, system: System, q: Array, v: Array | None = None) -> None:
        self._system = system
        described = [each for each in system.closures.described if not isinstance(each[0], dict)]
        super().__init__(system.forest, q, [frame for _, frames in described for frame in frames], v)
        self._held = Space("held", system.closures.rows, q.shape[:-1])

    def __reduce__(self) -> tuple[Any, ...]:
        """What is copied and pickled: what made the operators; they are computed again."""
        return type(self), (self._system, self.q, self.v)

    @cached_property
    def Q(self) -> Operator:
        """From the multipliers of all constraints to wrenches on their frames: the held directions, on both sides."""
        return Matrix("Q", self._tips, self._held, self._pairs)

    @cached_property
    def K(self) -> Operator:
        """From the multipliers of couplings to torques on joints."""
        return Matrix("K", self._joints, self._held, self._ratios)

    @cached_property
    def U_inverse(self) -> Operator:
        """(4.14): I − HΨL, which makes innovations of torques."""
        return Named("U⁻¹", self.I - self.H @ self.Psi @ self.L)

    @cached_property
    def J(self) -> Operator:
        """The Jacobian of the constraints: QᵀBᵀφᵀHᵀ, and Kᵀ of couplings."""
        wrenches = self.Q.T @ self.B.T @ self.phi.T @ self.H.T
        return Named("J", wrenches + self.K.T if self._coupled else wrenches)

    @cached_property
    def C(self) -> Operator:
        """What multipliers leave at the joints on their way to the base: U⁻¹Jᵀ = HψBQ, as (I − HΨL)Hφ = Hψ."""
        wrenches = self.H @ self.psi @ self.B @ self.Q
        return Named("C", wrenches + self.U_inverse @ self.K if self._coupled else wrenches)

    @cached_property
    def Omega(self) -> Operator:
        """Ω = CᵀD⁻¹C = J𝓜⁻¹Jᵀ: what multipliers do to the rates of the constraints."""
        return Named("Ω", self.C.T @ self.D.inv @ self.C)

    def contact(self, T: npt.ArrayLike) -> ClosedStates:
        """Free motion, the contact system, and the correction, for joint torques T (..., nv).

            o = system.operators(q, v=v)
            o.contact(T).acceleration  # forward dynamics of the closed system

        SingularError where constraints are redundant: `forward_dynamics` solves for those too.
        """
        free = self.filter(T).acceleration
        bias = np.asarray(self._system.constraint_bias(self.q, cast("Array", self.v)))
        lam = self.Omega.inv @ -(bias + self.J @ free)
        return ClosedStates(free, lam, free + self.U_inverse.T @ self.D.inv @ (self.C @ lam))

    @property
    def _coupled(self) -> bool:
        return any(isinstance(each[0], dict) for each in self._system.closures.described)

    def _pairs(self) -> Any:
        """Q: twelve numbers in each column, at the two frames of its constraint."""
        closures, samples = self._system.closures, self.geometry.samples
        numbers = np.asarray(self._system._compiled.kernel(closures.directions)(self.geometry.q))
        holds = [c.holds for c in closures.constraints]
        between = np.array([not isinstance(each[0], dict) for each in closures.described], dtype=bool)
        pair = np.repeat(np.cumsum(between) - 1, holds)  # the number of the pair of frames of each direction
        kept = np.flatnonzero(np.repeat(between, holds))
        sample = np.arange(samples)[:, None, None]
        rows = (12 * pair[kept])[:, None] + np.arange(12) + self._tips.size * sample
        columns = np.broadcast_to(kept[:, None] + self._held.size * sample, rows.shape)
        shape = self._tips.total, self._held.total
        return sparse.coo_matrix((numbers[:, kept].ravel(), (rows.ravel(), columns.ravel())), shape=shape)

    def _ratios(self) -> Any:
        """K: the rows of the Jacobian that belong to couplings."""
        described = self._system.closures.described
        holds = [c.holds for c in self._system.closures.constraints]
        coupled = np.repeat([isinstance(each[0], dict) for each in described], holds).astype(bool)
        J = np.asarray(self._system.constraint_jacobian(self.geometry.q)) * coupled[:, None]
        return sparse.block_diag([rows.T for rows in J]) if len(J) else sparse.coo_matrix((0, 0))


def sparse_contact(robot: Robot, q: Array, links: Array, wrenches: Array) -> Callable[[Array], Array]:
    """The contact system of many constraints: a :data:`~catena.functions.sparse_recipe.SparseContact`."""
    o, held = Operators(robot, q, ()), Space("held", len(links))
    BQ = Matrix("BQ", o._links, held, lambda: _on_links(robot.tree.n, links, wrenches))
    C = o.H @ o.psi @ BQ
    rho = ADDED * _largest(o.geometry.M, links, wrenches)
    damped = C.T @ o.D.inv @ C + rho * Matrix("I", held, held, lambda: sparse.identity(len(links)))
    solution = Inverse(damped, checked=False)  # what is lacking is found by sweeps, and solved for again
    return lambda r: np.asarray(solution @ r)


def _on_links(n: int, links: Array, wrenches: Array) -> Any:
    """The wrenches of unit multipliers on links, (6 n, k)."""
    number, side = np.nonzero(links >= 0)
    rows = 6 * links[number, side][:, None] + np.arange(6)
    columns = np.broadcast_to(number[:, None], rows.shape)
    data = wrenches[number, side]
    return sparse.coo_matrix((data.ravel(), (rows.ravel(), columns.ravel())), shape=(6 * n, len(links)))


def _largest(M: Array, links: Array, wrenches: Array) -> float:
    """A bound of the diagonal of Ω: what the same wrenches would do to the links if no joints held these."""
    used, place = np.unique(links, return_inverse=True)  # the base, -1, does not move
    inverse = np.linalg.pinv(M[used], rcond=1e-12, hermitian=True) * (used >= 0)[:, None, None]
    each = np.einsum("ksi,ksij,ksj->k", wrenches, inverse[place.reshape(links.shape)], wrenches)
    return float(each.max(initial=np.finfo(float).tiny))
