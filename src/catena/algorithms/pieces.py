"""A chain in pieces: what a piece does to the link before it and to the link after it, for solves parallel in n.

Fixman's partition with pieces in place of links. Cut between pieces, each has an articulated inertia P at its base and
a mobility Φ at its tip, and passes accelerations of its base on to its tip and wrenches on its tip to its base, by T:

    wrench on what carries it  = P α(base) + z + T t
    acceleration of its tip    = Φ t + β − Tᵀ α(base)                t: the wrench on its tip

:func:`gather` finds these, :func:`couple` finds α and t of all pieces, and :func:`finish` is the recursion of Rodriguez
& Kreutz (4.4)-(4.6), (4.19)-(4.22) in a piece of which both ends are known. In the first and the last every piece is
one sample of a batch, so that lanes and threads work on one chain; in the second a piece is a link.

A cut passes on only the components that the joints can feel, its `ports`: three where all axes are parallel, which
leaves a quarter of the arithmetic. Accelerations and wrenches are in the internal frames of the links before the cuts;
the base of a piece may stand turned about z on the tip of the piece before, by an angle with cosine and sine `turn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from catena.algorithms.steps import filtered, free_joint, smoothed
from catena.functions.function import Function
from catena.scalars import Scalar, sqrt
from catena.spatial import Dofs, Force, Mat3, Motion, Transform, TurnAbout, Vec3
from catena.spatial.leaves import leaves
from catena.spatial.pose import Pose
from catena.spatial.rates import Rates
from catena.sweeps import Field, Links

Matrix = list[list[Scalar]]


@dataclass(slots=True)
class Numbers:
    """Numbers that add up one by one."""

    values: list[Scalar]

    def __add__(self, o: Numbers) -> Numbers:
        return Numbers([a + b for a, b in zip(self.values, o.values, strict=True)])


@dataclass(slots=True)
class Forces:
    """Forces side by side: the columns of a matrix."""

    columns: list[Force]

    def __add__(self, o: Forces) -> Forces:
        return Forces([a + b for a, b in zip(self.columns, o.columns, strict=True)])


def _unit(i: int, size: Scalar = 1) -> list[Scalar]:
    return [size if i == j else 0 for j in range(6)]


def turn(links: Links, q: Field, v: Field, last: Field) -> tuple[Field, Field]:
    """Tip to base: how the tip of a piece lies, seen from its base (R, nine numbers), and turns if the base does not.

    The angular velocity is in the axes of the tip. `last` is 1 at the last link of the piece and 0 elsewhere.
    """
    R, R_base, w_base = links.fields("R R_base w_base")
    R_base[links.base], w_base[links.base] = Numbers([0] * 9), Numbers([0] * 3)
    for k in links.base_to_tip():
        R[k], R_base[k], w_base[k] = Numbers([0] * 9), Numbers([0] * 9), Numbers([0] * 3)
    for k in links.tip_to_base():
        phi, H = k.joint(q[k])
        beyond = Mat3(*[x + last[k] * int(i % 4 == 0) for i, x in enumerate(R[k].values)])
        w_base[k.parent] += w_base[k] + Numbers(leaves(beyond.T @ (H.T @ v[k]).angular))
        seen = Numbers(leaves(Pose(beyond, Vec3.zero()).after(phi).R))
        R[k.parent] += seen
        R_base[k.parent] += seen
    return R_base, w_base


def turned(links: Links, R: Field, w: Field, turn: Field) -> Field:
    """The angular velocities of the pieces' bases: here a link is a piece."""
    tip, start = links.fields("tip start")
    tip[links.base] = Vec3.zero()
    for k in links.base_to_tip():
        base = Transform.of(TurnAbout("z", *turn[k])).T @ Motion(tip[k.parent], Vec3.zero())
        start[k] = base.angular
        tip[k] = Mat3(*R[k]).T @ base.angular + Vec3(*w[k])
    return start


def _moving(
    links: Links, q: Field, v: Field | None, w: list[Scalar] | None, f_ext: Field | None
) -> tuple[Field, Field, Field, Field]:
    """φ, H, ζ and the wrench that each link takes to move so, on a base that turns with w and does not accelerate.

    Without speeds nothing moves, and there are no wrenches.
    """
    phi, H, zeta, z = links.fields("phi H zeta z")
    start = Vec3.zero() if w is None else Vec3(*w)
    zeta[links.base] = Rates(start, Vec3.zero(), Vec3.zero())
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        if v is None:
            z[k] = Force.zero()
            continue
        zeta[k] = zeta[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))
        z[k] = zeta[k].wrench(k.M)  # Mζ + b
        if f_ext is not None:
            z[k] = z[k] - k.frame @ f_ext[k]
    return phi, H, zeta, z


