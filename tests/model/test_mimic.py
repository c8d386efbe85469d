"""Mimic joints without coordinates of their own: trees, limits and losses, and how robots with them are changed."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from tests import mimics

import catena
from catena.model.mimic import eliminated, followers
from catena.model.parts import Mimic


@pytest.fixture(scope="module")
def hand() -> catena.Robot:
    return catena.load(mimics.HAND)


def test_coordinates_are_those_of_leaders(hand: catena.Robot) -> None:
    assert (hand.nq, hand.nv, hand.warnings) == (2, 2, ())
    found = followers(hand.tree)
    assert found is not None
    assert found.rules == {2: (1, -2.0, 0.5), 3: (1, -1.0, 0.25)}
    assert hand.joint("two").v_slice == slice(2, 2)
    assert "mimics one" in str(hand)
    assert pickle.loads(pickle.dumps(hand)) == hand
    assert hand.random_configuration(0, 7).shape == (7, 2)


def test_leaders_feel_their_followers(hand: catena.Robot) -> None:
    np.testing.assert_allclose(hand.damping, [0.0, 0.1 + 4 * 0.3])
    np.testing.assert_allclose(hand.friction, [0.0, 0.2 + 2 * 0.4])
    np.testing.assert_allclose(hand.velocity_limit, [2.0, 0.5])
    np.testing.assert_allclose(hand.lower, [-1.0, -1.0])  # within what -3 <= -2 q + 0.5 <= 3 allows: [-1.25, 1.75]
    np.testing.assert_allclose(hand.upper, [1.0, 1.75])


def test_springs_and_rotors_add_up(rng: np.random.Generator) -> None:
    full = mimics.random_pair(5, 6, joint_types="revolute").full
    numbers = {field: rng.uniform(0.1, 1.0, full.nv) for field in ("stiffness", "rest", "armature", "damping")}
    pair = mimics.pair(catena.Robot(replace(full.tree, **numbers)))
    q, v = pair.robot.random_configuration(rng), rng.standard_normal(pair.robot.nv)
    torque = pair.full.stiffness * (pair.full.rest - pair.wide(q))
    np.testing.assert_allclose(pair.robot.stiffness * (pair.robot.rest - q), torque @ pair.G)
    np.testing.assert_allclose(pair.robot.armature * v, (pair.full.armature * (pair.G @ v)) @ pair.G)
    step = pair.robot.step(q, v, 0 * v, 1e-3, joint_losses=True, integrator="linearly_implicit")
    M = pair.robot.mass_matrix(q).dense()
    resisted = M + np.diag(1e-3 * pair.robot.damping + 1e-6 * pair.robot.stiffness)
    lost = pair.robot.damping * v + pair.robot.stiffness * (q + 1e-3 * v - pair.robot.rest)
    np.testing.assert_allclose(step.v - v, 1e-3 * np.linalg.solve(resisted, -lost - pair.robot.bias(q, v)), atol=1e-10)


def test_springs_of_followers_hold_their_energy(rng: np.random.Generator) -> None:
    full = mimics.random_pair(5, 6, joint_types="revolute").full
    assert {rule.multiplier for rule in full.tree.mimic.values()} > {0.0}  # one follower that does not move
    numbers = {field: rng.uniform(0.1, 1.0, full.nv) for field in ("stiffness", "rest")}
    pair = mimics.pair(catena.Robot(replace(full.tree, **numbers)))
    q = pair.robot.random_configuration(rng, 5)
    wanted = 0.5 * (pair.full.stiffness * (pair.wide(q) - pair.full.rest) ** 2).sum(axis=-1)
    for kernel in ("unrolled", "rolled"):
        np.testing.assert_allclose(pair.robot.spring_energy(q, kernel=kernel), wanted, rtol=1e-13)
    np.testing.assert_allclose(pair.robot.spring_energy(q, parameters=pair.robot.parameters()), wanted, rtol=1e-13)
    v = np.zeros((2, pair.robot.nv))
    run = pair.robot.rollout(q[:2], v, np.zeros((2, 0, pair.robot.nv)), 1e-3)
    np.testing.assert_allclose(run.energy(), (wanted[:2] + pair.robot.potential_energy(q[:2]))[:, None], rtol=1e-12)
    fixed = catena.Robot(replace(full.tree, stiffness=np.where(pair.G.any(axis=1), 0.0, 2.0), rest=numbers["rest"]))
    still = mimics.pair(fixed)
    assert not still.robot.stiffness.any()
    np.testing.assert_allclose(still.robot.spring_energy(q[0]), fixed.spring_energy(still.wide(q[0])), rtol=1e-13)
    two = pair.robot.attach(pair.robot, pair.robot.links[-1], prefix="other_")
    np.testing.assert_allclose(two.spring_energy([*q[0], *q[1]]), wanted[0] + wanted[1], rtol=1e-13)
    assert pair.robot.with_joints(stiffness=0.0).spring_energy(q[0]) == 0.0
    assert pair.robot.with_joints(stiffness=pair.robot.stiffness) == pair.robot


def test_robots_made_of_others(hand: catena.Robot, rng: np.random.Generator) -> None:
    q = hand.random_configuration(rng)
    locked = hand.locked({"one": q[1]})
    assert locked.nv == 1
    position = hand.placement(q, "b").position
    np.testing.assert_allclose(locked.placement(q[:1], "b").position, position, atol=1e-14)
    two = hand.attach(hand, "wrist", prefix="other_")
    assert two.nv == 4
    inner = two.placement([*q, *q], "other_b").position
    on = hand.placement(q, "wrist")
    np.testing.assert_allclose(inner, on.rotation @ position + on.position, atol=1e-14)
    with pytest.raises(catena.ModelError, match="'two' mimics 'one' and cannot be locked"):
        hand.locked({"two": 0.0})
    with pytest.raises(catena.ModelError, match="'two' has no coordinates of its own"):
        hand.subtree("b")
    with pytest.raises(catena.ModelError, match="'two': it mimics 'one'"):
        hand.with_joints(damping={"two": 1.0})
    np.testing.assert_allclose(hand.with_joints(damping={"one": 1.0}).damping, [0.0, 1.0])
    assert hand.with_parameters(hand.parameters()) == hand


def builder(**details: object) -> catena.Builder:
    parts = catena.Builder("fingers").link("a", mass=1.0, inertia=(1, 1, 1)).link("b", mass=2.0, inertia=(1, 1, 1))
    return parts.prismatic("one", "base", "a", axis="y").prismatic("two", "base", "b", axis="-y", **details)


def test_built_in_code() -> None:
    built = builder(mimic=("one", 2.0, 0.1)).build()
    assert (built.nq, built.tree.mimic["two"]) == (1, ("one", 2.0, 0.1))
    np.testing.assert_allclose(built.mass_matrix([0.3]).dense(), [[1.0 + 4 * 2.0]])
    assert builder(mimic="one").build().nv == 1
    assert builder(mimic=None).build().nv == 2
    with pytest.raises(catena.ModelError, match=r"joint 'two' mimics another: .*'oen'; did you mean 'one'"):
        builder(mimic="oen").build()
    for odd in (("one", "x"), (3, 1.0), ("one", 1.0, 0.0, 0.0), 3, ("one", float("nan"))):
        with pytest.raises(catena.ModelError, match="joint 'two': mimic: expected"):
            builder(mimic=odd)
    with pytest.raises(catena.ModelError, match="circle"):
        builder(mimic="two").build()


def test_what_cannot_be_eliminated() -> None:
    tree = catena.random_tree(0, 4, joint_types="revolute").tree
    one, two, three, four = tree.joint_names
    circle = replace(tree, mimic={one: Mimic(two), two: Mimic(three), three: Mimic(one)})
    with pytest.raises(catena.ModelError, match=r"in a circle: '.*', '.*', '.*'"):
        eliminated(circle)
    balls = catena.random_tree(0, 2, joint_types="spherical").tree
    with pytest.raises(catena.ModelError, match=r"spherical: expected joints of one degree of freedom"):
        eliminated(replace(balls, mimic={balls.joint_names[1]: Mimic(balls.joint_names[0])}))
    assert eliminated(replace(tree, mimic={four: Mimic("nobody")})).nv == 4


def test_a_group_without_mass_is_named() -> None:
    text = re.sub(r'<link name="[ab]">.*?</link>', lambda m: f'<link name="{m[0][12]}"/>', mimics.HAND, flags=re.DOTALL)
    with pytest.warns(catena.ModelWarning, match="massless leaves"):
        hand = catena.load(text)
    with pytest.raises(catena.SingularError, match="singular"):
        hand.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))


def with_rule(multiplier: str, offset: str) -> str:
    return mimics.HAND.replace('multiplier="-2" offset="0.5"', f'multiplier="{multiplier}" offset="{offset}"')


@pytest.mark.parametrize(("multiplier", "offset"), [("1e200", "0"), ("-1e308", "1"), ("nan", "0"), ("1", "inf")])
def test_rules_beyond_numbers_are_refused(multiplier: str, offset: str) -> None:
    with pytest.raises(catena.LoadError, match="'two'"):
        catena.load(with_rule(multiplier, offset))


@pytest.mark.parametrize(("multiplier", "offset"), [("1e100", "0"), ("1e-320", "0"), ("0", "1e100")])
@pytest.mark.filterwarnings("ignore::catena.ModelWarning")
def test_extreme_rules_are_taken(multiplier: str, offset: str) -> None:
    hand = catena.load(with_rule(multiplier, offset))
    assert hand.nv == 2
    assert np.isfinite(hand.damping).all()
    assert (hand.lower <= hand.upper).all()


def test_limits_that_exclude_each_other() -> None:
    text = mimics.HAND.replace('lower="-3" upper="3"', 'lower="7" upper="8"')
    with pytest.warns(catena.ModelWarning, match="limits their leaders cannot keep, left out: 'two'"):
        hand = catena.load(text)
    np.testing.assert_allclose((hand.lower[1], hand.upper[1]), (-1.0, 2.0))


def test_runs_keep_their_mimic_joints(hand: catena.Robot, tmp_path: object) -> None:
    run = hand.rollout(np.zeros(2), np.zeros(2), np.zeros((2, 2)), dt=1e-3)
    run.save(f"{tmp_path}/run.npz")
    assert catena.load_run(f"{tmp_path}/run.npz").robot == hand
