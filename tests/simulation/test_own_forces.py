"""Forces of users: that of the guide, from the page's own text, on every kind of mechanism; and what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import catena
from catena.extend import Action, Dofs, ForceElement
from catena.model.mimic import eliminated
from catena.model.parts import Mimic

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "extend.md"
PLACE, STIFFNESS = (0.2, 0.1, -0.3), 30.0


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's own text defines: the classes of its section, without what follows them."""
    section = GUIDE.read_text(encoding="utf-8").partition("## A force = one file")[2]
    names: dict[str, Any] = {"np": np, "catena": catena, "__name__": "extend_page"}
    for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        classes = re.split(r"^(?:pull|band) = ", block, maxsplit=1, flags=re.MULTILINE)[0]
        exec(compile(classes, str(GUIDE), "exec", dont_inherit=True), names)
    return names


def tree(mimic: bool) -> catena.Robot:
    builder = catena.Builder("tree")
    for name, mass, com in (("arm", 1.0, (0.1, 0, 0.3)), ("left", 1.2, (0.1, 0.03, 0)), ("right", 0.7, (0.2, 0, 0.1))):
        builder.link(name, mass=mass, com=com, inertia=np.diag([0.01, 0.02, 0.025]))
    more: dict[str, Any] = {"mimic": Mimic("a", -0.5, 0.1)} if mimic else {}
    builder.revolute("s", "base", "arm", axis="y").revolute("a", "arm", "left", axis="z", position=(0.3, 0, 0))
    robot = builder.revolute("b", "arm", "right", axis="x", position=(0.3, 0.1, 0), **more).build()
    return catena.Robot(eliminated(robot.tree)) if mimic else robot


def system() -> catena.System:
    return catena.System([tree(False)], constraints=[catena.Coupling({"tree/b": 1.0, "tree/a": 0.5}, 0.1)])


MECHANISMS = {
    "arm": lambda: catena.load("two_link_arm"),
    "mimic": lambda: tree(True),
    "system": system,
    "chain": lambda: catena.rod_chain(100),
}
START = {"system": [0.3, 0.4, -0.1], "mimic": [0.3, 0.4]}


@pytest.mark.parametrize("name", MECHANISMS)
def test_energy_is_kept_and_a_step_is_that_of_the_wrenches(page: dict[str, Any], name: str) -> None:
    """To fourth order with all stages; and a step is one under the wrenches that the run says acted."""
    robot, pull = MECHANISMS[name](), page["Attraction"](PLACE, STIFFNESS)
    q, v = np.array(START.get(name, 0.1 * np.arange(robot.nq) / robot.nq)), np.zeros(robot.nv)
    more: dict[str, Any] = {"projected": False} if name == "system" else {}
    run = robot.rollout(q, v, None, 5e-4, steps=40, forces=[pull], integrator="rk4", **more)
    moved = run.energy()
    assert np.ptp(moved + pull.energy(robot, run.q)) < 1e-5 * np.ptp(moved) > 0
    still = np.zeros(robot.nv)
    state = robot.step(q, v, still, 5e-4, forces=[pull], **more)
    held = robot.step(q, v, still, 5e-4, run.wrenches[0], **more)
    assert np.abs(state.v - held.v).max() < 1e-12 < np.abs(state.v).max()


def test_implicit_steps_exert_what_they_say(page: dict[str, Any]) -> None:
    """What loses for accelerations is counted: the run's wrenches, held, make the same step."""
    robot, pull = catena.load("two_link_arm"), page["Attraction"](PLACE, 3e4)
    start: Any = [0.3, 0.4], [1.0, -2.0]
    run = robot.rollout(*start, None, 5e-3, steps=1, forces=[pull], integrator="linearly_implicit")
    held = robot.step(*start, np.zeros(2), 5e-3, run.wrenches[0])
    assert run.v[1] == pytest.approx(held.v, abs=1e-11)
    explicit = robot.step(*start, np.zeros(2), 5e-3, forces=[pull])
    assert 1.2 * np.abs(run.v[1]).max() < np.abs(explicit.v).max()


