"""Meeting constraints: configurations, velocities, impacts; torques and squeezing forces."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_systems import around, state
from tests.mechanisms import relative

import catena


@pytest.fixture(scope="module")
def grasp() -> catena.System:
    return around(2, ["Weld"])


def test_guesses_are_closed_in_batches(grasp: catena.System, rng: np.random.Generator) -> None:
    guess = np.stack([state(grasp, rng)[0] for _ in range(4)]).reshape(2, 2, -1)
    guess = grasp.integrate(guess, 0.1 * rng.standard_normal((2, 2, grasp.nv)))
    before = guess.copy()
    q = grasp.close(guess)
    assert np.array_equal(guess, before)
    assert np.abs(grasp.closure_residual(q)).max() < 1e-10
    assert np.abs(grasp.difference(guess, q)).max() < 1.0
    held = grasp.close(guess, fixed=["arm0/joint0", 1])
    assert np.array_equal(held[..., :2], guess[..., :2])
    assert grasp.close(guess[:0]).shape == (0, 2, grasp.nq)


def test_what_cannot_close_says_what_and_by_how_much() -> None:
    rods = catena.rod_chain(2)
    tip = f"{rods.name}/{rods.links[-1].name}"
    far = catena.System([rods], constraints=[catena.Ball(tip, "world", second_position=(5.0, 0, 0), name="anchor")])
    reach = np.linalg.norm(rods.placement([0.0, 0.0], rods.links[-1].name).position)
    with pytest.raises(catena.ClosureError, match=r"2 of 2 samples: 'anchor' is off by .* m") as caught:
        far.close([[0.1, 0.2], [0.3, -0.1]])
    assert caught.value.constraint == "anchor"
    assert caught.value.error == pytest.approx(5.0 - reach, rel=1e-3)
    assert caught.value.failed.all()
    assert caught.value.q.shape == (2, 2)


def test_what_contradicts_each_other_is_named() -> None:
    rods = catena.rod_chain(3)
    tip = f"{rods.name}/{rods.links[-1].name}"
    held = [catena.Ball("world", tip, (0.2, 0, 0), name="here"), catena.Ball("world", tip, (0.3, 0, 0), name="there")]
    with pytest.raises(catena.ClosureError, match=r"same directions as '(here|there)'"):
        catena.System([rods], constraints=held).close([0.1, 0.2, 0.3])


def test_projected_velocities_are_nearest_in_energy(grasp: catena.System, rng: np.random.Generator) -> None:
    q, v, _ = state(grasp, rng)
    w = rng.standard_normal(grasp.nv)
    kept = grasp.project_velocity(q, w)
    assert np.abs(grasp.constraint_rates(q, kept)).max() < 1e-10
    assert relative(grasp.project_velocity(q, kept), kept) < 1e-10
    assert abs((w - kept) @ (grasp.mass_matrix(q) @ v)) < 1e-9  # the change is orthogonal to motions that are kept


def test_impacts_conserve_momentum_along_motions_that_are_kept(grasp: catena.System, rng: np.random.Generator) -> None:
    q, kept, blow = state(grasp, rng)
    v = rng.standard_normal(grasp.nv)
    change, impulses = grasp.impact(q, v, blow)
    assert np.abs(grasp.constraint_rates(q, v + change)).max() < 1e-9
    assert kept @ (grasp.mass_matrix(q) @ change) == pytest.approx(kept @ blow, abs=1e-9)
    assert impulses.shape == (2, 6)
    assert relative(grasp.impact(q, v).change, grasp.project_velocity(q, v) - v) < 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_torques_cause_the_motion_and_are_least(grasp: catena.System, rng: np.random.Generator, weighted: bool) -> None:
    q, v, tau = (np.stack(x) for x in zip(*[state(grasp, rng) for _ in range(2)], strict=True))
    tau[:, 12:] = 0
    weights = np.linspace(1, 3, grasp.nv) if weighted else np.ones(grasp.nv)
    a, _ = grasp.forward_dynamics(q, v, tau)
    found, forces = grasp.inverse_dynamics(q, v, a, weights=weights)
    again = grasp.forward_dynamics(q, v, found)
    assert relative(again.a, a) < 1e-9
    assert not found[:, 12:].any()
    assert (weights * found**2).sum() <= (weights * tau**2).sum()
    assert forces.shape == (2, 2, 6)
    assert relative(forces, again.forces) < 1e-7
    J = grasp.constraint_jacobian(q)
    for i in range(2):  # what changes no motion is orthogonal to least torques
        idle = np.linalg.svd(J[i].T @ np.linalg.svd(J[i][:, 12:].T)[2][6:].T, full_matrices=False)[0]
        assert np.abs(idle.T @ (weights * found[i])).max() < 1e-8 * np.abs(found).max() + 1e-8


def test_few_motors_and_impossible_motions(grasp: catena.System, rng: np.random.Generator) -> None:
    q, v, _ = state(grasp, rng)
    a, _ = grasp.forward_dynamics(q, v, np.r_[rng.standard_normal(12), np.zeros(6)])
    six = [f"arm0/joint{i}" for i in range(6)]
    tau, _ = grasp.inverse_dynamics(q, v, a, actuated=six)
    assert not tau[6:].any()
    assert relative(grasp.forward_dynamics(q, v, tau).a, a) < 1e-8
    unknown = grasp.inverse_dynamics([q, np.r_[np.nan, q[1:]]], v, a, actuated=six).tau
    assert np.isnan(unknown[1]).all()
    assert np.array_equal(unknown[0], tau)
    with pytest.raises(catena.CatenaError, match="cannot cause these accelerations"):
        grasp.inverse_dynamics(q, v, a, actuated=six[:3])
    with pytest.raises(catena.CatenaError, match="break the constraint 'Weld arm"):
        grasp.inverse_dynamics(q, v, a + 1.0)
    with pytest.raises(catena.CatenaError, match="positive numbers"):
        grasp.inverse_dynamics(q, v, a, weights=-np.ones(grasp.nv))


def test_internal_forces_squeeze_and_do_not_move(grasp: catena.System, rng: np.random.Generator) -> None:
    q, v, tau = state(grasp, rng)
    _, forces = grasp.forward_dynamics(q, v, tau)
    inner = grasp.internal_forces(q, forces, "box")
    assert np.abs(inner.sum(axis=0)).max() < 1e-9  # both act on the box's own frame: nothing is left of them
    assert np.abs(inner).max() > 1e-3
    assert relative(grasp.internal_forces(q, inner, "box"), inner) < 1e-9
    assert np.abs(grasp.internal_forces(q, forces - inner, "box")).max() < 1e-9
    with pytest.raises(catena.ModelError, match="moves freely"):
        grasp.internal_forces(q, forces, "arm0/tool")


def test_samples_that_are_no_numbers_spoil_no_others(grasp: catena.System, rng: np.random.Generator) -> None:
    q, v, tau = state(grasp, rng)
    tau[12:] = 0
    batch = np.stack([q, np.full_like(q, np.nan), q])
    for kernel in ("unrolled", "rolled"):
        a, forces = grasp.forward_dynamics(batch, v, tau, kernel=kernel)
        assert np.isfinite(a).all(axis=1).tolist() == [True, False, True]
        assert np.isfinite(forces).all(axis=(1, 2)).tolist() == [True, False, True]
    torques, _ = grasp.inverse_dynamics(batch, v, np.nan_to_num(a))
    assert np.isfinite(torques).all(axis=1).tolist() == [True, False, True]
    assert np.isfinite(grasp.internal_forces(batch, forces, "box")).all(axis=(1, 2)).tolist() == [True, False, True]
    with pytest.raises(catena.ClosureError, match="1 of 3 samples") as caught:
        grasp.close(batch)
    assert caught.value.failed.tolist() == [False, True, False]
    with pytest.raises(catena.ShapeError, match="one configuration"):
        grasp.redundancy(batch)


def test_single_precision_tells_redundant_constraints_too(rng: np.random.Generator) -> None:
    pytest.importorskip("mujoco")
    bar = catena.System.load(catena.robots.path("four_bar"))
    q = bar.close([-1.0, 0.3, -1.2])
    v = bar.project_velocity(q, rng.standard_normal(3))
    a, forces = bar.forward_dynamics(q, v, [1.0, 0, 0], dtype=np.float32)
    expected = bar.forward_dynamics(q, v, [1.0, 0, 0])
    assert relative(a, expected.a) < 1e-4
    assert relative(forces, expected.forces) < 1e-4


@pytest.mark.parametrize("name", ["four_bar", "delta_robot"])
def test_bundled_loops_close_from_the_neutral_pose(name: str) -> None:
    """Stretched or folded there, so that Newton's steps alone lead nowhere."""
    system = catena.System.load(name)
    q = system.close(system.neutral())
    assert np.abs(system.closure_residual(q)).max() <= 1e-10
    assert np.array_equal(q, system.close(system.neutral()))


