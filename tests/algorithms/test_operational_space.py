"""Ω of links and what wrenches do, against J M⁻¹ Jᵀ formed as matrices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms.innovations import FACTOR
from catena.algorithms.operational_space import MOBILITY, RESPONSE
from catena.functions import engine
from catena.functions.catalogue import MASS_MATRIX
from catena.functions.frames import function_of


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def whole(robot: catena.Robot, q: np.ndarray) -> np.ndarray:
    """J M⁻¹ Jᵀ of all links together."""
    o = robot.operators(q)
    J = (o.phi.T @ o.H.T).dense()
    return J @ np.linalg.solve(engine.evaluate(robot.tree, MASS_MATRIX, {"q": q})["M"].astype(float), J.T)


def test_every_link(robot: catena.Robot) -> None:
    q = robot.random_configuration(0)
    Omega = whole(robot, q)
    found = engine.evaluate(robot.tree, MOBILITY, {"q": q})["mobilities"].astype(float)
    for k in range(robot.tree.n):
        own = slice(6 * k, 6 * k + 6)
        assert relative(found[k], Omega[own, own]) < 1e-10
        assert relative(found[k], found[k].T) == 0.0


def test_blocks_between_links(robot: catena.Robot) -> None:
    q = robot.random_configuration(1)
    rng = np.random.default_rng(2)
    targets = tuple(rng.permutation(robot.tree.n)[:4].tolist())
    rows = np.concatenate([np.arange(6 * k, 6 * k + 6) for k in targets])
    function = function_of(robot, "operational_mobility", tuple(robot.links[k].name for k in targets))
    found = engine.evaluate(robot.tree, function, {"q": q})["inverse"].astype(float)
    assert relative(found, whole(robot, q)[np.ix_(rows, rows)]) < 1e-10


def test_what_wrenches_do(robot: catena.Robot) -> None:
    q, f = robot.random_configuration(2), np.random.default_rng(3).standard_normal((robot.tree.n, 6))
    factors = {name: x.astype(float) for name, x in engine.evaluate(robot.tree, FACTOR, {"q": q}).items()}
    found = engine.evaluate(robot.tree, RESPONSE, {"q": q, **factors, "f": f})
    o, M = robot.operators(q), engine.evaluate(robot.tree, MASS_MATRIX, {"q": q})["M"].astype(float)
    torques = (o.phi.T @ o.H.T).dense().T @ f.ravel()
    assert relative(found["vdot"], np.linalg.solve(M, torques)) < 1e-10
    assert relative(found["alpha"].ravel(), whole(robot, q) @ f.ravel()) < 1e-10


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_machine_code(shape: str) -> None:
    robot = ALL["tree of all joint types"]()
    q = robot.random_configuration(3)
    reference = engine.evaluate(robot.tree, MOBILITY, {"q": q})["mobilities"]
    assert relative(engine.kernel(robot, MOBILITY, kernel=shape)(q), reference) < 1e-11


def test_long_chains_need_no_more_than_o_n() -> None:
    robot = catena.random_tree(4, 400, ["revolute", "prismatic"], 0.0)
    q = robot.random_configuration(5)
    found = engine.kernel(robot, MOBILITY, kernel="rolled")(q)[-1]
    o = robot.operators(q)
    K = o.I - o.H @ o.Psi @ o.L
    assert relative(found, (o.J @ K.T @ o.D.inv @ K @ o.J.T).dense()) < 1e-9
