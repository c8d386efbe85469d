"""Laws of users: compiled to what they say, called from Python, or refused; never something else."""

import itertools
import re
import warnings

import numpy as np
import pytest
from tests.simulation import fuzz_laws
from tests.simulation.fuzz_laws import ROBOT, SOURCE, STARTS, verdict

import catena

DT = fuzz_laws.DT


@pytest.mark.filterwarnings("ignore")
def test_random_laws_are_those_of_a_loop():
    found, wrong = fuzz_laws.fuzz(40, seed=2)
    assert not wrong, wrong[0]
    assert found["compiled"] >= 5
    assert found["called"] >= 5


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_many_random_laws_are_those_of_a_loop():
    assert not fuzz_laws.fuzz(200, seed=3)[1]


@pytest.mark.parametrize(
    "law",
    [
        "(t == 0) * 3.0 + q",
        "(t != 0) * q",
        "(t in (0.0, 0.5)) * 1.0 + v",
        "np.where(v == 0, 1.0, -v)",
        "np.where((q > 0) == (v > 0), q, v)",
        "np.where(np.array_equal(v, [0, 0]), 1.0, q)",
        "([q[0], q[1]] == [0.3, 0.1]) * 1.0 + v",
        "np.maximum(q, v, where=np.array([True, False]), out=np.zeros(2))",
        "np.max(q, initial=0.0) + np.max(-q, initial=0.7) + v",
        "np.round(q, 1)",
        "np.any(q > 0.2, where=[False, True]) + v",
        "str(t == 0.5).count('T') + q",
        "{0.5: 1.0}.get(t, 0.3) * q",
        "isinstance(t, float) * q",
        "np.where(~(t > 0.5), q, v)",
        "np.random.normal(size=2) + q",
    ],
)
def test_what_was_compiled_to_something_else(law):
    source = SOURCE.format(nonlocals="pass", body="", end=law, form="return law")
    assert verdict(source, STARTS[0]) in ("compiled", "called")


