"""Joint coordinates: integrate and difference undo each other, and agree with the joint's own motion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.helpers import joint_motion

from catena.model import lie
from catena.model.configuration import on_arrays
from catena.model.joints import BY_NAME, JointType
from catena.spatial import Vec3
from catena.spatial.quaternion import pose_exp, quaternion_exp

MOVING = [joint_type for name, joint_type in BY_NAME.items() if name != "fixed"]
numbers = st.floats(-3.0, 3.0)
each_joint_type = pytest.mark.parametrize("joint_type", MOVING, ids=lambda joint_type: joint_type.name)


def matrix(joint_type: type[JointType], q: np.ndarray, pitch: float = 0.2) -> np.ndarray:
    """The joint's motion at q as a 4x4 matrix."""
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = joint_motion(joint_type.name, q, pitch)
    return motion


def integrate(joint_type: type[JointType], q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    return on_arrays(joint_type.integrate, np.asarray(q), np.asarray(dv))


def difference(joint_type: type[JointType], q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    return on_arrays(joint_type.difference, np.asarray(q0), np.asarray(q1))


def normalize(joint_type: type[JointType], q: np.ndarray) -> np.ndarray:
    return on_arrays(joint_type.normalize, np.asarray(q))


def some_q(joint_type: type[JointType], rng: np.random.Generator, *shape: int) -> np.ndarray:
    unlimited = np.full(joint_type.nq, np.inf)
    return joint_type.random(rng, -unlimited, unlimited, shape)


@each_joint_type
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_difference_undoes_integrate(joint_type: type[JointType], data: st.DataObject) -> None:
    q = some_q(joint_type, np.random.default_rng(data.draw(st.integers(0, 99))))
    scale = data.draw(st.sampled_from([1.0, 0.3, 1e-3, 1e-8, 0.0]))
    dv = scale * data.draw(arrays(float, joint_type.nv, elements=st.floats(-1.7, 1.7)))  # turns below π
    np.testing.assert_allclose(difference(joint_type, q, integrate(joint_type, q, dv)), dv, atol=2e-14)


@each_joint_type
@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000))
def test_integrate_undoes_difference(joint_type: type[JointType], seed: int) -> None:
    rng = np.random.default_rng(seed)
    q0, q1 = some_q(joint_type, rng), some_q(joint_type, rng)
    reached = integrate(joint_type, q0, difference(joint_type, q0, q1))
    np.testing.assert_allclose(matrix(joint_type, reached), matrix(joint_type, q1), atol=1e-13)


@each_joint_type
def test_many_small_steps_make_a_large_one(joint_type: type[JointType], rng: np.random.Generator) -> None:
    q, dv = some_q(joint_type, rng), rng.uniform(-2, 2, joint_type.nv)
    end = q
    for _ in range(64):
        end = integrate(joint_type, end, dv / 64)
    np.testing.assert_allclose(matrix(joint_type, end), matrix(joint_type, integrate(joint_type, q, dv)), atol=1e-12)


@each_joint_type
def test_speeds_are_those_of_the_motion_axes(joint_type: type[JointType], rng: np.random.Generator) -> None:
    """J⁻¹ dJ/dt is the twist that the joint's axes make of the speeds, by central differences."""
    from catena.spatial import Dofs

    q, v, h, pitch = some_q(joint_type, rng), rng.uniform(-1, 1, joint_type.nv), 1e-5, 0.2
    rate = (
        matrix(joint_type, integrate(joint_type, q, h * v)) - matrix(joint_type, integrate(joint_type, q, -h * v))
    ) / (2 * h)
    body = np.linalg.solve(matrix(joint_type, q), rate)
    twist = joint_type.axes(Dofs(q.tolist()), pitch).T @ Dofs(v.tolist())
    seen = [body[2, 1], body[0, 2], body[1, 0], *body[:3, 3]]
    np.testing.assert_allclose(seen, np.array(list(twist.components), dtype=float), atol=1e-8)


@each_joint_type
def test_everything_broadcasts(joint_type: type[JointType], rng: np.random.Generator) -> None:
    q, dv = some_q(joint_type, rng, 4, 1, 3), rng.uniform(-1, 1, (5, 3, joint_type.nv))
    moved = integrate(joint_type, q, dv)
    assert moved.shape == (4, 5, 3, joint_type.nq)
    np.testing.assert_array_equal(moved[2, 4, 1], integrate(joint_type, q[2, 0, 1], dv[4, 1]))
    back = difference(joint_type, q, moved)
    assert back.shape == (4, 5, 3, joint_type.nv)
    np.testing.assert_array_equal(back[2, 4, 1], difference(joint_type, q[2, 0, 1], moved[2, 4, 1]))


@each_joint_type
def test_neutral_does_nothing(joint_type: type[JointType]) -> None:
    np.testing.assert_array_equal(matrix(joint_type, joint_type.neutral()), np.eye(4))
    np.testing.assert_array_equal(
        difference(joint_type, joint_type.neutral(), joint_type.neutral()), np.zeros(joint_type.nv)
    )


