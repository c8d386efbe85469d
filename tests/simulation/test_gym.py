"""Environments of Gymnasium: its own checks, and many of them beside Gymnasium's loop over single ones."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import catena

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

MODES = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP


def reset(rng, count):
    return rng.uniform(-0.4, 0.4, (count, 2)), rng.uniform(-0.5, 0.5, (count, 2))


def reward(t, q, v, action):
    return np.cos(q[..., 0]) - 0.1 * (action * action).sum(axis=-1) - 0.01 * t


def terminated(t, q, v):
    return (np.abs(q) > 1.0).any(axis=-1) | (np.abs(v[..., 0]) > 4.0)


def control(t, q, v, action):
    return np.stack([20.0 * action[..., 0], -0.1 * v[..., 1]], axis=-1)


def observe(t, q, v):
    return np.stack([np.sin(q[..., 0]), np.cos(q[..., 0]), q[..., 1], v[..., 0], v[..., 1]], axis=-1)


ROBOT = catena.load(catena.robots.path("two_link_arm"))
TASK = catena.gym.Task(
    ROBOT, 0.01, reset, reward, terminated, control=control, actions=1, observe=observe, steps=3, horizon=12
)


def test_it_passes_gymnasiums_own_checks():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*(Box observation space|spec).*")
        check_env(catena.gym.Env(TASK))


def test_what_is_seen_is_what_the_functions_say():
    env = catena.gym.Env(TASK)
    seen, info = env.reset(seed=3)
    q, v = (x[0] for x in reset(np.random.default_rng(np.random.PCG64(np.random.SeedSequence(3))), 1))
    assert (env.state[0] == q).all()
    assert (env.state[1] == v).all()
    assert info == {}
    np.testing.assert_allclose(seen, observe(0.0, q, v), rtol=1e-14)
    run = ROBOT.rollout(q, v, None, 0.01, steps=3, control=control, parameters=[0.3])
    seen, given, over, truncated, info = env.step(np.array([0.3]))
    np.testing.assert_array_equal(env.state, (run.q[-1], run.v[-1]))
    np.testing.assert_allclose(seen, observe(0.03, run.q[-1], run.v[-1]), rtol=1e-14)
    np.testing.assert_allclose(given, reward(0.03, run.q[-1], run.v[-1], np.array([0.3])), rtol=1e-14)
    assert over is bool(terminated(0.03, run.q[-1], run.v[-1]))
    assert (truncated, info) == (False, {})


@pytest.mark.parametrize("mode", MODES)
def test_many_are_gymnasiums_loop_over_single_ones_bit_by_bit(mode):
    number, rng = 7, np.random.default_rng(0)
    ours = catena.gym.VectorEnv(TASK, number, mode)
    theirs = SyncVectorEnv([lambda: catena.gym.Env(TASK)] * number, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    same(ours.reset(seed=5), theirs.reset(seed=5))
    ended = np.zeros(2, int)
    for i in range(40):
        action = rng.uniform(-1, 1, (number, 1))
        found = ours.step(action)
        same(found, theirs.step(action))
        ended += [int(found[2].sum()), int(found[3].sum())]
        if i == 20:
            mask = np.arange(number) % 3 == 0
            same(ours.reset(options={"reset_mask": mask}), theirs.reset(options={"reset_mask": mask}))
    assert (ended > 3).all()  # episodes ended in both ways
    same(ours.reset(seed=[3] * number), theirs.reset(seed=[3] * number))
    theirs.close()


def same(ours, theirs):
    """Arrays, and dictionaries of them, are the same to the bit."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, dict):
            assert a.keys() == b.keys()
            same([*a.values()], [*b.values()])
        elif isinstance(a, np.ndarray) and a.dtype == object:
            same([*a], [*b])
        else:
            np.testing.assert_array_equal(a, b, strict=isinstance(a, np.ndarray))


