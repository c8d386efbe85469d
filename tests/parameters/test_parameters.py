"""Robots with other numbers: as inputs of kernels, as records, as new robots."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.algorithms.energy import GRAVITY_TORQUE, KINETIC_ENERGY, POTENTIAL_ENERGY
from catena.algorithms.joint_losses import JOINT_LOSSES, with_acting
from catena.functions import engine
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX

SAMPLES = 3


def sets_for(robot: catena.Robot, seed: int = 1) -> catena.Parameters:
    """Different robots, each under its own gravity."""
    rng = np.random.default_rng(seed)
    drawn = catena.randomize(robot, rng, 0.3, SAMPLES)
    names = "armature", "damping", "friction", "stiffness", "rest"
    extra = {name: rng.uniform(0.1, 1.0, (SAMPLES, robot.nv)) for name in names}
    return drawn.replace(gravity=rng.standard_normal((SAMPLES, 3)), **extra)


def reference(robot: catena.Robot, sets: catena.Parameters, function: Any, *arrays: np.ndarray) -> np.ndarray:
    """Robots built from the same numbers, one by one, by the readable reference."""
    found = []
    for i in range(SAMPLES):
        tree = robot.with_parameters(sets[i]).tree
        values = dict(zip(function.inputs, [x[i] for x in arrays], strict=False))
        found.append(next(iter(engine.evaluate(tree, function, values).values())).astype(float))
    return np.array(found)


def state(robot: catena.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng, SAMPLES), *rng.standard_normal((2, SAMPLES, robot.nv))


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("name", ["sliding chain", "tree of all joint types", "floating tree", "one link"])
def test_dynamics_of_many_robots_in_one_batch(name: str, kernel: str) -> None:
    robot = ALL[name]()
    sets, (q, v, u) = sets_for(robot), state(robot)
    options: dict[str, Any] = {"joint_losses": True, "joint_springs": True, "kernel": kernel, "parameters": sets}
    inverse, forward = (with_acting(f, True, True) for f in (INVERSE_DYNAMICS, FORWARD_DYNAMICS["innovations"]))
    tau = reference(robot, sets, inverse, q, v, u)
    assert relative(robot.inverse_dynamics(q, v, u, **options), tau) < 1e-13
    assert relative(robot.forward_dynamics(q, v, tau, **options), u) < 1e-11
    a = reference(robot, sets, forward, q, v, u)
    assert relative(robot.forward_dynamics(q, v, u, **options), a) < 1e-12


def test_leading_dimensions_differ_from_array_to_array() -> None:
    """Loops make matrices column by column; what each array is broadcast by must not depend on the others."""
    robot = ALL["sliding chain"]()
    sets, (q, v, tau) = sets_for(robot).vector, state(robot)
    dt = np.array([[1e-3], [2e-3], [3e-3]])
    for arrays in (
        (q[0], v[0], tau[0], sets[0]),
        (q, v[None], tau, sets),
        (q[0], v, tau[0], sets),
        (q, v[0], tau[:, None], sets[1]),
    ):
        *given, parameters = arrays
        for ask in (
            partial(robot.linearize, dt=dt),
            partial(robot.linearize, dt=0.01),
            robot.forward_dynamics_derivatives,
        ):
            straight, loops = (ask(*given, parameters=parameters, kernel=kernel) for kernel in ("unrolled", "rolled"))
            for x, y in zip(straight, loops, strict=True):
                assert x.shape == y.shape
                assert relative(y, x) < 1e-10


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_energies_bias_and_mass_matrix(kernel: str) -> None:
    robot = ALL["floating tree"]()
    sets, (q, v, _) = sets_for(robot), state(robot)
    asked = {"parameters": sets.vector, "kernel": kernel}
    assert relative(robot.bias(q, v, **asked), reference(robot, sets, BIAS, q, v)) < 1e-13
    assert relative(robot.kinetic_energy(q, v, **asked), reference(robot, sets, KINETIC_ENERGY, q, v)) < 1e-13
    assert relative(robot.potential_energy(q, **asked), reference(robot, sets, POTENTIAL_ENERGY, q)) < 1e-13
    assert relative(robot.gravity_torque(q, **asked), reference(robot, sets, GRAVITY_TORQUE, q)) < 1e-13
    assert relative(robot.joint_losses(v, **asked), reference(robot, sets, JOINT_LOSSES, v)) < 1e-13
    M = reference(robot, sets, MASS_MATRIX, q)
    assert relative(robot.mass_matrix(q, **asked).dense(), M) < 1e-13


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("method", ["innovations", "udu", "dense"])
def test_mass_matrix_of_one_configuration_and_many_robots(method: str, kernel: str) -> None:
    robot = catena.random_tree(2, 4, ["revolute", "prismatic"], 0.3)
    sets, (q, x, _) = sets_for(robot), state(robot)
    M = robot.mass_matrix(q[0], method, parameters=sets, kernel=kernel)
    dense = reference(robot, sets, MASS_MATRIX, np.broadcast_to(q[0], q.shape))
    assert M.shape == dense.shape
    assert relative(M @ x, np.einsum("sij,sj->si", dense, x)) < 1e-13
    assert relative(M.solve(x), np.linalg.solve(dense, x[..., None])[..., 0]) < 1e-11
    assert relative(M.logdet(), np.linalg.slogdet(dense)[1]) < 1e-12
    assert relative(M.inv(), np.linalg.inv(dense)) < 1e-11
    root = np.stack([M.sqrt_times(np.broadcast_to(e, x.shape)) for e in np.eye(robot.nv)], axis=-1)
    assert relative(root @ np.swapaxes(root, 1, 2), dense) < 1e-12


@pytest.mark.parametrize("method", ["fd1", "fd2", "fd4", "two_sweep", "udu", "dense"])
def test_every_method_takes_parameters(method: str) -> None:
    robot = catena.random_tree(1, 3, ["revolute"])
    sets, (q, v, u) = sets_for(robot), state(robot)
    expected = reference(robot, sets, FORWARD_DYNAMICS["innovations"], q, v, u)
    assert relative(robot.forward_dynamics(q, v, u, method=method, parameters=sets), expected) < 1e-12


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_matrices_of_derivatives_take_parameters(kernel: str) -> None:
    robot = catena.random_tree(4, 3, ["revolute", "spherical"], 0.4)
    sets, (q, v, u) = sets_for(robot), state(robot)
    f_ext = np.random.default_rng(4).standard_normal((SAMPLES, robot.tree.n, 6))
    other = robot.with_parameters(sets[1])
    for name in ("forward_dynamics_derivatives", "inverse_dynamics_derivatives"):
        options: dict[str, Any] = {"joint_losses": True, "kernel": kernel}
        found = getattr(robot, name)(q, v, u, f_ext, parameters=sets, **options)
        expected = getattr(other, name)(q[1], v[1], u[1], f_ext[1], **options)
        assert all(relative(x[1], y) < 1e-11 for x, y in zip(found, expected, strict=True))
    pairs = [
        (
            robot.bias_derivatives(q, v, f_ext, parameters=sets, kernel=kernel),
            other.bias_derivatives(q[1], v[1], f_ext[1]),
        ),
        (robot.linearize(q, v, u, dt=0.01, parameters=sets, kernel=kernel), other.linearize(q[1], v[1], u[1], dt=0.01)),
        (robot.momentum_derivatives(q, v, parameters=sets, kernel=kernel), other.momentum_derivatives(q[1], v[1])),
        (
            robot.kinetic_energy_gradient(q, v, parameters=sets, kernel=kernel),
            other.kinetic_energy_gradient(q[1], v[1]),
        ),
        (
            [robot.forward_dynamics_wrench_derivative(q, parameters=sets, kernel=kernel)],
            [other.forward_dynamics_wrench_derivative(q[1])],
        ),
        ([robot.momentum(q, v, parameters=sets, kernel=kernel)], [other.momentum(q[1], v[1])]),
    ]
    for found, expected in pairs:
        assert all(relative(x[1], y) < 1e-11 for x, y in zip(found, expected, strict=True))


def test_fixman_takes_none() -> None:
    robot = catena.random_tree(1, 3, ["revolute"])
    q, v, u = state(robot)
    for asked in (robot.forward_dynamics, lambda *x, **options: robot.mass_matrix(x[0], **options)):
        with pytest.raises(catena.UnsupportedError, match="innovations"):
            asked(q, v, u, method="fixman", parameters=robot.parameters())


def test_wrenches_one_set_float32_out_and_empty_batches() -> None:
    robot = catena.random_tree(3, 4, ["revolute", "spherical"], 0.4)
    sets, (q, v, u) = sets_for(robot), state(robot)
    f_ext = np.random.default_rng(4).standard_normal((SAMPLES, robot.tree.n, 6))
    expected = reference(robot, sets, INVERSE_DYNAMICS, q, v, u, f_ext)
    found = robot.inverse_dynamics(q, v, u, f_ext, parameters=sets)
    assert relative(found, expected) < 1e-13
    out = np.empty_like(expected)
    assert robot.inverse_dynamics(q, v, u, f_ext, parameters=sets.vector.tolist(), out=out) is out
    assert np.array_equal(out, found)
    single = robot.inverse_dynamics(q, v, u, f_ext, parameters=sets, dtype=np.float32)
    assert single.dtype == np.float32
    assert relative(single, expected) < 1e-5
    one = robot.inverse_dynamics(q[0], v[0], u[0], parameters=sets)
    assert relative(one[1], robot.inverse_dynamics(q[0], v[0], u[0], parameters=sets[1])) < 1e-15
    assert robot.inverse_dynamics(q[:0], v[:0], u[:0], parameters=sets[:0]).shape == (0, robot.nv)


def test_a_long_chain_of_many_robots() -> None:
    robot = catena.rod_chain(90, mass=2.0)
    sets, (q, v, u) = sets_for(robot), state(robot)
    tau = reference(robot, sets, INVERSE_DYNAMICS, q, v, u)
    assert relative(robot.inverse_dynamics(q, v, u, parameters=sets), tau) < 1e-13
    M = reference(robot, sets, MASS_MATRIX, q)
    assert relative(robot.mass_matrix(q, parameters=sets).dense(), M) < 1e-13
    assert relative(robot.mass_matrix(q, parameters=sets) @ u, np.einsum("sij,sj->si", M, u)) < 1e-13


def test_the_model_may_lack_inertias_that_the_call_gives() -> None:
    robot = catena.random_tree(5, 3, ["revolute"])
    bare = catena.Robot(replace(robot.tree, mass=np.zeros(3), inertia=np.zeros((3, 3, 3)), com=np.zeros((3, 3))))
    q, v, u = state(robot)
    with pytest.raises(catena.SingularError):
        bare.forward_dynamics(q, v, u)
    found = bare.forward_dynamics(q, v, u, parameters=robot.parameters())
    assert relative(found, robot.forward_dynamics(q, v, u)) < 1e-12


def test_record_and_vector() -> None:
    robot = ALL["tree with rotors"]()
    P = robot.parameters()
    assert P.vector.shape == (10 * robot.tree.n + 5 * robot.nv + 3,) == (len(P.names),)
    of_joints = P.armature, P.damping, P.friction, P.stiffness, P.rest
    assert np.array_equal(np.concatenate([P.inertial.ravel(), *of_joints, P.gravity]), P.vector)
    link, ten = robot.links[2], P.inertial[2]
    assert ten[0] == link.mass
    assert relative(ten[1:4], link.mass * link.com) < 1e-15
    shifted = link.inertia + link.mass * (link.com @ link.com * np.eye(3) - np.outer(link.com, link.com))
    assert relative(ten[4:], shifted[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]) < 1e-15
    assert P.names[20:24] == tuple(f"{link.name}.{x}" for x in ("m", "mx", "my", "mz"))
    assert P.names[-1] == "gravity.z"
    assert np.array_equal(np.asarray(P), P.vector)
    assert robot.with_parameters(P) == robot == robot.with_parameters(P.vector)
    with pytest.raises(ValueError, match="read-only"):
        P.inertial[0, 0] = 1.0
    assert np.array_equal(pickle.loads(pickle.dumps(P)).vector, P.vector)
    batch = P.replace(damping=np.ones((4, 1, robot.nv)), gravity=np.zeros((2, 3)))
    assert batch.shape == (4, 2)
    assert batch[1].shape == (2,)
    assert batch[1, 0].shape == ()


def test_new_robots_have_the_numbers_asked_for() -> None:
    robot = ALL["floating tree"]()
    sets = sets_for(robot)
    again = robot.with_parameters(sets[1]).parameters()
    assert relative(again.inertial, sets[1].inertial) < 1e-14
    assert np.array_equal(again.vector[10 * robot.tree.n :], sets[1].vector[10 * robot.tree.n :])
    with pytest.raises(catena.ShapeError, match="one set"):
        robot.with_parameters(sets)


def test_impossible_sets_are_refused_by_link_and_reason() -> None:
    robot = ALL["revolute chain"]()
    P = robot.parameters()
    faults = {
        "mass of zero or more": lambda x: x.__setitem__((3, 0), -1.0),
        "exceeds the sum": lambda x: x.__setitem__((3, 9), x[3, 9] + 100.0),
        "positive semidefinite": lambda x: x.__setitem__((3, [4, 6, 9]), x[3, [4, 6, 9]] - 100.0),
        "finite": lambda x: x.__setitem__((3, 5), np.nan),
        "without mass": lambda x: x.__setitem__((3, 0), 0.0),
    }
    for reason, spoil in faults.items():
        inertial = P.inertial.copy()
        spoil(inertial)
        for given in (inertial, np.stack([P.inertial, inertial])):
            with pytest.raises(catena.ModelError, match=reason) as caught:
                P.replace(inertial=given)
            assert caught.value.link == robot.tree.link_names[3]
        assert "sample 1" in str(caught.value)
        odd = P.replace(inertial=inertial, check=False)
        with pytest.raises(catena.ModelError, match=reason):
            robot.with_parameters(odd)
        with pytest.raises(catena.ModelError, match=reason):
            robot.parameters(odd.vector)
    for name in ("armature", "damping", "friction"):
        with pytest.raises(catena.ModelError, match=f"{name} of zero or more") as caught:
            P.replace(**{name: -np.eye(robot.nv)[2]})
        assert caught.value.joint == robot.tree.joint_names[2]
    with pytest.raises(catena.ModelError, match="gravity"):
        P.replace(gravity=(0, 0, np.inf))


def test_a_link_that_keeps_the_models_numbers_is_not_judged() -> None:
    robot = catena.random_tree(5, 3, ["revolute"])
    odd = catena.Robot(replace(robot.tree, inertia=np.tile(np.diag([1.0, 1.0, 9.0]), (3, 1, 1))))
    assert odd.with_parameters(odd.parameters().replace(damping=np.ones(3))).damping[0] == 1.0


def test_wrong_shapes_say_which() -> None:
    robot = ALL["revolute chain"]()
    q, v, u = state(robot)
    P = robot.parameters()
    with pytest.raises(catena.ShapeError, match=r"parameters must have shape \(\.\.\., 108\)"):
        robot.forward_dynamics(q, v, u, parameters=np.zeros(10))
    with pytest.raises(catena.ShapeError, match=r"inertial must have shape \(\.\.\., 7, 10\)"):
        P.replace(inertial=np.zeros((7, 9)))
    with pytest.raises(catena.ShapeError, match="broadcast"):
        P.replace(damping=np.zeros((2, 7)), friction=np.zeros((3, 7)))
    with pytest.raises(catena.ShapeError, match="real numbers"):
        P.replace(damping=["a"] * 7)
    with pytest.raises(catena.ShapeError, match="leading dimensions"):
        robot.forward_dynamics(q, v, u, parameters=np.zeros((2, 108)))
    with pytest.raises(catena.ShapeError, match="mapping"):
        robot.with_parameters({"mass": 1.0})  # type: ignore[arg-type]


def test_with_joints() -> None:
    robot = ALL["tree of all joint types"]()
    other = robot.with_joints(damping=0.1, friction=np.arange(robot.nv), armature={robot.joints[2].name: 0.3})
    assert np.all(other.damping == 0.1)
    assert np.array_equal(other.friction, np.arange(robot.nv))
    changed = np.zeros(robot.nv, bool)
    changed[robot.joints[2].v_slice] = True
    assert np.array_equal(other.armature, np.where(changed, 0.3, robot.armature))
    arm = catena.load(catena.robots.path("seven_dof_arm"))
    limited = arm.with_joints(limits={arm.tree.joint_names[3]: (-0.5, 0.25)})
    assert limited.lower[3] == -0.5
    assert limited.upper[3] == 0.25
    assert np.array_equal(np.delete(limited.lower, 3), np.delete(arm.lower, 3))
    assert np.all(arm.with_joints(limits=(-1, np.ones(7))).upper == 1)
    assert arm.with_joints() == arm
    assert np.all(arm.with_joints(effort_limit=5.0, velocity_limit=np.inf).effort_limit == 5)


def test_with_joints_refuses_by_name() -> None:
    arm = catena.load(catena.robots.path("seven_dof_arm"))
    name = arm.tree.joint_names[1]
    with pytest.raises(catena.ModelError, match=f"{name}.*damping of zero or more") as caught:
        arm.with_joints(damping={1: -1.0})
    assert caught.value.joint == name
    with pytest.raises(catena.ModelError, match="lower limits not above"):
        arm.with_joints(limits={name: (1, -1)})
    with pytest.raises(catena.ShapeError, match="pair"):
        arm.with_joints(limits={name: 3.0})
    with pytest.raises(catena.ShapeError, match="one number or 7"):
        arm.with_joints(friction=[1.0, 2.0])
    with pytest.raises(catena.ShapeError, match="friction of joint"):
        arm.with_joints(friction={name: "much"})
    with pytest.raises(catena.UnknownNameError, match="nowhere"):
        arm.with_joints(armature={"nowhere": 1.0})


def test_random_robots_are_possible() -> None:
    robot = ALL["tree with rotors"]()
    P = catena.randomize(robot, 3, 0.5, (50, 2))
    assert P.shape == (50, 2)
    P.check()
    assert np.array_equal(P.vector, catena.randomize(robot, 3, 0.5, (50, 2)).vector)
    assert relative(catena.randomize(robot, 3, 0.0).vector, robot.parameters().vector) < 1e-14
    masses = catena.randomize(robot, 4, 0.1, 4000).inertial[..., 0] / robot.tree.mass
    assert np.allclose(np.log(masses).std(axis=0), 0.1, rtol=0.1)


def test_random_robots_stay_flat_where_the_model_is() -> None:
    for robot in (catena.point_mass_chain([1.0] * 4, [1.0] * 4), catena.rod_chain(4)):
        catena.randomize(robot, 3, 0.5, 100).check()


def test_randomize_refuses_what_is_impossible_already() -> None:
    robot = catena.random_tree(5, 3, ["revolute"])
    odd = catena.Robot(replace(robot.tree, inertia=np.tile(np.diag([1.0, 1.0, 9.0]), (3, 1, 1))))
    with pytest.raises(catena.ModelError, match="exceeds"):
        catena.randomize(odd, 0)
    with pytest.raises(catena.CatenaError, match="spread"):
        catena.randomize(robot, 0, -1.0)