def test_numbers_that_are_rounded_are_told_from_loops_that_cannot_close() -> None:
    bar = catena.Builder("bar").link("rod", mass=1.0, inertia=(0.1, 0.1, 0.1)).revolute("turn", "base", "rod", "z")
    for radius, said in ((1.0 + 3e-8, "tolerance="), (1.5, "can be met at all")):
        held = [catena.Distance("bar/rod", "world", radius, position=(1.0, 0.0, 0.0))]
        with pytest.raises(catena.ClosureError, match=said):
            catena.System({"bar": bar.build()}, constraints=held).close([0.3])


@pytest.mark.parametrize("scale", [1.0, 1e-8])
def test_rows_that_rounding_leaves_do_not_count(scale: float) -> None:
    """A four-bar on a turntable: across its plane nothing moves, in whatever unit lengths are given."""
    builder = catena.Builder("bars")
    bar = {"mass": 1.0, "com": (0.3 * scale, 0.0, 0.0), "inertia": np.array([0.01, 0.02, 0.03]) * scale**2}
    builder.link("table", **bar).revolute("turn", "base", "table", "z", position=(0.3 * scale, 0.2 * scale, 0.0))
    at = {"left": ("table", (0.1, 0.2, 0.3)), "top": ("left", (0.7, 0.0, 0.0)), "right": ("table", (1.1, 0.2, 0.3))}
    for name, (parent, position) in at.items():
        builder.link(name, **bar).revolute(f"at {name}", parent, name, "y", position=np.array(position) * scale)
    places = {"position": (scale, 0, 0), "second_position": (0.6 * scale, 0, 0)}
    system = catena.System([builder.build()], constraints=[catena.Ball("bars/top", "bars/right", **places)])
    q = system.close(np.array([0.7, -1.2, 1.0, -1.5]), fixed=["bars/turn"], tolerance=1e-12 * scale)
    found = system.redundancy(q)
    assert (found.rank, found.freedom) == (2, 2)
    if scale == 1.0:
        run = catena.simulate(system, q, np.zeros(system.nv), duration=0.01, dt=1e-3)
        assert np.isfinite(run.q).all()


