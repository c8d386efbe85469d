"""What goes into a function of a mechanism and what comes out: kinds of arrays, and the spatial objects they hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catena.errors import CatenaError, UnsupportedError
from catena.scalars import Scalar
from catena.spatial import Axes, Columns, Dofs, Force, Mat3, Motion, SmallSymmetric, Sym3, Vec3
from catena.spatial.leaves import leaves

Build = Callable[[list[Scalar]], Any]


@dataclass(frozen=True)
class Kind:
    """One kind of array: `width` numbers per entry of "q", per entry of "v", per "link", or for the whole "robot".

    One that is "packed" holds `pieces` of other kinds, by name, one after the other in a single row; an algorithm gets
    a mapping with a field, or an object of the whole robot, for each. `variance`, one of :data:`VARIANCES`, says what
    becomes of such numbers where joints follow others; it is empty where that has no meaning.
    """

    per: str
    width: int
    shape: tuple[int, ...]
    build: Build
    take: Callable[[Any], list[Scalar]] = leaves
    pieces: Mapping[str, Kind] = field(default_factory=dict, compare=False)
    variance: str = ""

    def count(self, nq: int, nv: int) -> int:
        """How many numbers belong to a joint with nq coordinates and nv speeds."""
        return self.width * {"q": nq, "v": nv, "link": 1}[self.per]

    def full_shape(self, n: int, nq: int, nv: int) -> tuple[int, ...]:
        """The shape of the array for a mechanism of n links."""
        if self.pieces:
            return (sum(math.prod(piece.full_shape(n, nq, nv)) for piece in self.pieces.values()),)
        return {"q": (nq,), "v": (nv,), "link": (n,), "robot": ()}[self.per] + self.shape


def _small(numbers: list[Scalar]) -> SmallSymmetric:
    n = len(numbers) // 6
    return SmallSymmetric([numbers[6 * i : 6 * i + i + 1] for i in range(n)])


def _small_rows(D: SmallSymmetric) -> list[Scalar]:
    return [x for row in D.lower for x in row + [0] * (6 - len(row))]


def _columns(numbers: list[Scalar]) -> Columns:
    return Columns([Force.of(numbers[i : i + 6]) for i in range(0, len(numbers), 6)], Axes([]))


def _spatial_columns(value: Any) -> list[Scalar]:
    columns = value if isinstance(value, list) else value.columns
    return [x for column in columns for x in column.components]


VARIANCES = ("configuration", "motion", "force", "joint")
"""What numbers of joints are. Followers have their part of a configuration or a motion, G q + o or G v, and of what
comes out leaders have all; a force is that of leaders where it goes in, and where it comes out they feel followers, Gᵀ
times it. What is a "joint"'s own, such as an armature, leaders have alone."""


def _joints(per: str, variance: str) -> Kind:
    return Kind(per, 1, (), Dofs, variance=variance)


KINDS: Mapping[str, Kind] = {
    "q": _joints("q", "configuration"),
    "v": _joints("v", "motion"),
    "tau": _joints("v", "force"),
    "joint": _joints("v", "joint"),
    "coordinates": _joints("q", "configuration"),
    "rates": _joints("q", "motion"),
    "slopes": _joints("q", "force"),
    "joint_q": _joints("q", "joint"),
    "force": Kind("link", 6, (6,), Force.of),
    "motion": Kind("link", 6, (6,), Motion.of),
    "link": Kind("link", 1, (), lambda numbers: numbers[0]),
    "point": Kind("link", 3, (3,), lambda numbers: Vec3(*numbers)),
    "rotation": Kind("link", 9, (3, 3), lambda numbers: Mat3(*numbers)),
    "symmetric": Kind("link", 6, (6,), lambda numbers: Sym3(*numbers)),
    "axes": Kind("v", 6, (6,), _columns, _spatial_columns, variance="force"),
    "small": Kind("v", 6, (6,), _small, _small_rows),
}
"""The kinds by name.

- "q": a configuration; "v": speeds, accelerations, directions; "tau": torques, and gradients by motions; "joint": what
  belongs to joints, such as an armature or a gain, and "joint_q" such of their coordinates;
- "coordinates": the numbers of "q" as plain numbers, not as a place one moves from, with "rates" as directions and
  "slopes" as gradients;
- "axes": six numbers for each degree of freedom; "small": the lower triangle of a symmetric matrix for each joint, a
  row of six for each degree of freedom.

Besides these, "link:9" is nine numbers for each link, "robot" one scalar, "robot:6" six, "robot:2,3" two rows of three,
"dense:nv,nv" a whole matrix, and "parameters" all pieces of :data:`PARAMETERS` in one row."""

