"""Forests: many trees on one base, put together at once."""

from dataclasses import replace

import numpy as np
import pytest
from tests.closed_systems import arm, box

from catena.model.actuators import Actuator
from catena.model.edit import Added, attached
from catena.model.forest import Standing, forest
from catena.model.tree import Frame, Tree


def standing(arms: int) -> list[Standing]:
    robot = arm()
    held = [Standing(f"arm{i}", robot.tree, np.eye(3), np.array([float(i), 0.2, 0.0])) for i in range(arms)]
    return [*held, Standing("box", box().tree, np.eye(3), np.zeros(3), is_object=True)]


def test_trees_are_put_together_as_one_after_the_other() -> None:
    trees = standing(3)
    together = forest(trees)
    one_by_one = forest(trees[:1])
    for name, tree, rotation, position, is_object in trees[1:]:
        known_as = {name: 0} if is_object else {}
        one_by_one = attached(one_by_one, [Added(tree, Frame(-1, rotation, position), f"{name}/", known_as)])
    assert together == one_by_one
    assert together.link_names == one_by_one.link_names
    assert [*together.frames] == [*one_by_one.frames]


def test_making_a_system_does_not_copy_what_is_there_for_each_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    known = Tree.__post_init__

    def counted(self: Tree) -> None:
        made.append(len(self.parent))
        known(self)

    monkeypatch.setattr(Tree, "__post_init__", counted)
    counts = []
    for arms in (5, 50):
        made.clear()
        forest(standing(arms))
        counts.append(sum(n > 6 for n in made))  # of more links than an arm
    assert counts[0] == counts[1] == 1


def test_actuators_of_one_tree_give_all_others_theirs() -> None:
    driven = Standing("driven", replace(arm().tree, actuators={"motor": Actuator("joint0")}), np.eye(3), np.zeros(3))
    for trees in ([driven, *standing(1)], [*standing(1), driven]):
        named = [each.joint for each in forest(trees).actuators.values()]
        assert sorted(named) == sorted(["driven/joint0", *[f"arm0/joint{i}" for i in range(6)]])
