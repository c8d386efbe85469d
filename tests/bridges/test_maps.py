"""Maps that bridges call: derivatives by the numbers of arrays, forward, in reverse, and of second order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests import mimics
from tests.mechanisms import ALL, relative

import catena
from catena.bridges.asked import Asked
from catena.bridges.maps import Map
from catena.model.mimic import whole_tree

QUESTIONS = ["forward_dynamics", "inverse_dynamics", "integrate"]
SHAPES = ["unrolled", "rolled"]


@pytest.fixture(scope="module")
def tree() -> catena.Robot:
    """All kinds of coordinates, quaternions and angles."""
    robot = catena.random_tree(10, 5, ["spherical", "planar", "revolute", "universal"], 0.5, base="floating")
    assert {joint.type for joint in robot.joints} == {"free", "spherical", "planar", "revolute", "universal"}
    return robot


def asked_map(robot: catena.Robot, question: str, wrenches: bool = False, **options: object) -> Map:
    asked = Asked(robot, question, options)
    return asked.map((*asked.required, "f_ext") if wrenches else asked.required)


def draw(of: Map, seed: int, robot: catena.Robot) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=port.shape) for port in of.inputs]
    arrays[0] = robot.random_configuration(seed)
    return arrays


def test_parameters_are_inputs_like_others() -> None:
    robot = catena.random_tree(11, 3, ["revolute", "spherical"], 0.5)
    asked = Asked(robot, "forward_dynamics", {"joint_losses": True, "joint_springs": True})
    of = asked.map((*asked.required, "parameters"))
    x = [*draw(of, 1, robot)[:3], np.array(catena.randomize(robot, 1, 0.2).replace(stiffness=np.full(robot.nv, 2.0)))]
    rng = np.random.default_rng(3)
    directions, weights = [rng.normal(size=p.shape) for p in of.inputs], [rng.normal(size=robot.nv)]
    changes, gradients = of.jvp((0, 1, 2, 3))(*x, *directions), of.vjp((0, 1, 2, 3))(*x, *weights)
    scale = dot([np.abs(g) for g in gradients], [np.abs(d) for d in directions])
    assert abs(dot(weights, changes) - dot(gradients, directions)) < 1e-13 * scale
    (alone,) = of.vjp((1,))(*x, *weights)
    assert relative(alone, gradients[1]) < 1e-12


def every(of: Map) -> tuple[int, ...]:
    return tuple(range(len(of.inputs)))


def dot(xs: list[np.ndarray], ys: list[np.ndarray]) -> float:
    return float(sum((x * y).sum() for x, y in zip(xs, ys, strict=True)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_forward_and_reverse_agree(tree: catena.Robot, question: str, shape: str) -> None:
    of = asked_map(tree, question, wrenches=question != "integrate", kernel=shape)
    x, by = draw(of, 1, tree), every(of)
    rng = np.random.default_rng(2)
    directions = [rng.normal(size=p.shape) for p in of.inputs]
    weights = [rng.normal(size=p.shape) for p in of.outputs]
    changes, gradients = of.jvp(by)(*x, *directions), of.vjp(by)(*x, *weights)
    scale = dot([np.abs(g) for g in gradients], [np.abs(d) for d in directions])
    assert abs(dot(weights, changes) - dot(gradients, directions)) < 1e-13 * scale
    assert [g.shape for g in gradients] == [p.shape for p in of.inputs]


@pytest.mark.parametrize("name", ["floating tree", "tree with rotors"])
def test_along_motions_derivatives_are_those_of_the_tangent_space(name: str) -> None:
    robot = ALL[name]()
    forward, moved = asked_map(robot, "forward_dynamics"), asked_map(robot, "integrate")
    q, v, tau = draw(forward, 3, robot)
    motion = np.random.default_rng(4).normal(size=robot.nv)
    (rates,) = moved.jvp((1,))(q, np.zeros(robot.nv), motion)
    (found,) = forward.jvp((0,))(q, v, tau, rates)
    zero = np.zeros(robot.nv)
    assert relative(found, robot.forward_dynamics_jvp(q, v, tau, motion, zero, zero)) < 1e-12


def test_the_length_of_quaternions_does_not_matter() -> None:
    robot = catena.random_tree(3, 2, ["spherical"], 0.0)
    forward = asked_map(robot, "forward_dynamics")
    q, v, tau = draw(forward, 5, robot)
    direction = np.random.default_rng(6).normal(size=robot.nq)
    once, thrice = (forward.jvp((0,))(k * q, v, tau, direction)[0] for k in (1, 3))
    assert relative(3 * thrice, once) < 1e-12
    (along,) = forward.jvp((0,))(q, v, tau, q)
    assert np.abs(along).max() < 1e-12 * np.abs(once).max()


@pytest.mark.parametrize("losses", [False, True])
def test_second_derivatives_are_symmetric(losses: bool) -> None:
    robot = catena.random_tree(8, 2, ["spherical", "revolute"], 0.0)
    assert robot.nq > robot.nv  # it has a quaternion
    of = asked_map(robot, "forward_dynamics", joint_losses=losses)
    x, by = draw(of, 7, robot), every(of)
    rng = np.random.default_rng(8)
    one, other = ([rng.normal(size=p.shape) for p in of.inputs] for _ in range(2))
    weights = [rng.normal(size=p.shape) for p in of.outputs]
    first = of.jvp(by)
    (both,), (swapped,) = first.jvp(by)(*x, *one, *other), first.jvp(by)(*x, *other, *one)
    assert relative(both, swapped) < 1e-12
    curved = of.vjp(by).jvp(by)(*x, *weights, *one)
    assert dot(curved, other) == pytest.approx(float((both * weights[0]).sum()), rel=1e-10)


@pytest.mark.parametrize(
    ("question", "shape"),
    [("difference", None), ("momentum", None), ("link_velocities", None), ("forward_dynamics", "rolled")],
)
def test_first_and_second_derivatives_equal_differences(question: str, shape: str | None) -> None:
    robot = catena.random_tree(8, 2, ["spherical", "revolute"], 0.0)
    of = asked_map(robot, question, kernel=shape)
    rng = np.random.default_rng(9)
    x = [
        robot.random_configuration(i) if p.width == robot.nq else rng.normal(size=p.shape)
        for i, p in enumerate(of.inputs)
    ]
    d, by, h = [0.1 * rng.normal(size=p.shape) for p in of.inputs], every(of), 1e-4

    def slope(function: Callable[..., list[np.ndarray]]) -> np.ndarray:
        back2, back, ahead, ahead2 = (
            function(*[y + k * h * e for y, e in zip(x, d, strict=True)])[0] for k in (-2, -1, 1, 2)
        )
        return (8 * (ahead - back) - (ahead2 - back2)) / (12 * h)

    first = of.jvp(by)
    assert relative(first(*x, *d)[0], slope(of)) < 1e-9
    assert relative(first.jvp(by)(*x, *d, *d)[0], slope(lambda *y: first(*y, *d))) < 1e-9


def test_the_adjoint_of_a_derivative_is_the_other_one(tree: catena.Robot) -> None:
    of = asked_map(tree, "inverse_dynamics")
    forward, reverse = of.jvp((0, 2)), of.vjp((2,))
    assert forward.adjoint((1,)) == (reverse, (1,))
    assert reverse.adjoint((0,)) == (of.jvp((2,)), (0,))
    assert forward.point == reverse.point == 3
    assert of.jvp((0, 2)) is forward


@pytest.mark.parametrize("question", QUESTIONS)
def test_mimic_joints(question: str) -> None:
    robot = mimics.random_pair(5, 6, base="floating").robot
    assert robot.nv < catena.Robot(whole_tree(robot.tree)).nv
    of = asked_map(robot, question)
    x, by, h = draw(of, 1, robot), every(of), 1e-6
    rng = np.random.default_rng(2)
    directions = [rng.normal(size=p.shape) for p in of.inputs]
    weights = [rng.normal(size=p.shape) for p in of.outputs]
    changes, gradients = of.jvp(by)(*x, *directions), of.vjp(by)(*x, *weights)
    ahead, behind = (of(*[a + s * d for a, d in zip(x, directions, strict=True)]) for s in (h, -h))
    for change, plus, minus in zip(changes, ahead, behind, strict=True):
        assert relative(change, (plus - minus) / (2 * h)) < 1e-6
    scale = dot([np.abs(g) for g in gradients], [np.abs(d) for d in directions])
    assert abs(dot(weights, changes) - dot(gradients, directions)) < 1e-12 * scale
    again = of.jvp(by)
    more = [*x, *directions]
    slopes = again.jvp((0,))(*more, directions[0])
    ahead, behind = (again(x[0] + s * directions[0], *more[1:]) for s in (h, -h))
    for slope, plus, minus in zip(slopes, ahead, behind, strict=True):
        assert relative(slope, (plus - minus) / (2 * h)) < 1e-5
