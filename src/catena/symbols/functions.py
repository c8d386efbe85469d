"""What can be asked for in symbols, and the question itself: `catena.symbolic`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from catena.algorithms import denoc, newton_euler, udu
from catena.algorithms.composite_body import mass_matrix
from catena.arguments.scalars import a_robot
from catena.errors import UnsupportedError, shown
from catena.later import optional
from catena.model.joints import JOINT_TYPES
from catena.model.lowering.lowered import lower
from catena.model.mimic import refuse_followers
from catena.model.singular import check_invertible
from catena.model.tree import Tree
from catena.scalars import Scalar
from catena.spatial import ArticulatedInertia, Mat3, RigidInertia
from catena.symbols.any_question import AnyQuestion
from catena.symbols.mechanism import Letters, SymbolicLinks
from catena.symbols.readable import expression
from catena.symbols.recursion import recorded
from catena.symbols.result import Symbolic
from catena.symbols.ring import Ring

if TYPE_CHECKING:
    from catena.robot import Robot

Rows = list[list[Scalar]]
Coordinates = Mapping[str, Any]
Question = Callable[[Any, Coordinates], dict[str, Rows]]
"""Takes the links and the coordinates' fields by name, returns matrices of scalars by name."""


def _column(links: Any, field: Any) -> Rows:
    return [[x] for link in links for x in field[link]]


def _mass_matrix(links: Any, x: Coordinates) -> dict[str, Rows]:
    return {"M": mass_matrix(links, x["q"])}


def _udu(links: Any, x: Coordinates) -> dict[str, Rows]:
    U, D = udu.elements(links, x["q"])
    return {"U": U, "D": D}


def _at_rest(links: Any, x: Coordinates) -> dict[str, Rows]:
    still = {link.index: type(x["qdot"][link])([0] * link.joint_type.nv) for link in links}
    rest = links.fields("rest")[0]
    rest.update(still)
    return {"gravity": _column(links, newton_euler.bias(links, x["q"], rest))}


def _bias(links: Any, x: Coordinates) -> dict[str, Rows]:
    return {"bias": _column(links, newton_euler.bias(links, x["q"], x["qdot"]))}


def _coriolis(links: Any, x: Coordinates) -> dict[str, Rows]:
    return {"coriolis": _column(links, newton_euler.bias(links, x["q"], x["qdot"]))}


def _inverse_dynamics(links: Any, x: Coordinates) -> dict[str, Rows]:
    return {"tau": _column(links, denoc.inverse_dynamics(links, x["q"], x["qdot"], x["qddot"]))}


def _composite_bodies(links: Any, x: Coordinates) -> dict[str, Rows]:
    M = denoc.composite_bodies(links, x["q"])
    return {f"Mtilde_{link.index + 1}": _six_by_six(M[link]) for link in links}


def _articulated_bodies(links: Any, x: Coordinates) -> dict[str, Rows]:
    M = udu.articulated_bodies(links, x["q"])
    return {f"Mhat_{link.index + 1}": _six_by_six(M[link]) for link in links}


def _six_by_six(M: RigidInertia | ArticulatedInertia) -> Rows:
    P = M.articulated if isinstance(M, RigidInertia) else M
    J, H, Ht, m = ([list(row) for row in block.rows] for block in (P.J, P.H, Mat3(*P.H).T, P.M))
    return [a + b for a, b in zip(J + Ht, H + m, strict=True)]


WHAT: Mapping[str, Question] = {
    "mass_matrix": _mass_matrix,
    "udu": _udu,
    "gravity": _at_rest,
    "coriolis": _coriolis,
    "bias": _bias,
    "inverse_dynamics": _inverse_dynamics,
    "composite_bodies": _composite_bodies,
    "articulated_bodies": _articulated_bodies,
}
"""The questions that are answered by matrices of scalars, by name."""

FORWARD_DYNAMICS = "forward_dynamics"


CLOSED = 3
"""Up to this many degrees of freedom equations are written out; where the algorithm divides, one fewer."""

_DIVIDING = ("udu", FORWARD_DYNAMICS, "articulated_bodies")


