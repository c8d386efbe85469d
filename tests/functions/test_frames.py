"""Functions about several frames at once are those about one, stacked: unrolled, rolled, on floats, in any frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.asking import NEED_SIX, results
from tests.mechanisms import ALL, relative

import catena
from catena import robots
from catena.algorithms.kinematics import FRAMES
from catena.errors import ShapeError, SingularError, UnknownNameError, UnsupportedError
from catena.functions import engine
from catena.functions.composed import Composed
from catena.functions.frames import QUESTIONS, function_of

SHAPES = ["unrolled", "rolled"]


@pytest.fixture(scope="module")
def robot() -> catena.Robot:
    return catena.load(robots.path("quadruped"), base="floating")


def chosen(robot: catena.Robot) -> list[str]:
    """A leaf, a link twice, a frame that is fixed to a link where there is one, and the base."""
    fixed = [name for name, frame in robot.frames.items() if frame.link >= 0]
    return [robot.links[-1].name, robot.links[0].name, robot.links[0].name, *fixed[:1], robot.base_name]


def arrays(robot: catena.Robot, count: int, batch: tuple[int, ...] = (4,)) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    sizes = {"x": (robot.nv,), "v": (robot.nv,), "f": (6 * count,), "point": (count, 3)}
    return {
        "q": robot.random_configuration(rng, batch),
        **{n: rng.standard_normal((*batch, *s)) for n, s in sizes.items()},
    }


WRIST = (("revolute", "x"), ("revolute", "y"), ("revolute", "x"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("frame", "points"), [*((frame, True) for frame in FRAMES), ("world", False)])
def test_a_list_of_links_is_one_link_after_the_other(robot: Any, frame: str, points: bool, shape: str) -> None:
    names = chosen(robot)
    given = arrays(robot, len(names))
    q, x, f = given["q"], given["x"], given["f"]
    every = given["point"] if points else None
    options = {"frame": frame, "kernel": shape}
    alone = [(name, every[:, i] if points else None) for i, name in enumerate(names)]
    J = robot.jacobian(q, names, every, **options)
    assert J.shape == (4, 6 * len(names), robot.nv)
    assert relative(J, np.concatenate([robot.jacobian(q, n, p, **options) for n, p in alone], axis=-2)) < 1e-14
    Jx = robot.jacobian_times(q, names, x, every, **options)
    assert relative(Jx, np.einsum("bij,bj->bi", J, x)) < 1e-13
    Jt = robot.jacobian_transpose_times(q, names, f, every, **options)
    assert relative(Jt, np.einsum("bij,bi->bj", J, f)) < 1e-13
    rate = robot.jacobian_dot_times(q, names, x, every, **options)
    one_by_one = [robot.jacobian_dot_times(q, n, x, p, frame) for n, p in alone]
    assert relative(rate, np.concatenate(one_by_one, axis=-1)) < 1e-12


@pytest.mark.parametrize("name", ["tree of all joint types", "floating tree", "tree with rotors"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_the_same_in_every_way(name: str, question: str) -> None:
    robot = ALL[name]()
    tip = robot.links[-1].name
    alone = question in ("placement", "placement_derivatives") or QUESTIONS[question].check is not None
    links = tip if alone else (tip, robot.links[0].name, robot.base_name)
    if question in NEED_SIX and not name.startswith("floating"):
        return
    given = arrays(robot, 1 if alone else 3, (3,))
    for frame, points in (("link", True), ("world", False), ("mixed", True)):
        function = function_of(robot, question, links, frame, points)
        values = {n: given[n][:, 0] if n == "point" and alone else given[n] for n in function.inputs}
        reference = engine.evaluate(robot.tree, function, {n: x[1] for n, x in values.items()})
        rolled = engine.kernel(robot, function, kernel="rolled")
        assert isinstance(rolled, Composed)
        for found, exact in zip(_all(rolled(*values.values())), reference.values(), strict=True):
            assert relative(found[1], exact) < 1e-9
    unrolled = engine.kernel(robot, function, kernel="unrolled")
    assert rolled.signature == unrolled.signature
    for found, exact in zip(_all(unrolled(*values.values())), reference.values(), strict=True):
        assert relative(found[1], exact) < 1e-9


def _all(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("shape", SHAPES)
def test_points_may_be_a_list_and_broadcast(robot: Any, shape: str) -> None:
    names = chosen(robot)[:2]
    q = robot.random_configuration(0, (5,))
    a, b = np.ones(3), np.random.default_rng(2).standard_normal(3)
    expected = robot.jacobian(q, names, np.broadcast_to([a, b], (5, 2, 3)), kernel=shape)
    np.testing.assert_array_equal(robot.jacobian(q, names, [a, b], kernel=shape), expected)
    np.testing.assert_array_equal(robot.jacobian(q[0], names, (a, b), kernel=shape), expected[0])
    out = np.empty_like(expected, dtype=np.float32)
    assert robot.jacobian(q, names, [(1, 1, 1), b], kernel=shape, dtype=np.float32, out=out) is out
    assert relative(out, expected) < 1e-5
    empty = robot.placements(q, [], kernel=shape)
    assert empty.rotation.shape == (5, 0, 3, 3)
    assert empty.position.shape == (5, 0, 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_bad_sample_spoils_no_other(robot: Any, shape: str) -> None:
    q = robot.random_configuration(0, (5,))
    names = chosen(robot)
    good = robot.jacobian(q, names, frame="mixed", kernel=shape)
    q[2] = np.nan
    found = robot.jacobian(q, names, frame="mixed", kernel=shape)
    np.testing.assert_array_equal(found[[0, 1, 3, 4]], good[[0, 1, 3, 4]])


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_wrong_is_said(robot: Any, shape: str) -> None:
    q, names = robot.neutral(), chosen(robot)[:2]
    with pytest.raises(ShapeError, match=r"jacobian: point must have shape \(\.\.\., 2, 3\), got \(3, 3\)"):
        robot.jacobian(q, names, [(0, 0, 0)] * 3, kernel=shape)
    with pytest.raises(ShapeError, match=r"jacobian: point must have shape \(\.\.\., 2, 3\), got .*rows differ"):
        robot.jacobian(q, names, [(0, 0, 0), (0, 0)], kernel=shape)
    with pytest.raises(ShapeError, match=r"jacobian: point must have shape \(\.\.\., 2, 3\), got \(3,\)"):
        robot.jacobian(q, names, np.zeros(3), kernel=shape)
    with pytest.raises(ShapeError, match=r"jacobian_transpose_times: f must have shape \(\.\.\., 12\), got \(6,\)"):
        robot.jacobian_transpose_times(q, names, np.zeros(6), kernel=shape)
    with pytest.raises(ShapeError, match=r"jacobian: out must have shape \(12, 18\)"):
        robot.jacobian(q, names, out=np.zeros((6, 18)), kernel=shape)
    with pytest.raises(UnknownNameError, match="no link or frame named 'no such'"):
        robot.jacobian(q, ["no such"], kernel=shape)
    with pytest.raises(UnsupportedError, match="no frame 'here'"):
        robot.jacobian_dot_times(q, names, np.zeros(robot.nv), frame="here", kernel=shape)
    with pytest.raises(SingularError, match="which does not move"):
        robot.operational_mobility(q, [names[0], robot.base_name], kernel=shape)


def test_functions_are_made_once(robot: Any) -> None:
    first = function_of(robot, "jacobian", ("trunk",), "mixed", True)
    assert function_of(robot, "jacobian", ("trunk",), "mixed", True) is first
    assert function_of(robot, "jacobian", "trunk", "mixed", True).name != first.name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("nothing", [[], (), np.array([], dtype=int)], ids=["list", "tuple", "array"])
def test_no_links_at_all_give_empty_arrays(robot: Any, nothing: Any, dtype: str) -> None:
    for batch in ((), (3,), (0,)):
        q = robot.random_configuration(0, batch)
        for name in ("jacobian", "operational_mobility", "operational_inertia", "dynamically_consistent_inverse"):
            unrolled, rolled = (getattr(robot, name)(q, nothing, kernel=shape, dtype=dtype) for shape in SHAPES)
            for found, expected in zip(results(rolled), results(unrolled), strict=True):
                assert found.size == expected.size == 0
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("question", ["operational_inertia", "operational_dynamics", "dynamically_consistent_inverse"])
@pytest.mark.parametrize("shape", SHAPES)
def test_samples_without_an_operational_inertia(question: str, shape: str) -> None:
    """A wrist whose first and last axis are one: NaN there, and said; what is not a number beside it stays so."""
    builder = catena.Builder("gantry").link("l0")
    for i, (kind, axis) in enumerate((("prismatic", "x"), ("prismatic", "y"), ("prismatic", "z"), *WRIST), start=1):
        builder.link(f"l{i}", mass=1.0, inertia=(1.0, 1.0, 1.0))
        getattr(builder, kind)(f"j{i}", f"l{i - 1}", f"l{i}", axis=axis)
    robot = builder.build()
    q, v = np.zeros((4, 6)), np.ones((4, 6))
    q[[0, 3], 4], q[2] = 0.5, np.nan
    given = {"q": q, "v": v} if question == "operational_dynamics" else {"q": q}
    with pytest.warns(catena.SingularWarning, match="J M⁻¹ Jᵀ is singular.* samples 1$"):
        found = results(getattr(robot, question)(**given, link="l6", kernel=shape))[0]
    assert not np.isfinite(found[1]).all()
    assert not np.isfinite(found[2]).all()
    assert np.isfinite(found[[0, 3]]).all()
    with pytest.raises(SingularError, match="J M⁻¹ Jᵀ is singular at this configuration"):
        getattr(robot, question)(**{name: x[1] for name, x in given.items()}, link="l6", kernel=shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_rounding_is_no_operational_inertia(shape: str, dtype: Any) -> None:
    """An arm whose elbow is straight: what elimination leaves there is rounding, and never zero."""
    arm = catena.load("seven_dof_arm")
    q = arm.random_configuration(0, 20)
    q[::2, 3], q[4], q[1::2] = 0.0, np.pi, 0.7
    straight = np.arange(20) % 2 == 0
    for question in ("operational_inertia", "dynamically_consistent_inverse"):
        with pytest.warns(catena.SingularWarning, match="answers are NaN, for samples 0, 2, 4, 6 and 6 others"):
            found = results(getattr(arm, question)(q, link=arm.links[-1], kernel=shape, dtype=dtype))[0]
        assert np.array_equal(np.isnan(found), np.broadcast_to(straight[:, None, None], found.shape))
    with pytest.raises(SingularError, match="operational_mobility"):
        arm.operational_inertia(q[0], arm.links[-1], kernel=shape, dtype=dtype)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_operational_space_of_no_samples(kernel: str) -> None:
    robot = catena.load("seven_dof_arm")
    q, v = robot.random_configuration(0, (2, 0)), np.zeros((2, 0, 7))
    assert robot.operational_inertia(q, "tool", kernel=kernel)[0].shape == (2, 0, 6, 6)
    assert robot.dynamically_consistent_inverse(q, "tool", kernel=kernel).shape == (2, 0, 7, 6)
    found = robot.operational_dynamics(q, "tool", v, kernel=kernel)
    assert [x.shape for x in found] == [(2, 0, 6, 6), (2, 0, 6), (2, 0, 6)]
