"""What operators do to vectors, how they compose, invert and print, and the paper's algorithms written with them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, MOVING, relative, with_rotors

import catena
from catena import operators, robots
from catena.algorithms.newton_euler import RECURSIVE_SPATIAL_DYNAMICS
from catena.functions import engine
from catena.functions.catalogue import MASS_MATRIX
from catena.operators import geometry


@pytest.fixture(params=ALL)
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ALL[request.param]()


def configured(robot: catena.Robot, seed: int = 0) -> tuple[operators.Operators, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return robot.operators(robot.random_configuration(rng)), rng


def mass_matrix(robot: catena.Robot, q: np.ndarray) -> np.ndarray:
    return engine.evaluate(robot.tree, MASS_MATRIX, {"q": q})["M"].astype(float)


def test_the_mass_operator_is_the_mass_matrix(robot: catena.Robot) -> None:
    o, rng = configured(robot)
    M = mass_matrix(robot, o.q)
    assert relative(o.mass.dense(), M) < 1e-13
    x = rng.standard_normal(robot.nv)
    assert relative(o.mass @ x, M @ x) < 1e-13
    K = o.I - o.H @ o.Psi @ o.L
    assert relative(K.T @ o.D.inv @ K @ x, np.linalg.solve(M, x)) < 1e-10
    assert relative(o.mass.inv @ x, np.linalg.solve(M, x)) < 1e-10


def test_every_operator_applies_as_its_matrix_says(robot: catena.Robot) -> None:
    o, rng = configured(robot, 1)
    named = [o.H, o.phi, o.Phi, o.psi, o.Psi, o.M, o.P, o.D, o.G, o.L, o.B, o.E, o.S, o.delta_phi, o.delta_psi]
    for operator in [*named, o.J, o.mass, o.phi_tilde, o.psi_tilde]:
        matrix = operator.dense()
        assert matrix.shape == operator.shape
        x = rng.standard_normal((operator.domain.size, 3))
        y = rng.standard_normal(operator.range.size)
        np.testing.assert_allclose(operator @ x, matrix @ x, rtol=0, atol=1e-12 * max(1, np.abs(matrix).max()))
        np.testing.assert_allclose(operator.T @ y, matrix.T @ y, rtol=0, atol=1e-12 * max(1, np.abs(matrix).max()))
        np.testing.assert_array_equal(operator.T.T.dense(), matrix)


def test_inverses(robot: catena.Robot) -> None:
    o, rng = configured(robot, 2)
    K = o.I + o.H @ o.Phi @ o.L
    for operator in (
        o.phi,
        o.psi,
        o.M,
        o.P,
        o.D,
        o.delta_phi,
        K,
        K.T,
        2 * o.D,
        o.phi @ o.M @ o.phi.T,
        o.M + o.P,
        o.mass,
    ):
        x = rng.standard_normal(operator.domain.size)
        assert relative(operator.inv @ (operator @ x), x) < 1e-9, str(operator)
        assert relative(operator.inv.inv @ x, operator @ x) < 1e-12, str(operator)
        assert relative(operator.inv.T @ x, operator.T.inv @ x) < 1e-9, str(operator)
        assert relative((o.I + operator.inv @ operator).inv @ x, x / 2) < 1e-9, str(operator)


def test_patterns_are_those_of_the_matrices() -> None:
    robot = catena.random_tree(3, 9, ["revolute"], 0.4)
    o, _ = configured(robot)
    K = o.I - o.H @ o.Psi @ o.L
    said = {
        "memoryless": (o.H, o.M, o.P, o.D.inv, o.G, o.L, o.H @ o.P @ o.H.T),
        "causal": (o.phi, o.psi, K, K.inv, o.H @ o.phi @ o.M),
        "strictly causal": (o.S, o.Phi, o.Psi, o.phi_tilde, o.H @ o.Phi @ o.L),
        "anticausal": (o.phi.T, K.T, o.phi.T @ o.H.T),
        "strictly anticausal": (o.Psi.T,),
        "causal and anticausal": (o.mass, K.T @ o.D.inv @ K, o.phi.T @ o.phi),
    }
    n = robot.tree.n
    for word, found in said.items():
        for operator in found:
            assert f"; {word}, O(n)" in repr(operator)
            rows, columns = (size // n for size in operator.shape)
            blocks = np.abs(operator.dense()).reshape(n, rows, n, columns).max(axis=(1, 3)) > 1e-14
            below = np.tril(np.ones((n, n), dtype=bool), -1)  # links nearer the tips have higher numbers
            allowed = {
                "memoryless": np.eye(n, dtype=bool),
                "strictly causal": below.T,
                "causal": ~below,
                "strictly anticausal": below,
                "anticausal": ~below.T,
            }.get(word, np.ones((n, n), dtype=bool))
            assert not (blocks & ~allowed).any(), repr(operator)


def test_printing() -> None:
    robot = catena.random_tree(1, 4, ["revolute"], 0.0)
    o, _ = configured(robot)
    K = o.I - o.H @ o.Psi @ o.L
    assert str(K.T @ o.D.inv @ K) == "(I - Lᵀ Ψᵀ Hᵀ) D⁻¹ (I - H Ψ L)"
    assert str(K.inv) == "(I - H Ψ L)⁻¹"
    assert str(-2 * o.M - o.P + o.M) == "-2 M - P + M"
    assert repr(K) == "<I - H Ψ L: joints -> joints, 4 x 4; causal, O(n): 1 sweep and 3 memoryless products>"
    assert repr(o.I) == "<I: any -> any; memoryless, O(n): nothing to do>"
    assert "4 links" in repr(o)


def test_what_does_not_fit_is_refused() -> None:
    robot = catena.random_tree(1, 4, ["revolute", "spherical"], 0.0)
    o, _ = configured(robot)
    with pytest.raises(catena.ShapeError, match="H takes vectors of links, but D gives vectors of joints"):
        _ = o.H @ o.D
    with pytest.raises(catena.ShapeError, match="cannot be added: links -> joints and joints -> links"):
        _ = o.H + o.G
    with pytest.raises(catena.ShapeError, match="cannot be added"):
        _ = o.I - o.H
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = o.H + 1.0
    with pytest.raises(catena.ShapeError, match="shape \\(24,\\) or \\(24, k\\); found shape \\(4,\\)"):
        _ = o.H @ np.zeros(4)
    with pytest.raises(catena.ShapeError, match="only a map of a space to itself"):
        _ = o.H.inv
    with pytest.raises(catena.ShapeError, match="fits any space"):
        o.I.dense()
    with pytest.raises(catena.SingularError, match="Δ_ψ has no inverse"):
        o.delta_psi.inv.dense()
    with pytest.raises(catena.ShapeError, match="operators: q"):
        robot.operators(np.zeros((2, robot.nq + 1)))
    with pytest.raises(catena.ShapeError, match="two sides or more"):
        operators.verify(lambda o: (o.phi,), robot)
    with pytest.raises(catena.ShapeError, match="between the same spaces"):
        operators.verify(lambda o: (o.phi, o.H), robot)
    with pytest.raises(catena.UnknownNameError):
        robot.operators(robot.neutral(), tips=["nothing"])


def test_tips_may_be_links_and_frames() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    rng = np.random.default_rng(3)
    q = robot.random_configuration(rng)
    names = [robot.links[2].name, *list(robot.frames)[-1:]]
    for name in names:
        o = robot.operators(q, tips=name)
        assert relative(o.J.dense(), robot.jacobian(q, name)) < 1e-13
    both = robot.operators(q, tips=names)
    assert both.J.shape == (12, robot.nv)
    assert relative(both.J.dense()[:6], robot.jacobian(q, names[0])) < 1e-13


def test_long_mechanisms_are_compiled_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = with_rotors(catena.random_tree(5, 40, MOVING, 0.3))
    slow, _ = configured(robot)
    by_link = slow.geometry.P, slow.geometry.D, slow.geometry.G
    monkeypatch.setattr(geometry, "LONG", 10)
    compiled = robot.operators(slow.q).geometry
    for found, expected in zip((compiled.P, compiled.D, compiled.G), by_link, strict=True):
        assert relative(found, expected) < 1e-12
    monkeypatch.undo()
    robot = catena.random_tree(6, 3000, ["revolute", "prismatic", "spherical"], 0.3)
    check = operators.verify(lambda o: (o.phi, o.psi @ (o.I + o.S @ o.L @ o.H @ o.phi)), robot, samples=1)
    assert check.dense is None
    assert check, str(check)


def test_importing_catena_leaves_sparse_matrices_alone() -> None:
    assert sorted(dir(operators)) == ["Operator", "Operators", "States", "Verification", "verify"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = operators.nothing


# ---- the algorithms of the paper, exactly as it writes them


def crossed(V: np.ndarray, X: np.ndarray) -> np.ndarray:
    """V × X for motions, link by link."""
    (w, v), (a, b) = np.split(V, 2, axis=1), np.split(X, 2, axis=1)
    return np.hstack([np.cross(w, a), np.cross(w, b) + np.cross(v, a)])


def crossed_force(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    """V ×* F, link by link."""
    (w, v), (n, f) = np.split(V, 2, axis=1), np.split(F, 2, axis=1)
    return np.hstack([np.cross(w, n) + np.cross(v, f), np.cross(w, f)])


@pytest.mark.parametrize("seed", range(3))
def test_the_four_algorithms_in_operator_form(seed: int) -> None:
    joint_types = [
        joint_type for joint_type in MOVING if joint_type != "universal"
    ]  # its axes change, and that would add to a
    robot = catena.random_tree(seed, 8, joint_types, [0.0, 0.4, 0.4][seed], base=["fixed", "fixed", "floating"][seed])
    o, rng = configured(robot, seed)
    v, tau = rng.standard_normal((2, robot.nv))
    f0 = rng.standard_normal(o.B.domain.size)  # what the tips exert on the environment
    one, H, phi, psi, M, P, D, G, L, S, B = o.I, o.H, o.phi, o.psi, o.M, o.P, o.D, o.G, o.L, o.S, o.B
    Psi, psi_tilde = o.Psi, o.psi_tilde
    V = phi.T @ H.T @ v  # (3.12)
    a = crossed(V.reshape(-1, 6), (H.T @ v).reshape(-1, 6)).ravel()
    a += o.E @ np.concatenate([np.zeros(3), -robot.gravity])  # (3.21)
    b = crossed_force(V.reshape(-1, 6), (M @ V).reshape(-1, 6)).ravel()
    K = one - H @ Psi @ L
    T = tau - H @ phi @ (M @ phi.T @ a + b + B @ f0)  # (4.17)
    fd1 = K.T @ D.inv @ K @ T  # (4.18)
    alpha = psi.T @ H.T @ D.inv @ K @ T + phi.T @ a  # (5.6)
    zeta = phi.T @ a  # (5.8)
    eps = tau - H @ psi @ (S @ L @ tau + M @ zeta + b + B @ f0)  # (5.9)
    fd3 = K.T @ D.inv @ eps  # (5.10)
    nu = D.inv @ K @ tau - D.inv @ H @ psi_tilde @ P @ a - D.inv @ H @ psi @ (b + B @ f0)  # (5.14)
    fd4 = K.T @ nu - L.T @ Psi.T @ (one - G @ H).T @ a - G.T @ a  # (5.15)
    f_ext = np.zeros((robot.tree.n, 6))
    for tip, wrench in zip(o.tips, -f0.reshape(-1, 6), strict=True):
        f_ext[tip.link] += wrench
    expected = robot.forward_dynamics(o.q, v, tau, f_ext)
    for found in (fd1, fd3, fd4):
        assert relative(found, expected) < 1e-10
    assert relative(H @ phi @ (M @ alpha + b + B @ f0), tau) < 1e-10  # (3.17)
    values = {"q": o.q, "v": v, "a": expected, "f_ext": f_ext}
    rsd = engine.evaluate(robot.tree, RECURSIVE_SPATIAL_DYNAMICS, values)
    assert relative(phi @ (M @ alpha + b + B @ f0), rsd["force"].ravel()) < 1e-10
    assert relative(V, rsd["velocity"].ravel()) < 1e-12
