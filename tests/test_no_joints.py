"""A robot on which nothing moves answers every question, with arrays that have no entries where joints would be."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests import asking

import catena
from catena import operators
from catena.errors import ModelError, SingularError
from catena.functions.catalogue import FUNCTIONS
from catena.functions.function import kind
from catena.mass_matrix.formulation import METHODS

STILL = {
    "urdf": lambda: catena.load('<robot name="still"><link name="a"/></robot>'),
    "builder": lambda: catena.Builder("still").link("a", mass=1.0).build(),
    "fixed joints": lambda: (
        catena.Builder("still").link("root").link("a", mass=1.0).fixed("bolt", "root", "a", position=(1, 0, 0)).build()
    ),
}
CHAINS = [catena.rod_chain(n, 1.0, 1.0) for n in (1, 2)]
BATCHES = [(), (3,), (0,), (2, 1)]
NEEDS_MASS = {
    "center_of_mass",
    "center_of_mass_velocity",
    "center_of_mass_jacobian",
    "momentum",
    "centroidal_momentum_matrix",
}
NEEDS_MOTION = {"operational_dynamics", "operational_inertia", "operational_mobility", "dynamically_consistent_inverse"}


@pytest.fixture(params=STILL)
def robot(request) -> catena.Robot:
    return STILL[request.param]()


def extrapolated(shapes: list[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """The shapes of results for no links, from those for one and for two: sizes grow by as much with every link."""
    return [tuple(2 * a - b for a, b in zip(one, two, strict=True)) for one, two in zip(*shapes, strict=True)]


def expected(name: str, batch: tuple[int, ...]) -> list[tuple[int, ...]]:
    declared, found = asking.ROBOT[name], []
    for chain in CHAINS:
        given = asking.arguments(chain, declared, np.random.default_rng(0), batch, 0)
        found.append([x.shape for x in asking.results(getattr(chain, name)(**given))])
    return extrapolated(found)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled", None])
@pytest.mark.parametrize("name", sorted(set(asking.ROBOT) - NEEDS_MASS - NEEDS_MOTION))
def test_every_question_has_an_answer(robot, name, kernel, rng):
    declared = asking.ROBOT[name]
    for batch in BATCHES:
        given = asking.arguments(robot, declared, rng, batch, "a")
        for dtype in (np.float64, np.float32):
            found = asking.results(getattr(robot, name)(**given, dtype=dtype, kernel=kernel))
            assert [x.shape for x in found] == expected(name, batch)
            assert all(np.isfinite(x).all() and x.dtype == dtype for x in found)


@pytest.mark.parametrize("name", sorted(NEEDS_MASS | NEEDS_MOTION))
def test_what_has_no_answer_says_so(robot, name, rng):
    given = asking.arguments(robot, asking.ROBOT[name], rng, (), "a")
    given.pop("about", None)
    with pytest.raises(ModelError if name in NEEDS_MASS else SingularError):
        getattr(robot, name)(**given)


def test_momentum_about_a_point_is_none(robot):
    for about in ("base", np.ones(3)):
        np.testing.assert_array_equal(robot.momentum([], [], about), np.zeros(6))


@pytest.mark.parametrize("kernel", ["unrolled", "rolled", None])
@pytest.mark.parametrize("method", METHODS)
def test_its_mass_matrix_is_the_empty_one(robot, method, kernel, rng):
    for batch in BATCHES:
        M = robot.mass_matrix(np.zeros((*batch, 0)), method, kernel=kernel)
        for name, declared in asking.MASS_MATRIX.items():
            if not name.startswith("_"):
                (found,) = asking.results(getattr(M, name)(**asking.arguments(robot, declared, rng, batch)))
                extra = {"logdet": (), "quadratic_form": (), "dense": (0, 0), "inv": (0, 0)}.get(name, (0,))
                assert found.shape == (*batch, *extra)
                assert not found.any()
        assert (M @ np.zeros((*batch, 0, 2))).shape == (*batch, 0, 2)
        np.testing.assert_array_equal(M.condition_estimate(), np.ones(batch))
        if method != "dense":
            U, D = M.factors()
            assert (U @ np.zeros(0)).shape == D.solve(np.zeros(0)).shape == (*batch, 0)
            assert U.dense().shape == D.dense().shape == (*batch, 0, 0)


def test_the_rest_of_the_house(robot):
    empty = np.zeros(0)
    assert catena.fixman_potential(robot, empty).potential == 0.0
    assert catena.fixman.solve_with_error(robot, empty, empty).x.shape == (0,)
    o = robot.operators(empty)
    assert (o.H @ (o.phi @ (o.M @ (o.phi.T @ (o.H.T @ empty))))).shape == (0,)
    assert operators.verify(lambda o: (o.phi, o.psi @ (o.I + o.S @ o.L @ o.H @ o.phi)), robot)
    assert robot.natural_orthogonal_complement(empty) is not None
    assert pickle.loads(pickle.dumps(robot)) == robot
    assert robot.forward_dynamics(empty, empty, empty, {"a": np.ones(6)}).shape == (0,)
    for method in ("fd1", "fd2", "fd4", "two_sweep", "udu", "dense", "fixman"):
        assert robot.forward_dynamics(empty, empty, empty, method=method).shape == (0,)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_counts_and_other_scalars(robot, name):
    assert catena.count(robot, name).total == 0
    function = FUNCTIONS[name]
    given: list[Any] = [
        np.zeros(kind(k).full_shape(0, 0, 0)) for n, k in function.inputs.items() if n not in function.optional
    ]
    for x in asking.results(catena.evaluate(robot, name, *given)):
        assert not x.any()


def test_symbolic(robot):
    pytest.importorskip("sympy")
    assert catena.symbolic(robot, "mass_matrix").matrix.shape == (0, 0)


def test_linearized_closed_and_rolled_out(robot):
    none, system = np.zeros(0), catena.System([robot])
    assert [x.shape for x in robot.linearize(none, none, none)] == [(0, 0), (0, 0)]
    assert system.close(none).shape == (0,)
    assert system.rollout(none, none, None, 1e-3, steps=2).q.shape == (3, 0)
    with pytest.raises(ModelError, match="no joints"):
        catena.identify(robot, *np.zeros((4, 5, 0)))


@pytest.mark.parametrize("kernel", ["unrolled", "rolled", None])
def test_operational_space_of_no_links(robot, kernel):
    assert robot.dynamically_consistent_inverse(np.zeros((3, 0)), [], kernel=kernel).shape == (3, 0, 0)
    assert [x.shape for x in robot.operational_inertia(np.zeros((3, 0)), [], kernel=kernel)] == [(3, 0, 0)] * 2
