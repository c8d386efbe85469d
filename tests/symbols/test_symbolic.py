"""Symbolic dynamics: textbook formulas to the letter, and the same numbers as everywhere else."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative, with_rotors

import catena
from catena import robots
from catena.algorithms import udu
from catena.errors import UnknownNameError, UnsupportedError
from catena.functions import engine
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.functions.function import Function
from catena.symbols import WHAT, symbolic
from catena.symbols.ring import Ring

sympy = pytest.importorskip("sympy")


def planar_arm(n: int) -> catena.Robot:
    """Links along x turning about z, with mass centres on the way and gravity along -y."""
    build = catena.Builder("arm", gravity=(0.0, -9.81, 0.0))
    parent = "base"
    for i in range(n):
        inertia = np.diag([0.01, 0.02, 0.03 + 0.01 * i])
        link, position = f"link{i + 1}", (0.5 + 0.1 * i if i else 0.0, 0, 0)
        build.link(link, mass=2.0 + i, com=(0.3 + 0.1 * i, 0, 0), inertia=inertia)
        build.revolute(f"joint{i + 1}", parent, link, position=position)
        parent = link
    return build.build()


def cart() -> catena.Robot:
    """A cart on a rail along x that carries two pendulums about y."""
    build = catena.Builder("cart").link("cart", 2.0).prismatic("rail", "base", "cart", axis=(1, 0, 0), armature=0.1)
    for side, y in (("left", 0.2), ("right", -0.2)):
        build.link(side, 0.5, (0, 0.01, -0.4), (0.01, 0.02, 0.003))
        build.revolute(f"{side}_hinge", "cart", side, axis=(0, -1, 0), position=(0.1, y, 0))
    return build.build()


def letters(names: str) -> Any:
    return sympy.symbols(names)


def same(found: Any, expected: Any) -> bool:
    return bool(sympy.simplify(found - expected).is_zero_matrix)


def test_two_link_mass_matrix() -> None:
    m1, m2, l1, c1, c2, I1, I2, q2 = letters("m_1 m_2 l_1 c_1 c_2 I_1zz I_2zz q_2")
    c = sympy.cos(q2)
    m12 = I2 + m2 * (c2**2 + l1 * c2 * c)
    textbook = sympy.Matrix(
        [[I1 + I2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * c), m12], [m12, I2 + m2 * c2**2]]
    )
    assert same(symbolic(planar_arm(2)).matrix, textbook)


def test_two_link_factors() -> None:
    m1, m2, l1, c1, c2, I1, I2, q2 = letters("m_1 m_2 l_1 c_1 c_2 I_1zz I_2zz q_2")
    c, last = sympy.cos(q2), I2 + m2 * c2**2
    U = sympy.Matrix([[1, 1 + m2 * l1 * c2 * c / last], [0, 1]])
    D = sympy.diag(I1 + m1 * c1**2 + m2 * l1**2 - (m2 * l1 * c2 * c) ** 2 / last, last)
    found = symbolic(planar_arm(2), "udu").expanded
    assert same(found["U"], U)
    assert same(found["D"], D)


def test_two_link_gravity() -> None:
    m1, m2, l1, c1, c2, g, q1, q2 = letters("m_1 m_2 l_1 c_1 c_2 g q_1 q_2")
    outer = m2 * c2 * g * sympy.cos(q1 + q2)
    textbook = sympy.Matrix([(m1 * c1 + m2 * l1) * g * sympy.cos(q1) + outer, outer])
    assert same(symbolic(planar_arm(2), "gravity").matrix, textbook)


def test_two_link_coriolis() -> None:
    m2, l1, c2, q2, v1, v2 = letters("m_2 l_1 c_2 q_2 qdot_1 qdot_2")
    h = m2 * l1 * c2 * sympy.sin(q2)
    textbook = sympy.Matrix([-h * (2 * v1 * v2 + v2**2), h * v1**2])
    assert same(symbolic(planar_arm(2), "coriolis").matrix, textbook)


def test_three_links_stay_readable() -> None:
    found = symbolic(planar_arm(3))
    q2, q3 = letters("q_2 q_3")
    assert found[0, 0].has(sympy.cos(q2 + q3))
    assert not found.matrix.has(sympy.sin)
    assert max(sympy.count_ops(x) for x in found.matrix) < 40


def test_how_a_mass_enters_an_element() -> None:
    found = symbolic(planar_arm(2))
    l1, c2, q2 = letters("l_1 c_2 q_2")
    assert sympy.expand(found.effect("m_2", 0, 1) - c2 * (c2 + l1 * sympy.cos(q2))) == 0
    assert found.effect("m_1") == sympy.Matrix([[sympy.Symbol("c_1") ** 2, 0], [0, 0]])
    assert list(found.depends(1, 1)) == ["I_2zz", "c_2", "m_2"]
    assert found.parameters["m_2"].value == 3.0
    assert "link2" in found.parameters["m_2"].meaning
    pivots = symbolic(planar_arm(2), "udu")
    assert "m_2" in pivots.depends(0, 0, name="D")


def test_latex() -> None:
    text = symbolic(planar_arm(2), "udu").latex()
    assert r"\hat{m}_{2} = I_{2zz} + c_{2}^{2} m_{2}" in text
    assert text.startswith("U = ")


QUESTIONS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "mass_matrix": (MASS_MATRIX, ("q",)),
    "bias": (BIAS, ("q", "qdot")),
    "inverse_dynamics": (INVERSE_DYNAMICS, ("q", "qdot", "qddot")),
    "forward_dynamics": (FORWARD_DYNAMICS["fd4"], ("q", "qdot", "tau")),
    "udu": (udu.ELEMENTS, ("q",)),
}
ROBOTS = {
    "planar arm": lambda: planar_arm(2),
    "arm from a file": lambda: catena.load(robots.path("two_link_arm")),
    "skew axis": lambda: catena.random_tree(1, 1, ["revolute"]),
    "screw": lambda: with_rotors(catena.random_tree(3, 1, ["helical"])),
    "cart with two pendulums": cart,
}


@pytest.mark.parametrize("what", QUESTIONS)
@pytest.mark.parametrize("name", ROBOTS)
def test_numbers_agree(name: str, what: str, rng: np.random.Generator) -> None:
    robot = ROBOTS[name]()
    function, groups = QUESTIONS[what]
    q, v = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    values = {"q": q} | dict.fromkeys(list(function.given(()))[1:], v)
    expected = next(iter(engine.evaluate(robot.tree, function, values).values())).astype(float)
    found = symbolic(robot, what).function(*groups)(q, *[v for _ in groups[1:]])
    assert relative(np.reshape(found, expected.shape), expected) < 1e-10


@pytest.mark.parametrize("joint_type", ["universal", "cylindrical", "planar", "spherical", "free"])
def test_joints_with_several_degrees_of_freedom(joint_type: str, rng: np.random.Generator) -> None:
    robot = catena.random_tree(2, 1, [joint_type])
    q = robot.random_configuration(rng)
    expected = engine.evaluate(robot.tree, MASS_MATRIX, {"q": q})["M"].astype(float)
    assert relative(symbolic(robot).function()(q), expected) < 1e-10
    if joint_type in ("cylindrical", "planar"):
        factors = symbolic(robot, "udu")
        U, D = factors.function(name="U")(q), factors.function(name="D")(q)
        assert relative(U @ D @ U.T, expected) < 1e-10


@pytest.mark.parametrize("what", ["composite_bodies", "articulated_bodies"])
def test_bodies(what: str, rng: np.random.Generator) -> None:
    """Along the joint's axis the last bodies are the last pivot, and symmetric everywhere."""
    robot = planar_arm(2)
    found = symbolic(robot, what)
    assert list(found.matrices) == [("Mtilde_" if what[0] == "c" else "Mhat_") + str(i) for i in (1, 2)]
    last = found.expanded.matrices[list(found.matrices)[1]]
    assert sympy.expand(last[2, 2] - symbolic(robot, "udu").expanded["D"][1, 1]) == 0
    assert all(matrix.is_symmetric() for matrix in found.expanded.matrices.values())


