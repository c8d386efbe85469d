"""Operation counts: exact formulas, whatever the numbers, below those of the papers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.mechanisms import ALL

import catena
from catena.algorithms import point_mass, udu
from catena.errors import UnknownNameError
from catena.functions.catalogue import function_named
from catena.functions.count import SAHA, Cost, Formula, count, count_general, crossover, table
from catena.trace.count import CONSTANT, Count, count_fused, count_operations
from catena.trace.graph import Graph

TABLE = {cost.name: cost for cost in table()}


def test_counts_each_operation_once() -> None:
    graph = Graph()
    x, y, c = graph.input("x", 0), graph.input("y", 0), graph.input(CONSTANT, 0)
    product = x * y
    outputs = [product + x, product - y, graph.sin(x) / y, c * c, c * c * x]
    assert count_operations(outputs) == Count(multiplications=2, additions=2, divisions=1, sines_and_cosines=1)
    assert count_operations(outputs).total == 6


def test_fused() -> None:
    graph = Graph()
    x, y, z = (graph.input(name, 0) for name in "xyz")
    assert count_fused([x * y + z]) == Count(fused_multiply_adds=1)


@pytest.mark.parametrize("name", [name for name in TABLE if name != SAHA.name])
@pytest.mark.parametrize("n", [4, 5, 9])
def test_formulas_are_exact_whatever_the_numbers(name: str, n: int) -> None:
    cost = TABLE[name]
    found = count_general(function_named(name), n, seed=n)
    assert found.multiplications + found.divisions == cost.multiplications(n)
    assert found.additions == cost.additions(n)
    assert found.sines_and_cosines <= 2 * n


def per_link(cost: Cost) -> tuple[Fraction, Fraction]:
    return cost.multiplications.coefficients[1], cost.additions.coefficients[1]


def test_fewer_operations_per_link_than_the_papers() -> None:
    """With bias torques, gravity and divisions counted in."""
    ours, theirs = per_link(TABLE["forward_dynamics/udu"]), per_link(SAHA)
    assert theirs == (201, 193)
    assert ours[0] < theirs[0]
    assert ours[1] < theirs[1]
    assert len(TABLE["forward_dynamics/udu"].multiplications.coefficients) == 2


def test_crossover() -> None:
    linear, cubic = TABLE["forward_dynamics/udu"], TABLE["forward_dynamics/dense"]
    n = crossover(linear, cubic)
    assert n is not None
    assert linear.total(n) < cubic.total(n)
    assert linear.total(n - 1) >= cubic.total(n - 1)
    assert crossover(cubic, linear) is None


def test_cubic_term_is_that_of_elimination() -> None:
    assert TABLE["forward_dynamics/dense"].multiplications.coefficients[3] == Fraction(1, 6)


def test_polynomials_are_found_again() -> None:
    wanted = Formula((Fraction(-7), Fraction(1, 2), Fraction(0), Fraction(3, 2)))
    assert Formula.through(lambda n: int(wanted(n)), 3, 4) == wanted
    assert str(wanted) == "3/2 n³ + 1/2 n − 7"
    assert str(wanted + Formula((Fraction(7),))) == "3/2 n³ + 1/2 n"


def test_count_of_a_robot() -> None:
    robot = ALL["tree of all joint types"]()
    plain, fused = count(robot), count(robot, fused=True)
    assert plain == count(robot, "forward_dynamics/innovations")
    assert fused.total < plain.total
    assert plain.fused_multiply_adds == 0
    assert count(robot, udu.FACTORS).total < count(robot, "forward_dynamics/udu").total


def test_count_of_fixman_s_partition() -> None:
    """Points of a plane take far less than bodies in space, which are known by name."""
    planar = catena.planar_chain(np.ones(5), np.ones(5))
    rods = catena.rod_chain(5, radius=0.1)
    for of_points in (point_mass.POINT_MASS, point_mass.SOLVE, point_mass.LOG_DETERMINANT):
        of_bodies = of_points.name.replace("point_mass", "fixman")
        assert count(planar, of_points).total < count(rods, of_bodies).total / 4
    assert count(rods, "solve/fixman").total < count(rods, "forward_dynamics/fixman").total


def test_fold_constants_of_a_robot() -> None:
    """A planar chain of points takes far fewer operations than a general one."""
    planar = catena.planar_chain(np.ones(5), np.ones(5))
    assert count(planar).total < count_general(function_named("forward_dynamics"), 5).total / 4


def test_unknown_function() -> None:
    with pytest.raises(UnknownNameError, match="forward_dynamics"):
        count(ALL["one link"](), "forward_dynamic")
