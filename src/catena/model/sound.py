"""Whether the arrays of a tree fit together: asked before anything is computed from a tree, however it was made.

Vectorised, and rows that repeat along a broadcast array are looked at once: some ten numbers of a link cost less than
making it did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, kind_of, shown
from catena.model.actuators import Actuator
from catena.model.joints import BY_NAME, JOINT_TYPES
from catena.model.mimic import followers
from catena.model.parts import Mimic
from catena.model.tree import Frame, Tree, without_repetitions

Array = npt.NDArray[Any]

ORTHONORMAL = 6e-6
"""How far a rotation may be from one, summed over six conditions."""

CHUNK = 16_384
"""Rotations that are looked at together."""


class _Numbers(NamedTuple):
    """What a field of numbers has to be: of this shape, where all rows are good."""

    shape: tuple[str | int, ...]
    expected: str
    good: Callable[[Array], Array]


def _rotations(R: Array) -> Array:
    """Whether the first two rows are orthonormal and the third is their cross product."""
    good = np.empty(len(R), dtype=bool)
    for start in range(0, len(R), CHUNK):
        piece = slice(start, start + CHUNK)
        (a, b, c), (d, e, f), third = ([R[piece, i, j] for j in range(3)] for i in range(3))
        with np.errstate(over="ignore", invalid="ignore"):
            off = abs(a * a + b * b + c * c - 1) + abs(d * d + e * e + f * f - 1) + abs(a * d + b * e + c * f)
            cross = (b * f - c * e, c * d - a * f, a * e - b * d)
            off += sum(abs(x - y) for x, y in zip(cross, third, strict=True))
            good[piece] = off < ORTHONORMAL
    return good


def _not_negative(x: Array) -> Array:
    return np.asarray((x >= 0) & (x < np.inf))


_FINITE, _ROTATION = "finite numbers", "orthonormal, right-handed rotations"
_NUMBERS = {
    "placement_rotation": _Numbers(("n", 3, 3), _ROTATION, _rotations),
    "placement_position": _Numbers(("n", 3), _FINITE, np.isfinite),
    "joint_rotation": _Numbers(("n", 3, 3), _ROTATION, _rotations),
    "pitch": _Numbers(("n",), _FINITE, np.isfinite),
    "mass": _Numbers(("n",), "finite masses of zero or more", _not_negative),
    "com": _Numbers(("n", 3), _FINITE, np.isfinite),
    "inertia": _Numbers(("n", 3, 3), _FINITE, np.isfinite),
    "lower": _Numbers(("nq",), "numbers or -inf", lambda x: x < np.inf),
    "upper": _Numbers(("nq",), "numbers or inf", lambda x: x > -np.inf),
    "velocity_limit": _Numbers(("nv",), "limits of zero or more", lambda x: x >= 0),
    "effort_limit": _Numbers(("nv",), "limits of zero or more", lambda x: x >= 0),
    "damping": _Numbers(("nv",), "finite numbers of zero or more", _not_negative),
    "friction": _Numbers(("nv",), "finite numbers of zero or more", _not_negative),
    "armature": _Numbers(("nv",), "finite numbers of zero or more", _not_negative),
    "stiffness": _Numbers(("nv",), "finite numbers of zero or more", _not_negative),
    "rest": _Numbers(("nv",), _FINITE, np.isfinite),
    "strain": _Numbers(("n",), "finite numbers of zero or more", _not_negative),
    "gravity": _Numbers((3,), _FINITE, np.isfinite),
    "base_com": _Numbers((3,), _FINITE, np.isfinite),
    "base_inertia": _Numbers((3, 3), _FINITE, np.isfinite),
}


def check_sound(tree: Tree) -> None:
    """Raise a ModelError that names the first field of a tree that does not fit. Cost: O(n), once for each tree."""
    tree.once("sound", lambda: _check_all(tree))


def _check_all(tree: Tree) -> None:
    _check_integers(tree)
    sizes = {"n": tree.n, "nq": tree.nq, "nv": tree.nv}
    for field, wanted in _NUMBERS.items():
        shape = tuple(sizes.get(str(size), size) for size in wanted.shape)
        _check_array(tree, field, np.float64, shape)
        core = without_repetitions(getattr(tree, field))
        _require(tree, field, wanted.expected, wanted.good(core), core)
    lower, upper = (without_repetitions(getattr(tree, field)) for field in ("lower", "upper"))
    _require(tree, "lower", "lower limits not above upper ones", lower <= upper, lower)
    followers(tree)  # names those whose leaders are missing
    for name, frame in tree.frames.items():
        _check_frame(tree, name, frame)
    _check_actuators(tree)


def _fault(tree: Tree, field: str, expected: str, found: object) -> ModelError:
    seen = found if isinstance(found, str) else shown(found)
    return ModelError(f"{field} of the Tree {shown(tree.name)}: expected {expected}, found {seen}; see catena.Builder")


def _check_array(tree: Tree, field: str, dtype: Any, shape: tuple[int | str, ...]) -> None:
    value, wanted = getattr(tree, field), f"an array of {np.dtype(dtype).name} of shape {shape}"
    if not isinstance(value, np.ndarray):
        raise _fault(tree, field, wanted, kind_of(value))
    if value.dtype != dtype or value.shape != shape:
        raise _fault(tree, field, wanted, f"{value.dtype.name} of shape {value.shape}")


def _require(tree: Tree, field: str, expected: str, good: Array, values: Array) -> None:
    if not good.all():
        i = int(np.unravel_index(int(np.argmin(good)), good.shape)[0])
        row = values[i if len(values) > 1 else 0]  # one row may stand for all
        shown = " ".join(np.array2string(row).split())
        raise _fault(tree, field, expected, f"{shown} in row {i}")


def _check_integers(tree: Tree) -> None:
    """How links hang together, and which coordinates are whose: what loops and addresses are made of."""
    if not isinstance(tree.parent, np.ndarray) or tree.parent.ndim != 1:
        raise _fault(tree, "parent", "an array of int64 of shape (n,)", kind_of(tree.parent))
    n = tree.n
    for field, dtype, shape in (
        ("parent", np.int64, (n,)),
        ("joint_type", np.int8, (n,)),
        ("q_start", np.int64, (n + 1,)),
        ("v_start", np.int64, (n + 1,)),
    ):
        _check_array(tree, field, dtype, shape)
    _check_words(tree)
    before = (tree.parent >= -1) & (tree.parent < np.arange(n))
    _require(tree, "parent", "-1 for the base or the number of an earlier link", before, tree.parent)
    types = without_repetitions(tree.joint_type)
    known = (types >= 0) & (types < len(JOINT_TYPES)) & (types != BY_NAME["fixed"].code)
    _require(tree, "joint_type", f"codes from 0 to {len(JOINT_TYPES) - 1} of joints that move", known, types)
    following = _following(tree)
    for field, size in (("q_start", _per_type("nq")), ("v_start", _per_type("nv"))):
        start = getattr(tree, field)
        _require(tree, field, "to begin with 0", start[:1] == 0, start[:1])
        fits = (np.diff(start) == size[tree.joint_type]) | following
        _require(tree, field, "steps as large as the joint types have coordinates", fits, np.diff(start))


def _following(tree: Tree) -> Array:
    """Which joints may do without coordinates, because they mimic others and have none."""
    following = np.zeros(tree.n, dtype=bool)
    if tree.mimic:
        mimic = np.array([name in tree.mimic for name in tree.joint_names], dtype=bool)
        following = (
            mimic
            & (np.diff(tree.q_start) == 0)
            & (np.diff(tree.v_start) == 0)
            & (_per_type("nv")[tree.joint_type] == 1)
        )
    return following


def _check_words(tree: Tree) -> None:
    """What is called what, and who follows whom: asked early, as all else is looked up by these names."""
    for field in ("link_names", "joint_names"):
        names = getattr(tree, field)
        if not isinstance(names, Sequence):
            raise _fault(tree, field, f"{tree.n} names", kind_of(names))
        if len(names) != tree.n:
            raise _fault(tree, field, f"{tree.n} names", len(names))
        _check_strings(tree, field, names)
    _check_strings(tree, "name", (tree.name,))
    _check_strings(tree, "base_name", (tree.base_name,))
    _check_strings(tree, "warnings", tree.warnings)
    if not isinstance(tree.base_mass, float | int) or not _finite(tree.base_mass) or tree.base_mass < 0:
        raise _fault(tree, "base_mass", "a finite mass of zero or more", shown(tree.base_mass))
    for field in ("frames", "mimic", "meshes", "actuators"):
        if not isinstance(getattr(tree, field), Mapping):
            raise _fault(tree, field, "a mapping", kind_of(getattr(tree, field)))
    for name, rule in tree.mimic.items():
        if not isinstance(rule, Mimic) or not isinstance(rule.master, str) or not _finite(*rule[1:]):
            raise _fault(tree, f"mimic[{name!r}]", "the name of a joint, and two finite numbers", f"{rule!r}")


def _check_strings(tree: Tree, field: str, words: Sequence[Any]) -> None:
    if type(words) is tuple and not all(issubclass(kind, str) for kind in set(map(type, words))):
        odd = next(word for word in words if not isinstance(word, str))
        raise _fault(tree, field, "strings", kind_of(odd))


def _finite(*numbers: Any) -> bool:
    """Whether these are real numbers that a double can hold."""
    try:
        return all(isinstance(x, Real) and isfinite(x) for x in numbers)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _check_actuators(tree: Tree) -> None:
    dofs = dict(zip(tree.joint_names, np.diff(tree.v_start).tolist(), strict=True)) if tree.actuators else {}
    for name, each in tree.actuators.items():
        if not isinstance(each, Actuator) or not isinstance(each.joint, str) or dofs.get(each.joint) != 1:
            raise _fault(tree, f"actuators[{name!r}]", "an actuator of a joint of one degree of freedom", f"{each!r}")
        ranges = (each.control_range, each.force_range)
        if not _finite(each.gear, each.gain) or not _holds(each.bias, 3) or not all(_holds(r, 2, True) for r in ranges):
            expected = "finite gear and gain, three numbers of bias, and ranges from lower to upper"
            raise _fault(tree, f"actuators[{name!r}]", expected, f"{each!r}")


def _holds(numbers: Any, count: int, ordered: bool = False) -> bool:
    """Whether this is a tuple of so many numbers: finite ones, or bounds, which may be infinite, in order."""
    if not isinstance(numbers, tuple) or len(numbers) != count:
        return False
    open_ends = (np.inf, -np.inf) if ordered else ()
    return _finite(*(x for x in numbers if x not in open_ends)) and (not ordered or numbers[0] <= numbers[1])


def _check_frame(tree: Tree, name: str, frame: Any) -> None:
    expected = f"a link from -1 to {tree.n - 1}, a rotation (3, 3) and a position (3,)"
    if not isinstance(frame, Frame) or type(frame.link) is not int or not -1 <= frame.link < tree.n:
        raise _fault(tree, f"frames[{name!r}]", expected, f"{frame!r}")
    for value, shape in ((frame.rotation, (3, 3)), (frame.position, (3,))):
        if not isinstance(value, np.ndarray) or value.shape != shape or not np.isfinite(value).all():
            raise _fault(tree, f"frames[{name!r}]", expected, " ".join(shown(value).split()))


def _per_type(size: str) -> Array:
    """A size of each type of joint that is known now, by code."""
    return np.array([getattr(t, size) for t in JOINT_TYPES])
