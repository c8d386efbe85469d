"""Trees: read-only, compared by content, small when pickled."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import catena
from catena.model.chains import planar_chain, rod_chain
from catena.model.random_tree import random_tree
from catena.model.tree import FrozenMapping, Tree


def dense(tree: Tree) -> Tree:
    """The same content in plain arrays and tuples."""
    values = {f.name: getattr(tree, f.name) for f in fields(tree)}
    plain = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
    return Tree(**{**plain, "link_names": list(tree.link_names), "joint_names": list(tree.joint_names)})


def test_arrays_are_read_only() -> None:
    tree = random_tree(1, 5)
    for array in (tree.mass, tree.inertia, tree.lower, pickle.loads(pickle.dumps(tree)).mass):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        tree.mass = np.zeros(5)  # type: ignore[misc]


def test_broadcast_and_dense_arrays_are_the_same_content() -> None:
    tree = planar_chain(np.ones(70_000), 1.0)
    assert tree == dense(tree)
    assert hash(tree) == hash(dense(tree))
    assert len({tree, dense(tree)}) == 1


def test_zero_has_no_sign() -> None:
    tree = rod_chain(3)
    assert replace(tree, com=np.where(tree.com == 0, -0.0, tree.com), base_mass=-0.0) == tree


@pytest.mark.parametrize("field", [f.name for f in fields(Tree) if f.name not in ("warnings", "link_names")])
def test_every_field_counts(field: str) -> None:
    tree = random_tree(2, 4, ("revolute", "spherical"))
    value = getattr(tree, field)
    if isinstance(value, np.ndarray):
        other = np.array(value)
        other.flat[0] += 1
        if other.flat[0] == value.flat[0]:  # infinite
            other.flat[0] = 1
    elif isinstance(value, FrozenMapping):
        other = {"x": ("y",)}
    else:
        other = tuple(reversed(value)) if field == "joint_names" else "x" if isinstance(value, str) else 1.0
    assert replace(tree, **{field: other}) != tree


def test_warnings_do_not_count() -> None:
    tree = rod_chain(2)
    assert replace(tree, warnings=("odd",)) == tree
    assert tree != "tree"


def test_names_cannot_be_confused_with_each_other() -> None:
    tree = rod_chain(2)
    assert replace(tree, link_names=("a", "bc")) != replace(tree, link_names=("ab", "c"))


def test_a_long_chain_is_small_when_pickled() -> None:
    tree = planar_chain(1.0, np.broadcast_to(1.0, 50_000))
    data = pickle.dumps(tree)
    assert len(data) < 50_000 * 120
    again = pickle.loads(data)
    assert again == tree
    assert again.inertia.strides == tree.inertia.strides


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_robots_travel_in_every_protocol(protocol: int) -> None:
    arm = catena.load("seven_dof_arm")
    for thing in (arm, arm.tree, catena.System([arm])):
        assert pickle.loads(pickle.dumps(thing, protocol)) == thing
    M = arm.mass_matrix(arm.neutral())
    assert np.array_equal(pickle.loads(pickle.dumps(M, protocol)).dense(), M.dense())


def test_mapping_is_frozen() -> None:
    source = {"a": 1}
    mapping = FrozenMapping(source)
    source["a"] = 2
    assert dict(mapping) == {"a": 1}
    assert not hasattr(mapping, "__setitem__")
