"""What a user wrote is known by what it does, not by its name; what is the package's own by its name alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import catena
from catena.functions import engine
from catena.functions.catalogue import FUNCTIONS
from catena.functions.derived import jvp
from catena.functions.function import Function, by_recipe
from catena.functions.ownership import is_own
from catena.functions.question import question
from catena.kernels import build
from catena.kernels.machine import fingerprint

FACTOR = 1.0


def scaled(factor: float | None) -> Function:
    """The coordinates times a factor, always under the same name; None: times what the module says."""

    def algorithm(links: Any, q: Any) -> Any:
        (y,) = links.fields("y")
        for k in links.base_to_tip():
            y[k] = (FACTOR if factor is None else factor) * q[k][0]
        return y

    return Function("edited", algorithm, {"q": "q"}, {"y": "link"})


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load("two_link_arm")


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_an_edited_algorithm_gives_its_own_numbers(arm: catena.Robot, shape: str) -> None:
    """On one robot, and on a new one, which finds in memory or on disk what was compiled before."""
    q = np.array([[0.5, -0.25], [1.0, 2.0]])
    for robot in (arm, catena.load("two_link_arm")):
        for factor in (2.0, 3.0, 2.0):
            kernel = engine.kernel(robot, scaled(factor), kernel=shape)
            assert np.array_equal(kernel(q), factor * q)
            assert np.array_equal(kernel(q[0]), factor * q[0])
    assert engine.kernel(arm, scaled(2.0), kernel=shape) is engine.kernel(arm, scaled(2.0), kernel=shape)


def test_an_edit_of_what_an_algorithm_calls_counts(arm: catena.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    function = scaled(None)
    assert np.array_equal(engine.kernel(arm, function)([1.0, 2.0]), [1.0, 2.0])
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert np.array_equal(engine.kernel(arm, function)([1.0, 2.0]), [5.0, 10.0])


def test_what_is_made_of_an_edited_algorithm_follows(arm: catena.Robot) -> None:
    for factor in (2.0, 7.0):
        change = engine.kernel(arm, jvp(scaled(factor), ["q"]))([0.3, 0.4], [1.0, 10.0])
        assert np.array_equal(change, [factor, 10 * factor])
        recipe = replace(scaled(0.0), algorithm=by_recipe, recipe=lambda ask, q, f=factor: ask(scaled(f), q))
        assert np.array_equal(engine.kernel(arm, recipe)([1.0, 2.0]), [factor, 2 * factor])


def test_an_edited_question_gives_its_own_numbers() -> None:
    for factor in (2.0, 3.0):

        class Asked(catena.Robot):
            @question(scaled(factor))
            def edited(self, q: npt.ArrayLike) -> np.ndarray:
                """The coordinates times a factor."""

        assert np.array_equal(Asked(catena.load("two_link_arm").tree).edited([1.0, 2.0]), [factor, 2 * factor])


def test_a_law_of_a_user_is_known_by_what_it_does(arm: catena.Robot) -> None:
    """A law that a user names, unlike a function, which is traced for its name."""
    from catena.algorithms.rollouts import Law, turn

    (step,) = [f for name, f in FUNCTIONS.items() if name == "forward_dynamics/fd3"]
    assert is_own(turn(step).function, arm.tree)
    assert not is_own(turn(step, Law("mine", lambda links, t, q, v: v)).function, arm.tree)


def test_the_package_is_known_by_names(arm: catena.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a first call needs no trace if its code is known; what a robot is called does not matter."""
    assert all(is_own(function, arm.tree) for function in FUNCTIONS.values())
    q = v = tau = np.ones(2)
    a = arm.forward_dynamics(q, v, tau)
    monkeypatch.setattr(build, "trace_for", None)
    renamed = catena.Robot(replace(arm.tree, name="another name", meshes={}))
    assert renamed != arm
    assert np.array_equal(renamed.forward_dynamics(q, v, tau), a)


def test_compiled_code_follows_a_controller_of_a_user(arm: catena.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by its trace, so that a second rollout does not trace the step again."""
    q = np.zeros(2)

    def run(gain: float) -> Any:
        return catena.simulate(arm, q, q, duration=0.03, dt=0.01, control=lambda t, q, v: gain - q)

    first, second = run(1.0), run(2.0)
    assert not np.array_equal(first.q, second.q)
    monkeypatch.setattr(build, "trace_for", None)
    assert np.array_equal(run(1.0).q, first.q)


def test_what_the_fingerprint_leaves_out_is_there() -> None:
    from pathlib import Path

    package = Path(catena.__file__).parent
    assert all((package / name).is_dir() for name in fingerprint.IRRELEVANT - {"__pycache__"})
