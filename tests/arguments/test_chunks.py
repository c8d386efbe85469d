"""Dask arrays in, Dask arrays out: the same bits as NumPy's arrays give, in one process and in several."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import suppress

import numpy as np
import pytest
from tests.asking import every_question

import catena
from catena.arguments.arrays import Port
from catena.arguments.chunks import Call, over_chunks

da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
ARM = catena.load(catena.robots.path("two_link_arm"))


def cut(x, *chunks):
    return da.from_array(x, chunks=chunks)


def same(lazy, found):
    """Dask arrays of the bits that NumPy's are."""
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == (found.shape, found.dtype)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), found)


@pytest.fixture(scope="module")
def states():
    robot = catena.random_tree(4, 4, ["spherical", "universal", "revolute"], 0.5)
    q = robot.random_configuration(RNG, (4, 9))
    return robot, q, RNG.standard_normal((9, robot.nv)), RNG.standard_normal(robot.nv)


def test_questions_are_answered_chunk_by_chunk(states):
    robot, q, v, tau = states
    Q, V = cut(q, 3, 4, 2), cut(v, 5, 1)
    same(robot.forward_dynamics(Q, V, tau), robot.forward_dynamics(q, v, tau))
    same(robot.forward_dynamics(Q, v, tau), robot.forward_dynamics(q, v, tau))
    options = {"method": "udu", "dtype": np.float32}
    same(robot.forward_dynamics(q, V, tau, **options), robot.forward_dynamics(q, v, tau, **options))
    same(robot.kinetic_energy(Q, v), robot.kinetic_energy(q, v))
    for lazy, found in zip(robot.placements(Q), robot.placements(q), strict=True):
        same(lazy, found)
    assert type(robot.placements(Q)) is type(robot.placements(q))
    wrench = RNG.standard_normal((9, 6))
    same(
        robot.forward_dynamics(q, v, tau, {0: cut(wrench, 4, 6), 3: wrench}),
        robot.forward_dynamics(q, v, tau, {0: wrench, 3: wrench}),
    )


def test_mass_matrices_are_too(states):
    robot, q, v, _ = states
    lazy, found = robot.mass_matrix(cut(q, 2, 4, robot.nq)), robot.mass_matrix(q)
    for _ in range(2):  # the first call finds the way, the second takes it
        same(lazy.solve(v), found.solve(v))
        same(found.solve(cut(v, 4, robot.nv)), found.solve(v))
        same(lazy.logdet(), found.logdet())
        same(lazy.dense(), found.dense())
        same(lazy.factors().U.times(v), found.factors().U.times(v))
        same(lazy.factors().D.solve(v), found.factors().D.solve(v))
    assert lazy.shape == found.shape


def push(t, q, v, parameters):
    return parameters[..., :2] * np.sin(t) - 0.1 * v


def effort(t, q, v, parameters, tau):
    return (tau * tau).sum(axis=-1) + t


TARGET, GAINS, PUSHES = RNG.standard_normal((10, 2)), RNG.uniform(1, 2, (10, 2)), RNG.standard_normal((10, 8, 2))
ROLLOUTS = [
    {"tau": PUSHES, "every": 2},
    {"tau": cut(PUSHES, 4, 3, 2), "f_ext": {1: cut(GAINS[:, [0] * 6], 5, 6)}},
    {"tau": None, "steps": 8, "control": push, "cost": effort, "parameters": cut(GAINS, 6, 2), "t0": 0.01},
    {"tau": None, "steps": 8, "control": catena.controllers.pd(TARGET, 5.0, GAINS), "integrator": "rk4"},
    {"tau": None, "steps": 8, "dtype": np.float32},
]


def plain(value):
    if isinstance(value, dict):
        return {key: plain(x) for key, x in value.items()}
    return value.compute() if isinstance(value, da.Array) else value


@pytest.mark.parametrize("given", ROLLOUTS, ids=range(len(ROLLOUTS)))
def test_rollouts_are_runs_of_dask_arrays(given):
    q, v = RNG.standard_normal((2, 10, 2))
    lazy = ARM.rollout(cut(q, 4, 1), v, dt=1e-3, **given)
    found = ARM.rollout(q, v, dt=1e-3, **plain(given))
    the_same_run(lazy, found)


@pytest.mark.parametrize("integrator", ["rk4", "variational"])
def test_simulations_are_too(integrator):
    q, v = RNG.standard_normal((2, 10, 2))
    options = {"control": catena.controllers.pd(TARGET, 5.0, 0.5), "integrator": integrator}
    lazy = catena.simulate(ARM, cut(q, 4, 2), cut(v, 5, 2), 0.1, 1e-2, **options)
    the_same_run(lazy, catena.simulate(ARM, q, v, 0.1, 1e-2, **options))
    same(lazy.energy(), catena.simulate(ARM, q, v, 0.1, 1e-2, **options).energy())


