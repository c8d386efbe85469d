"""Derivatives of forward dynamics: those of inverse dynamics at the acceleration found, times −M⁻¹.

Inverse dynamics undoes forward dynamics, τ = ID(q, v, FD(q, v, τ)), so that

    ∂FD/∂q = −M⁻¹ ∂ID/∂q,   ∂FD/∂v = −M⁻¹ ∂ID/∂v,   ∂FD/∂τ = M⁻¹

M comes with the derivatives of inverse dynamics, entry by entry. It is factored by reverse Gaussian elimination, Saha
(1995), which fills no zero of a tree, and each column is solved for: O(n³) for a chain, O(n d²) where branches part
early. For unrolled kernels only.

A part x of w along a joint's own axes (:mod:`catena.algorithms.changes`) stands for torques M x, which M⁻¹ turns back
into x: it is left out of ∂ID, and taken from the accelerations of that joint afterwards.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import partial
from typing import Any

from catena.algorithms.aligned import AlignedLinks
from catena.algorithms.changes import Change, State, accelerated, changes_at, moving
from catena.algorithms.composite_body import mass_matrix
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.innovations import FACTOR, SOLVE
from catena.algorithms.inverse_dynamics_derivatives import Matrix, derivatives_at, torque_derivatives
from catena.algorithms.joint_losses import AT_JOINTS, AtJoints, with_acting
from catena.algorithms.newton_euler import bias
from catena.algorithms.reverse_gaussian_elimination import eliminate, eliminated
from catena.functions.function import Function
from catena.functions.recipes import Ask, columns, products
from catena.scalars import Scalar, is_zero
from catena.spatial import Dofs, Motion
from catena.sweeps import Field


def forward_dynamics_derivatives(
    links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None = None, *, acting: AtJoints
) -> tuple[Matrix, Matrix, Matrix]:
    """The derivatives of the accelerations by q (in the tangent space), by v and by tau, which is M⁻¹: nv rows each."""
    return accelerations_and_derivatives(links, q, v, tau, f_ext, acting)[1]


def accelerations_and_derivatives(
    links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None, acting: AtJoints
) -> tuple[Field, tuple[Matrix, Matrix, Matrix]]:
    """The accelerations, and their derivatives by q, v and tau."""
    links = AlignedLinks(links, q)
    inertia = Inverse(mass_matrix(links, q))
    vdot = spread(links, inertia.times(driving(links, q, v, tau, f_ext, acting)))
    state = accelerated(links, moving(links, q, v, None, f_ext), vdot)
    changes, own = parted(links, state, changes_at(links, state))
    dq, dv, _ = derivatives_at(links, state, changes, acting)
    return vdot, (inertia.derivative(links, dq, own[0]), inertia.derivative(links, dv, own[1]), inertia.matrix())


def parted(links: Any, state: State, changes: Field) -> tuple[Field, list[Matrix]]:
    """The changes without what is along the joints' own axes; and that, by q and by v, as matrices."""
    rest: Field
    (rest,), own = links.fields("rest"), [[[0] * links.nv for _ in range(links.nv)] for _ in range(2)]
    for k in links.base_to_tip():
        units = state.H[k].units  # the numbers of axes by the component of a motion that they are
        rest[k] = []
        for column, both in enumerate(changes[k], k.v_start):
            for matrix, change in zip(own, both, strict=True):
                for i, axis in units.items():
                    matrix[k.v_start + axis][column] = change.w.components[i]
            rest[k].append([Change(_without(change.w, units), change.turn) for change in both])
    return rest, own


def _without(w: Motion, components: Container[int]) -> Motion:
    return Motion.of([0 if i in components else x for i, x in enumerate(w.components)])


def driving(links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None, acting: AtJoints) -> list[Scalar]:
    """The torques that are left to accelerate the joints."""
    used = bias(links, q, v, f_ext)
    left = [tau[k] - used[k] - acting.taken(k, q[k], v[k]) for k in links.base_to_tip()]
    return [x for dofs in left for x in dofs]


