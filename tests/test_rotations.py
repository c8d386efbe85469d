"""Jacobians of parameterised rotations and motions, and ∂/∂ξ, against finite differences and the printed formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from catena import rotations
from catena.errors import ShapeError, UnsupportedError
from catena.scalars import sincos
from catena.spatial import Mat3, Vec3

STEP = 1e-6


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def vect(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def jacobian_by_differences(rotation, x):
    """vect(Rᵀ ∂R/∂x_i), column by column."""
    rates = [rotation(x).T @ (rotation(x + STEP * e) - rotation(x - STEP * e)) / (2 * STEP) for e in np.eye(len(x))]
    return np.stack([vect(rate) for rate in rates], axis=-1)


@pytest.mark.parametrize("convention", rotations.EULER)
def test_euler(convention, rng) -> None:
    angles = rng.uniform(0.3, 1.2, 3)
    assert rotations.euler_rotation(convention, angles) == pytest.approx(
        Rotation.from_euler(convention, angles).as_matrix(), abs=1e-14
    )
    numeric = jacobian_by_differences(lambda x: rotations.euler_rotation(convention, x), angles)
    assert rotations.euler_jacobian(convention, angles) == pytest.approx(numeric, abs=1e-9)


def test_zxz_is_equation_11(rng) -> None:
    angles = rng.uniform(0.2, 1.0, (5, 3))
    s, c = np.sin(angles), np.cos(angles)
    zero, one = np.zeros(5), np.ones(5)
    J = [
        [s[:, 1] * s[:, 2], c[:, 2], zero],
        [s[:, 1] * c[:, 2], -s[:, 2], zero],
        [c[:, 1], zero, one],
    ]
    assert rotations.euler_jacobian("ZXZ", angles) == pytest.approx(np.moveaxis(np.array(J), -1, 0), abs=1e-14)


def test_zxz_operators_are_those_of_the_paper(rng) -> None:
    angles, slopes = rng.uniform(0.2, 1.0, 3), rng.normal(size=3)
    _, b, c = angles
    alpha, beta, gamma = slopes
    expected = [
        -gamma * np.sin(c) / np.tan(b) + alpha * np.sin(c) / np.sin(b) + beta * np.cos(c),
        -gamma * np.cos(c) / np.tan(b) + alpha * np.cos(c) / np.sin(b) - beta * np.sin(c),
        gamma,
    ]
    assert rotations.along_axes(slopes, rotations.euler_jacobian("ZXZ", angles)) == pytest.approx(expected, abs=1e-13)


def test_quaternion(rng) -> None:
    q = rng.normal(size=4)
    numeric = jacobian_by_differences(lambda x: Rotation.from_quat(x).as_matrix(), q)
    assert rotations.quaternion_jacobian(q) == pytest.approx(numeric, abs=1e-8)
    assert rotations.quaternion_jacobian(q) @ rotations.quaternion_rates(q) == pytest.approx(np.eye(3), abs=1e-14)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 3.0, 5.0])
def test_exponential(size, rng) -> None:
    w = rng.normal(size=3)
    w *= size / np.linalg.norm(w)
    numeric = jacobian_by_differences(lambda x: expm(skew(x)), w)
    assert rotations.exponential_jacobian(w) == pytest.approx(numeric, abs=1e-9)


def motion(x):
    H = np.zeros((4, 4))
    H[:3, :3], H[:3, 3] = skew(x[:3]), x[3:]
    return expm(H)


def test_motion_exponential(rng) -> None:
    x = rng.normal(size=6)
    H, columns = motion(x), []
    for e in np.eye(6):
        rate = np.linalg.inv(H) @ (motion(x + STEP * e) - motion(x - STEP * e)) / (2 * STEP)
        columns.append(np.concatenate([vect(rate[:3, :3]), rate[:3, 3]]))
    assert rotations.motion_exponential_jacobian(x) == pytest.approx(np.stack(columns, axis=-1), abs=1e-8)
    assert rotations.motion_exponential_jacobian(x)[:3, :3] == pytest.approx(
        rotations.exponential_jacobian(x[:3]), abs=1e-13
    )


def of_rotation(R: Mat3):
    s, c = sincos(R.xy * R.zz + R.yx)
    return s * R.xz + c * c


def of_motion(R: Mat3, b: Vec3):
    return of_rotation(R) * b.x + (R @ b).dot(b) + b.y * b.z


def test_rotation_derivatives(rng) -> None:
    R = Rotation.from_quat(rng.normal(size=(4, 4))).as_matrix()
    found = rotations.rotation_derivatives(of_rotation, R)
    for k in range(4):
        for i, e in enumerate(np.eye(3)):
            ahead, behind = (of_rotation(Mat3(*(R[k] @ expm(t * skew(e))).ravel().tolist())) for t in (STEP, -STEP))
            assert found[k, i] == pytest.approx((ahead - behind) / (2 * STEP), abs=1e-8)


def test_motion_derivatives(rng) -> None:
    R, b = Rotation.from_quat(rng.normal(size=4)).as_matrix(), rng.normal(size=3)
    found = rotations.motion_derivatives(of_motion, R, b)
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = R, b
    for i, e in enumerate(np.eye(6)):
        moved = [H @ motion(t * e) for t in (STEP, -STEP)]
        ahead, behind = (of_motion(Mat3(*m[:3, :3].ravel().tolist()), Vec3(*m[:3, 3].tolist())) for m in moved)
        assert found[i] == pytest.approx((ahead - behind) / (2 * STEP), abs=1e-8)


def test_operators_agree_with_parameters(rng) -> None:
    angles, b = rng.uniform(0.3, 1.0, 3), rng.normal(size=3)

    def f(x):
        R = rotations.euler_rotation("ZXZ", x[:3])
        return of_motion(Mat3(*R.ravel().tolist()), Vec3(*x[3:].tolist()))

    x = np.concatenate([angles, b])
    slopes = np.array([(f(x + STEP * e) - f(x - STEP * e)) / (2 * STEP) for e in np.eye(6)])
    R = rotations.euler_rotation("ZXZ", angles)
    J = rotations.motion_jacobian(rotations.euler_jacobian("ZXZ", angles), R)
    assert rotations.along_axes(slopes, J) == pytest.approx(rotations.motion_derivatives(of_motion, R, b), abs=1e-8)


def test_single_body_has_mass_matrix_inverse_19(rng) -> None:
    """(19) for one body: (𝒥ᵀ I 𝒥)⁻¹ = 𝒥⁻¹ I⁻¹ 𝒥⁻ᵀ, with 1/m in the translational block (errata)."""
    angles, m = rng.uniform(0.3, 1.0, 3), 2.5
    A = rng.normal(size=(3, 3))
    inertia = np.zeros((6, 6))
    inertia[:3, :3], inertia[3:, 3:] = A @ A.T + np.eye(3), m * np.eye(3)
    R = rotations.euler_rotation("ZXZ", angles)
    J = rotations.motion_jacobian(rotations.euler_jacobian("ZXZ", angles), R)
    inverse = np.linalg.inv(J.T @ inertia @ J)
    assert inverse[3:, 3:] == pytest.approx(np.eye(3) / m, abs=1e-13)
    assert inverse == pytest.approx(np.linalg.inv(J) @ np.linalg.inv(inertia) @ np.linalg.inv(J).T, abs=1e-12)


def test_refusals() -> None:
    with pytest.raises(UnsupportedError, match="ZXZ"):
        rotations.euler_jacobian("ZZX", [0, 0, 0])
    with pytest.raises(ShapeError, match="4 numbers"):
        rotations.quaternion_jacobian([0, 0, 0])


@pytest.mark.parametrize("size", [3, 6])
def test_exponentials_and_logarithms(size, rng) -> None:
    """exp is the matrix exponential of hat, log its inverse, vee that of hat; near zero too."""
    x = 0.8 * rng.standard_normal((4, 2, size))
    x[0, 0], x[1, 0] = 0.0, 1e-9 * x[1, 0]
    matrices = rotations.hat(x)
    assert np.array_equal(rotations.vee(matrices), x)
    assert np.abs(rotations.exp(x) - expm(matrices)).max() < 1e-14
    assert np.abs(rotations.log(rotations.exp(x)) - x).max() < 1e-14
    with pytest.raises(ShapeError):
        rotations.hat(np.zeros(4))
    for f in (rotations.vee, rotations.log):
        with pytest.raises(ShapeError):
            f(np.zeros((2, 2)))


def test_the_basis_of_rotations(rng) -> None:
    w = rng.standard_normal(3)
    assert np.einsum("i,ijk->jk", w, rotations.E) == pytest.approx(skew(w))
