"""Derivatives of the forward dynamics of closed chains, and of the constraints' forces. For unrolled kernels only.

The equations M a + b = τ + Jᵀλ and J a + J̇v = 0 are differentiated with a and λ held: along each degree of freedom they
leave a generalised force and a rate, to which the closed chain answers as it does to any other. So one elimination of M
and one factorization of the contact system serve all columns:

    ∂T/∂q, ∂T/∂v    of T = ID(q, v, a) − Jᵀλ: the derivatives of inverse dynamics with the constraints' wrenches on the
                    links, less what these change in their own frames
    ∂c/∂q, ∂c/∂v    of c = J a + J̇v, from what each degree of freedom changes beyond it: :mod:`.closure_changes`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from catena.algorithms.aligned import AlignedLinks
from catena.algorithms.changes import State, accelerated, changes_at, moving
from catena.algorithms.closure_changes import Seen, total
from catena.algorithms.closure_tolerances import INDEPENDENT_ONCE
from catena.algorithms.closures import Coupled, sums
from catena.algorithms.composite_body import mass_matrix
from catena.algorithms.contact_system import Closure, Factors, times
from catena.algorithms.forward_dynamics_derivatives import Inverse, driving, parted, spread
from catena.algorithms.inverse_dynamics_derivatives import derivatives_at
from catena.algorithms.joint_losses import AtJoints
from catena.scalars import Scalar, is_zero, where
from catena.sweeps import Field

Matrix = list[list[Scalar]]

Left = tuple[list[Scalar], list[Scalar], list[Scalar]]
"""Of one motion: the generalised force and the rates that are left, and what accelerations lose beside the answer."""

NOTHING = AtJoints()
"""Nothing acts at joints beside the torques."""


def acceleration_derivatives(links: Any, *given: Any, **options: Any) -> tuple[Matrix, Matrix, Matrix]:
    """The derivatives of the accelerations by q (in the tangent space), by v and by tau: nv rows each."""
    found = _Derivatives(links, *given, **options)
    (dq, _), (dv, _), (dtau, _) = found.by_q(), found.by_v(), found.contact.by_torques()
    return dq, dv, found.sure(dtau)


def force_derivatives(links: Any, *given: Any, **options: Any) -> tuple[Matrix, Matrix, Matrix]:
    """The derivatives of the constraints' wrenches by q, v and tau: six rows for each constraint."""
    found = _Derivatives(links, *given, **options)
    dq, dv, dtau = (found.exerted(x) for x in (found.by_q(), found.by_v(), found.contact.by_torques()))
    return sums(dq, found.turned), dv, found.sure(dtau)


def acceleration_jvp(links: Any, q: Field, v: Field, tau: Field, *given: Field, **options: Any) -> Field:
    """How the accelerations change as q, v and tau move in directions; these come before wrenches, if there are any."""
    found = _Derivatives(links, q, v, tau, *given[3:], **options)
    dq, dv, dtau = ([x for k in links.base_to_tip() for x in field[k]] for field in given[:3])
    left = [_weighted(columns, d) for columns, d in ((found.left_q, dq), (found.left_v, dv))]
    push, wanted, mine = ([_plus(x, y) for x, y in zip(*both, strict=True)] for both in zip(*left, strict=True))
    y, _ = found.contact.met([_plus(x, y) for x, y in zip(push, dtau, strict=True)], wanted)
    (sure,) = found.sure([[_less(a, b) for a, b in zip(y, mine, strict=True)]])
    return spread(links, sure)


def acceleration_vjp(
    links: Any, q: Field, v: Field, tau: Field, weight: Field, *f_ext: Field, **options: Any
) -> tuple[Field, Field, Field]:
    """The gradients of weight · accelerations by q, v and tau: M y = w + Jᵀλ with J y = 0 is the adjoint's answer."""
    found = _Derivatives(links, q, v, tau, *f_ext, **options)
    w = [x for k in links.base_to_tip() for x in weight[k]]
    y, lam = found.contact.met(w, [0] * len(found.lam))
    (sure,) = found.sure([y])
    gradients = [
        [_less(_less(_dot(push, y), _dot(wanted, lam)), _dot(mine, w)) for push, wanted, mine in columns]
        for columns in (found.left_q, found.left_v)
    ]
    dq, dv = (spread(links, x) for x in gradients)
    return dq, dv, spread(links, sure)