def symbolic(
    robot: Robot,
    what: str = "mass_matrix",
    *,
    link: Any = None,
    form: Literal["closed", "recursion"] | None = None,
    **options: Any,
) -> Symbolic:
    """Derive the equations of motion of a robot in symbols, as SymPy expressions.

        catena.symbolic(arm, "mass_matrix").matrix
        print(catena.symbolic(puma, "forward_dynamics").code("c"))
        catena.symbolic(puma, "jacobian", link="tool", frame="world")

    `what` is one of "mass_matrix"; "udu", its factors U and D with the pivots of D named mhat_i; "gravity", "coriolis"
    and "bias" torques; "inverse_dynamics"; "forward_dynamics"; "composite_bodies" and "articulated_bodies", the papers'
    M̃_i and M̂_i about the origins of the joints' frames. Or it is any other question of the robot, by the name of its
    method: "kinetic_energy", "coriolis_matrix", "inverse_mass_matrix", "link_velocities", "regressor",
    "forward_dynamics_derivatives" and so on, with the method's own `options` and, where it is about links, `link`. Only
    those that NumPy puts together from several answers are refused.

    Symbols are masses m_i, centres of mass c_i, inertias I_i, lengths l_i and coordinates q_i: every nonzero number of
    the robot becomes a letter, listed in `parameters` of the result with its value and meaning; zeros and right angles
    stay what they are, so a planar arm stays planar. Speeds are qdot_i, accelerations qddot_i, torques tau_i; other
    arrays of a question go by their own names, x_1, x_2 and so on. Results with more than two dimensions are written
    row below row.

    `form` is "closed" for equations that are written out, which grow exponentially with the number of links; or
    "recursion" for the algorithm itself as an ordered list of short definitions (`definitions` of the result), with the
    papers' letters for what it keeps; its length grows as the algorithm's cost does. Without it, small mechanisms are
    written out. Returns a `Symbolic`. Needs SymPy, the extra `catena-dynamics[symbolic]`.
    """
    a_robot("symbolic", robot)
    closed = isinstance(what, str) and (what in WHAT or what == FORWARD_DYNAMICS)
    asked = None if closed else AnyQuestion(robot, what, link, options, known=(*WHAT, FORWARD_DYNAMICS))
    if not (form is None or (isinstance(form, str) and form in ("closed", "recursion"))):
        raise UnsupportedError(f"form: expected 'closed', 'recursion' or None, found {shown(form)}")
    if closed and (link is not None or options):
        given = f"link={link!r}" if link is not None else f"{next(iter(options))}="
        raise UnsupportedError(f"symbolic {what!r}: expected no link and no options, found {given}")
    refuse_followers(robot.tree, "symbolic")
    if what in _DIVIDING or (asked is not None and asked.inverts):
        check_invertible(robot.tree)
    _require_sympy()
    if form == "closed" and not closed:
        raise UnsupportedError(f"symbolic {what!r} is a recursion: leave form out, and ask the result for `expanded`")
    if form is None:
        form = "closed" if closed and _is_small(robot.tree, what) else "recursion"
    return _closed(robot.tree, what) if form == "closed" else _recursion(robot.tree, what, asked)


def _is_small(tree: Tree, what: str) -> bool:
    single = tree.nv == tree.n
    return tree.nv < CLOSED and single if what in _DIVIDING else tree.nv <= CLOSED


def _recursion(tree: Tree, what: str, asked: AnyQuestion | None) -> Symbolic:
    """The answer as a list of short definitions."""
    import sympy

    letters = Letters(tree)
    cut = asked is not None and asked.function.cut
    lowered = lower(tree, regroup=False, choose=False, cut=cut)
    names = _coordinate_names(tree) if asked is None else asked.names
    if asked is not None:
        matrices, definitions = recorded(asked.rows, letters, lowered, names)
    else:
        question = _on_fields(_accelerations if what == FORWARD_DYNAMICS else WHAT[what])
        matrices, definitions = recorded(question, letters, lowered, names, what == "coriolis")
    coordinates = {group: tuple(sympy.Symbol(name) for name in members) for group, members in names.items()}
    return Symbolic(what, matrices, definitions, letters.names.parameters, coordinates)


def _on_fields(question: Question) -> Callable[[Any, Mapping[str, list[Scalar]]], dict[str, Rows]]:
    """A question of coordinates' fields as one of lists of scalars."""

    def asked(links: Any, inputs: Mapping[str, list[Scalar]]) -> dict[str, Rows]:
        fields = {name: links.coordinates(given, "q" if name == "q" else "v") for name, given in inputs.items()}
        return question(links, fields)

    return asked


def _accelerations(links: Any, x: Coordinates) -> dict[str, Rows]:
    return {"qddot": _column(links, udu.forward_dynamics(links, x["q"], x["qdot"], x["tau"]))}


class Lettered(NamedTuple):
    """A mechanism in letters: its letters, the ring they span, its links, and coordinates as fields and by name."""

    letters: Letters
    ring: Ring
    links: SymbolicLinks
    fields: Coordinates
    names: dict[str, list[str]]


