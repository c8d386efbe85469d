"""Rollouts that are asked for again take the short way, give the same bits, and notice whatever changed."""

import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catena
from catena.simulation import again

GAIN = 1.0
STEPS = 6


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load("two_link_arm")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each rollout took the short way."""
    ways: list[bool] = []
    known = again.Prepared.run

    def noted(*args: Any) -> Any:
        found = known(*args)
        ways.append(found is not None)
        return found

    monkeypatch.setattr(again.Prepared, "run", noted)
    return ways


def _start(robot: Any, seed: int, *batch: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    q = np.asarray(robot.random_configuration(rng)) if not batch else rng.uniform(-1, 1, (*batch, robot.nq))
    return q, 0.1 * rng.standard_normal((*batch, robot.nv)), rng.standard_normal((*batch, STEPS, robot.nv))


OPTIONS: dict[str, dict[str, Any]] = {
    "torques": {},
    "all forces": {"joint_losses": True, "joint_limits": True, "drag": catena.Drag(linear_normal=0.1)},
    "rows and bound": {"every": 3, "bound": 1e3, "t0": 0.002},
    "midpoint": {"integrator": "midpoint"},
    "single": {"dtype": np.float32},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("batch", [(), (5,)])
def test_second_rollout_is_that_of_another_robot(
    arm: catena.Robot, short: list[bool], options: dict[str, Any], batch: tuple[int, ...]
) -> None:
    arm.rollout(*_start(arm, 1, *batch), 1e-3, **options)
    short.clear()
    found = arm.rollout(*_start(arm, 2, *batch), 1e-3, **options)
    assert short == [True]
    fresh = catena.Robot(arm.tree).rollout(*_start(arm, 2, *batch), 1e-3, **options)
    for name in ("t", "q", "v", "tau", "diverged_step", "diverged_joint", "wrenches"):
        a, b = getattr(found, name), getattr(fresh, name)
        assert (a is None) == (b is None)
        assert a is None or (np.array_equal(a, b) and a.dtype == b.dtype), name
    assert found.memory.keys() == fresh.memory.keys()
    assert all(np.array_equal(found.memory[name], fresh.memory[name]) for name in fresh.memory)
    assert (found.integrator, found.dt, found.how, repr(found)) == (fresh.integrator, fresh.dt, fresh.how, repr(fresh))


def test_laws_with_parameters_memory_and_costs(arm: catena.Robot, short: list[bool]) -> None:
    def control(t: Any, q: Any, v: Any, p: Any) -> Any:
        return -p[..., :1] * q - v

    def cost(t: Any, q: Any, v: Any, p: Any, tau: Any) -> Any:
        return (q**2).sum(axis=-1) + p[..., 0]

    options: dict[str, Any] = {"steps": STEPS, "control": control, "cost": cost, "joint_losses": True}
    for seed in (1, 2):
        q, v, _ = _start(arm, seed)
        short.clear()
        found = arm.rollout(q, v, None, 1e-3, parameters=[2.0 * seed], **options)
    assert short == [True]
    fresh = catena.Robot(arm.tree).rollout(q, v, None, 1e-3, parameters=[4.0], **options)
    assert np.array_equal(found.q, fresh.q)
    assert found.cost == fresh.cost
    assert np.array_equal(found.tau, fresh.tau)
    assert found.tau == pytest.approx(-4.0 * found.q[:-1] - found.v[:-1], abs=1e-12)


class _Law:
    def __init__(self) -> None:
        self.k, self.parts, self.array = 1.0, [1.0], np.ones(1)

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        return -self.k * self.parts[0] * self.array[0] * GAIN * SETTINGS.gain * self.method() * q

    def method(self) -> float:
        return float(SETTINGS.inner["k"])


SETTINGS = types.ModuleType("settings_of_test")
SETTINGS.gain, SETTINGS.inner = 1.0, {"k": 1.0}  # type: ignore[attr-defined]


def _set_global(law: _Law) -> None:
    global GAIN
    GAIN = 3.0


CHANGES: dict[str, Callable[[_Law], Any]] = {
    "attribute": lambda law: setattr(law, "k", 3.0),
    "list": lambda law: law.parts.__setitem__(0, 3.0),
    "array": lambda law: law.array.__setitem__(0, 3.0),
    "global": _set_global,
    "module": lambda law: setattr(SETTINGS, "gain", 3.0),
    "in a mapping": lambda law: SETTINGS.inner.update(k=3.0),
    "method": lambda law: setattr(_Law, "method", lambda self: 3.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_law_reads_acts_when_it_changed(
    arm: catena.Robot, short: list[bool], change: Callable[[_Law], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name, value in ((SETTINGS, "gain", 1.0), (SETTINGS, "inner", {"k": 1.0}), (_Law, "method", _Law.method)):
        monkeypatch.setattr(owner, name, value)
    monkeypatch.setitem(globals(), "GAIN", 1.0)
    law, (q, v, _) = _Law(), _start(arm, 3)
    for _ in range(2):
        before = arm.rollout(q, v, None, 1e-3, steps=1, control=law)
    assert short[-1]
    assert before.tau == pytest.approx(-q[None], abs=1e-12)
    change(law)
    after = arm.rollout(q, v, None, 1e-3, steps=1, control=law)
    assert not short[-1]
    assert after.tau == pytest.approx(-3 * q[None], abs=1e-12)
    assert not np.array_equal(before.v[-1], after.v[-1])


def test_arrays_of_ready_made_ones_act_when_they_changed(arm: catena.Robot, short: list[bool]) -> None:
    q, v, _ = _start(arm, 4)
    gains = np.full(arm.nv, 2.0)
    control = catena.controllers.pd(np.zeros(arm.nq), gains)
    for _ in range(2):
        arm.rollout(q, v, None, 1e-3, steps=1, control=control)
    assert short[-1]
    gains[:] = 5.0
    assert arm.rollout(q, v, None, 1e-3, steps=1, control=control).tau == pytest.approx(-5 * q[None], abs=1e-12)


def test_what_reads_files_or_clocks_is_read_each_time(arm: catena.Robot, short: list[bool], tmp_path: Any) -> None:
    path = tmp_path / "gain"
    q, v, _ = _start(arm, 5)

    def control(t: Any, q: Any, v: Any) -> Any:
        with open(path, encoding="utf-8") as file:
            return -float(file.read()) * q

    for gain in (1.0, 2.0):
        path.write_text(str(gain), encoding="utf-8")
        run = arm.rollout(q, v, None, 1e-3, steps=1, control=control)
        assert run.tau == pytest.approx(-gain * q[None], abs=1e-12)


def test_bad_calls_after_good_ones_are_refused(arm: catena.Robot) -> None:
    q, v, tau = _start(arm, 6)
    for _ in range(2):
        arm.rollout(q, v, tau, 1e-3)
    with pytest.raises(catena.ShapeError, match="q"):
        arm.rollout(q[:1], v, tau, 1e-3)
    with pytest.raises(catena.UnsupportedError, match="Parameters"):
        arm.rollout(q, v, tau, 1e-3, parameters=arm.parameters())  # type: ignore[arg-type]
    with pytest.raises(catena.CatenaError, match="every"):
        arm.rollout(q, v, tau, 1e-3, every=True)
    with pytest.warns(catena.DivergenceWarning):
        assert arm.rollout(q, np.full(arm.nv, np.nan), tau, 1e-3).diverged


def test_warnings_come_each_time(arm: catena.Robot) -> None:
    q, v, _ = _start(arm, 7)
    control = catena.controllers.pd(np.zeros(arm.nq), 1e9)
    for _ in range(3):
        with pytest.warns(catena.StepWarning, match="too long"):
            arm.rollout(q, v, None, 1e-3, steps=1, control=control)


def test_robots_are_freed_and_few_are_kept() -> None:
    robot = catena.load("two_link_arm")
    q, v, _ = _start(robot, 8)
    for count in range(1, 2 * again.MOST):
        robot.rollout(q, v, np.zeros((count, robot.nv)), 1e-3)
    assert len(robot._compiled.parts["rollouts"]) <= again.MOST
    gone = weakref.ref(robot._compiled)
    gc.disable()
    try:
        del robot
        assert gone() is None
    finally:
        gc.enable()


def test_closed_systems_too(short: list[bool]) -> None:
    system = catena.System.load("four_bar")
    q = system.close(system.neutral())
    v = np.zeros(system.nv)
    first, second = (system.rollout(q, v, None, 1e-3, steps=STEPS) for _ in range(2))
    assert short == [True]
    assert np.array_equal(first.q, second.q)
    assert np.array_equal(first.v, second.v)