def test_substitution() -> None:
    found = symbolic(planar_arm(2)).subs({"c_1": "l_1", "m_2": 0, "I_2zz": 0})
    l1, m1, I1 = letters("l_1 m_1 I_1zz")
    assert found[0, 0] == I1 + l1**2 * m1


def test_same_source_on_plain_sympy() -> None:
    """An algorithm takes SymPy's own numbers as well."""
    robot = planar_arm(2)
    q = list(letters("q_1 q_2"))
    exact = engine.evaluate(robot.tree, BIAS, {"q": q, "v": [0, 0]}, sympy.sympify)["tau"]
    state = dict(zip(q, (0.3, 0.7), strict=True))
    expected = engine.evaluate(robot.tree, BIAS, {"q": [0.3, 0.7], "v": [0, 0]})["tau"]
    assert [float(x.subs(state)) for x in exact] == pytest.approx(list(expected))


def test_floats_become_exact() -> None:
    ring = Ring(["x"], [], [])
    x = ring.variable("x")
    assert (0.5 * x) * 2 == x
    assert (0.1 * x) * 10 == x
    assert (x / 4) * 4 == x
    assert (x - x) == 0
    assert isinstance(x - x, int)


def test_normal_form() -> None:
    ring = Ring([], ["a", "b"], [])
    a, b = ring.variable("a"), ring.variable("b")
    (s, c), (t, d) = ring.sincos(a), ring.sincos(b)
    assert s * s + c * c == 1
    assert ring.sincos(a + b) == (s * d + c * t, c * d - s * t)
    assert ring.sincos(-a)[0] == -s
    with pytest.raises(UnsupportedError):
        ring.sincos(a * b)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = planar_arm(2)
    with pytest.raises(UnknownNameError, match="mass_matrix"):
        symbolic(robot, "mass_matrx")
    with pytest.raises(UnknownNameError, match="m_1"):
        symbolic(robot).effect("m_9")
    with pytest.raises(UnknownNameError, match="parameter"):
        symbolic(robot).symbol(["m_1"])  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="matrix named 'N'"):
        symbolic(robot).function(name="N")
    with pytest.raises(catena.ShapeError, match="2 x 2 matrix, found 5 and 0"):
        symbolic(robot).depends(5)
    with pytest.raises(catena.ShapeError, match="found 'a' and 1"):
        symbolic(robot).effect("m_1", "a", 1)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="subs"):
        symbolic(robot).subs(3)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="one degree of freedom"):
        symbolic(catena.random_tree(2, 1, ["cylindrical"]), "forward_dynamics", form="closed")
    with pytest.raises(UnsupportedError, match="form"):
        symbolic(robot, form="short")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="form"):
        symbolic(robot, form=np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="expected a Robot first, got a str"):
        symbolic("seven_dof_arm")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="recursion"):
        symbolic(robot, "kinetic_energy", form="closed")
    with pytest.raises(UnsupportedError, match="link"):
        symbolic(robot, "jacobian")
    with pytest.raises(UnsupportedError, match="no language 'fortran'; expected one of 'python', 'c', 'latex'"):
        symbolic(robot).code("fortran")
    assert "udu" in WHAT
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(UnsupportedError, match=r"catena-dynamics\[symbolic\]"):
        symbolic(robot)


@pytest.mark.parametrize("what", ["udu", "forward_dynamics", "articulated_bodies", "inverse_mass_matrix"])
def test_joints_that_nothing_resists(what: str) -> None:
    """Two hinges about one line through a link without mass are refused by name; no joints at all are not."""
    build = catena.Builder("twice").link("a").link("b", mass=1.0, com=(1, 0, 0))
    with pytest.raises(catena.SingularError, match="joint 'first'"):
        symbolic(build.revolute("first", "base", "a").revolute("second", "a", "b").build(), what)
    none = symbolic(catena.Builder("block").link("base").build(), what)
    assert all(matrix.shape[0] == 0 for matrix in none.matrices.values())


def test_rows_of_printed_matrices_are_not_broken() -> None:
    found = catena.symbolic(catena.planar_chain([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]), "mass_matrix")
    lines = str(found).splitlines()
    assert lines[0] == "M ="
    assert max(map(len, lines)) > 80
    assert sum("cos" in line for line in lines) == 3