def in_letters(tree: Tree, *, weightless: bool = False) -> Lettered:
    """A mechanism with letters for its numbers, for algorithms to run on. Needs SymPy."""
    _require_sympy()
    letters = Letters(tree)
    names = _coordinate_names(tree)
    angles = [*letters.names.angles, *_angles(tree)]
    plain = [*letters.names.parameters, *[name for group in names.values() for name in group]]
    ring = Ring([name for name in plain if name not in angles], angles, _pivots(tree))
    links = SymbolicLinks(letters, ring, lower(tree, regroup=False, choose=False), weightless=weightless)
    fields = {
        group: links.coordinates([ring.variable(name) for name in members], "q" if group == "q" else "v")
        for group, members in names.items()
    }
    return Lettered(letters, ring, links, fields, names)


def _closed(tree: Tree, what: str) -> Symbolic:
    """The answer written out, with names for what is divided by."""
    import sympy

    letters, ring, links, fields, names = in_letters(tree, weightless=what == "coriolis")

    def readable(rows: Rows) -> Any:
        return sympy.Matrix([[expression(x, ring, letters.inertial) for x in row] for row in rows])

    if what == FORWARD_DYNAMICS:
        matrices, steps = _forward_dynamics(links, fields, readable)
    else:
        matrices, steps = {name: readable(rows) for name, rows in WHAT[what](links, fields).items()}, {}
    pivots = {symbol: readable([[x]])[0] for symbol, x in ring.definitions.items()}
    coordinates = {group: tuple(sympy.Symbol(name) for name in members) for group, members in names.items()}
    return Symbolic(what, matrices, {**pivots, **steps}, letters.names.parameters, coordinates)


def _forward_dynamics(
    links: Any, x: Coordinates, readable: Callable[[Rows], Any]
) -> tuple[dict[str, Any], dict[Any, Any]]:
    """The accelerations by (36)-(39), step by step: u_ij, the bias b_i, tauhat_i and qddot_i each have a name."""
    from sympy import Add, Matrix, Symbol

    U, D = udu.elements(links, x["q"])
    n = len(D)
    if n != len(links):
        raise UnsupportedError("symbolic forward dynamics is for joints with one degree of freedom each")
    reciprocal = readable([[1 / D[i][i] for i in range(n)]])
    bias = readable(_column(links, newton_euler.bias(links, x["q"], x["qdot"])))
    tau = readable(_column(links, x["tau"]))
    full = readable(U)
    steps = {Symbol(f"b_{i + 1}"): bias[i] for i in range(n)}
    u = {(i, j): Symbol(f"u_{i + 1}{j + 1}") for j in range(n) for i in range(j) if full[i, j] != 0}
    steps.update({symbol: full[place] for place, symbol in u.items()})
    hat, qddot = ([Symbol(f"{name}_{i + 1}") for i in range(n)] for name in ("tauhat", "qddot"))
    for i in reversed(range(n)):
        steps[hat[i]] = (
            tau[i] - Symbol(f"b_{i + 1}") - Add(*[u[i, j] * hat[j] for j in range(n) if (i, j) in u])
        )  # (36)
    for i in range(n):
        steps[qddot[i]] = hat[i] * reciprocal[i] - Add(*[u[j, i] * qddot[j] for j in range(i) if (j, i) in u])  # (38)
    return {"qddot": Matrix([steps[symbol] for symbol in qddot])}, steps


def _require_sympy() -> None:
    optional("sympy", "symbolic", "symbolic expressions need SymPy")


def _coordinate_names(tree: Tree) -> dict[str, list[str]]:
    speeds = range(1, tree.nv + 1)
    return {
        "q": [f"q_{i}" for i in range(1, tree.nq + 1)],
        **{group: [f"{group}_{i}" for i in speeds] for group in ("qdot", "qddot", "tau")},
    }


def _angles(tree: Tree) -> list[str]:
    """The coordinates that are angles."""
    found = []
    for i in range(tree.n):
        joint_type, start = JOINT_TYPES[int(tree.joint_type[i])], int(tree.q_start[i])
        turning = (False, False, True) if joint_type.name == "planar" else joint_type.angles
        found += [f"q_{start + j + 1}" for j, angle in enumerate(turning) if angle]
    return found


def _pivots(tree: Tree) -> list[str]:
    """Names for what the algorithms divide by, in that order: squares of quaternions, then the pivots of D."""
    joint_types = [JOINT_TYPES[int(code)] for code in tree.joint_type]
    norms = [f"norm_{i + 1}" for i, joint_type in enumerate(joint_types) if joint_type.name in ("spherical", "free")]
    starts = [(int(tree.v_start[i]), joint_type.nv) for i, joint_type in enumerate(joint_types)]
    return norms + [f"mhat_{start + j + 1}" for start, nv in reversed(starts) for j in range(nv)]