@each_joint_type
def test_random_is_spread_over_the_usual_range(joint_type: type[JointType], rng: np.random.Generator) -> None:
    q = some_q(joint_type, rng, 4000)
    assert q.shape == (4000, joint_type.nq)
    if joint_type.name in ("spherical", "free"):
        np.testing.assert_allclose(np.linalg.norm(q[:, -4:], axis=1), 1)
        assert np.abs(q[:, -4:].mean(axis=0)).max() < 0.05
        q = q[:, :-4]
    for coordinate, angle in zip(q.T, joint_type.angles, strict=False):
        half = np.pi if angle else 1.0
        assert -half < coordinate.min() < -0.98 * half
        assert 0.98 * half < coordinate.max() <= half


def test_random_keeps_to_the_limits(rng: np.random.Generator) -> None:
    inf = np.inf
    lower = np.array([-0.5, 2.0, -inf, 4.0, -inf, -1e308, 1.0])[:, None]
    upper = np.array([0.25, inf, -7.0, inf, 0.5, 1e308, 1.0])[:, None]
    q = BY_NAME["revolute"].random(rng, lower, upper, (500,))
    assert q.shape == (500, 7, 1)
    assert (q >= lower).all()
    assert (q <= upper).all()
    assert np.isfinite(q).all()
    assert q[:, 4].min() < -3


def test_a_quaternion_of_any_length_is_a_rotation(rng: np.random.Generator) -> None:
    joint_type = BY_NAME["spherical"]
    q, dv = some_q(joint_type, rng), rng.uniform(-1, 1, 3)
    for length in (1e-200, 3.0, 1e200):
        np.testing.assert_allclose(integrate(joint_type, length * q, dv), integrate(joint_type, q, dv), atol=1e-15)
        np.testing.assert_allclose(normalize(joint_type, length * q), q, atol=1e-15)
    assert np.isnan(normalize(joint_type, np.zeros(4))).all()


def test_nan_stays_in_its_sample(rng: np.random.Generator) -> None:
    joint_type = BY_NAME["free"]
    q, dv = some_q(joint_type, rng, 3), rng.uniform(-1, 1, (3, 6))
    bad = q.copy()
    bad[1] = np.nan
    np.testing.assert_array_equal(integrate(joint_type, bad, dv)[[0, 2]], integrate(joint_type, q, dv)[[0, 2]])


@settings(deadline=None)
@given(arrays(float, 3, elements=numbers), st.sampled_from([1.0, 0.16, 1e-4, 1e-9]))
def test_exponentials_agree_with_the_matrix_exponential(omega: np.ndarray, scale: float) -> None:
    from scipy.linalg import expm

    omega, velocity = scale * omega, np.array([0.3, -0.8, 0.5])
    generator = np.zeros((4, 4))
    generator[:3, :3] = np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
    generator[:3, 3] = velocity
    quaternion, position = pose_exp(Vec3(*omega.tolist()), Vec3(*velocity.tolist()))
    np.testing.assert_allclose(lie.rotation_matrix(np.array([*quaternion])), expm(generator)[:3, :3], atol=2e-14)
    np.testing.assert_allclose([*position], expm(generator)[:3, 3], atol=2e-14)


@pytest.mark.parametrize("axis", "xyz")
def test_quarter_turns_are_exact(axis: str) -> None:
    turns = lie.turn_about(axis, np.pi / 2 * np.arange(-4, 5))
    assert set(np.unique(turns)) == {-1.0, 0.0, 1.0}
    np.testing.assert_array_equal(turns @ np.swapaxes(turns, -1, -2), np.broadcast_to(np.eye(3), (9, 3, 3)))
    angle = 0.7
    turn = np.array([*quaternion_exp(Vec3(*(angle * np.eye(3)["xyz".index(axis)])))])
    np.testing.assert_allclose(lie.turn_about(axis, angle), lie.rotation_matrix(turn))


@each_joint_type
def test_rates_are_the_slopes_of_integrate_and_speeds_undo_them(joint_type: type[JointType]) -> None:
    rng = np.random.default_rng(8)
    q = joint_type.random(rng, np.full(joint_type.nq, -1.0), np.full(joint_type.nq, 1.0))
    v, h = rng.standard_normal(joint_type.nv), 1e-6
    rates = on_arrays(joint_type.rates, q, v)
    slopes = (integrate(joint_type, q, h * v) - integrate(joint_type, q, -h * v)) / (2 * h)
    assert rates == pytest.approx(slopes, rel=1e-8, abs=1e-8)
    assert on_arrays(joint_type.speeds, q, rates) == pytest.approx(v, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", ["spherical", "free"])
def test_rates_of_quaternions_of_any_length(name: str) -> None:
    """A longer quaternion changes in proportion, so that the speeds are the same."""
    joint_type, rng = BY_NAME[name], np.random.default_rng(9)
    q = joint_type.random(rng, np.full(joint_type.nq, -1.0), np.full(joint_type.nq, 1.0))
    v, longer = rng.standard_normal(joint_type.nv), q.copy()
    longer[-4:] *= 5.0
    rates, more = on_arrays(joint_type.rates, q, v), on_arrays(joint_type.rates, longer, v)
    assert more[-4:] == pytest.approx(5.0 * rates[-4:], rel=1e-13)
    assert on_arrays(joint_type.speeds, longer, more) == pytest.approx(v, rel=1e-13)
