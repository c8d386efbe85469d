"""Constraints that move: rows of constraints with given places, rates and accelerations."""

import numpy as np
import pytest
from tests.closed_systems import CLOSED_MODELS, closed_model, ladder

import catena


def swing(t: float) -> np.ndarray:
    """An angle, its rate and its acceleration."""
    return np.array([0.4 * np.sin(3 * t), 1.2 * np.cos(3 * t), -3.6 * np.sin(3 * t)])


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_a_motor_turns_a_crank_as_it_is_told(kernel: str) -> None:
    bar = closed_model("four_bar")
    start = bar.close(CLOSED_MODELS["four_bar"](bar))
    crank = catena.Coupling({bar.joints[0].name: 1.0}, float(start[0]), name="motor")
    driven = bar.with_constraints([*bar.constraints, crank])
    rows = driven.closure_residual(start).shape[0]

    def at(t: float) -> np.ndarray:
        told = np.zeros((3, rows))
        told[:, -1] = swing(t)
        return told

    dt, q = 1e-2, start
    v = driven.constrained_response(q, np.zeros(3), at(0.0)[1]).change
    for i in range(30):
        q, v = driven.step(q, v, np.zeros(3), dt, driven=at((i + 1) * dt), kernel=kernel)
        angle, rate, _ = swing((i + 1) * dt)
        assert abs(q[0] - start[0] - angle) < 1e-10
        assert abs(v[0] - rate) < 1e-9
        assert np.abs(bar.closure_residual(q)).max() < 1e-10
    a, forces = driven.forward_dynamics(q, v, np.zeros(3), driven=at(0.3))
    assert abs(a[0] - swing(0.3)[2]) < 1e-9
    torque = np.append(forces[-1, 0], [0.0, 0.0])  # what the motor has to give moves the bar in the same way
    assert np.allclose(bar.forward_dynamics(q, v, torque).a, a, atol=1e-8)


def test_many_samples_and_many_links() -> None:
    system, q = ladder(21)
    rng = np.random.default_rng(0)
    J, v, tau = system.constraint_jacobian(q), np.zeros(system.nv), rng.standard_normal(system.nv)
    driven = np.zeros((2, 3, len(J)))
    driven[:, 2] = rng.standard_normal((2, system.nv)) @ J.T
    a = system.forward_dynamics(q, v, tau, driven=driven).a
    assert np.allclose(a @ J.T + system.constraint_bias(q, v), driven[:, 2], atol=1e-7)


def test_wrong_shapes_are_refused_by_name() -> None:
    bar = closed_model("four_bar")
    with pytest.raises(catena.ShapeError, match=r"driven must have shape \(\.\.\., 3, 3\)"):
        bar.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3), driven=np.zeros(3))


def test_driven_constraints_and_forces_of_a_list_are_refused_together() -> None:
    bar = closed_model("four_bar")
    q, still, told = bar.close(CLOSED_MODELS["four_bar"](bar)), np.zeros(3), np.zeros((3, bar.closures.rows))
    with pytest.raises(catena.UnsupportedError, match="driven is for steps without forces"):
        bar.step(q, still, still, 1e-3, driven=told, forces=[catena.Drag(1.0)])
