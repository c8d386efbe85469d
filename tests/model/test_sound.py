"""Trees made by hand: whatever is wrong with one is a ModelError that names it, before anything is computed."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import catena
from catena.errors import ModelError
from catena.model.chains import rod_chain
from catena.model.joints import JOINT_TYPES
from catena.model.random_tree import random_tree
from catena.model.sound import check_sound
from catena.model.tree import Frame, Tree

N = 5
EVERY = tuple(t.name for t in JOINT_TYPES if t.name not in ("fixed", "free"))


def tree() -> Tree:
    return random_tree(3, N, ("revolute", "spherical", "helical", "universal"))


def changed(field: str, place: Any, value: Any) -> Any:
    array = np.array(getattr(tree(), field))
    array[place] = value
    return array


def wrong_numbers() -> list[tuple[str, Any]]:
    """Every array with an entry that it may not have."""
    arrays = [f.name for f in fields(Tree) if isinstance(getattr(tree(), f.name), np.ndarray)]
    floats = [name for name in arrays if getattr(tree(), name).dtype == np.float64]
    wrong: list[tuple[str, Any]] = [(name, changed(name, -1, np.nan)) for name in floats]
    wrong += [(name, changed(name, 0, -1.0)) for name in ("mass", "damping", "friction", "armature", "effort_limit")]
    wrong += [("upper", changed("upper", 1, -np.inf)), ("lower", changed("lower", 1, np.inf))]
    wrong += [("gravity", changed("gravity", 0, np.inf)), ("joint_rotation", changed("joint_rotation", 2, 1.0))]
    wrong += [("placement_rotation", changed("placement_rotation", 1, -np.eye(3)))]
    wrong += [("parent", changed("parent", i, x)) for i, x in ((0, 0), (2, 2), (2, 10**12), (1, -2), (4, -(2**63)))]
    wrong += [("joint_type", changed("joint_type", 2, x)) for x in (-1, 9, 10, 127)]
    starts = ("q_start", "v_start")
    wrong += [(name, changed(name, i, x)) for name in starts for i, x in ((0, 1), (-1, 1000), (2, -5), (-1, -(2**62)))]
    return wrong


def wrong_arrays() -> list[tuple[str, Any]]:
    """Every array too short, too long, of other types, not one at all."""
    wrong: list[tuple[str, Any]] = []
    for f in fields(Tree):
        value = getattr(tree(), f.name)
        if isinstance(value, np.ndarray):
            other = np.float32 if value.dtype == np.float64 else np.int32
            wrong += [(f.name, x) for x in (value[:-1], value[None], np.concatenate([value, value]))]
            others = [x for x in (other, object, value.dtype.newbyteorder(">")) if x != value.dtype]
            wrong += [(f.name, value.astype(x)) for x in others]
            wrong += [(f.name, value.tolist()), (f.name, None)]
    return wrong


WRONG_REST = [
    ("link_names", ("a", "b")),
    ("joint_names", tuple("abcdef")),
    ("joint_names", (1, 2, 3, 4, 5)),
    ("link_names", None),
    ("name", 3),
    ("base_name", None),
    ("base_mass", np.nan),
    ("base_mass", -1.0),
    ("base_mass", "1"),
    ("frames", [1]),
    ("frames", {"f": Frame(N, np.eye(3), np.zeros(3))}),
    ("frames", {"f": Frame(-2, np.eye(3), np.zeros(3))}),
    ("frames", {"f": Frame(0, np.eye(2), np.zeros(3))}),
    ("frames", {"f": Frame(0, np.eye(3), np.full(3, np.nan))}),
    ("frames", {"f": (0, np.eye(3), np.zeros(3))}),
    ("mimic", 1),
    ("meshes", ()),
    ("warnings", (1,)),
]


@pytest.mark.parametrize(
    ("field", "value"), [*wrong_numbers(), *wrong_arrays(), *WRONG_REST], ids=lambda x: str(x)[:20]
)
def test_a_wrong_field_is_named(field, value):
    made = replace(tree(), **{field: value})
    with pytest.raises(ModelError, match=r"expected .*found") as raised:
        catena.Robot(made)
    assert str(raised.value).startswith(("joint_type", field) if field == "parent" else field)


def test_unpickled_trees_are_checked():
    bad = replace(tree(), q_start=changed("q_start", -1, 1000))
    again = pickle.loads(pickle.dumps(bad))
    with pytest.raises(ModelError, match="q_start"):
        catena.Robot(again)
    state = tree().__getstate__()
    state.pop("mass")
    with pytest.raises(ModelError, match="pickled"):
        object.__new__(Tree).__setstate__(state)


class Liar(np.ndarray):
    """Says that it has another shape."""

    shape = (N,)  # type: ignore[assignment]


def test_a_class_that_lies_is_not_believed():
    with pytest.raises(ModelError, match="mass"):
        catena.Robot(replace(tree(), mass=np.ones(2).view(Liar)))


def test_later_changes_of_the_given_indices_do_no_harm():
    given = {name: np.array(getattr(tree(), name)) for name in ("parent", "joint_type", "q_start", "v_start")}
    made = replace(tree(), **given)
    for array in given.values():
        array[...] = 100
    assert made == tree()


@pytest.mark.parametrize("n", [0, 1, 30])
def test_good_trees_pass(n):
    for made in (random_tree(n, max(n, 1), EVERY), random_tree(n, max(n, 1), EVERY, base="floating"), rod_chain(3)):
        check_sound(made)
        check_sound(made)
        check_sound(pickle.loads(pickle.dumps(made)))
