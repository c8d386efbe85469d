"""Odd calls of what is no question of a robot: systems, rollouts, simulations, identification, polymers, targets."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from tests import odd_values

import catena
from catena import polymers
from catena.errors import CatenaError

BATCHES: list[tuple[int, ...]] = [(), (2,), (0,), (2, 1)]
NUMBERS: list[Any] = [0, -1, 1, 3, 2.5, 0.0, -0.5, 1e-3, float("nan"), float("inf"), 1e308, 5e-324, True, np.float32(2)]


class Asked(NamedTuple):
    """A method, the arguments that it is given, and a function that makes them for leading dimensions."""

    method: Callable[..., Any]
    arguments: Callable[[np.random.Generator, tuple[int, ...]], dict[str, Any]]


@functools.cache
def robots() -> tuple[catena.Robot, catena.System, Any]:
    """An arm, a closed chain, and a polymer."""
    body: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.1, 0.2, 0.25)}
    builder = catena.Builder("arm").link("base").link("upper", **body).link("lower", **body)
    builder.revolute("shoulder", "base", "upper", axis="y", damping=0.1).revolute(
        "elbow", "upper", "lower", axis="y", position=(0.5, 0.0, 0.0), stiffness=0.2
    )
    closed = catena.System.load(catena.robots.path("four_bar"))
    return builder.build(), closed, polymers.Polymer(np.ones(3), 1.0, coordinates="torsions+angles", base="floating")


def pull(t: Any, q: Any, v: Any, parameters: Any) -> Any:
    """A controller."""
    return -q[..., :] - 0.1 * v


Rng = np.random.Generator
Given = dict[str, Any]


def state(robot: Any, rng: Rng, batch: tuple[int, ...], *names: str) -> Given:
    """A random configuration, and random vectors of these names."""
    vectors = {name: rng.standard_normal((*batch, robot.nv)) for name in names}
    return {"q": robot.random_configuration(rng, batch), **vectors}


def rolled(rng: Rng, batch: tuple[int, ...]) -> Given:
    """For `rollout`."""
    given = state(robots()[0], rng, batch, "v") | {"tau": rng.standard_normal((*batch, 3, 2)), "dt": 1e-3}
    return given | _some(rng, steps=3, t0=0.0, control=pull, every=1, bound=1e3, integrator="rk4", method="udu")


def simulated(rng: Rng, batch: tuple[int, ...]) -> Given:
    """For `simulate`."""
    arm = robots()[0]
    given = {"robot": arm, **state(arm, rng, batch, "v"), "duration": 0.01, "dt": 1e-3, "progress": False}
    words = {"integrator": ["adaptive", "variational", "midpoint", "rk4"][rng.integers(4)], "stop": _high}
    return given | _some(rng, t0=0.0, control=pull, every=2, tolerance=1e-6, events={"high": _high}, **words)


def identified(rng: Rng, batch: tuple[int, ...]) -> Given:
    """For `identify`."""
    given = {"robot": robots()[0], **state(robots()[0], rng, (*batch, 40), "v", "a", "tau")}
    return given | _some(rng, joints=["damping"], spread=1.0, confidence=0.9)


def reached(rng: Rng, batch: tuple[int, ...]) -> Given:
    """For `inverse_kinematics`."""
    numbers = {"restarts": 1, "rng": 0, "tolerance": 1e-6}
    targets = {"lower": rng.uniform(-0.3, 0.3, (*batch, 3))}
    return {"targets": targets} | _some(rng, q0=np.zeros(2), weights={"lower": 1.0}, **numbers)


def sampled(rng: Rng, batch: tuple[int, ...]) -> Given:
    """For `Polymer.sample`."""
    given = {"samples": 2, "q": robots()[2].robot.random_configuration(rng, batch)}
    return given | _some(rng, kT=1.0, fixman=True, step=0.1, steps=2, every=1, seed=0)


def parameters(name: str) -> Callable[[Rng, tuple[int, ...]], Given]:
    """A vector of parameters under that name."""
    return lambda rng, batch: {name: robots()[0].parameters().vector}


@functools.cache
def asked() -> dict[str, Asked]:
    """What can be asked, by name."""
    arm, closed, polymer = robots()

    def of(robot: Any, *names: str, **options: Any) -> Callable[[Rng, tuple[int, ...]], Given]:
        return lambda rng, batch: state(robot, rng, batch, *names) | _some(rng, **options)

    return {
        "rollout": Asked(arm.rollout, rolled),
        "simulate": Asked(catena.simulate, simulated),
        "identify": Asked(catena.identify, identified),
        "inverse_kinematics": Asked(arm.inverse_kinematics, reached),
        "randomize": Asked(
            catena.randomize, lambda rng, batch: {"robot": arm} | _some(rng, rng=0, spread=0.1, shape=batch)
        ),
        "with_parameters": Asked(arm.with_parameters, parameters("parameters")),
        "parameters": Asked(arm.parameters, parameters("vector")),
        "with_joints": Asked(
            arm.with_joints, lambda rng, batch: _some(rng, damping=0.1, friction=[0.1, 0.2], armature=0)
        ),
        "System.forward_dynamics": Asked(closed.forward_dynamics, of(closed, "v", "tau")),
        "System.inverse_dynamics": Asked(closed.inverse_dynamics, of(closed, "v", "a")),
        "System.closure_residual": Asked(closed.closure_residual, of(closed)),
        "System.constraint_jacobian": Asked(closed.constraint_jacobian, of(closed)),
        "System.close": Asked(closed.close, of(closed, tolerance=1e-6, steps=5)),
        "System.project_velocity": Asked(closed.project_velocity, of(closed, "v")),
        "System.impact": Asked(closed.impact, of(closed, "v")),
        "System.redundancy": Asked(closed.redundancy, of(closed)),
        "Polymer.positions": Asked(polymer.positions, of(polymer.robot)),
        "Polymer.velocities": Asked(polymer.velocities, of(polymer.robot, "v")),
        "Polymer.configuration": Asked(
            polymer.configuration,
            lambda rng, batch: {"positions": polymer.positions(polymer.robot.random_configuration(rng, batch))},
        ),
        "Polymer.fixman_potential": Asked(polymer.fixman_potential, of(polymer.robot)),
        "Polymer.sample": Asked(polymer.sample, sampled),
        "fixman_potential": Asked(functools.partial(catena.fixman_potential, arm), of(arm)),
    }


def _high(t: Any, q: Any, v: Any) -> Any:
    return q[..., 0] - 10.0


def _some(rng: np.random.Generator, /, **options: Any) -> dict[str, Any]:
    """A few of the options."""
    return {name: value for name, value in options.items() if rng.random() < 0.3}


def warm_up() -> None:
    """Compile what calls may need, which takes longer than a call may."""
    rng = np.random.default_rng(0)
    for method, arguments in asked().values():
        with warnings.catch_warnings(), suppress(CatenaError):
            warnings.simplefilter("ignore")
            method(**arguments(rng, (2,)))


class Call:
    """One call, made up from a seed and a number."""

    def __init__(self, seed: int, number: int) -> None:
        rng = np.random.default_rng([seed, number, 1])
        names = sorted(asked())
        self.name = names[rng.integers(len(names))]
        self.method, arguments = asked()[self.name]
        plain = arguments(rng, BATCHES[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])])
        self.given = {name: self._odd(rng, x) for name, x in plain.items()}

    def _odd(self, rng: np.random.Generator, x: Any) -> Any:
        """An argument as it is given: mostly as it should be."""
        way = rng.random()
        if isinstance(x, dict) and way < 0.5:
            return {key: self._odd(rng, value) for key, value in x.items()}
        if way < 0.12:
            return odd_values.anything(rng, x)
        if isinstance(x, int | float) and not isinstance(x, bool) and way < 0.3:
            return NUMBERS[rng.integers(len(NUMBERS))]
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and way < 0.4:
            return odd_values.dressed(rng, x)
        return x

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={odd_values.shown(x)}" for name, x in self.given.items())
        return f"{self.name}({shown})"


def fault(call: Call) -> str | None:
    """What is wrong with the answer; None if nothing is.

    Memory that is not to be had is nobody's fault, and neither is what a class of NumPy's raises as a function.
    """
    before = {name: odd_values.content(x) for name, x in call.given.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.method(**call.given)
        except CatenaError as error:
            return None if str(error) else "has no message"
        except MemoryError:
            return None
        except Exception as error:
            if any(isinstance(call.given.get(name), type) for name in ("control", "stop")):
                return None
            return f"raised {type(error).__name__}: {error}"
    if before != {name: odd_values.content(x) for name, x in call.given.items()}:
        return "changed an argument"
    return None
