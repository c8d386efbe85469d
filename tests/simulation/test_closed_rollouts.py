"""Closed systems in time: steps, rollouts and simulations that keep the loops closed."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.closed_systems import KINDS, around, closed_model, state
from tests.mechanisms import relative

import catena


@pytest.fixture(scope="module")
def bar() -> catena.System:
    pytest.importorskip("mujoco")
    return closed_model("four_bar")


def test_a_four_bar_keeps_its_energy_and_stays_closed(bar: catena.System) -> None:
    q = bar.close([-1.0, 0.3, -1.2])
    run = catena.simulate(bar, q, np.zeros(3), duration=10.0, dt=1e-3, integrator="rk4", every=10)
    energy, kinetic = run.energy(), bar.kinetic_energy(run.q, run.v)
    assert np.abs(energy - energy[0]).max() < 1e-6 * kinetic.max()
    assert run.constraint_drift().max() < 1e-10
    assert np.abs(run.q[:, 0] - q[0]).max() > 1.0  # it swings
    assert not run.diverged.any()


@pytest.mark.parametrize(("integrator", "order"), [("semi_implicit", 1), ("midpoint", 2), ("rk4", 4)])
@pytest.mark.parametrize("projected", [False, True])
def test_steps_have_their_order(integrator: str, order: int, projected: bool, rng: np.random.Generator) -> None:
    system = around(2, ["Ball"])
    q, v, _ = state(system, rng)
    ends = [
        system.rollout(q, v, None, 0.02 / n, steps=n, every=n, integrator=integrator, projected=projected)
        for n in (2, 4, 16)
    ]
    errors = [np.abs(system.difference(ends[2].q[-1], end.q[-1])).max() for end in ends[:2]]
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.5 if order < 4 else 0.6)


def hinged(**details: float) -> tuple[catena.System, np.ndarray]:
    """A planar four-bar with a hinge at its end, of which three rows are redundant; and a closed configuration."""
    builder = catena.Builder("bars")
    for i, (parent, reach) in enumerate((("base", 0.0), ("link0", 1.0), ("link1", 2.0))):
        builder.link(f"link{i}", mass=1.0 + i, com=(0.5, 0.1, 0), inertia=(0.1, 0.2, 0.3))
        builder.revolute(f"joint{i}", parent, f"link{i}", "z", position=(reach, 0, 0), **details)
    pin = catena.Hinge("world", "bars/link2", axis="z", position=(2.2, 0, 0), second_position=(1.5, 0, 0))
    system = catena.System([builder.build()], constraints=[pin], gravity=(0, -9.81, 0))
    return system, system.close([1.0, -0.8, -1.2])


@pytest.mark.parametrize("integrator", ["semi_implicit", "midpoint", "rk4"])
def test_compiled_steps_are_those_by_singular_values(integrator: str, rng: np.random.Generator) -> None:
    """Steps of many links decide which constraints are redundant, compiled ones need not."""
    system, q = hinged(damping=0.3, stiffness=5.0, rest=0.1)
    assert system.redundancy(q)[:3] == (2, 5, 1)
    v, tau = system.project_velocity(q, rng.standard_normal(3)), rng.standard_normal(3)
    push, gains = {"bars/link1": rng.standard_normal(6)}, (100.0, 20.0)
    for projected in (True, False):
        how = {"integrator": integrator, "joint_losses": True, "projected": projected}
        mine = system.step(q, v, tau, 1e-4, push, gains, **how)
        theirs = system.step(q, v, tau, 1e-4, push, gains, **how, kernel="rolled")
        assert relative(mine.q, theirs.q) < 1e-13
        assert relative(mine.v, theirs.v) < 1e-10


def test_friction_sticks_and_limits_hold_in_loops() -> None:
    system, q = hinged(friction=50.0)
    stuck = system.rollout(q, np.zeros(3), None, 1e-3, steps=200, joint_losses=True)
    assert np.abs(stuck.q[-1] - q).max() < 1e-5
    assert set(stuck.memory) == {"bristles", "gained"}
    free = system.rollout(q, np.zeros(3), None, 1e-3, steps=200)
    assert np.abs(free.q[-1] - q).max() > 0.01
    system, q = hinged(lower=-2.0, upper=1.5)
    held = system.rollout(q, np.zeros(3), None, 1e-3, steps=2000, joint_limits=True, joint_losses=True, every=10)
    assert (held.q > -2.1).all()
    assert held.constraint_drift().max() < 1e-10
    with pytest.raises(catena.UnsupportedError, match="up to 60 links"):
        system.step(q, np.zeros(3), np.zeros(3), 1e-3, integrator="linearly_implicit", kernel="rolled")


def test_dask_and_given_arrays_serve_systems(bar: catena.System) -> None:
    dask = pytest.importorskip("dask.array")
    q, v = np.tile(bar.close([-1.0, 0.3, -1.2]), (4, 1)), np.zeros((4, 3))
    run = bar.rollout(q, v, None, 1e-3, steps=5)
    lazy = bar.rollout(dask.from_array(q, chunks=(2, 3)), v, None, 1e-3, steps=5)
    assert np.array_equal(lazy.q.compute(), run.q)
    out = np.empty((4, 6, 3)), np.empty((4, 6, 3))
    assert bar.rollout(q, v, None, 1e-3, steps=5, out=out).q is out[0]
    assert np.array_equal(out[0], run.q)


def test_rollouts_are_steps_and_samples_do_not_touch(rng: np.random.Generator) -> None:
    system = around(2, ["Ball"])
    q, v, tau = (np.stack(x) for x in zip(*[state(system, rng) for _ in range(2)], strict=True))
    run = system.rollout(q, v, np.stack([tau, -tau], axis=1), 1e-3)
    assert run.q.shape == (2, 3, system.nq)
    step = system.step(q[1], v[1], tau[1], 1e-3)
    assert relative(run.q[1, 1], step.q) < 1e-13
    assert relative(run.v[1, 1], step.v) < 1e-12
    assert np.abs(system.closure_residual(run.q)).max() < 1e-12
    assert np.abs(system.constraint_rates(run.q[:, 1:], run.v[:, 1:])).max() < 1e-10
    q[0] = np.nan
    with pytest.warns(catena.DivergenceWarning):
        bad = system.rollout(q, v, np.stack([tau, -tau], axis=1), 1e-3)
    assert bad.diverged.tolist() == [True, False]
    assert np.array_equal(bad.q[1], run.q[1])
    assert system.rollout(q[:0], v[:0], None, 1e-3, steps=2).q.shape == (0, 3, system.nq)


def test_controllers_events_and_costs(bar: catena.System) -> None:
    q = bar.close([-1.0, 0.3, -1.2])

    def brake(t, q, v, parameters):  # type: ignore[no-untyped-def]
        return -0.05 * v * np.array([1.0, 0.0, 0.0])

    run = catena.simulate(
        bar, q, np.zeros(3), duration=0.2, dt=1e-3, control=brake, events={"fast": lambda t, q, v: v[..., 0] - 1.0}
    )
    assert run.events[0].name == "fast"
    assert run.energy()[-1] < run.energy()[0]
    assert run.tau is not None
    assert run.tau.shape == (200, 3)
    cost = bar.rollout(q, np.zeros(3), None, 1e-3, steps=3, cost=lambda t, q, v, p, tau: v[..., 0] ** 2).cost
    assert cost > 0
    assert pickle.loads(pickle.dumps(run)).robot == bar


@pytest.mark.parametrize("kind", [*KINDS, "FixedToWorld", "Coupling"])
def test_constraints_are_made_again_from_their_words(kind: str) -> None:
    made = getattr(catena, kind)
    place = {"position": (0.1, 0.2, 0.3), "rotation": (0.3, 0.4, 0.5), "name": "held"}
    if kind == "Coupling":
        given = made({"a": (1.0, 0.3), "b": -2.0}, 0.4)
    elif kind == "FixedToWorld":
        given = made("tool", **place)
    else:
        given = made("a", "b", **KINDS[kind], **place, second_rotation=(0.6, 0.1, 0.2))
    again = made(**given.arguments())
    assert (again.name, again.content()) == (given.name, given.content())


def test_runs_are_kept_in_files_and_go_on(bar: catena.System, tmp_path: Path) -> None:
    q, path = bar.close([-1.0, 0.3, -1.2]), tmp_path / "run.npz"
    rotation = bar.placement(q, "coupler")[0]
    more = bar.with_constraints([*bar.constraints, catena.PointOnPlane("world", "coupler", "y", rotation=rotation.T)])
    for system in (bar, more):
        run = system.rollout(q, np.zeros(3), None, 1e-3, steps=20, joint_losses=True)
        run.save(path)
        again = catena.load_run(path)
        assert again.robot == system
        assert np.array_equal(again.q, run.q)
        assert np.array_equal(again.robot.rollout(q, np.zeros(3), None, 1e-3, steps=20, joint_losses=True).q, run.q)
    how = {"dt": 1e-3, "every": 10}
    whole = catena.simulate(bar, q, np.zeros(3), 0.2, **how)
    half = catena.simulate(bar, q, np.zeros(3), 0.1, **how, checkpoint=tmp_path / "c.npz")
    assert half.t[-1] == pytest.approx(0.1)
    assert np.array_equal(catena.simulate(bar, q, np.zeros(3), 0.2, **how, checkpoint=tmp_path / "c.npz").q, whole.q)
    with pytest.raises(catena.LoadError, match="of another"):
        catena.simulate(more, q, np.zeros(3), 0.2, **how, checkpoint=tmp_path / "c.npz")


def test_wrenches_that_change_act(bar: catena.System) -> None:
    q, push = bar.close([-1.0, 0.3, -1.2]), np.array([0.0, 0, 0, 1.0, 0, 2.0])

    def wrenches(t, q, v, parameters):  # type: ignore[no-untyped-def]
        return {"coupler": push}

    how = {"steps": 3, "integrator": "midpoint"}
    held = bar.rollout(q, np.zeros(3), None, 1e-3, f_ext={"coupler": push}, **how)
    asked = bar.rollout(q, np.zeros(3), None, 1e-3, f_ext=wrenches, **how)
    assert relative(asked.q, held.q) < 1e-13
    assert np.abs(held.q - bar.rollout(q, np.zeros(3), None, 1e-3, **how).q).max() > 1e-8


def test_gains_hold_loops_without_projection(bar: catena.System) -> None:
    q = bar.close([-1.0, 0.3, -1.2])
    how = {"duration": 1.5, "dt": 3e-3, "projected": False}
    free = catena.simulate(bar, q, np.zeros(3), **how)
    held = catena.simulate(bar, q, np.zeros(3), **how, gains=(2500.0, 100.0))
    assert held.constraint_drift()[-1] < 0.1 * free.constraint_drift()[-1]


def test_springs_and_losses_act_as_on_a_robot(rng: np.random.Generator) -> None:
    builder = catena.Builder("bars")
    for i, parent in enumerate(("base", "link0", "link1")):
        builder.link(f"link{i}", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.03))
        builder.revolute(
            f"joint{i}", parent, f"link{i}", "y", position=(0.2, 0, 0), damping=0.3, stiffness=5.0, rest=0.1
        )
    robot = builder.build()
    system = catena.System([robot])
    q, v, tau = rng.standard_normal((3, 3))
    for integrator in ("semi_implicit", "midpoint", "rk4"):
        mine = system.step(q, v, tau, 1e-2, integrator=integrator, joint_losses=True)
        theirs = robot.step(q, v, tau, 1e-2, integrator=integrator, joint_losses=True)
        assert relative(mine.q, theirs.q) < 1e-13
        assert relative(mine.v, theirs.v) < 1e-13


def test_rigid_systems_are_refused(bar: catena.System) -> None:
    q = bar.close([-1.0, 0.3, -1.2])
    rotation, position = bar.placement(q, "crank")
    rigid = bar.with_constraints([*bar.constraints, catena.FixedToWorld("crank", position, rotation)])
    with pytest.raises(catena.ModelError, match="rigid: 'pin', 'FixedToWorld crank'"):
        catena.simulate(rigid, q, np.zeros(3), duration=0.1, dt=1e-2)
    a, forces = rigid.forward_dynamics(q, np.zeros(3), np.zeros(3))
    assert np.abs(a).max() < 1e-9
    assert np.isfinite(forces).all()


def test_what_cannot_be_served_is_said(bar: catena.System) -> None:
    q, v = bar.neutral(), np.zeros(3)
    for integrator in ("adaptive", "variational"):
        with pytest.raises(catena.UnsupportedError, match="integrator of a System"):
            catena.simulate(bar, q, v, duration=0.1, dt=1e-2, integrator=integrator)
    with pytest.raises(catena.UnsupportedError, match="innovations"):
        catena.simulate(bar, q, v, duration=0.1, dt=1e-2, method="udu")
    with pytest.raises(catena.UnsupportedError, match="a Robot has none"):
        catena.simulate(bar.forest, q, v, duration=0.1, dt=1e-2, gains=(1.0, 1.0))
    with pytest.warns(catena.DivergenceWarning, match="'pin' is off by"):
        bar.rollout([0.0, 3.0, 0.0], v, None, 1e-4, steps=1)
