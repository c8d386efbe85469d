"""Every method x topology x kernel shape, in both dtypes, every operation x batch shape, against dense algebra.

The reference is the composite-body matrix computed link by link on Python floats, which shares no kernel with the rest.
"""

from __future__ import annotations

import dataclasses
import pickle
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

import catena
from catena.errors import ShapeError, SingularError, UnsupportedError
from catena.functions import engine
from catena.functions.catalogue import MASS_MATRIX
from catena.functions.question import Declared
from catena.model.joints import JOINT_TYPES

Array = npt.NDArray[np.float64]
METHODS = ("innovations", "udu", "fixman", "dense")
TOPOLOGIES = ("chain", "tree", "star", "floating", "every joint type")
BATCHES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()),
    ((), (3,)),
    ((3,), (3,)),
    ((2, 1), (3,)),
    ((5,), ()),
]


def with_rotors(robot: catena.Robot, seed: int) -> catena.Robot:
    """The robot with random rotor inertias on half of its degrees of freedom."""
    rng = np.random.default_rng(seed)
    armature = np.where(rng.random(robot.nv) < 0.5, rng.uniform(0.01, 0.3, robot.nv), 0.0)
    return catena.Robot(dataclasses.replace(robot.tree, armature=armature))


@lru_cache
def robot_of(topology: str) -> catena.Robot:
    if topology == "chain":
        return catena.random_tree(1, 5, "revolute", branching=0.0)
    if topology == "tree":
        return with_rotors(catena.random_tree(2, 7, ("revolute", "prismatic"), branching=0.5), 2)
    if topology == "star":
        tree = catena.random_tree(3, 5, "revolute").tree
        return catena.Robot(dataclasses.replace(tree, parent=np.full(5, -1)))
    if topology == "floating":
        return with_rotors(catena.random_tree(4, 4, "revolute", base="floating"), 4)
    return with_rotors(on_joints_of(catena.random_tree(5, 9, "revolute"), np.arange(9, dtype=np.int8)), 5)


def on_joints_of(robot: catena.Robot, joint_types: npt.NDArray[np.int8]) -> catena.Robot:
    """The links of a robot on joints of the given types."""
    q_start = np.concatenate([[0], np.cumsum([JOINT_TYPES[k].nq for k in joint_types])])
    v_start = np.concatenate([[0], np.cumsum([JOINT_TYPES[k].nv for k in joint_types])])
    nq, nv, zero = int(q_start[-1]), int(v_start[-1]), np.zeros(int(v_start[-1]))
    tree = dataclasses.replace(
        robot.tree,
        joint_type=joint_types,
        q_start=q_start,
        v_start=v_start,
        pitch=np.where(joint_types == 3, 0.3, 0.0),
        lower=np.full(nq, -np.inf),
        upper=np.full(nq, np.inf),
        **dict.fromkeys(("velocity_limit", "effort_limit"), np.full(nv, np.inf)),
        **dict.fromkeys(("damping", "friction", "armature", "stiffness", "rest"), zero),
    )
    return catena.Robot(tree)


def reference(robot: catena.Robot, q: Array) -> Array:
    """M of each configuration, on Python floats."""
    rows = [engine.evaluate(robot.tree, MASS_MATRIX, {"q": row})["M"].astype(float) for row in q.reshape(-1, robot.nq)]
    return np.reshape(rows, (*q.shape[:-1], robot.nv, robot.nv))


def times(matrix: Array, x: npt.ArrayLike) -> Array:
    return np.einsum("...ij,...j->...i", matrix, x)