@pytest.mark.parametrize(
    ("attempt", "caught"),
    [
        ("with np.errstate(divide='raise'): x = 1 / (v - 0.5)", "FloatingPointError"),
        ("with warnings.catch_warnings(): warnings.simplefilter('error'); x = 1 / (v - 0.5)", "RuntimeWarning"),
        ("x = 1 / (t - 0.25)", "ZeroDivisionError"),
        ("x = 1 / (1 + t) + 1 / (t - 0.5)", "Exception"),
    ],
)
def test_what_a_law_catches_is_raised(attempt, caught):
    """At one state of the loop only, where no trial comes along."""
    body = ["import warnings", "try:", f"    {attempt}", f"except {caught}:", "    x = 0.3"]
    source = SOURCE.format(
        nonlocals="pass", body="\n".join(" " * 12 + line for line in body), end="q * x", form="return law"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert verdict(source, ([0.2, -0.4], [0.5, -0.3])) == "called"


def test_quotients_of_time_are_compiled():
    run = ROBOT.rollout(*STARTS[0], None, DT, steps=2, control=lambda t, q, v: -q / (1 + t) + v / 2)
    assert "compiled" in run.how


class PID:
    """As users write it."""

    def __init__(self):
        self.sum, self.last = np.zeros(2), None

    def __call__(self, t, q, v):
        error = 0.5 - q
        self.sum = self.sum + error * DT
        rate = 0.0 if self.last is None else (error - self.last) / DT
        self.last = error
        return 4.0 * error + 2.0 * self.sum + 0.1 * rate


def looped(law, q, v, steps):
    torques = []
    for i in range(steps):
        torques.append(law(i * DT, q, v))
        q, v = ROBOT.step(q, v, torques[-1], DT)
    return q, v, np.stack(torques, axis=-2)


def test_a_law_that_keeps_a_state_is_called_from_its_start():
    q, v = (np.array(x) for x in STARTS[1])
    run = ROBOT.rollout(q, v, None, DT, steps=5, control=PID())
    assert "it changes" in run.how
    end_q, end_v, tau = looped(PID(), q, v, 5)
    assert np.allclose(run.q[-1], end_q, rtol=0, atol=1e-13)
    assert np.allclose(run.tau, tau, rtol=0, atol=1e-13)  # as they were, not asked again
    run = catena.simulate(ROBOT, q, v, 20 * DT, DT, control=PID())
    end_q, end_v, tau = looped(PID(), q, v, 20)
    assert np.allclose(run.v[-1], end_v, rtol=0, atol=1e-13)
    assert np.allclose(run.tau, tau, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", ["generator", "global", "count", "list"])
def test_trials_leave_no_trace(kind):
    rng, counter, calls = np.random.default_rng(4), itertools.count(), []

    def law(t, q, v):
        if kind == "generator":
            return rng.normal(size=2)
        if kind == "global":
            return np.random.normal(size=2)  # noqa: NPY002
        if kind == "count":
            return next(counter) * q
        calls.append(t)
        return -q

    np.random.seed(3)  # noqa: NPY002
    run = ROBOT.rollout(*STARTS[1], None, DT, steps=4, control=law)
    assert "called from Python" in run.how
    if kind in ("generator", "global"):
        expected = np.random.default_rng(4) if kind == "generator" else np.random.RandomState(3)
        assert np.array_equal(run.tau, expected.normal(size=(4, 2)))
    elif kind == "count":
        assert np.allclose(run.tau, np.arange(4)[:, None] * run.q[:-1])
    else:
        assert calls == [0.0, DT, 2 * DT, 3 * DT]


def test_what_is_compiled_is_what_was_traced():
    gain = [1.0]

    def law(t, q, v):
        return -gain[0] * q

    first = ROBOT.rollout(*STARTS[1], None, DT, steps=2, control=law)
    gain[0] = 2.0
    second = ROBOT.rollout(*STARTS[1], None, DT, steps=2, control=law)
    assert first.how == second.how == "control: compiled"
    assert np.allclose(first.tau[0], -first.q[0])
    assert np.allclose(second.tau[0], -2 * second.q[0])


def test_costs_wrenches_grounds_and_tasks_are_tried_too():
    total = []

    def cost(t, q, v):
        total.append(1.0)
        return 0.0 * t + len(total)

    run = ROBOT.rollout(*STARTS[1], None, DT, steps=3, cost=cost)
    assert run.cost == pytest.approx(DT * (1 + 2 + 3))

    def wrench(t, q, v):
        return {ROBOT.tree.link_names[1]: [0.0, (t == 0) * 5.0, 0.0, 0.0, 0.0, 0.0] if v[0] == 0.5 else [0.0] * 6}

    assert "called from Python" in ROBOT.rollout(*STARTS[1], None, DT, steps=3, f_ext=wrench).how
    for height in (lambda x, y: len(total) if str(x) else 0.0, lambda x, y: total.append(0.0) or 0.0 * x):
        with pytest.raises(catena.CatenaError, match="height could not be traced"):
            catena.Ground([ROBOT.tree.link_names[1]], height=height).on(ROBOT)
    with pytest.raises(catena.CatenaError, match="reward must be a function that can be compiled"):
        catena.gym.Env(
            catena.gym.Task(
                ROBOT,
                0.01,
                lambda rng, n: (np.zeros((n, 2)), np.zeros((n, 2))),
                lambda t, q: total.append(0.0) or q[0],
                control=lambda t, q, v, a: a,
                actions=2,
            )
        )


@pytest.mark.parametrize("law", [lambda t, q, v: -q[0] * float(t + 1), lambda t, q, v: -float(t + 1) * q * q.sum()])
def test_a_law_that_mixes_samples_is_refused(law):
    q, v = np.array([[0.2, 0.1], [0.5, -0.3]]), np.zeros((2, 2))
    with pytest.raises(catena.ShapeError, match=re.escape("write q[..., 0]")):
        ROBOT.rollout(q, v, None, DT, steps=2, control=law)


def remembered(t, q, v, memory, parameters):
    error = 0.5 - q
    tau = 4.0 * error + parameters[..., :1] * memory[..., :2] + 0.1 * (error - memory[..., 2:])
    return tau, np.concatenate([memory[..., :2] + error * DT, error], axis=-1)


def remembered_in_python(t, q, v, memory, parameters):
    return remembered(float(t), q, v, memory, parameters)


@pytest.mark.parametrize("law", [remembered, remembered_in_python])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_a_law_with_a_memory(law, batch):
    rng = np.random.default_rng(0)
    q, v, gain = (rng.uniform(-1, 1, (*batch, n)) for n in (2, 2, 1))
    state, expected, torques = (q, v, np.zeros((*batch, 4))), [], []
    for i in range(8):
        tau, memory = remembered(i * DT, *state, gain)
        state = (*ROBOT.step(*state[:2], tau, DT), memory)
        expected.append(state)
        torques.append(tau)
    control = catena.controllers.remembering(law, np.zeros(4))
    kind = "called" if law is remembered_in_python else "compiled"
    runs = [ROBOT.rollout(q, v, None, DT, steps=8, control=control, parameters=gain, every=every) for every in (1, 2)]
    runs.append(catena.simulate(ROBOT, q, v, 8 * DT, DT, control=control, parameters=gain))
    half = ROBOT.rollout(q, v, None, DT, steps=4, control=control, parameters=gain)
    start = half.q[..., -1, :], half.v[..., -1, :]
    more = {"t0": 4 * DT, "memory": half.memory, "control": control, "parameters": gain}
    runs.append(ROBOT.rollout(*start, None, DT, steps=4, **more))
    for run, every, first in zip(runs, (1, 2, 1, 1), (0, 0, 0, 4), strict=True):
        assert kind in run.how
        assert np.allclose(run.q[..., -1, :], state[0], rtol=0, atol=1e-13)
        assert np.allclose(run.memory["recalled"], state[2], rtol=0, atol=1e-13)
        assert np.allclose(run.tau, np.stack(torques[first::every], axis=-2), rtol=0, atol=1e-13)


def test_what_cannot_remember_is_refused():
    control = catena.controllers.remembering(remembered, np.zeros(4))
    for integrator in ("adaptive", "variational"):
        with pytest.raises(catena.UnsupportedError, match="remembers"):
            catena.simulate(ROBOT, *STARTS[1], 1.0, DT, control=control, parameters=[1.0], integrator=integrator)
    with pytest.raises(catena.UnsupportedError, match="expected a function"):
        catena.controllers.remembering(3.0, np.zeros(4))
    with pytest.raises(catena.ShapeError, match="one number or more"):
        catena.controllers.remembering(remembered, [])
    broken = catena.controllers.remembering(lambda t, q, v, memory: -q, np.zeros(4))
    with pytest.raises(catena.ShapeError, match="tau, memory"):
        ROBOT.rollout(*STARTS[1], None, DT, steps=2, control=broken)


def test_parameters_of_a_robot_are_not_those_of_a_law():
    heavier = ROBOT.parameters().replace(armature=[80.0, 60.0])
    for ask in (
        lambda: ROBOT.rollout(*STARTS[1], None, DT, steps=2, parameters=heavier),
        lambda: catena.simulate(ROBOT, *STARTS[1], 1.0, DT, parameters=heavier),
    ):
        with pytest.raises(catena.UnsupportedError, match="with_parameters"):
            ask()