def test_mimic_robots_and_systems_move_alike(page: dict[str, Any]) -> None:
    """Under all forces that act on links, which steps take where they lead."""
    follows, together, pull = tree(True), system(), page["Attraction"](PLACE, STIFFNESS)
    pins = {"stiffness": 500.0, "damping": 3.0}
    drag = catena.Drag(linear_normal=0.3, normal=0.2, velocity=(1, 2, 0.3))
    lists = [
        [pull, drag, catena.Pins({f"{p}right": (0.1, 0.2, 0.3)}, **pins), catena.Ground([f"{p}left"], radius=0.6)]
        for p in ("", "tree/")
    ]
    options: dict[str, Any] = {"steps": 20, "integrator": "linearly_implicit"}
    a = follows.rollout(START["mimic"], [1.0, -2.0], None, 1e-3, forces=lists[0], **options)
    b = together.rollout(START["system"], [1.0, -2.0, 1.0], None, 1e-3, forces=lists[1], **options)
    assert np.abs(a.q - b.q[:, :2]).max() < 1e-12 < np.abs(a.q[-1] - a.q[0]).max()
    assert a.wrenches == pytest.approx(b.wrenches, abs=1e-8)


def test_short_forms_are_the_list(page: dict[str, Any]) -> None:
    robot = catena.load("two_link_arm")
    forces = {"drag": catena.Drag(1.0), "ground": catena.Ground(["tool"], radius=0.5)}
    start: Any = [0.3, 0.4], [1.0, -2.0], None, 1e-3
    options: dict[str, Any] = {"steps": 5, "joint_losses": True}
    named = robot.rollout(*start, **options, **forces, joint_limits=True)
    listed = robot.rollout(*start, **options, forces=[*reversed(forces.values()), catena.JointLimits()])
    assert named.q == pytest.approx(listed.q, abs=1e-14)
    twice = robot.rollout(*start, **options, forces=[forces["drag"]] * 2)
    double = robot.rollout(*start, **options, drag=catena.Drag(2.0))
    assert twice.q == pytest.approx(double.q, abs=1e-14)
    again = catena.simulate(robot, *start[:2], 5e-3, 1e-3, forces=[forces["drag"]] * 2, joint_losses=True)
    assert np.array_equal(again.q, twice.q)


def test_steps_remember_what_rollouts_do() -> None:
    robot, ground = catena.load("two_link_arm"), catena.Ground(["tool"], radius=0.5)
    q, v, tau = np.array([0.3, 0.4]), np.array([1.0, -2.0]), np.array([0.1, 0.2])
    run = robot.rollout(q, v, np.tile(tau, (4, 1)), 1e-3, forces=[ground], joint_losses=True)
    memory = None
    for _ in range(4):
        state = robot.step(q, v, tau, 1e-3, forces=[ground], memory=memory, joint_losses=True)
        (q, v), memory = state, state.memory
    assert np.array_equal(q, run.q[-1])
    assert all(np.array_equal(memory[name], run.memory[name]) for name in run.memory)


@dataclass(frozen=True, eq=False)
class Muscle(ForceElement):
    """A torque of each joint that grows with what it remembers: how far the joint came, with the speeds of the end."""

    name, at_links = "muscle", False
    inputs = MappingProxyType({"gain": "joint", "way": "joint"})
    memory = ("way",)
    gain: float = 1.0

    def numbers(self, robot: Any) -> Mapping[str, Any]:
        return {"gain": np.full(robot.nv, self.gain), "way": np.zeros(robot.nv)}

    def during(self, links: Any, q: Any, v: Any, dt: Any, given: Sequence[Any]) -> Action:
        return _Pulling(dt, *given)