def gather(
    ports: Sequence[int],
    links: Links,
    q: Field,
    b: Field,
    last: Field,
    v: Field | None = None,
    w: list[Scalar] | None = None,
    f_ext: Field | None = None,
) -> tuple[Field, ...]:
    """Tip to base: P, z, T, Φ, β of the piece, with a row and a column for each port. P and Φ are lower triangles.

    `last` is 1 at the last link of the piece and 0 elsewhere. With speeds v and the angular velocity w of the base, z
    and β are those of the moving piece.
    """
    P, T, P_base, z_base, T_base, Phi, beta, beta_all = links.fields("P T P_base z_base T_base Phi beta beta_all")
    phi, H, zeta, z = _moving(links, q, v, w, f_ext)
    m = len(ports)
    sizes = [(P_base, m * (m + 1) // 2), (z_base, m), (T_base, m * m), (Phi, m * (m + 1) // 2), (beta, m)]
    for field, size in sizes:
        field[links.base] = Numbers([0] * size)
    for k in links.base_to_tip():
        P[k], T[k] = k.M.articulated, Forces([Force.zero() for _ in ports])
        for field, size in sizes:
            field[k] = Numbers([0] * size)
    for k in links.tip_to_base():
        D, G, P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        eps, z_plus = filtered(z[k], _driving(k, b, H, v), H[k], G)  # (4.20), (5.9)
        T_k = T[k] + Forces([Force.of(_unit(i, -last[k])) for i in ports])
        still = Dofs([0] * k.joint_type.nv)
        tips = [filtered(column, still, H[k], G) for column in T_k.columns]  # as z, with no torques
        P_in, z_in = phi[k].congruence(P_plus), phi[k] @ z_plus
        T_in = Forces([phi[k] @ column for _, column in tips])
        P[k.parent] += P_in
        z[k.parent] += z_in
        T[k.parent] += T_in
        nu, eps_tip = D.inv @ eps, [e for e, _ in tips]
        nu_tip = [D.inv @ e for e in eps_tip]
        Phi[k.parent] += Phi[k] + Numbers([eps_tip[i].dot(nu_tip[j]) for i in range(m) for j in range(i + 1)])
        beta[k.parent] += beta[k] + Numbers([e.dot(nu) for e in eps_tip])
        columns = [(P_in @ Motion.of(_unit(i))).components for i in ports]  # never read on the way: the base's count
        P_base[k.parent] += Numbers([columns[j][ports[i]] for i in range(m) for j in range(i + 1)])
        z_base[k.parent] += Numbers([z_in.components[i] for i in ports])
        T_base[k.parent] += Numbers([column.components[i] for i in ports for column in T_in.columns])
    beta_all[links.base] = beta[links.base] + _moved(zeta, links, ports, v)
    return P_base, z_base, T_base, Phi, beta_all


def _moved(zeta: Field, links: Links, ports: Sequence[int], v: Field | None) -> Numbers:
    """How the tip of a piece accelerates because it moves."""
    if v is None:
        return Numbers([0] * len(ports))
    tip = zeta[links.tip]
    return Numbers([(*tip.wdot, *tip.a)[i] for i in ports])


def couple(
    ports: Sequence[int],
    links: Links,
    P: Field,
    z: Field,
    T: Field,
    Phi: Field,
    beta: Field,
    turn: Field,
    start: list[Scalar],
) -> tuple[Field, Field]:
    """Accelerations α of the pieces' bases and wrenches t on their tips: here a link is a piece.

    Seen from its base, a piece with all beyond it answers with A α + a, and its tip then moves as α(tip) = K α + c. The
    base of the first accelerates with `start`.
    """
    A, a, K, c, tip, alpha, t = links.fields("A a K c tip alpha t")
    m = len(ports)
    tip[links.base] = Numbers(start)
    for k in links.base_to_tip():
        A[k], a[k] = Numbers([0] * (m * (m + 1) // 2)), Numbers([0] * m)
    for k in links.tip_to_base():
        beyond, offset = symmetric(A[k].values, m), a[k].values
        give, pass_on = symmetric(Phi[k], m), [T[k][i * m : i * m + m] for i in range(m)]
        left = [[x + int(i == j) for j, x in enumerate(row)] for i, row in enumerate(product(give, beyond))]
        right = [[-pass_on[j][i] for j in range(m)] + [beta[k][i] - dot(give[i], offset)] for i in range(m)]
        solved = solved_for(left, right)
        K_k, c_k = [row[:m] for row in solved], [row[m] for row in solved]
        K[k], c[k] = Numbers([x for row in K_k for x in row]), Numbers(c_k)
        answer = product(pass_on, product(beyond, K_k))
        load = [dot(row, c_k) + x for row, x in zip(beyond, offset, strict=True)]
        own, Q = symmetric(P[k], m), turning(ports, turn[k])
        whole = [[own[i][j] - (answer[i][j] + answer[j][i]) / 2 for j in range(m)] for i in range(m)]
        A_in = product(product(transposed(Q), whole), Q)
        a_in = [x - dot(row, load) for x, row in zip(z[k], pass_on, strict=True)]
        A[k.parent] += Numbers([A_in[i][j] for i in range(m) for j in range(i + 1)])
        a[k.parent] += Numbers([dot(row, a_in) for row in transposed(Q)])
    for k in links.base_to_tip():
        base = [dot(row, tip[k.parent].values) for row in turning(ports, turn[k])]
        alpha[k] = base
        moved = [dot(K[k].values[i * m : i * m + m], base) + x for i, x in enumerate(c[k].values)]
        tip[k] = Numbers(moved)
        beyond = symmetric(A[k].values, m)
        t[k] = [-(dot(row, moved) + x) for row, x in zip(beyond, a[k].values, strict=True)]
    return alpha, t


def symmetric(lower: Sequence[Scalar], m: int) -> Matrix:
    """A symmetric matrix from its lower triangle, row by row."""
    return [[lower[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(m)] for i in range(m)]


def turning(ports: Sequence[int], turn: Sequence[Scalar]) -> Matrix:
    """What brings the components `ports` of motions and forces to a frame that is turned about z."""
    c, s = turn
    plane = {(0, 0): c, (0, 1): s, (1, 0): -s, (1, 1): c, (2, 2): 1}
    return [[plane.get((i % 3, j % 3), 0) if i // 3 == j // 3 else 0 for j in ports] for i in ports]


def transposed(X: Matrix) -> Matrix:
    """The rows as columns."""
    return [list(column) for column in zip(*X, strict=True)]


def dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """The scalar product."""
    return sum((a * b for a, b in zip(x[1:], y[1:], strict=True)), start=x[0] * y[0])


def product(X: Matrix, Y: Matrix) -> Matrix:
    """The matrix product."""
    return [[dot(row, column) for column in zip(*Y, strict=True)] for row in X]


def solved_for(X: Matrix, Y: Matrix) -> Matrix:
    """X⁻¹ Y, with the columns of [X Y] made orthogonal to one another: as stable as with pivots, without a choice."""
    columns = [list(column) for column in zip(*[x + y for x, y in zip(X, Y, strict=True)], strict=True)]
    m, upper = len(X), list[list[Scalar]]()
    for i in range(m):
        scale = 1 / sqrt(dot(columns[i], columns[i]))
        unit = [x * scale for x in columns[i]]
        row = [dot(unit, column) for column in columns]
        upper.append(row)
        for j in range(i + 1, len(columns)):
            columns[j] = [x - row[j] * u for x, u in zip(columns[j], unit, strict=True)]
    solved: Matrix = [[] for _ in range(m)]
    for i in reversed(range(m)):
        rest = upper[i][m:]
        for j in range(i + 1, m):
            rest = [x - upper[i][j] * y for x, y in zip(rest, solved[j], strict=True)]
        solved[i] = [x / upper[i][i] for x in rest]
    return solved


def finish(
    ports: Sequence[int],
    links: Links,
    q: Field,
    b: Field,
    first: Field,
    last: Field,
    alpha: list[Scalar],
    t: list[Scalar],
    v: Field | None = None,
    w: list[Scalar] | None = None,
    f_ext: Field | None = None,
) -> tuple[Field, Field]:
    """Joint accelerations of a piece, now that its base accelerates with alpha and its tip is pulled by t.

    Also how its tip then accelerates, of which :func:`couple` knew by other sums, with other rounding.

    `first` and `last` are 1 at the first and the last link of the piece and 0 elsewhere. With speeds v and the angular
    velocity w of the base, those of the moving piece.
    """
    P, G, nu, lam, x, tip = links.fields("P G nu lam x tip")
    phi, H, zeta, z = _moving(links, q, v, w, f_ext)
    start, pull = [[y[ports.index(i)] if i in ports else 0 for i in range(6)] for y in (alpha, t)]
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        P[k] = k.M.articulated
    for k in links.tip_to_base():
        D, G[k], P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        eps, z_plus = filtered(z[k] - Force.of(pull) * last[k], _driving(k, b, H, v), H[k], G[k])  # (4.20), (5.9)
        nu[k] = D.inv @ eps
        P[k.parent] += phi[k].congruence(P_plus)
        z[k.parent] += phi[k] @ z_plus
    for k in links.base_to_tip():
        lam_in = phi[k].T @ (_at(ports, lam[k.parent]) + Motion.of(start) * first[k])
        x[k], lam[k] = smoothed(lam_in, nu[k], H[k], G[k])  # (4.22), (5.10)
    last_lam = lam[links.tip].components
    tip[links.base] = Numbers([last_lam[i] for i in ports]) + _moved(zeta, links, ports, v)
    return x, tip


def _driving(k: Any, b: Field, H: Field, v: Field | None) -> Dofs:
    """The torques that drive a joint, without what its rotors need."""
    driving: Dofs = b[k] if v is None else b[k] - k.rotor_bias(H[k], v[k])
    return driving


def _at(ports: Sequence[int], V: Motion) -> Motion:
    """A motion of which the other components are known to be zero."""
    return Motion.of([x if i in ports else 0 for i, x in enumerate(V.components)])


def functions(ports: tuple[int, ...]) -> dict[str, Function]:
    """The functions by name, for cuts that pass on these components."""
    m = len(ports)
    triangle = f":{m * (m + 1) // 2}"
    widths = {"P": triangle, "z": f":{m}", "T": f":{m * m}", "Phi": triangle, "beta": f":{m}"}
    gathering = _function(
        f"gather/{_name(ports)}",
        partial(gather, ports),
        {"q": "q", "b": "tau", "last": "link", **_MOVING},
        {name: f"robot{width}" for name, width in widths.items()},
    )
    coupling = _function(
        f"couple/{_name(ports)}",
        partial(couple, ports),
        {**{name: f"link{width}" for name, width in widths.items()}, "turn": "link:2", "start": f"robot:{m}"},
        {"alpha": f"link:{m}", "t": f"link:{m}"},
    )
    turning = _function("turn", turn, {"q": "q", "v": "v", "last": "link"}, {"R": "robot:9", "w": "robot:3"})
    joined = _function("turned", turned, {"R": "link:9", "w": "link:3", "turn": "link:2"}, {"start": "link:3"})
    return {
        "gather": gathering,
        "couple": coupling,
        "finish": finishing(ports),
        "turn": turning,
        "turned": joined,
    }


_MOVING = {"v": "v", "w": "robot:3", "f_ext": "force"}
"""What pieces that move are given besides."""


def finishing(ports: tuple[int, ...]) -> Function:
    """The last of them."""
    ends = {"first": "link", "last": "link", "alpha": f"robot:{len(ports)}", "t": f"robot:{len(ports)}"}
    inputs = {"q": "q", "b": "tau", **ends, **_MOVING}
    return _function(f"finish/{_name(ports)}", partial(finish, ports), inputs, {"x": "v", "tip": f"robot:{len(ports)}"})


def _name(ports: tuple[int, ...]) -> str:
    return "".join(map(str, ports))


def _function(name: str, algorithm: Callable[..., Any], inputs: dict[str, str], outputs: dict[str, str]) -> Function:
    optional = tuple(x for x in _MOVING if x in inputs and "b" in inputs)
    shared = tuple(x for x in ("first", "last") if x in inputs)
    turn = "q" in inputs  # where a link is a piece, placements do not matter
    return Function(f"pieces/{name}", algorithm, inputs, outputs, optional, False, False, shared, turn=turn)
