"""Forward dynamics of closed systems as functions of JAX, Torch and CasADi: exact derivatives, or refused by name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.closed_systems import closed_model
from tests.mechanisms import relative

import catena
import catena.casadi
import catena.jax
import catena.torch


@cache
def two_arms(rods: int = 1) -> catena.System:
    """Two arms whose tips a rod keeps apart, or several rods in the same place."""
    builder = catena.Builder("arm").link("upper", mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.01))
    builder.revolute("shoulder", "base", "upper", "y")
    builder.link("lower", mass=0.7, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.005))
    builder.revolute("elbow", "upper", "lower", "y", position=(0, 0, -0.5))
    arm = builder.link("tool").fixed("flange", "lower", "tool", position=(0, 0, -0.4)).build()
    held = [catena.Distance("left/tool", "right/tool", distance=0.25, name=f"rod {i}") for i in range(rods)]
    places = {"left": ((0, 0, 0), (0, 0, 0)), "right": ((0.4, 0.1, 0), (0, 0, 0.3))}
    return catena.System({"left": arm, "right": arm}, [], held, placements=places)


def systems() -> Any:
    return pytest.mark.parametrize("system", [two_arms(), closed_model("four_bar")], ids=["two arms", "four_bar"])


def state(system: catena.System) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    q = system.random_configuration(rng)
    return [q, system.project_velocity(q, rng.normal(size=system.nv)), rng.normal(size=system.nv)]


@systems()
def test_derivatives_in_jax(system: catena.System) -> None:
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    function, at = catena.jax.function(system, "forward_dynamics"), state(system)
    check_grads(lambda *x: tuple(function(*x)), at, order=2, rtol=1e-5)
    batch = [np.stack([x, x]) for x in at]
    weighted = jax.grad(lambda q: function(q, *batch[1:]).a.sum())(batch[0])
    assert relative(weighted[1], system.forward_dynamics_derivatives(*at).dq.sum(axis=0)) < 1e-10


@systems()
def test_derivatives_in_torch(system: catena.System) -> None:
    torch = pytest.importorskip("torch")
    function = catena.torch.function(system, "forward_dynamics")
    tensors = [torch.tensor(x, requires_grad=True) for x in state(system)]
    assert torch.autograd.gradcheck(lambda *x: tuple(function(*x)), tensors)


@systems()
def test_derivatives_in_casadi(system: catena.System) -> None:
    casadi = pytest.importorskip("casadi")
    function, at, h = catena.casadi.function(system, "forward_dynamics"), state(system), 1e-5
    symbols = [casadi.MX.sym("x", x.size) for x in at]
    blocks = [casadi.jacobian(result, x) for result in function(*symbols) for x in symbols]
    found = [block.full() for block in casadi.Function("all", symbols, blocks)(*at)]
    sides = [[x + sign * h * np.eye(x.size) if i == which else x for i, x in enumerate(at)]
             for which in range(3) for sign in (1, -1)]  # fmt: skip
    motions = [system.forward_dynamics(*side) for side in sides]
    for result in range(2):
        for which in range(3):
            ahead, back = (np.reshape(motions[2 * which + i][result], (at[which].size, -1)) for i in (0, 1))
            block = found[3 * result + which]
            if result:  # CasADi's numbers of a matrix go column by column
                block = block.reshape(6, -1, at[which].size).swapaxes(0, 1).reshape(block.shape)
            assert np.allclose(block, (ahead - back).T / (2 * h), rtol=1e-6, atol=1e-6)


def test_redundant_constraints_are_refused_by_name() -> None:
    torch, casadi = pytest.importorskip("torch"), pytest.importorskip("casadi")
    system = two_arms(rods=2)
    at = state(system)
    tensors = [torch.tensor(x, requires_grad=True) for x in at]
    motion = catena.torch.function(system, "forward_dynamics")(*tensors)
    assert relative(motion.a.detach().numpy(), two_arms().forward_dynamics(*at).a) < 1e-9
    with pytest.raises(catena.UnsupportedError, match=r"forward_dynamics: .* constraints depend on each other"):
        motion.a.sum().backward()
    function = catena.casadi.function(system, "forward_dynamics")
    symbols = [casadi.MX.sym("x", x.size) for x in at]
    jacobian = casadi.Function("J", symbols, [casadi.jacobian(function(*symbols)[0], symbols[0])])
    with pytest.raises(RuntimeError, match="constraints depend on each other"):  # CasADi has one kind of errors
        jacobian(*at)