@pytest.mark.parametrize("mode", MODES)
def test_a_state_that_diverges_ends_its_episode_and_no_other(mode):
    def blown(t, q, v, action):
        return np.stack([np.where(action[..., 0] > 0.5, np.inf, 0.0), 0.0 * v[..., 1]], axis=-1)

    task = catena.gym.Task(ROBOT, 0.01, reset, reward, control=blown, actions=1)
    ours = catena.gym.VectorEnv(task, 3, mode)
    theirs = SyncVectorEnv([lambda: catena.gym.Env(task)] * 3, autoreset_mode=mode)
    same(ours.reset(seed=1), theirs.reset(seed=1))
    for actions in ([[0.0], [1.0], [0.0]], [[0.0], [0.0], [0.0]]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", catena.DivergenceWarning)
            found, other = ours.step(np.array(actions)), theirs.step(np.array(actions))
        same(found, other)
        assert np.isfinite(found[0]).all()
        assert np.isfinite(found[1]).all()
        assert found[2].tolist() == [False, actions[1][0] > 0, False]


def test_one_generator_for_all_gives_starts_many_at_a_time():
    counts = []

    def noted(rng, count):
        counts.append(count)
        return reset(rng, count)

    task = catena.gym.Task(ROBOT, 0.01, noted, reward, control=control, actions=1, horizon=2)
    first, second = (catena.gym.VectorEnv(task, 6, "same_step", one_rng=True) for _ in range(2))
    same(first.reset(seed=1), second.reset(seed=1))
    for _ in range(3):
        same(first.step(np.zeros((6, 1))), second.step(np.zeros((6, 1))))
    assert set(counts) == {6}


def test_a_floating_robot_whose_actions_are_shares_of_effort_or_torques():
    quadruped = catena.load(catena.robots.path("quadruped"), base="floating")

    def stand(rng, count):
        return np.tile(quadruped.neutral(), (count, 1)), 0.1 * rng.standard_normal((count, quadruped.nv))

    def legs(t, q, v, action):
        return np.concatenate([0.0 * v[..., :6], 5.0 * action], axis=-1)

    task = catena.gym.Task(
        quadruped, 1e-3, stand, lambda t, q: q[..., 2], control=legs, actions=quadruped.nv - 6, steps=5
    )
    env = catena.gym.Env(task)
    seen, _ = env.reset(seed=0)
    assert seen.shape == (quadruped.nq + quadruped.nv,)
    seen, given, over, truncated, _ = env.step(env.action_space.sample())
    assert given == seen[2]
    assert not over
    assert not truncated
    with pytest.raises(catena.UnsupportedError, match="effort limit"):
        catena.gym.Env(catena.gym.Task(quadruped, 1e-3, stand, lambda t, q: q[..., 2]))


def test_environments_travel_pickled():
    env = catena.gym.Env(TASK)
    again = pickle.loads(pickle.dumps(env))
    same(env.reset(seed=2), again.reset(seed=2))
    envs = pickle.loads(pickle.dumps(catena.gym.VectorEnv(TASK, 2, "same_step")))
    assert envs.autoreset_mode is AutoresetMode.SAME_STEP


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reward": 1.0}, "reward must be a function"),
        ({"reward": lambda t, q: float(q[0])}, "reward must be a function that can be compiled"),
        ({"reward": lambda t, q: q}, "reward gave an array of shape"),
        ({"terminated": lambda t, q: q > 0}, "terminated must give one truth value"),
        ({"observe": lambda t, q: q[0]}, "observe must give an array"),
        ({"actions": None}, "say how many numbers"),
        ({"control": None, "actions": 1}, "an action has 2 numbers"),
        ({"control": lambda t, q, v, a: q if q[0] > 0 else v}, "control must be one that can be compiled"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"dt": -1.0}, "dt must be finite and above zero"),
        ({"robot": "arm"}, "expected a Robot"),
    ],
)
def test_what_is_not_a_task_is_named(changes, words):
    given = {"robot": ROBOT, "dt": 0.01, "reset": reset, "reward": reward, "control": control, "actions": 1}
    with pytest.raises(catena.CatenaError, match=words):
        catena.gym.Env(catena.gym.Task(**{**given, **changes}))


def test_wrong_calls_are_named():
    envs = catena.gym.VectorEnv(TASK, 2)
    with pytest.raises(catena.ShapeError, match="call reset first"):
        envs.step(np.zeros((2, 1)))
    with pytest.raises(catena.ShapeError, match="reset_mask"):
        envs.reset(options={"reset_mask": [True, False]})
    with pytest.raises(catena.ShapeError, match="expected 2 seeds"):
        envs.reset(seed=[1])
    envs.reset()
    with pytest.raises(catena.ShapeError, match=r"actions must have shape \(2, 1\)"):
        envs.step(np.zeros(2))
    with pytest.raises(catena.ShapeError, match="autoreset_mode"):
        catena.gym.VectorEnv(TASK, 2, "disabled")
    with pytest.raises(catena.ShapeError, match="num_envs"):
        catena.gym.VectorEnv(TASK, 0)
    for wrong in (lambda rng, n: (np.zeros((n, 1)), np.zeros((n, 2))), lambda rng, n: np.zeros(3)):
        with pytest.raises(catena.ShapeError, match="reset must give"):
            catena.gym.Env(catena.gym.Task(ROBOT, 0.01, wrong, reward, control=control, actions=1)).reset()
    lost = catena.gym.Task(
        ROBOT, 0.01, lambda rng, n: (np.full((n, 2), np.nan),) * 2, reward, control=control, actions=1
    )
    with pytest.raises(catena.ShapeError, match="finite"):
        catena.gym.Env(lost).reset()