class Check:
    """Compares with a tolerance that grows with the condition number, and checks shape and dtype."""

    def __init__(self, M: Array, dtype: npt.DTypeLike) -> None:
        self.tolerance = 60 * np.finfo(dtype).eps * float(np.linalg.cond(M).max())
        self.dtype = dtype

    def __call__(self, found: Array, expected: Array) -> None:
        assert found.shape == expected.shape
        assert found.dtype == self.dtype
        assert np.abs(found - expected).max() <= self.tolerance * np.abs(expected).max()


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize(
    ("topology", "dtype"),
    [*((topology, np.float64) for topology in TOPOLOGIES), ("chain", np.float32), ("every joint type", np.float32)],
)
@pytest.mark.parametrize("method", METHODS)
def test_agrees_with_dense_algebra(method: str, topology: str, dtype: npt.DTypeLike, shape: str) -> None:
    robot, rng = robot_of(topology), np.random.default_rng(11)
    for batch, vectors in BATCHES:
        q = robot.random_configuration(rng, batch).astype(dtype)
        x = rng.standard_normal((*vectors, robot.nv)).astype(dtype)
        expected = reference(robot, q.astype(float))
        inverse = np.linalg.inv(expected)
        check, M = Check(expected, dtype), robot.mass_matrix(q, method, dtype=dtype, kernel=shape)
        assert M.shape == expected.shape
        check(M.dense(), expected)
        check(M.inv(), inverse)
        check(M.times(x), times(expected, x))
        if x.ndim <= q.ndim:
            check(M @ x, times(expected, x))
        check(M.solve(x), times(inverse, x))
        check(np.asarray(M.logdet()), np.linalg.slogdet(expected)[1])
        check(M.diagonal(), np.diagonal(expected, axis1=-2, axis2=-1))
        check(M.inv_diagonal(), np.diagonal(inverse, axis1=-2, axis2=-1))
        check(np.asarray(M.quadratic_form(x)), np.asarray((x * times(expected, x)).sum(axis=-1)))
        units = np.eye(robot.nv, dtype=dtype)
        wide = robot.mass_matrix(q[..., None, :], method, dtype=dtype, kernel=shape)
        root, inverse_root = wide.sqrt_times(units), wide.inv_sqrt_times(units)
        check(np.swapaxes(root, -1, -2) @ root, expected)
        check(np.swapaxes(inverse_root, -1, -2) @ inverse_root, inverse)
        check(M.sqrt_times(x), times(np.swapaxes(root, -1, -2), x))


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("method", ["innovations", "udu", "fixman"])
def test_factors(method: str, topology: str, shape: str) -> None:
    robot, rng = robot_of(topology), np.random.default_rng(12)
    q, x = robot.random_configuration(rng, (2, 1)), rng.standard_normal((3, robot.nv))
    expected = reference(robot, q)
    check = Check(expected, np.float64)
    U, D = robot.mass_matrix(q, method, kernel=shape).factors()
    u, d = U.dense(), D.dense()
    check(u @ d @ np.swapaxes(u, -1, -2), expected)
    assert np.array_equal(u, np.triu(u))
    assert np.array_equal(np.diagonal(u, axis1=-2, axis2=-1), np.ones((2, 1, robot.nv)))
    check(U.T.dense(), np.swapaxes(u, -1, -2))
    check(np.asarray(U), u)
    check(np.asarray(D), d)
    assert (U.shape, D.dtype) == (u.shape, d.dtype)
    assert repr(U.T) == f"<factor U.T of the mass matrix of {robot.name!r}, {u.shape}>"
    check(U @ x, times(u, x))
    check(U.T @ x, times(np.swapaxes(u, -1, -2), x))
    check(U.solve(x), times(np.linalg.inv(u), x))
    check(U.T.solve(x), times(np.swapaxes(np.linalg.inv(u), -1, -2), x))
    check(D @ x, times(d, x))
    check(D.T.solve(x), times(np.linalg.inv(d), x))
    joints = [range(*joint.v_slice.indices(robot.nv)) for joint in robot.joints]
    inside = np.zeros((robot.nv, robot.nv), dtype=bool)
    for rows in joints:
        inside[np.ix_(rows, rows)] = True
    assert not d[..., ~inside].any()


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_gradient_of_the_determinant_is_its_derivative(topology: str) -> None:
    robot, step = robot_of(topology), 1e-5
    q = robot.random_configuration(3)
    gradient = robot.mass_matrix(q).logdet_gradient()
    ahead, behind = (robot.mass_matrix(robot.integrate(q, h * np.eye(robot.nv))).logdet() for h in (step, -step))
    np.testing.assert_allclose(gradient, (ahead - behind) / (2 * step), rtol=1e-7, atol=1e-7)