PARAMETERS = {
    "inertial": "link:10",
    **dict.fromkeys(("armature", "damping", "friction", "stiffness", "rest"), "joint"),
    "gravity": "robot:3",
}
"""What a vector of a robot's parameters is made of, in order: ten numbers of each link, five of each degree of freedom
and gravity."""


def kind(name: str) -> Kind:
    """The kind of that name."""
    if name in KINDS:
        return KINDS[name]
    if pieces := pieces_of(name):
        return Kind("packed", 1, (), list, pieces={piece: kind(k) for piece, k in pieces.items()})
    word, _, size = name.partition(":")
    if word not in ("robot", "link"):
        raise CatenaError(
            f"there is no kind of array {name!r}; expected one of {', '.join(KINDS)}, robot, link:SIZES or robot:SIZES"
        )
    shape = tuple(int(part) for part in size.split(",")) if size else ()
    return Kind(word, math.prod(shape), shape, list if size else lambda numbers: numbers[0])


def is_of_dofs(name: str) -> bool:
    """Whether this is the kind of an array with one number for each degree of freedom."""
    return kind(name).per == "v" and kind(name).width == 1


def pieces_of(name: str) -> Mapping[str, str]:
    """The kinds of the pieces that an array of this kind is made of, by name; none of a plain one."""
    return PARAMETERS if name == "parameters" else {}


def is_dense(name: str) -> bool:
    """Whether this is the kind of a whole matrix: "dense:" and its shape in terms of n, nq, nv, 2nv and integers."""
    return name.startswith("dense:")


def dense_shape(name: str, n: int, nq: int, nv: int) -> tuple[int, ...]:
    """The shape of a whole matrix: "dense:nv,nv" is (nv, nv), "dense:nv,10n+3nv" has so many columns."""
    words = [word for word in name.partition(":")[2].split(",") if word]
    return tuple(sum(_size(term, {"n": n, "nq": nq, "nv": nv}) for term in word.split("+")) for word in words)


def array_shape(name: str, n: int, nq: int, nv: int) -> tuple[int, ...]:
    """The shape of an array of any kind for a mechanism of n links."""
    return dense_shape(name, n, nq, nv) if is_dense(name) else kind(name).full_shape(n, nq, nv)


def _size(term: str, sizes: Mapping[str, int]) -> int:
    """A multiple of a size, such as "10n", or a number."""
    letters = term.lstrip("0123456789")
    number = term[: len(term) - len(letters)]
    return int(number or 1) * (sizes[letters] if letters else 1)


def by_recipe(*arguments: Any) -> Any:
    """In place of an algorithm: the function is answered by its recipe alone, whatever the shape of kernels."""
    raise UnsupportedError("a function composed of others with NumPy has no algorithm for other scalars")


def on_any_scalars(*arguments: Any) -> Any:
    """In place of an algorithm: the recipe runs on arrays of scalars of any kind, so that small robots get code of it.

    See :mod:`catena.functions.on_scalars`.
    """
    raise UnsupportedError("a function composed of others has no sweeps of its own")