class _Derivatives:
    """All of them at a state, of the accelerations and of λ.

    `left_q` and `left_v` say what each degree of freedom leaves to be answered: see :meth:`_Contact.left`.
    """

    def __init__(
        self,
        links: Any,
        q: Field,
        v: Field,
        tau: Field,
        f_ext: Field | None = None,
        *,
        closures: Sequence[Closure],
        acting: AtJoints = NOTHING,
    ) -> None:
        links = AlignedLinks(links, q)
        self.closed = [closure(links, q) for closure in closures]
        self.contact = _Contact(links, Inverse(mass_matrix(links, q)), [row for x in self.closed for row in x.rows()])
        wanted = [-x for each in self.closed for x in each.bias(v)]
        a, self.lam = self.contact.met(driving(links, q, v, tau, f_ext, acting), wanted, rounds=2)
        state = accelerated(links, moving(links, q, v, None, f_ext), spread(links, a))
        changes = changes_at(links, state)
        self._constraints(links, state, changes)
        rest, own = parted(links, state, changes)
        dq, dv, _ = derivatives_at(links, self._pushed(links, state), rest, acting)
        dq = [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(dq, self.torques, strict=True)]
        self.left_q = self.contact.left(links, dq, own[0], self.rows_q)
        self.left_v = self.contact.left(links, dv, own[1], self.rows_v)

    def by_q(self) -> tuple[Matrix, Matrix]:
        """Of the accelerations and of λ."""
        return self.contact.derivative(self.left_q)

    def by_v(self) -> tuple[Matrix, Matrix]:
        """Likewise."""
        return self.contact.derivative(self.left_v)

    def _parts(self) -> list[tuple[Any, list[Scalar], int]]:
        """Each constraint, its part of λ, and its first row."""
        ends = list(accumulate(each.holds for each in self.closed))
        starts = [end - each.holds for each, end in zip(self.closed, ends, strict=True)]
        return [(e, self.lam[s : s + e.holds], s) for e, s in zip(self.closed, starts, strict=True)]

    def _constraints(self, links: Any, state: State, changes: Field) -> None:
        """What changes in the rows of the constraints, in the torques of their forces, and in these themselves."""
        n = links.nv
        self.rows_q, self.rows_v = (_zeros(len(self.lam), n) for _ in range(2))
        self.torques, self.turned = _zeros(n, n), _zeros(6 * len(self.closed), n)
        for number, (each, lam, start) in enumerate(self._parts()):
            if isinstance(each, Coupled):
                for i, by_q, by_v, by_slope in each.changes(state.v, state.vdot, lam[0]):
                    self.rows_q[start][i], self.rows_v[start][i] = by_q, by_v
                    self.torques[i][i] = self.torques[i][i] + by_slope
                continue
            seen = Seen(links, state, each, lam)
            for row in range(each.holds):
                seen.add_row(changes, row, self.rows_q[start + row], self.rows_v[start + row])
            seen.add_forces(self.torques, self.turned[6 * number : 6 * number + 6])

    def _pushed(self, links: Any, state: State) -> State:
        """The state with the wrenches of the constraints on the links."""
        f: Field
        (f,) = links.fields("f")
        for k in links.base_to_tip():
            f[k] = state.f[k]
        for each, lam, _ in self._parts():
            if isinstance(each, Coupled):
                continue
            for side, pair in zip(each.sides, zip(*each.wrenches, strict=True), strict=True):
                if path := side.place.path(links):
                    f[path[-1]] = f[path[-1]] - side.place.target(path) @ total(pair, lam)
        return replace(state, f=f)

    def exerted(self, derivative: tuple[Matrix, Matrix]) -> Matrix:
        """What the derivatives of λ amount to as wrenches of the constraints."""
        _, lam = derivative
        found: Matrix = []
        for each, _, start in self._parts():
            columns = zip(*lam[start : start + each.holds], strict=True)
            found += [list(row) for row in zip(*[each.exerted(column) for column in columns], strict=True)]
        return found

    def sure(self, matrix: Matrix) -> Matrix:
        """The matrix, of which one number is infinite where constraints are too nearly redundant."""
        if matrix and matrix[0]:
            scale = 1.0 / where(self.contact.factors.independence > INDEPENDENT_ONCE, 1.0, 0.0)  # processors tell
            matrix[0][0] = scale - 1.0 if is_zero(matrix[0][0]) else matrix[0][0] * scale
        return matrix


