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


def wigner(R):
    """Some entries of the representation of l = 2, complex: polynomials of (x + iy) and z of turned axes."""
    a = R[0, :] + 1j * R[1, :]
    return np.exp(1j * R[2, 2]) * (a @ a) + np.trace(R) * R[0, 1] ** 2 / (3 + np.abs(a[2])) + np.sqrt(2 + R[1, 1])


FUNCTIONS = {
    "complex": wigner,
    "arrays": lambda R: np.sum(np.sin(R @ np.arange(9.0).reshape(3, 3))) + np.einsum("ij,jk,ki", R, R, R),
    "its parts": lambda R: np.arctan2(R.xy, 2 + R.yy) * 1j + R.T[0, 2],
    "several": lambda R: np.array([R[0, 0] * R[1, 2], np.linalg.det(R + np.eye(3)), 3.0]),
    "matrices": lambda R: np.linalg.inv(R + 3 * np.eye(3)) @ R,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_written_with_numpy(name, rng) -> None:
    f, R = FUNCTIONS[name], rotations.exp(rng.standard_normal((4, 3)))
    found = rotations.rotation_derivatives(f, R)
    h = 1e-5
    for number, own in enumerate(R):
        for i in range(3):
            at = [np.asarray(f(_Plain(own @ rotations.exp(s * h * np.eye(3)[i])))) for s in (1, -1)]
            assert np.allclose(found[number, ..., i], (at[0] - at[1]) / (2 * h), rtol=1e-8, atol=1e-8)


class _Plain(np.ndarray):
    """A matrix whose entries have names too."""

    def __new__(cls, matrix):
        return np.asarray(matrix).view(cls)

    xy, yy = property(lambda self: self[0, 1]), property(lambda self: self[1, 1])


def test_motions_written_with_numpy(rng) -> None:
    R, b = rotations.exp(rng.standard_normal((2, 3))), rng.standard_normal((2, 3))
    found = rotations.motion_derivatives(lambda R, b: np.exp(1j * (R @ b)[0]) * b[1], R, b)
    real = rotations.motion_derivatives(lambda R, b: (R @ b).x * b.y, R, b)
    same = rotations.motion_derivatives(lambda R, b: (R @ b)[0] * b[1], R, b)
    assert np.allclose(real, same, rtol=1e-13)
    h = 1e-5
    for i in range(6):
        ends = [np.array([rotations.exp(s * h * np.eye(6)[i])] * 2) for s in (1, -1)]
        moved = [(R @ g[:, :3, :3], b + np.einsum("nij,nj->ni", R, g[:, :3, 3])) for g in ends]
        at = [np.exp(1j * np.einsum("nij,nj->ni", *x)[:, 0]) * x[1][:, 1] for x in moved]
        assert np.allclose(found[:, i], (at[0] - at[1]) / (2 * h), atol=1e-8)


def test_a_parametrisation_of_ones_own(rng) -> None:
    """(10) for A(q) as a function: those that are known, and motions (15)."""
    q = rng.uniform(0.3, 1.2, (4, 3))

    def turn(axis, angle):
        c, s = np.cos(angle), np.sin(angle)
        if axis == "z":
            return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])

    found = rotations.parameter_jacobian(lambda q: turn("z", q[0]) @ turn("x", q[1]) @ turn("z", q[2]), q)
    assert np.allclose(found, rotations.euler_jacobian("ZXZ", q), rtol=1e-13, atol=1e-13)

    def quaternion(q):
        x, y, z, w = q / np.sqrt(np.sum(q * q))
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )

    x = rng.standard_normal((4, 4))
    assert np.allclose(rotations.parameter_jacobian(quaternion, x), rotations.quaternion_jacobian(x), atol=1e-12)

    def motion(q):
        R = turn("z", q[0])
        rows = [[*R[i], q[1 + i] if i < 2 else 0.0] for i in range(3)]
        return np.array([*rows, [0, 0, 0, 1]], dtype=object)

    J = rotations.parameter_jacobian(motion, q)
    R = rotations.axis_turn("Z", q[:, 0])
    assert np.allclose(J[:, 3:, 1:], np.swapaxes(R, -1, -2)[..., :2], atol=1e-13)
    assert np.allclose(J[:, 2, 0], 1.0)
    assert rotations.parameter_jacobian(lambda q: np.eye(3), np.zeros((2, 5))).shape == (2, 3, 5)
    with pytest.raises(ShapeError, match="matrix"):
        rotations.parameter_jacobian(lambda q: q, q)
    with pytest.raises(UnsupportedError, match=r"np\.sort"):
        rotations.rotation_derivatives(lambda R: np.sort(R)[0, 0], np.eye(3))
