"""A link may be given by name, number or view wherever one is asked for, and what is none is refused clearly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catena
from catena import robots
from catena.errors import UnknownNameError


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load(robots.path("seven_dof_arm"))


ASKED: dict[str, Callable[[catena.Robot, Any], Any]] = {
    "frame": lambda r, k: r.frame(k).link,
    "link": lambda r, k: r.link(k).index,
    "link_index": lambda r, k: r.link_index(k),
    "subtree": lambda r, k: r.subtree(k).nv,
    "attach": lambda r, k: hash(r.attach(catena.rod_chain(1), k, prefix="rod_")),
    "placement": lambda r, k: r.placement(r.neutral(), k).position,
    "jacobian": lambda r, k: r.jacobian(r.neutral(), k),
    "jacobian of a point": lambda r, k: r.jacobian(r.neutral(), k, point=(0.1, 0.2, 0.3)),
    "rolled jacobian": lambda r, k: r.jacobian(r.neutral(), k, kernel="rolled"),
    "jacobian_times": lambda r, k: r.jacobian_times(r.neutral(), k, np.arange(7.0)),
    "jacobian_transpose_times": lambda r, k: r.jacobian_transpose_times(r.neutral(), k, np.arange(6.0)),
    "jacobian_dot_times": lambda r, k: r.jacobian_dot_times(r.neutral(), k, np.arange(7.0)),
    "operational_mobility": lambda r, k: r.operational_mobility(r.neutral(), k),
    "jacobian of several": lambda r, k: r.jacobian(r.neutral(), (0, k), [(0, 0, 0), (1, 2, 3)]),
    "of several": lambda r, k: r.operational_mobility(r.neutral(), [0, k], np.zeros((2, 3))),
    "operational_inertia": lambda r, k: r.operational_inertia(r.random_configuration(0), k).inertia,
    "consistent inverse": lambda r, k: r.dynamically_consistent_inverse(r.random_configuration(0), k),
    "wrenches": lambda r, k: r.bias(r.neutral(), np.zeros(7), {k: np.arange(6.0)}),
    "operators": lambda r, k: r.operators(r.neutral(), tips=k).B.dense(),
}


@pytest.mark.parametrize("asked", ASKED)
def test_name_number_and_view_are_the_same_link(arm: catena.Robot, asked: str) -> None:
    ask = ASKED[asked]
    expected = ask(arm, "flange")
    for given in (6, np.int32(6), arm.links[6], arm.link("flange"), catena.load(robots.path("seven_dof_arm")).links[6]):
        np.testing.assert_array_equal(ask(arm, given), expected)


WRONG: dict[str, tuple[Callable[[catena.Robot], Any], str]] = {
    "misspelt": (lambda r: "flang", "did you mean 'flange'"),
    "too large": (lambda r: 7, "no link number 7; 'seven_dof_arm' has links 0 to 6"),
    "negative": (lambda r: -1, r"no link number -1; .* the last is robot.links\[-1\]"),
    "a joint": (lambda r: r.joints[6], "is a joint where a link was expected; the link it carries is 'flange'"),
    "of another robot": (lambda r: catena.rod_chain(2).links[0], "belongs to another robot than 'seven_dof_arm'"),
    "an array": (lambda r: np.zeros(7), "by its name, its number or as one of robot.links, not as array"),
    "a truth": (lambda r: True, "not as True"),
    "nothing": (lambda r: None, "not as None"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("asked", ["frame", "link", "jacobian", "jacobian_dot_times", "operational_inertia"])
def test_what_is_no_link_is_refused(arm: catena.Robot, asked: str, wrong: str) -> None:
    given, message = WRONG[wrong]
    if asked not in ("frame", "link") and wrong == "an array":  # taken for a list of links
        message = "not as np.float64"
    with pytest.raises(UnknownNameError, match=message):
        ASKED[asked](arm, given(arm))


def test_joints_too(arm: catena.Robot) -> None:
    for given in ("wrist_roll", 6, arm.joints[6]):
        assert arm.joint(given) == arm.joints[6]
        assert arm.locked({given: 0.3}).nv == 6
    with pytest.raises(UnknownNameError, match="is a link where a joint was expected; its joint is 'wrist_roll'"):
        arm.joint(arm.links[6])  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="no joint number 9"):
        arm.joint(9)
    with pytest.raises(UnknownNameError, match="'base' is the base"):
        arm.link("base")


@pytest.mark.parametrize("links", [251, 400])
def test_wrenches_by_name_on_chains_of_any_length(links: int) -> None:
    """Beyond the length of straight-line code a wrench by name is the same as one in an array."""
    chain = catena.rod_chain(links)
    q, v = chain.random_configuration(rng=0), np.zeros(chain.nv)
    wrench = np.arange(12.0).reshape(2, 6)
    array = np.zeros((2, links, 6))
    array[:, 7] = wrench
    by_name = {chain.links[7].name: wrench}
    for ask in (chain.inverse_dynamics, chain.forward_dynamics):
        assert np.array_equal(ask(q, v, v, f_ext=by_name), ask(q, v, v, f_ext=array))