def test_out_is_filled_and_returned() -> None:
    robot, rng = robot_of("tree"), np.random.default_rng(0)
    q, x = robot.random_configuration(rng, 4), rng.standard_normal((4, robot.nv))
    M = robot.mass_matrix(q)
    for ask in (M.times, M.solve, M.sqrt_times, M.inv_sqrt_times):
        out = np.empty_like(x)
        assert ask(x, out=out) is out
        np.testing.assert_array_equal(out, ask(x))
    for question in (M.dense, M.inv, M.diagonal, M.inv_diagonal, M.logdet, M.logdet_gradient):
        expected = question()
        out = np.empty_like(expected)
        assert question(out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_later_changes_of_q_do_not_matter() -> None:
    robot = robot_of("chain")
    q = robot.random_configuration(0)
    M = robot.mass_matrix(q)
    before = M.dense()
    q += 1.0
    np.testing.assert_array_equal(M.dense(), before)


def test_factors_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, rng = robot_of("chain"), np.random.default_rng(0)
    M = robot.mass_matrix(robot.random_configuration(rng))
    M.solve(rng.standard_normal(robot.nv))
    factors = M._own[1]
    assert factors is not None
    M.solve(rng.standard_normal((10, robot.nv)))
    M.sqrt_times(rng.standard_normal(robot.nv))
    assert M._own[1] is factors


def test_works_with_numpy_and_scipy() -> None:
    from scipy.sparse.linalg import cg, eigsh

    robot, rng = catena.random_tree(8, 12, "revolute"), np.random.default_rng(1)
    M = robot.mass_matrix(robot.random_configuration(rng))
    dense, b = M.dense(), rng.standard_normal(robot.nv)
    np.testing.assert_array_equal(np.asarray(M), dense)
    assert np.asarray(M, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(b @ M, M @ b)
    np.testing.assert_array_equal(M.T @ b, M @ b)
    x, failed = cg(M.as_linear_operator(), b, rtol=1e-12, M=M.as_linear_operator(inverse=True))
    assert not failed
    np.testing.assert_allclose(x, M.solve(b), rtol=1e-9)
    X = rng.standard_normal((robot.nv, 3))
    np.testing.assert_allclose(M.as_linear_operator() @ X, dense @ X, rtol=1e-12, atol=1e-12)
    largest = eigsh(M.as_linear_operator(), k=1, return_eigenvectors=False)[0]
    assert largest == pytest.approx(np.linalg.eigvalsh(dense)[-1], rel=1e-10)
    assert M.condition_estimate() == pytest.approx(np.linalg.cond(dense), rel=1e-6)


def test_condition_estimate_of_a_long_chain_is_a_good_lower_bound() -> None:
    robot = catena.rod_chain(80)
    M = robot.mass_matrix(robot.random_configuration(0))
    truth = np.linalg.cond(M.dense())
    assert 0.8 * truth <= M.condition_estimate() <= truth * 1.001


def test_what_is_wrong_is_said() -> None:
    robot = robot_of("chain")
    q = robot.neutral()
    with pytest.raises(ShapeError, match=r"q must have shape \(\.\.\., 5\), got \(4,\)"):
        robot.mass_matrix(q[:4])
    with pytest.raises(UnsupportedError, match="no mass matrix method 'lu'"):
        robot.mass_matrix(q, "lu")
    with pytest.raises(UnsupportedError, match="Cholesky"):
        robot.mass_matrix(q, "dense").factors()
    with pytest.raises(UnsupportedError, match="one configuration"):
        robot.mass_matrix(np.stack([q, q])).as_linear_operator()
    with pytest.raises(ShapeError):
        robot.mass_matrix(q).solve(np.ones(4))


LOOSE = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
ixy="0" ixz="0" iyz="0"/></inertial></link><link name="c"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit effort="1" velocity="1"/></joint>
<joint name="k" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
<limit effort="1" velocity="1"/></joint>
</robot>"""


@pytest.mark.filterwarnings("ignore::catena.ModelWarning")
@pytest.mark.parametrize("question", ["logdet", "inv", "factors", "inv_diagonal", "condition_estimate"])
def test_a_link_that_nothing_holds_is_named(question: str) -> None:
    M = catena.load(LOOSE).mass_matrix(np.zeros(2))
    np.testing.assert_allclose(M @ [1.0, 0.0], [1.0, 0.0])
    with pytest.raises(SingularError, match="'c'"):
        getattr(M, question)()
    with pytest.raises(SingularError, match="'c'"):
        M.solve(np.zeros(2))


def test_products_with_matrices_are_those_of_numpy() -> None:
    robot = catena.random_tree(2, 5, joint_types=["revolute"], branching=0.3)
    rng = np.random.default_rng(0)
    for batch in ((), (3,)):
        M = robot.mass_matrix(robot.random_configuration(rng, batch))
        U, D = M.factors()
        for k in (2, robot.nv, 7):
            A = rng.standard_normal((*batch, robot.nv, k))
            np.testing.assert_allclose(M @ A, np.asarray(M) @ A, atol=1e-12)
            np.testing.assert_allclose(U @ A, U.dense() @ A, atol=1e-12)
            np.testing.assert_allclose(U.T @ A, np.swapaxes(U.dense(), -1, -2) @ A, atol=1e-12)
            np.testing.assert_allclose(D @ A, D.dense() @ A, atol=1e-12)
            B = np.swapaxes(A, -1, -2)
            np.testing.assert_allclose(B @ M, B @ np.asarray(M), atol=1e-12)
            np.testing.assert_allclose(B @ U, B @ U.dense(), atol=1e-12)
            np.testing.assert_allclose(B @ U.T, B @ np.swapaxes(U.dense(), -1, -2), atol=1e-12)
            np.testing.assert_allclose(B @ D, B @ D.dense(), atol=1e-12)


def test_a_stack_of_matrices_is_multiplied_by_one_mass_matrix() -> None:
    robot, rng = robot_of("chain"), np.random.default_rng(1)
    M = robot.mass_matrix(robot.random_configuration(rng))
    A = rng.standard_normal((4, robot.nv, 3))
    np.testing.assert_allclose(M @ A, np.asarray(M) @ A, atol=1e-12)


def test_rows_and_columns_are_not_mixed_up() -> None:
    robot, rng = robot_of("chain"), np.random.default_rng(2)
    M = robot.mass_matrix(robot.random_configuration(rng))
    for k in (3, robot.nv):
        X = rng.standard_normal((k, robot.nv))
        np.testing.assert_allclose(M.solve(M.times(X)), X, atol=1e-9)
        np.testing.assert_allclose(M.solve((M @ X.T).T), X, atol=1e-9)
    with pytest.raises(ShapeError, match=r"MassMatrix @ x: x must be .* got \(3, 5\); M.times takes vectors"):
        M @ np.ones((3, 5))
    with pytest.raises(ShapeError, match=r"b must have shape \(\.\.\., 5\), got \(5, 3\); .* M.solve\(X.T\).T$"):
        M.solve(np.ones((5, 3)))


@pytest.mark.parametrize("method", METHODS)
def test_matrices_survive_pickling(method: str) -> None:
    robot = catena.rod_chain(3)
    parameters = None if method == "fixman" else catena.randomize(robot, shape=(2,), rng=0)
    M = robot.mass_matrix(np.full((2, 3), 0.2), method=method, parameters=parameters)
    again = pickle.loads(pickle.dumps(M))
    assert (again.method, again.shape, again.dtype) == (method, M.shape, M.dtype)
    assert np.array_equal(again.solve(np.ones(3)), M.solve(np.ones(3)))


def test_solving_for_one_configuration_of_a_long_chain_needs_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = catena.rod_chain(70)
    rng = np.random.default_rng(0)
    q, b = chain.random_configuration(rng, (2,)), rng.standard_normal((3, chain.nv))
    one, two = chain.mass_matrix(q[0]), chain.mass_matrix(q)
    expected = np.linalg.solve(one.dense(), b.T).T
    for M in (one, two):
        M.solve(b[0])
    calls: list[str] = []
    usual = Declared.answer
    monkeypatch.setattr(Declared, "answer", lambda *given: calls.append(given[0].name) or usual(*given))
    np.testing.assert_allclose(one.solve(b[0]), expected[0], rtol=1e-8)
    np.testing.assert_allclose(one.solve(b), expected, rtol=1e-8)
    np.testing.assert_allclose(two.solve(b[0])[0], expected[0], rtol=1e-8)
    assert calls == []