def the_same_run(lazy, found):
    assert repr(lazy).endswith("not computed yet>")
    np.testing.assert_array_equal(lazy.t, found.t)
    assert (lazy.how, lazy.dt, lazy.integrator) == (found.how, found.dt, found.integrator)
    for name in ("q", "v", "diverged", "diverged_step", "diverged_joint", "cost", "tau"):
        one, other = getattr(lazy, name), getattr(found, name)
        if other is None:
            assert one is None
        else:
            same(da.asarray(one), np.asarray(other))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda q: ARM.forward_dynamics(q, q, q, out=np.zeros((10, 2))), "out cannot be given with Dask"),
        (lambda q: ARM.rollout(q, q, None, 1e-3, steps=1, out=(q, q)), "out cannot be given with Dask"),
        (lambda q: ARM.forward_dynamics(q[:, :1], q, q), r"q must have shape \(..., 2\), got \(10, 1\)"),
        (lambda q: ARM.forward_dynamics(q[:3], q, q), "do not broadcast"),
        (lambda q: ARM.forward_dynamics(q[q[:, 0] > 0], 0.0 * q, q), "known sizes"),
        (lambda q: ARM.forward_dynamics(q.astype(complex), q, q), "real numbers"),
        (lambda q: ARM.mass_matrix(q) @ q, "is a Dask array"),
        (lambda q: ARM.inverse_kinematics({"tool": da.zeros((3, 4, 4))}), "Dask array"),
        (lambda q: catena.simulate(ARM, q, q, 1.0, 0.1, stop=lambda t, q, v: q[..., 0]), "events and stop"),
        (lambda q: catena.simulate(ARM, q, q, 1.0, 0.1, integrator="adaptive"), "one sample"),
        (lambda q: ARM.rollout(q, q, None, -1.0, steps=2), "dt must be finite and above zero"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_computed(ask, words):
    with pytest.raises(catena.CatenaError, match=words):
        ask(cut(RNG.standard_normal((10, 2)), 4, 2))


def threads(asked, arrays):
    return (np.full(arrays[0].shape[:-1], catena.get_threads()),)


def test_one_thread_works_on_a_chunk():
    call = Call(threads, ARM)
    (found,) = over_chunks(call, [da.zeros((8, 1), chunks=(2, 1))], [Port("x", (1,))], [Port("n", ())], [int], "test")
    before = catena.get_threads()
    assert found.compute(scheduler="threads").tolist() == [1] * 8
    assert catena.get_threads() == before


def test_a_robot_without_joints():
    robot = catena.load('<robot name="still"><link name="a"/></robot>')
    same(robot.forward_dynamics(da.zeros((3, 0)), np.zeros(0), np.zeros(0)), np.zeros((3, 0)))


def test_every_question_takes_them():
    for asked in every_question(ARM, RNG, (5,)):
        lazy = {
            name: cut(x, 2, *x.shape[1:]) if isinstance(x, np.ndarray) else x for name, x in asked.arguments.items()
        }
        if any(isinstance(x, da.Array) for x in lazy.values()):
            with suppress(catena.SingularError):  # of two joints there is no operational inertia
                several(asked.question(**lazy), asked(), asked.label)
    q = ARM.random_configuration(RNG, 5)
    matrix = ARM.mass_matrix(cut(q, 2, 2))
    for asked in every_question(ARM, RNG, (5,)):
        method, _, name = asked.label.partition(" ")
        if method == "innovations" and name:
            several(
                getattr(matrix, name)(**asked.arguments), getattr(ARM.mass_matrix(q), name)(**asked.arguments), name
            )


def several(lazy, found, label):
    assert type(lazy) is type(found) or isinstance(lazy, da.Array), label
    pairs = zip(lazy, found, strict=True) if isinstance(found, tuple) else [(lazy, found)]
    for one, other in pairs:
        same(one, other)


SAMPLES, CHUNK = 10_000_000, 250_000


def drawn(block, block_info=None):
    """Random numbers, the same in every process."""
    at = block_info[None]["chunk-location"][0]
    return np.random.default_rng(at).standard_normal((len(block), 6))


def mortal(block, flag=None, block_info=None):
    """The process dies the first time that this block is computed."""
    if block_info[None]["chunk-location"][0] == 20 and not os.path.exists(flag):
        with open(flag, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.filterwarnings("ignore")
def test_ten_million_states_on_two_processes_one_of_which_dies(tmp_path):
    distributed = pytest.importorskip("distributed")
    rows = da.zeros((SAMPLES, 1), chunks=(CHUNK, 1), dtype=np.int8)
    numbers = rows.map_blocks(drawn, dtype=float, chunks=((CHUNK,) * (SAMPLES // CHUNK), (6,)))
    numbers = numbers.map_blocks(mortal, flag=str(tmp_path / "died"), dtype=float)
    a = ARM.forward_dynamics(numbers[:, :2], numbers[:, 2:4], numbers[:, 4:])
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        before, at_first = client.run(os.getpid), max(client.run(memory).values())
        largest, last = client.gather(client.compute([abs(a).max(), a[-1]]))
        assert (tmp_path / "died").exists()
        assert client.run(os.getpid) != before
        used = max(client.run(memory).values()) - at_first
    x = np.random.default_rng(SAMPLES // CHUNK - 1).standard_normal((CHUNK, 6))
    found = ARM.forward_dynamics(x[:, :2], x[:, 2:4], x[:, 4:])
    np.testing.assert_array_equal(last, found[-1])
    assert largest >= np.abs(found).max()
    assert used < SAMPLES * 6 * 8  # all states together would be more than any process came to hold
