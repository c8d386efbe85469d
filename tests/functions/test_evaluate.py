"""One source on scalars of the caller's choice."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from tests.functions import exact_dynamics
from tests.mechanisms import MOVING

import catena
from catena import robots


def test_digits_and_floats_and_machine_code_agree():
    robot = catena.random_tree(3, 6, branching=0.3)
    rng = np.random.default_rng(0)
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    with mpmath.workdps(50):
        exact = catena.evaluate(robot, "forward_dynamics", q, v, tau, scalar=mpmath.mpf)
    assert isinstance(exact[0], mpmath.mpf)
    plain = catena.evaluate(robot, "forward_dynamics/fd4", q, v, tau)
    assert plain.dtype == np.float64
    scale = np.abs(plain).max()
    np.testing.assert_allclose(exact.astype(float), robot.forward_dynamics(q, v, tau), atol=1e-12 * scale)
    np.testing.assert_allclose(plain, robot.forward_dynamics(q, v, tau), atol=1e-12 * scale)


ROBOTS = {
    "arm": lambda: catena.load(robots.path("seven_dof_arm")),
    "chain": lambda: catena.random_tree(3, 9, MOVING, 0.0),
    "tree": lambda: catena.random_tree(4, 10, MOVING, 0.5),
    "floating": lambda: catena.random_tree(5, 5, ["revolute", "universal"], 0.5, base="floating"),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_fifty_digits_of_the_mechanism_as_it_is_given(name: str) -> None:
    robot, rng = ROBOTS[name](), np.random.default_rng(8)
    q, (v, tau) = robot.random_configuration(rng), rng.standard_normal((2, robot.nv))
    with mpmath.workdps(50):
        state = [[mpmath.mpf(x) for x in array.tolist()] for array in (q, v, tau)]
        found = catena.evaluate(robot, "inverse_dynamics", q, v, tau, scalar=mpmath.mpf)
        assert error(found, exact_dynamics.inverse_dynamics(robot.tree, *state)) < 1e-46
        expected = exact_dynamics.forward_dynamics(robot.tree, *state)
        for method in ("fd3", "fd4", "udu"):
            found = catena.evaluate(robot, f"forward_dynamics/{method}", q, v, tau, scalar=mpmath.mpf)
            assert error(found, expected) < 1e-43
    extended = catena.evaluate(robot, "inverse_dynamics", q, v, tau, scalar=np.longdouble)
    plain = catena.evaluate(robot, "inverse_dynamics", q, v, tau)
    assert np.abs(extended - plain).max() < 1e-12 * np.abs(plain).max()


def error(found, expected) -> mpmath.mpf:
    return max(abs(x - y) for x, y in zip(found, expected, strict=True)) / max(map(abs, expected))


@pytest.mark.parametrize(
    "scalar", [complex, Fraction, Decimal, int, bool, str, np.complex128, np.int64, mpmath.mpc, mpmath.iv.mpf, 3]
)
def test_other_arithmetic_is_refused(scalar) -> None:
    robot = catena.random_tree(4, 3)
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(catena.UnsupportedError, match=r"evaluate: scalar=.*expected float, .*mpmath\.mpf"):
        catena.evaluate(robot, "inverse_dynamics", q, v, v, scalar=scalar)


@pytest.mark.parametrize("scalar", [np.float32, np.float64, np.longdouble, sympy.Float, sympy.nsimplify, mpmath.mpf])
def test_real_arithmetic_works(scalar) -> None:
    robot = catena.load(robots.path("two_link_arm"))
    q, v, a = np.full((3, robot.nv), 0.25)
    found = catena.evaluate(robot, "inverse_dynamics", q, v, a, scalar=scalar)
    np.testing.assert_allclose(found.astype(float), robot.inverse_dynamics(q, v, a), rtol=1e-5)


def test_numbers_that_do_not_fit_are_named() -> None:
    robot = catena.load(robots.path("two_link_arm"))
    v = np.zeros(robot.nv)
    with pytest.raises(catena.CatenaError, match="inverse_dynamics: q must hold numbers"):
        catena.evaluate(robot, "inverse_dynamics", [1j, 0], v, v)
    with pytest.raises(catena.CatenaError, match="v must hold numbers"):
        catena.evaluate(robot, "inverse_dynamics", v, ["a", 0], v, scalar=mpmath.mpf)


def test_wrenches_come_last():
    robot = catena.random_tree(4, 4)
    rng = np.random.default_rng(0)
    q, (v, a), f = robot.random_configuration(rng), rng.standard_normal((2, robot.nv)), rng.standard_normal((4, 6))
    expected = robot.inverse_dynamics(q, v, a, f)
    np.testing.assert_allclose(catena.evaluate(robot, "inverse_dynamics", q, v, a, f), expected, rtol=1e-10)


def test_bad_calls_are_named():
    robot = catena.random_tree(4, 4)
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(catena.UnknownNameError, match="forward_dynamics"):
        catena.evaluate(robot, "forward_dynamic", q, v, v)
    with pytest.raises(catena.ShapeError, match="takes q, v, a, f_ext"):
        catena.evaluate(robot, "inverse_dynamics", q)
    with pytest.raises(catena.ShapeError, match="v must have shape"):
        catena.evaluate(robot, "inverse_dynamics", q, v[:-1], v)
