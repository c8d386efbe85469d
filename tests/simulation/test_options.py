"""What rollouts and simulations can be asked is written once, and shown by each of them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import catena
from catena.simulation.options import DEFAULTS, Kernels, OfRobots, OfSystems, Rolled, Steps

SETS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Robot.rollout": (catena.Robot.rollout, (Steps, Rolled, OfRobots, Kernels)),
    "System.rollout": (catena.System.rollout, (Steps, Rolled, OfSystems)),
    "simulate": (catena.simulate, (Steps, OfRobots, OfSystems)),
}


@pytest.mark.parametrize("name", SETS)
def test_help_shows_every_option_with_its_default_and_meaning(name: str) -> None:
    method, sets = SETS[name]
    shown = inspect.signature(method).parameters
    assert not any(p.kind is p.VAR_KEYWORD for p in shown.values())
    for option in (option for each in sets for option in each.__annotations__):
        assert shown[option].default is DEFAULTS.get(option)
        assert "Any" != shown[option].annotation != inspect.Parameter.empty
        assert f"    {option}: " in method.__doc__
    for positional in (p.name for p in shown.values() if p.default is p.empty and p.name != "self"):
        assert f"    {positional}: " in method.__doc__


def test_an_option_that_there_is_not_is_refused() -> None:
    robot = catena.load("two_link_arm")
    start: Any = [0.0, 0.0], [0.0, 0.0]
    for call in (
        lambda: robot.rollout(*start, None, 1e-3, steps=1, projected=True),  # type: ignore[call-arg]
        lambda: catena.System([robot]).rollout(*start, None, 1e-3, steps=1, method="fd1"),  # type: ignore[call-arg]
        lambda: catena.simulate(robot, *start, 0.01, 1e-3, cost=None),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match=r"unexpected keyword argument '(projected|method|cost)'"):
            call()