@dataclass(frozen=True)
class Function:
    """An algorithm with the names and kinds of its arrays.

    `name` tells functions apart; up to the first slash it is the question that users ask, which messages show. `inputs`
    that a call may leave out are listed in `optional`, and then reach the algorithm as None. An output of a kind such
    as "dense:nv,nv" is a nested list of scalars, which only unrolled kernels can make. `recipe` takes the
    place of loops, from what other functions' loops give (see :mod:`catena.functions.composed`), and of the
    algorithm where that is :func:`by_recipe` or :func:`on_any_scalars`. `regroup` and
    `choose` say which lowering passes the algorithm can bear: see :func:`catena.model.lowering.lowered.lower`; with
    `cut` it asks links whether their own inertia has an inverse, and with `turn` it runs on chains whose frames are
    turned. `positive` inputs must be finite and above zero.
    `shared` inputs are the same for all samples of a call
    and come without leading dimensions; rolled kernels keep one copy of them. With `double`, a recipe asks for
    numbers in float64 whatever its own results are in.
    `steepness` is set where straight-line code grows with the cube of the length of a chain, and the larger the faster:
    long before other functions, that is too much to compile. Of an algorithm that does more with links than to sweep
    over them (numbers them, walks from one to the base) no loops can be made: `loops=False` says so. `adopts` is the
    function that this one is with the numbers of a robot as one more input.
    `fast` gives the same by one kernel, and infinite or no numbers for samples that only the recipe can answer.
    """

    name: str
    algorithm: Callable[..., Any]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    optional: tuple[str, ...] = ()
    regroup: bool = True
    choose: bool = True
    shared: tuple[str, ...] = ()
    cut: bool = False
    turn: bool = False
    positive: tuple[str, ...] = ()
    recipe: Callable[..., Any] | None = None
    double: bool = False
    steepness: int = 0
    loops: bool = True
    adopts: Function | None = None
    fast: Function | None = None

    @property
    def question(self) -> str:
        """What users call it."""
        return self.name.partition("/")[0]

    @property
    def sweeps(self) -> bool:
        """Whether it has an algorithm of its own, and is not composed of other functions."""
        return self.algorithm not in (by_recipe, on_any_scalars)

    @property
    def composed(self) -> bool:
        """Whether it is composed of other functions on scalars of any kind."""
        return self.algorithm is on_any_scalars

    @property
    def dense(self) -> bool:
        """Whether some output is a whole matrix."""
        return any(is_dense(k) for k in self.outputs.values())

    def present(self, count: int) -> tuple[str, ...]:
        """The optional inputs of a call with so many arrays and no names: the first ones."""
        optional = [name for name in self.inputs if name in self.optional]
        return tuple(optional[: count - len(self.inputs) + len(optional)])

    def given(self, present: tuple[str, ...]) -> dict[str, str]:
        """The inputs of a call that leaves out the optional ones not in `present`."""
        return {name: k for name, k in self.inputs.items() if name not in self.optional or name in present}


def with_last(function: Function, *names: str) -> Function:
    """The same function with these of its inputs after all others."""
    last = [name for name in names if name in function.inputs]
    order = [*[name for name in function.inputs if name not in last], *last]

    def algorithm(links: Any, *given: Any) -> Any:
        known = dict(zip(order, given, strict=True))
        return function.algorithm(links, *[known[name] for name in function.inputs])

    inputs = {name: function.inputs[name] for name in order}
    return replace(function, name=f"{function.name}/last:{','.join(last)}", algorithm=algorithm, inputs=inputs)


@dataclass(frozen=True)
class Repeated:
    """A function applied again and again: results that have the name of an input become that input, turn by turn.

    `each` names inputs that have a row for every turn; all others are the same in all turns. Results in `last` are
    given once, after the last turn; of the others rows are kept, of the start and after every so many turns.
    """

    function: Function
    each: tuple[str, ...] = ()
    last: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tells it apart from others."""
        return "|".join((self.function.name, ",".join(self.each), ",".join(self.last)))

    def kept(self, result: str) -> bool:
        """Whether a result is kept as rows."""
        return result not in self.last