class _Contact:
    """A closed chain by M as a whole matrix: M y = x + Jᵀλ with J y as wanted, for many x."""

    def __init__(self, links: Any, inertia: Inverse, J: Matrix) -> None:
        self.inertia, self.J = inertia, J
        self.C = [inertia.innovations(row) for row in J]  # U⁻¹Jᵀ, by columns
        self.weighted = [[times(x, w) for x, w in zip(c, inertia.weight, strict=True)] for c in self.C]
        self.factors = Factors([[_dot(c, d) for d in self.weighted] for c in self.C])

    def met(self, x: Sequence[Scalar], wanted: Sequence[Scalar], rounds: int = 1) -> tuple[list[Scalar], list[Scalar]]:
        """y and λ."""
        e, lam = self.inertia.innovations(x), [0] * len(wanted)
        for _ in range(rounds):
            short = [_less(w, _dot(c, e)) for w, c in zip(wanted, self.weighted, strict=True)]
            more = self.factors.solve(short)
            lam = [a + b for a, b in zip(lam, more, strict=True)]
            e = [_plus(x, _dot([c[i] for c in self.C], more)) for i, x in enumerate(e)]
        return self.inertia.raised(e), lam

    def left(self, links: Any, matrix: Matrix, own: Matrix, rows: Matrix) -> list[Left]:
        """What derivatives of the torques and of the rows leave to be answered; `own` is as for the open tree."""
        rotors, n, found = [x for k in links for x in k.armature], range(links.nv), []
        for j in n:
            mine = [own[i][j] for i in n]
            push = [_less(times(rotors[i], mine[i]), matrix[i][j]) for i in n]
            found.append((push, [_less(_dot(J, mine), row[j]) for J, row in zip(self.J, rows, strict=True)], mine))
        return found

    def derivative(self, left: Sequence[Left]) -> tuple[Matrix, Matrix]:
        """What that makes of a and of λ, by columns."""
        found = [(self.met(push, wanted), mine) for push, wanted, mine in left]
        across = _across([[_less(a, b) for a, b in zip(y, mine, strict=True)] for (y, _), mine in found])
        return across, _across([lam for (_, lam), _ in found], len(self.J))

    def by_torques(self) -> tuple[Matrix, Matrix]:
        """The same for unit torques: symmetric by construction, of each column what is above the diagonal counts."""
        n = range(len(self.inertia.weight))
        found = [self.met([int(i == j) for i in n], [0] * len(self.J)) for j in n]
        y = [[found[max(i, j)][0][min(i, j)] for j in n] for i in n]
        return y, _across([lam for _, lam in found], len(self.J))


def _weighted(columns: Sequence[Left], weights: Sequence[Scalar]) -> Left:
    """The sum of what is left, times a number each."""
    return tuple([_dot(row, weights) for row in zip(*part, strict=True)] for part in zip(*columns, strict=True))  # type: ignore[return-value]


def _zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)]


def _across(columns: Sequence[Sequence[Scalar]], count: int | None = None) -> Matrix:
    """Columns as rows."""
    return [[column[i] for column in columns] for i in range(len(columns) if count is None else count)]


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    terms = [a * b for a, b in zip(x, y, strict=True) if not is_zero(a) and not is_zero(b)]
    return sum(terms[1:], start=terms[0]) if terms else 0


def _less(x: Scalar, y: Scalar) -> Scalar:
    return x if is_zero(y) else -y if is_zero(x) else x - y


def _plus(x: Scalar, y: Scalar) -> Scalar:
    return x if is_zero(y) else y if is_zero(x) else x + y
