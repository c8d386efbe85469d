"""One source on scalars of the caller's choice."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import catena


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