class _Pulling(Action):
    def __init__(self, dt: Any, gain: Any, way: Any) -> None:
        self.dt, self.gain, self.way = dt, gain, way

    def torques(self, k: Any) -> Dofs:
        return -(self.gain[k] * self.way[k])

    def remembered(self, links: Any, v: Any) -> Any:
        (way,) = links.fields("way")
        for k in links.base_to_tip():
            way[k] = self.way[k] + v[k].scaled(self.dt)
        return [way]


@pytest.mark.parametrize("name", ["arm", "mimic", "system", "chain"])
def test_memory_is_carried_and_goes_on(name: str) -> None:
    """A spring on the way that joints came, by semi-implicit steps: that of the model, from where it is slack."""
    robot, muscle = MECHANISMS[name](), Muscle(2.0)
    q, v = np.array(START.get(name, [0.0] * robot.nq)), np.full(robot.nv, 0.5)
    more: dict[str, Any] = {"projected": False} if name == "system" else {}
    if name == "system":
        v[2] = -0.25
    run = robot.rollout(q, v, None, 1e-3, steps=30, forces=[muscle], **more)
    assert run.memory["way"] == pytest.approx(run.q[-1] - run.q[0], abs=1e-12)
    half = robot.rollout(q, v, None, 1e-3, steps=15, forces=[muscle], **more)
    rest = robot.rollout(
        half.q[-1], half.v[-1], None, 1e-3, steps=15, t0=0.015, forces=[muscle], memory=half.memory, **more
    )
    assert np.array_equal(rest.q[-1], run.q[-1])
    if name == "arm":
        sprung = catena.Robot(replace(robot.tree, stiffness=np.full(2, 2.0), rest=q))
        assert sprung.rollout(q, v, None, 1e-3, steps=30).q == pytest.approx(run.q, abs=1e-12)


def test_what_changed_acts_and_the_rest_is_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from catena.simulation import again

    robot, ways, known = catena.load("two_link_arm"), list[bool](), again.Prepared.run

    def noted(*args: Any) -> Any:
        found = known(*args)
        ways.append(found is not None)
        return found

    monkeypatch.setattr(again.Prepared, "run", noted)
    gains = np.ones(2)

    class Numbers(Muscle):
        def numbers(self, robot: Any) -> Mapping[str, Any]:
            return {"gain": gains, "way": np.ones(robot.nv)}

    force, q = Numbers(), np.array([0.3, 0.4])
    start: Any = q, np.zeros(2), np.zeros((5, 2)), 1e-3
    first = robot.rollout(*start, forces=[force])
    assert np.array_equal(robot.rollout(*start, forces=[force]).q, first.q)
    assert ways == [True]
    gains *= 2
    changed = robot.rollout(*start, forces=[force])
    fresh = catena.Robot(robot.tree).rollout(*start, forces=[force])
    assert np.array_equal(changed.q, fresh.q)
    assert not np.array_equal(changed.q, first.q)


def test_another_class_of_the_same_name_is_another_force() -> None:
    robot, found = catena.load("two_link_arm"), []
    for sign in (1.0, -1.0):

        class Twist(ForceElement):
            name, at_links, stiff = "twist", False, False

            def during(self, links: Any, q: Any, v: Any, dt: Any, given: Any, sign: float = sign) -> Action:
                (tau,) = links.fields("tau")
                for k in links.base_to_tip():
                    tau[k] = Dofs([sign] * k.joint_type.nv)
                return Action(torque=tau)

        found.append(robot.rollout(np.zeros(2), np.zeros(2), None, 1e-3, steps=1, forces=[Twist()]).v[-1])
        driven = robot.step(np.zeros(2), np.zeros(2), np.full(2, sign), 1e-3)
        assert found[-1] == pytest.approx(driven.v, abs=1e-15)
    assert not np.array_equal(*found)


