"""What a step of an arm costs inside other packages, beside the robot's own call.

    python benchmarks/bridges.py [--robot seven_dof_arm] [--steps 1000]

Packages that are not installed are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
from timing import best, table

import catena

DT = 1e-4


def in_jax(robot: catena.Robot, state: tuple[np.ndarray, ...], steps: int) -> Iterator[tuple[str, int, Callable]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    accelerations, moved = (catena.jax.function(robot, name) for name in ("forward_dynamics", "integrate"))
    q, v, tau = map(jax.numpy.asarray, state)

    def alone(v, _):
        return v + 1e-9 * accelerations(q, v, tau), None

    def step(at, _):
        q, v = at
        v = v + DT * accelerations(q, v, tau)
        return (moved(q, DT * v), v), None

    def end(q, v):
        return jax.lax.scan(step, (q, v), None, length=steps)[0]

    one = jax.jit(accelerations)
    loop = jax.jit(lambda v: jax.lax.scan(alone, v, None, length=steps)[0])
    rollout = jax.jit(end)
    gradient = jax.jit(jax.grad(lambda q, v: end(q, v)[0].sum(), (0, 1)))
    yield "JAX: forward dynamics, a jitted call", 1, lambda: one(q, v, tau).block_until_ready()
    yield "JAX: forward dynamics, a step of lax.scan", steps, lambda: loop(v).block_until_ready()
    yield "JAX: with integrate, a step of lax.scan", steps, lambda: jax.block_until_ready(rollout(q, v))
    yield "JAX: the gradient through such steps, per step", steps, lambda: jax.block_until_ready(gradient(q, v))


def in_torch(robot: catena.Robot, state: tuple[np.ndarray, ...], steps: int) -> Iterator[tuple[str, int, Callable]]:
    import torch

    accelerations = catena.torch.function(robot, "forward_dynamics")
    tensors = [torch.tensor(x) for x in state]
    leaves = [torch.tensor(x, requires_grad=True) for x in state]
    yield "Torch: forward dynamics, a call", 1, lambda: accelerations(*tensors)
    yield "Torch: with its gradient", 1, lambda: torch.autograd.grad(accelerations(*leaves).sum(), leaves)


def in_casadi(robot: catena.Robot, state: tuple[np.ndarray, ...], steps: int) -> Iterator[tuple[str, int, Callable]]:
    import casadi

    function = catena.casadi.function(robot, "forward_dynamics")
    symbols = [casadi.MX.sym("x", x.size) for x in state]
    value = function(*symbols)
    jacobians = casadi.Function("J", symbols, [casadi.jacobian(value, x) for x in symbols])
    matrices = [casadi.DM(x) for x in state]
    yield "CasADi: forward dynamics, a call", 1, lambda: function(*matrices)
    yield "CasADi: all its Jacobians", 1, lambda: jacobians(*matrices)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="seven_dof_arm")
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    robot = catena.load(catena.robots.path(arguments.robot))
    rng = np.random.default_rng(0)
    state = robot.random_configuration(rng), *rng.standard_normal((2, robot.nv))
    asked = [("Catena: forward dynamics, a call", 1, lambda: robot.forward_dynamics(*state))]
    for package, questions in {"jax": in_jax, "torch": in_torch, "casadi": in_casadi}.items():
        if find_spec(package) is not None:
            asked += questions(robot, state, arguments.steps)
    times = best({name: run for name, _, run in asked})
    rows: list[list[object]] = [[name, f"{1e6 * times[name] / count:.2f}"] for name, count, _ in asked]
    table(f"{arguments.robot}, one thread", ["what", "µs"], rows)


if __name__ == "__main__":
    main()