FOUR_BAR = catena.robots.path("four_bar").read_text()


def test_messages_tell_what_cannot_be_met_from_a_guess_that_is_far_and_from_few_digits() -> None:
    lengths = FOUR_BAR.replace('pos="0.4 0 0"/>', 'pos="0.05 0 0"/>').replace('pos="0.3 0 0"/>', 'pos="0.1 0 0"/>')
    short = catena.System.load(lengths.encode())  # bars of 0.15, 0.05 and 0.1 m between pins 0.4 m apart
    bar = catena.System.load("four_bar")
    delta = catena.System.load("delta_robot")
    q = delta.neutral()
    place = delta.joint("platform_motion").q_slice
    q[place.start + 2] = -0.5
    for closing, said in (
        (lambda: short.close([-0.5, 0.3, -2.0]), "whether it can be met at all"),
        (lambda: bar.close([2.0, 2.5, 0.5], steps=1), "the guess is far away"),
        (lambda: delta.close(q, fixed=["platform_motion"]), r"rounded numbers: tolerance=\de-0[67] "),
    ):
        with pytest.raises(catena.ClosureError, match=said):
            closing()
    held = delta.close(q, fixed=["platform_motion"], tolerance=1e-6)
    assert np.array_equal(held[place], q[place])
    assert np.abs(delta.closure_residual(held)).max() < 1e-6
