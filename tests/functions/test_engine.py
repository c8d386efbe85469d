"""One source, every way to run it: floats, 50 digits, unrolled and rolled machine code."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.mechanisms import MOVING, state

import catena
from catena import robots
from catena.errors import UnsupportedError
from catena.functions import engine
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, MASS_MATRIX_TIMES
from catena.functions.function import Function

SHAPES = ["unrolled", "rolled"]

MECHANISMS = {
    "chain": lambda: catena.random_tree(1, 6, joint_types=["revolute"], branching=0.0),
    "revolute and prismatic chain": lambda: catena.random_tree(
        2, 12, joint_types=["revolute", "prismatic"], branching=0.0
    ),
    "chain of all joint types": lambda: catena.random_tree(3, 11, joint_types=MOVING, branching=0.0),
    "tree of all joint types": lambda: catena.random_tree(4, 14, joint_types=MOVING, branching=0.5),
    "star": lambda: catena.random_tree(5, 6, joint_types=["revolute", "spherical"], branching=1.0),
    "planar chain": lambda: catena.planar_chain([0.3, 0.5, 0.2, 0.4], [1.0, 0.5, 2.0, 0.7]),
    "rod chain": lambda: catena.rod_chain(9, 0.2, 0.3),
    "floating arm": lambda: catena.load(robots.path("seven_dof_arm"), base="floating"),
    "floating quadruped": lambda: catena.load(robots.path("quadruped"), base="floating"),
    "one link": lambda: catena.random_tree(6, 1, joint_types=["revolute"]),
}


@pytest.fixture(scope="module", params=MECHANISMS)
def robot(request):
    return MECHANISMS[request.param]()


def agree(x, y, tolerance):
    y = np.asarray(y, dtype=float)
    np.testing.assert_allclose(np.asarray(x, dtype=float), y, rtol=0, atol=tolerance * max(1e-300, np.abs(y).max()))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", [m for m, f in FORWARD_DYNAMICS.items() if m != "two_sweep" and not f.dense])
def test_forward_dynamics_is_the_same_in_every_way(robot, method, shape):
    q, v, tau = state(robot)
    function = FORWARD_DYNAMICS[method]
    exact = engine.evaluate(robot.tree, function, {"q": q, "v": v, "tau": tau}, mpmath.mpf)
    output = next(iter(exact))
    agree(robot.forward_dynamics(q, v, tau, method=method, kernel=shape), exact[output], 1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_inverse_dynamics_and_bias_are_the_same_in_every_way(robot, shape):
    q, v, a = state(robot)
    exact = engine.evaluate(robot.tree, INVERSE_DYNAMICS, {"q": q, "v": v, "a": a}, mpmath.mpf)["tau"]
    agree(robot.inverse_dynamics(q, v, a, kernel=shape), exact, 1e-13)
    exact = engine.evaluate(robot.tree, BIAS, {"q": q, "v": v}, mpmath.mpf)["tau"]
    agree(robot.bias(q, v, kernel=shape), exact, 1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_forward_dynamics_undoes_inverse_dynamics(robot, shape):
    q, v, a = state(robot, 1, (5,))
    f_ext = np.random.default_rng(2).standard_normal((5, robot.tree.n, 6))
    tau = robot.inverse_dynamics(q, v, a, f_ext, kernel=shape)
    agree(robot.forward_dynamics(q, v, tau, f_ext, kernel=shape), a, 1e-9)


def test_mass_matrix_is_what_inverse_dynamics_says(robot):
    q, _, x = state(robot, 3)
    M = engine.kernel(robot, MASS_MATRIX)(q)
    agree(M, M.T, 1e-15)
    assert np.linalg.eigvalsh(M).min() > 0
    for shape in SHAPES:
        agree(engine.kernel(robot, MASS_MATRIX_TIMES, kernel=shape)(q, x), M @ x, 1e-13)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits_do_not_depend_on_the_batch(robot, shape, dtype):
    q, v, tau = state(robot, 4, (37,))
    whole = robot.forward_dynamics(q, v, tau, kernel=shape, dtype=dtype)
    assert whole.dtype == dtype
    for i in (0, 17, 36):
        np.testing.assert_array_equal(robot.forward_dynamics(q[i], v[i], tau[i], kernel=shape, dtype=dtype), whole[i])
    np.testing.assert_array_equal(
        robot.forward_dynamics(q[3:10], v[3:10], tau[3:10], kernel=shape, dtype=dtype), whole[3:10]
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore::catena.SingularWarning")  # where numbers overflow
def test_a_bad_sample_spoils_no_other(robot, shape):
    q, v, tau = state(robot, 5, (9,))
    good = robot.forward_dynamics(q, v, tau, kernel=shape)
    for bad in (np.nan, np.inf, -np.inf, 1e300):
        q2, v2 = q.copy(), v.copy()
        q2[4], v2[6] = bad, bad
        other = [i for i in range(9) if i not in (4, 6)]
        np.testing.assert_array_equal(robot.forward_dynamics(q2, v2, tau, kernel=shape)[other], good[other])


@pytest.mark.parametrize("seed", range(8))
def test_large_random_trees_agree_between_float_and_rolled(seed):
    n = [1, 2, 5, 17, 61, 90, 150, 200][seed]
    robot = catena.random_tree(seed, n, joint_types=MOVING, branching=0.3)
    q, v, tau = state(robot, seed)
    reference = engine.evaluate(robot.tree, FORWARD_DYNAMICS["fd4"], {"q": q, "v": v, "tau": tau})
    agree(robot.forward_dynamics(q, v, tau, kernel="rolled"), next(iter(reference.values())), 1e-11)


def test_a_long_chain_is_rolled_and_right():
    robot = catena.rod_chain(500, 0.05, 0.02)
    rng = np.random.default_rng(0)
    q, v, a = 0.1 * rng.standard_normal((3, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    agree(robot.forward_dynamics(q, v, tau), a, 1e-6)


def test_wrenches_by_name_reach_links_and_frames():
    robot = catena.load(robots.path("quadruped"), base="floating")
    q, v, tau = state(robot, 7)
    link = robot.links[5]
    wrench = np.arange(1.0, 7.0)
    array = np.zeros((robot.tree.n, 6))
    array[5] = wrench
    np.testing.assert_array_equal(
        robot.forward_dynamics(q, v, tau, {link.name: wrench}), robot.forward_dynamics(q, v, tau, array)
    )
    with pytest.raises(catena.UnknownNameError):
        robot.forward_dynamics(q, v, tau, {"no such link": wrench})
    with pytest.raises(catena.ShapeError):
        robot.forward_dynamics(q, v, tau, {link.name: wrench[:3]})


def test_whole_matrices_are_for_unrolled_kernels_of_moderate_size(robot):
    q, v, tau = state(robot, 8)
    agree(robot.forward_dynamics(q, v, tau, method="dense"), robot.forward_dynamics(q, v, tau), 1e-9)
    with pytest.raises(catena.UnsupportedError, match="only unrolled kernels"):
        robot.forward_dynamics(q, v, tau, method="dense", kernel="rolled")


def test_straight_line_code_has_its_limits():
    robot = catena.rod_chain(1000, 0.1, 0.1)
    q = np.zeros(robot.nv)
    with pytest.raises(catena.UnsupportedError, match="kernel='rolled'"):
        robot.forward_dynamics(q, q, q, kernel="unrolled")
    with pytest.raises(catena.UnsupportedError, match="without whole matrices"):
        robot.forward_dynamics(q, q, q, method="dense")


def test_errors_name_what_is_wrong():
    robot = catena.load(robots.path("two_link_arm"))
    with pytest.raises(catena.UnsupportedError, match="no forward dynamics method 'magic'"):
        robot.forward_dynamics([0, 0], [0, 0], [0, 0], method="magic")
    with pytest.raises(catena.UnsupportedError, match=r"kernel must be 'unrolled', 'rolled' or None, got 'round'"):
        robot.forward_dynamics([0, 0], [0, 0], [0, 0], kernel="round")
    with pytest.raises(catena.UnsupportedError, match="float16"):
        robot.forward_dynamics([0, 0], [0, 0], [0, 0], dtype=np.float16)
    with pytest.raises(catena.ShapeError, match="q"):
        robot.forward_dynamics([0, 0, 0], [0, 0], [0, 0])


def test_what_loops_cannot_do_is_unrolled_or_refused_by_name():
    """Beyond the usual length of straight-line code, which shapes there are is data of the function."""

    def by_number(links, q):
        (m,) = links.fields("m")
        for k in links.base_to_tip():
            m[k] = k.M.m * len(links)
        return m

    chain = catena.rod_chain(70, mass=2.0)
    known = {"inputs": {"q": "q"}, "outputs": {"m": "link"}, "regroup": False}
    assert np.allclose(
        engine.kernel(chain, Function("by_number", by_number, **known, loops=False))(chain.neutral()), 140
    )
    with pytest.raises(UnsupportedError, match=r"undeclared: its algorithm.*RolledLinks.*loops=False"):
        engine.kernel(chain, Function("undeclared", by_number, **known))
    with pytest.raises(UnsupportedError, match=r"declared does more with links.*only unrolled"):
        engine.kernel(chain, Function("declared", by_number, **known, loops=False), kernel="rolled")