def spread(links: Any, numbers: list[Scalar]) -> Field:
    """One number for each degree of freedom, as a field."""
    field: Field
    (field,) = links.fields("field")
    for k in links.base_to_tip():
        field[k] = Dofs(numbers[k.v_start : k.v_start + k.joint_type.nv])
    return field


class Inverse:
    """M⁻¹ = U⁻ᵀ D⁻¹ U⁻¹ of a whole matrix M.

    An entry of U⁻ᵀ y is a sum over those found before it, (24), or over y by a row of U⁻ᵀ: the shorter one is taken.
    The first is shorter along chains, the second where branches part.
    """

    def __init__(self, M: Matrix) -> None:
        self.U, D = eliminate(M)
        self.weight, n = [1 / d for d in D], len(D)
        self.rows = [eliminated(self.U, [int(i == k) for i in range(n)]) for k in range(n)]  # of U⁻ᵀ
        self.above = [[i for i in range(k) if not is_zero(self.U[i][k])] for k in range(n)]

    def times(self, b: Sequence[Scalar]) -> list[Scalar]:
        """M⁻¹ b."""
        return self.raised(self.innovations(b))

    def innovations(self, b: Sequence[Scalar]) -> list[Scalar]:
        """U⁻¹ b."""
        return eliminated(self.U, b)

    def raised(self, e: Sequence[Scalar]) -> list[Scalar]:
        """U⁻ᵀ D⁻¹ e."""
        y = [x * w for x, w in zip(e, self.weight, strict=True)]
        found: list[Scalar] = []
        for k, (row, above) in enumerate(zip(self.rows, self.above, strict=True)):
            fed = [i for i in range(k + 1) if not is_zero(row[i]) and not is_zero(y[i])]
            if len(fed) <= len(above) and is_zero(y[k]):
                found.append(sum((row[i] * y[i] for i in fed), start=0))
                continue
            x = y[k]
            for i in above:
                x = x - self.U[i][k] * found[i]
            found.append(x)
        return found

    def derivative(self, links: Any, matrix: Matrix, own: Matrix) -> Matrix:
        """−M⁻¹ times the derivatives of the torques, where `own` are parts along the joints' own axes left out of them.

        The inertia of rotors, which is in M, has no part in what was left out.
        """
        rotors, n = [x for k in links for x in k.armature], range(links.nv)
        columns = [self.times([matrix[i][j] - rotors[i] * own[i][j] for i in n]) for j in n]
        return [[-(columns[j][i] + own[i][j]) for j in n] for i in n]

    def matrix(self) -> Matrix:
        """M⁻¹, symmetric by construction: of each column, what is above the diagonal counts."""
        n = len(self.weight)
        columns = [self.times([int(i == k) for i in range(n)]) for k in range(n)]
        return [[columns[max(i, k)][min(i, k)] for k in range(n)] for i in range(n)]


def _forward_dynamics_derivatives(acting: AtJoints) -> Function:
    forward = with_acting(FD3, *acting)

    def rolled(ask: Ask, q: Any, v: Any, tau: Any, *f_ext: Any) -> tuple[Any, Any, Any]:
        a, factors = ask(forward, q, v, tau, *f_ext), ask(FACTOR, q)
        dq, dv = (products(ask, SOLVE, -x, q, *factors) for x in torque_derivatives(ask, acting, *f_ext, q=q, v=v, a=a))
        return dq, dv, columns(ask, SOLVE, ask.tree.nv, q, *factors)

    return Function(
        f"forward_dynamics_derivatives{acting.suffix}",
        partial(forward_dynamics_derivatives, acting=acting),
        {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"},
        {"dq": "dense:nv,nv", "dv": "dense:nv,nv", "dtau": "dense:nv,nv"},
        optional=("f_ext",),
        recipe=rolled,
        steepness=1,
    )


FORWARD_DYNAMICS_DERIVATIVES = {acting: _forward_dynamics_derivatives(acting) for acting in AT_JOINTS}
"""By what acts at joints."""