def test_refusals(page: dict[str, Any]) -> None:
    robot, chain = catena.load("two_link_arm"), catena.rod_chain(100)
    start: Any = [0.3, 0.4], [1.0, -2.0], None, 1e-3

    def refused(match: str, who: Any = robot, **options: Any) -> None:
        at = start if who is robot else (who.neutral(), np.zeros(who.nv), None, 1e-3)
        with pytest.raises(catena.CatenaError, match=match):
            who.rollout(*at, steps=2, **options)

    refused("forces must be a list of forces", forces=catena.Drag())
    refused("forces must be a list of forces", forces=["drag"])
    refused("the force 'muscle' acts in steps of one stage", forces=[Muscle()], integrator="rk4")
    refused("ground, servos, pins and drag act in steps of one", forces=[catena.Drag(1.0)], integrator="rk4")
    refused("the force 'attraction' takes a method", forces=[page["Attraction"](PLACE, 1.0)], method="fd4")
    refused("the band is for unrolled kernels", who=chain, forces=[page["Band"](("link3", "link7"), 1.0)])
    forgetful = type("Forgetful", (Muscle,), {"numbers": lambda self, robot: {"gain": np.ones(2)}})
    refused("must give 'way'", forces=[forgetful()])
    wide = type("Wide", (Muscle,), {"numbers": lambda self, robot: {"gain": np.ones(3), "way": np.zeros(2)}})
    refused("gain of the force 'muscle' must have shape", forces=[wide()])
    loose = type("Loose", (Muscle,), {"stiff": False})
    refused("remembers", forces=[loose()])
    pull = page["Attraction"](PLACE, STIFFNESS)
    with pytest.raises(catena.UnsupportedError, match="'attraction'"):
        catena.simulate(robot, *start[:2], 0.01, 1e-3, integrator="variational", forces=[pull])
    with pytest.raises(TypeError, match="unexpected keyword argument 'forse'"):
        robot.rollout(*start, steps=2, forse=[])  # type: ignore[call-arg]


def test_adaptive_steps_ask_forces_at_any_time(page: dict[str, Any]) -> None:
    robot, pull = catena.load("two_link_arm"), page["Attraction"](PLACE, STIFFNESS)
    start: Any = robot, [0.3, 0.4], [1.0, -2.0], 0.05, 1e-3
    exact = catena.simulate(*start, integrator="adaptive", forces=[pull])
    energy = exact.energy() + pull.energy(robot, exact.q)
    assert np.ptp(energy) < 1e-8 * np.ptp(exact.energy())
    assert catena.simulate(*start, integrator="rk4", forces=[pull]).q == pytest.approx(exact.q, abs=1e-7)


def test_a_force_between_two_links_is_equal_and_opposite(page: dict[str, Any]) -> None:
    """Two bodies that nothing else acts on, joined by a band off their centres: momentum and energy stay."""
    builder = catena.Builder("pair", gravity=(0, 0, 0))
    for i, name in enumerate(("left", "right")):
        builder.link(name, mass=1.0 + i, com=(0.1, 0.05 * i, 0.02), inertia=np.diag([0.02, 0.03, 0.04]))
        builder.free(f"free_{name}", "base", name, position=(0.5 * i, 0, 0))
    robot, band = builder.build(), page["Band"](("left", "right"), 40.0)
    v = 0.3 * np.random.default_rng(0).standard_normal(robot.nv)
    run = robot.rollout(robot.neutral(), v, None, 1e-3, steps=300, forces=[band], integrator="rk4", every=50)
    _, at = robot.placements(run.q)
    stretch = np.sum((at[..., 1, :] - at[..., 0, :]) ** 2, axis=-1)
    assert np.abs(np.diff(run.momentum(), axis=0)).max() < 1e-9 < 0.1 < np.abs(np.diff(run.v, axis=0)).max()
    assert np.ptp(run.energy() + 20.0 * stretch) < 1e-8 * np.ptp(run.energy())
    assert run.wrenches is not None
    assert np.abs(run.wrenches[..., 3:]).max() > 1.0
