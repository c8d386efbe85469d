"""Random trees: reproducible, of the shape asked for, with the inertias of real bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena
from catena.model.random_tree import MOVING


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_inertias_are_those_of_real_bodies(base: Any) -> None:
    tree = catena.random_tree(1, 500, base=base).tree
    moments = np.linalg.eigvalsh(tree.inertia)
    assert (tree.mass > 0).all()
    assert (moments > 0).all()
    assert (moments[:, 0] + moments[:, 1] > moments[:, 2]).all()
    assert (tree.parent < np.arange(500)).all()
    assert (tree.parent[1:] >= (0 if base == "floating" else -1)).all()
    np.testing.assert_allclose(np.linalg.det(tree.placement_rotation), 1)


def test_seeds() -> None:
    assert catena.random_tree(3, 20) == catena.random_tree(3, 20)
    assert hash(catena.random_tree(3, 20)) == hash(catena.random_tree(3, 20))
    assert catena.random_tree(3, 20) != catena.random_tree(4, 20)
    assert catena.random_tree(np.random.default_rng(3), 20) == catena.random_tree(3, 20)


def test_joint_types() -> None:
    assert {joint.type for joint in catena.random_tree(0, 200).joints} == set(MOVING)
    assert {joint.type for joint in catena.random_tree(0, 50, "prismatic").joints} == {"prismatic"}
    helical = catena.random_tree(0, 50, ["helical", "revolute"])
    assert all((joint.pitch != 0) == (joint.type == "helical") for joint in helical.joints)


def test_branching() -> None:
    assert catena.random_tree(0, 100, branching=0).tree.parent.tolist() == list(range(-1, 99))
    bush = catena.random_tree(0, 1000, branching=1).tree.parent
    assert len(np.unique(bush)) < 700
    assert (np.diff(bush) < 0).any()


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"n": 0}, "n:"),
        ({"joint_types": ["fixed"]}, "joint_types"),
        ({"joint_types": []}, "joint_types"),
        ({"branching": 2}, "branching"),
        ({"base": "flying"}, "base"),
    ],
)
def test_bad_arguments(options: dict[str, Any], culprit: str) -> None:
    with pytest.raises(catena.ModelError, match=culprit):
        catena.random_tree(**{"seed": 0, "n": 5, **options})
