"""Closed chains beside dense equations solved with 50 digits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_systems import CLOSED_MODELS, KINDS, around, closed_model, exact, ladder, looped, near, state
from tests.mechanisms import relative

import catena


@pytest.mark.parametrize("kind", KINDS)
def test_two_arms_hold_a_box_in_every_way(kind: str, rng: np.random.Generator) -> None:
    system = around(2, [kind])
    q, v, tau = state(system, rng)
    expected = exact(system, q, v, tau)
    for shape in ("unrolled", "rolled"):
        a, forces = system.forward_dynamics(q, v, tau, kernel=shape)
        assert relative(a, expected) < 1e-10, shape
        assert forces.shape == (2, 6)


def test_three_arms_hold_a_box_each_in_its_own_way(rng: np.random.Generator) -> None:
    system = around(3, ["Weld", "SoftFinger", "PointWithFriction"])
    q, v, tau = state(system, rng)
    expected = exact(system, q, v, tau)
    for shape in ("unrolled", "rolled"):  # the second in the 6x6 form
        assert relative(system.forward_dynamics(q, v, tau, kernel=shape).a, expected) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_three_arms_hold_a_box_in_every_way(kind: str, rng: np.random.Generator) -> None:
    system = around(3, [kind])
    q, v, tau = state(system, rng)
    assert relative(system.forward_dynamics(q, v, tau, kernel="rolled").a, exact(system, q, v, tau)) < 1e-10


@pytest.mark.parametrize("kind", ["Weld", "FrictionlessPoint", "PointWithFriction", "SoftFinger"])
def test_ten_arms_hold_a_box_by_every_contact(kind: str, rng: np.random.Generator) -> None:
    system = around(10, [kind])
    q, v, tau = state(system, rng, 0.3)
    assert relative(system.forward_dynamics(q, v, tau).a, exact(system, q, v, tau)) < 1e-10


@pytest.mark.parametrize("name", CLOSED_MODELS)
def test_closed_models(name: str, rng: np.random.Generator) -> None:
    pytest.importorskip("mujoco")
    system = closed_model(name)
    q = near(system, CLOSED_MODELS[name](system), 0.1, rng)
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    assert relative(system.forward_dynamics(q, v, tau).a, exact(system, q, v, tau)) < 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_with_loops_of_all_kinds(seed: int, rng: np.random.Generator) -> None:
    kinds = list(KINDS)
    system, q = looped(seed, 7, kinds[2 * seed : 2 * seed + 2])
    v, tau = system.project_velocity(q, rng.standard_normal(system.nv)), rng.standard_normal(system.nv)
    expected = exact(system, q, v, tau)
    a, forces = system.forward_dynamics(q, v, tau, kernel="rolled" if seed % 2 else "unrolled")
    assert relative(a, expected) < 1e-9
    assert np.isfinite(forces).all()


def test_an_arm_that_is_singular_does_not_spoil_the_others(rng: np.random.Generator) -> None:
    system = around(3, ["Weld"])
    q, v, tau = system.random_configuration(rng, (4,)), *rng.standard_normal((2, 4, system.nv))
    q[1, :6] = 0.0  # a stretched arm: fewer directions than its grasp holds
    q[2, 6:12] = 1e-6
    found = [system.forward_dynamics(q, v, tau, kernel=shape) for shape in ("unrolled", "rolled")]
    assert relative(found[0].a, found[1].a) < 1e-9
    J, bias, M = system.constraint_jacobian(q), system.constraint_bias(q, v), system.mass_matrix(q).dense()
    for each in range(4):
        K = np.block([[M[each], -J[each].T], [J[each], np.zeros((18, 18))]])
        right = np.r_[tau[each] - system.forest.bias(q[each], v[each]), -bias[each]]
        assert relative(found[1].a[each], np.linalg.lstsq(K, right, rcond=1e-14)[0][: system.nv]) < 1e-8


def test_ten_arms_hold_a_box_in_all_ways(rng: np.random.Generator) -> None:
    system = around(10, list(KINDS))
    q, v, tau = state(system, rng, 0.3)
    assert relative(system.forward_dynamics(q, v, tau).a, exact(system, q, v, tau)) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_forces_on_the_open_trees_do_what_constraints_do(kind: str, rng: np.random.Generator) -> None:
    system = around(2, [kind])
    q, v, tau = (np.stack(x) for x in zip(*[state(system, rng) for _ in range(3)], strict=True))
    a, forces = system.forward_dynamics(q, v, tau)
    wrenches = {"box": forces.sum(axis=1)}
    for i, constraint in enumerate(system.constraints):
        first, second = (system.placement(q, side.frame) for side in constraint.sides)
        R = np.swapaxes(first.rotation, -1, -2) @ second.rotation
        arm = np.swapaxes(first.rotation, -1, -2) @ (second.position - first.position)[..., None]
        moment, force = (R @ part[..., None] for part in (forces[:, i, :3], forces[:, i, 3:]))
        moment = moment[..., 0] + np.cross(arm[..., 0], force[..., 0])
        wrenches[constraint.sides[0].frame] = -np.concatenate([moment, force[..., 0]], axis=-1)
    assert relative(system.forest.forward_dynamics(q, v, tau, wrenches), a) < 1e-10


def test_redundant_constraints_give_the_same_motion_and_the_least_forces(rng: np.random.Generator) -> None:
    once = around(2, ["Ball"])
    first = once.constraints[0]
    again = [
        catena.Ball(
            first.sides[0].frame,
            "box",
            second_position=first.sides[1].position,
            second_rotation=first.sides[1].rotation,
            name=name,
        )
        for name in ("again", "and again")
    ]
    system = once.with_constraints([*once.constraints, *again])
    q, v, tau = state(once, rng)
    expected, single = once.forward_dynamics(q, v, tau)
    for shape in ("unrolled", "rolled"):
        a, forces = system.forward_dynamics(q, v, tau, kernel=shape)
        assert relative(a, expected) < 1e-9
        assert relative(forces[[0, 2, 3]], np.repeat(single[:1] / 3, 3, axis=0)) < 1e-7
    found = system.redundancy(q)
    assert found.groups == ((first.name, "again", "and again"),)
    assert (found.rank, found.rows, found.freedom) == (6, 12, once.nv - 6)


def test_a_rigid_system_does_not_move(rng: np.random.Generator) -> None:
    robot = catena.rod_chain(2)
    tip = robot.links[-1].name
    q = robot.random_configuration(rng)
    rotation, position = robot.placement(q, tip)
    held = catena.FixedToWorld(f"{robot.name}/{tip}", position, rotation)
    system = catena.System([robot], constraints=[held])
    a, _ = system.forward_dynamics(q, np.zeros(2), rng.standard_normal(2))
    assert np.abs(a).max() < 1e-9
    assert system.redundancy(q).freedom == 0


def test_gains_bring_errors_to_rest(rng: np.random.Generator) -> None:
    system = around(2, ["Hinge"])
    q, v, tau = state(system, rng)
    q, v = system.integrate(q, 0.1 * rng.standard_normal(system.nv)), v + rng.standard_normal(system.nv)
    e, rate = system.closure_residual(q), system.constraint_rates(q, v)
    J, bias = system.constraint_jacobian(q), system.constraint_bias(q, v)
    for shape in ("unrolled", "rolled"):
        a, _ = system.forward_dynamics(q, v, tau, gains=(100.0, 20.0), kernel=shape)
        assert relative(J @ a + bias, -100 * e - 20 * rate) < 1e-10
        pushed, _ = system.forward_dynamics(q, v, tau, {"box": np.ones(6)}, (100.0, 20.0), kernel=shape)
        assert relative(J @ pushed + bias, -100 * e - 20 * rate) < 1e-10
        assert np.abs(pushed - a).max() > 0.1


def test_loops_inside_one_tree_and_couplings(rng: np.random.Generator) -> None:
    tree = catena.random_tree(11, 9, ["revolute", "spherical", "prismatic"], 0.6, base="floating")
    names = [f"{tree.name}/{link.name}" for link in tree.links]
    turning = [f"{tree.name}/{j.name}" for j in tree.joints if j.type == "revolute"]
    q, v, tau = tree.random_configuration(rng), rng.standard_normal(tree.nv), rng.standard_normal(tree.nv)
    placed = {n: tree.placement(q, n.partition("/")[2]) for n in names}

    def closed(kind: type, first: str, second: str, **more):  # as the two frames are at q
        (R, p), (S, r) = placed[first], placed[second]
        return kind(first, second, position=R.T @ (r - p), rotation=R.T @ S, **more)

    held = [closed(catena.Ball, names[3], names[7]), closed(catena.Universal, names[2], names[8])]
    system = catena.System([tree], constraints=[*held, catena.Coupling({turning[0]: 1.0, turning[1]: (-2.0, 0.3)})])
    coupled = system.closure_residual(q)
    assert np.abs(coupled[:-1]).max() < 1e-12
    v = system.project_velocity(q, v)
    a, _ = system.forward_dynamics(q, v, tau)
    h = 1e-5
    at = {s: system.integrate(system.integrate(q, s * v), s * s / 2 * a) for s in (h, -h)}
    ahead, behind = (system.constraint_rates(at[s], v + s * a) for s in (h, -h))
    assert np.abs(ahead - behind).max() / (2 * h) < 1e-4
    M, b, J = system.mass_matrix(q), system.forest.bias(q, v), system.constraint_jacobian(q)
    left = M @ a - tau + b
    assert np.abs(left - J.T @ np.linalg.lstsq(J.T, left, rcond=None)[0]).max() < 1e-9
    assert relative(system.forward_dynamics(q, v, tau, kernel="rolled").a, a) < 1e-10


def test_many_small_loops_are_solved_sparsely(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    system, q = ladder(17)
    q = system.close(q + 0.02 * rng.standard_normal(system.nv))
    q, tau = np.stack([q, np.full_like(q, np.nan)]), rng.standard_normal(system.nv)
    v = system.project_velocity(q, rng.standard_normal(system.nv))
    a, forces = system.forward_dynamics(q, v, tau, kernel="rolled")
    assert np.isfinite(a).all(axis=1).tolist() == [True, False]
    J, bias, M = system.constraint_jacobian(q[0]), system.constraint_bias(q[0], v[0]), system.mass_matrix(q[0])
    assert np.abs(J @ a[0] + bias).max() < 1e-11 * np.abs(a[0]).max()
    left = M @ a[0] - tau + system.forest.bias(q[0], v[0])
    assert np.abs(left - J.T @ np.linalg.lstsq(J.T, left, rcond=1e-12)[0]).max() < 1e-9 * np.abs(left).max()
    monkeypatch.setattr("catena.functions.closure_recipes.MANY", 1000)
    together = system.forward_dynamics(q, v, tau, kernel="rolled")
    assert relative(a[0], together.a[0]) < 1e-10
    assert relative(forces[0], together.forces[0]) < 1e-7
