"""Base parameters: combinations that torques depend on, all of them and no more."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.identification import base_parameters, symbolic_base_parameters


def regressor(robot: catena.Robot, seed: int, states: int = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    v, a = rng.standard_normal((2, states, robot.nv))
    q = robot.random_configuration(rng, states)
    Y = robot.regressor(q, v, a, joints=True)
    return Y.reshape(-1, Y.shape[-1])


@pytest.mark.parametrize("name", ["sliding chain", "tree of all joint types", "floating tree"])
def test_combinations_say_all_that_torques_depend_on(name: str) -> None:
    robot = ALL[name]()
    base = base_parameters(robot, ["armature", "damping", "friction"])
    Y = regressor(robot, 5)
    assert relative(Y[:, base.columns[base.independent]] @ base.matrix, Y[:, base.columns]) < 1e-9
    scaled = Y[:, base.columns] / np.maximum(np.linalg.norm(Y[:, base.columns], axis=0), 1e-300)
    assert len(base) == np.linalg.matrix_rank(scaled, tol=1e-8)
    assert np.array_equal(base.matrix[:, base.independent], np.eye(len(base)))
    P = catena.randomize(robot, 1, 0.3)
    beta = base.values(P)
    assert relative(Y[:, base.columns[base.independent]] @ beta, Y @ P.vector[: Y.shape[-1]]) < 1e-9


def test_known_numbers() -> None:
    """43 for such an arm of seven joints on a vertical first axis; every joint adds damping and friction."""
    arm = catena.load(catena.robots.path("seven_dof_arm"))
    assert len(base_parameters(arm, [])) == 43
    assert len(base_parameters(arm, ["damping", "friction"])) == 43 + 14
    free = catena.random_tree(1, 3, ["revolute"], 0.0, base="floating")
    assert len(base_parameters(free, [])) == 10 + 7 * 2


def test_a_planar_arm_in_words() -> None:
    """The arm of the textbooks: two inertias and three first moments, with the square of the first length."""
    arm = catena.planar_chain([0.5, 0.4], [2.0, 1.0], gravity=(0, -9.81, 0))
    one, two = arm.tree.link_names
    names = base_parameters(arm, []).names
    assert len(names) == 6
    assert f"{one}.Izz + 0.25 {two}.m" in names
    assert f"{one}.mx + 0.5 {two}.m" in names
    assert {f"{one}.my", f"{two}.mx", f"{two}.my", f"{two}.Izz"} <= set(names)


def test_without_joints_and_with_unknown_words() -> None:
    builder = catena.Builder("stone")
    builder.link("stone", mass=1.0)
    with pytest.raises(catena.ModelError, match="no joints"):
        base_parameters(builder.build())
    with pytest.raises(catena.CatenaError, match="damping"):
        base_parameters(catena.random_tree(1, 2, ["revolute"]), ["dampin"])


ARMS = {
    "two links": lambda: catena.load(catena.robots.path("two_link_arm")),
    "three links": lambda: catena.from_dh(a=[0, 0.4, 0.3], alpha=[np.pi / 2, 0, 0], d=[0.2, 0, 0]),
    "scara": lambda: catena.from_dh(
        a=[0.4, 0.3, 0], alpha=[0, 0, 0], d=[0.2, 0, 0], types=["revolute", "revolute", "prismatic"]
    ),
}


@pytest.mark.parametrize("name", ARMS)
def test_symbols_agree_with_numbers(name: str) -> None:
    pytest.importorskip("sympy")
    arm = ARMS[name]()
    found, expected = symbolic_base_parameters(arm), base_parameters(arm, [])
    matrix = found.matrix.subs({letter: x.value for letter, x in found.letters.items()})
    assert relative(np.array(matrix.tolist(), dtype=float), expected.matrix) < 1e-9
    assert len(found.expressions) == len(expected)


def test_symbols_are_refused_where_they_would_explode() -> None:
    pytest.importorskip("sympy")
    for arm, reason in (
        (catena.load(catena.robots.path("seven_dof_arm")), "up to 4 links"),
        (catena.random_tree(1, 2, ["revolute"]), "oblique"),
        (catena.random_tree(1, 2, ["spherical"]), "several coordinates"),
        (catena.from_dh(a=[0, 0.4], alpha=[0.5, 0], d=[0.2, 0]), "oblique angle between"),
    ):
        with pytest.raises(catena.UnsupportedError, match=reason):
            symbolic_base_parameters(arm)
