"""Batches on one core: dynamics beside Pinocchio's C++ loops and generated C, other quantities beside its calls."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pinocchio as pin
from case import Case, Contestant

import catena
from peers import Pair, have, urdf

BATCH = 8192
FEW = 256
"""How many samples a Python loop over a peer's calls takes."""

GROUP = f"batch of {BATCH}"


def cases() -> Iterator[Case]:
    """Dynamics and the mass matrix for four robots; Jacobian, M⁻¹, log det and operational inertia for three."""
    for name in ("UR5", "xArm7", "G1", "Talos"):
        pair = Pair.load(name)
        yield from dynamics(pair)
        if name != "Talos":
            yield from quantities(pair)


def dynamics(pair: Pair) -> Iterator[Case]:
    """Against `abaInParallel` and `rneaInParallel` on one thread, and C from CasADi."""
    (q, v, tau), theirs = pair.states(BATCH)
    robot, model = pair.robot, pair.model
    pool, columns = pin.ModelPool(model, 1), [np.asfortranarray(x.T) for x in theirs]
    for question, loop in (("forward_dynamics", pin.abaInParallel), ("inverse_dynamics", pin.rneaInParallel)):
        ask, out = getattr(robot, question), np.empty((BATCH, robot.nv))
        result = np.empty((model.nv, BATCH), order="F")
        ours = Contestant(lambda ask=ask, out=out: ask(q, v, tau, out=out), BATCH, lambda out=out: out)
        peers = {
            "Pinocchio": Contestant(
                lambda loop=loop, result=result: loop(1, pool, *columns, result),
                BATCH,
                lambda result=result: result.T[:, pair.order],
            )
        }
        if question == "forward_dynamics" and have("casadi") and shutil.which("gcc"):
            peers["C by CasADi"] = generated_c(robot, q, v, tau)
        if question == "forward_dynamics" and have("frax"):
            peers["frax (JAX)"] = in_frax(pair, q, v, tau)
        operations = catena.count(robot, question).total
        yield Case(GROUP, question.replace("_", " "), pair.name, ours, peers, operations=operations)


def generated_c(robot: catena.Robot, *state: np.ndarray) -> Contestant:
    """Straight-line C for one sample at a time, which is what CasADi is made for."""
    from straight_line_c import loop_in_c

    out = np.empty((BATCH, robot.nv))
    return Contestant(loop_in_c(robot, *state, out), BATCH, lambda: out)


def in_frax(pair: Pair, *state: np.ndarray) -> Contestant:
    """Compiled and batched by JAX, on one core as everything here."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how XLA should be set: a matter of a few per cent
        import frax

        robot = frax.Robot(str(urdf(pair.name)), joint_ordering=[joint.name for joint in pair.robot.joints])
    call = jax.jit(jax.vmap(lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)))
    few = [jnp.asarray(x[: BATCH // 8]) for x in state]
    return Contestant(lambda: call(*few).block_until_ready(), BATCH // 8, lambda: np.asarray(call(*few)))


def quantities(pair: Pair) -> Iterator[Case]:
    """Against loops over Pinocchio's calls; what it has no call for is put together as a user would."""
    robot, model, data, order = pair.robot, pair.model, pair.model.createData(), pair.order
    (q, *_), (pq, *_) = pair.states(BATCH)
    link = pair.tip
    frame, square = model.getFrameId(link), np.ix_(order, order)
    turn = np.r_[3:6, 0:3]

    def symmetric(upper: Any) -> Any:
        return (np.triu(upper) + np.triu(upper, 1).T)[square]

    def logdet(one: Any) -> Any:
        pin.crba(model, data, one)
        pin.cholesky.decompose(model, data)
        return np.log(data.D).sum()

    def mobility_inverse(one: Any) -> Any:
        J = pin.computeFrameJacobian(model, data, one, frame, pin.LOCAL)
        return np.linalg.inv(J @ pin.computeMinverse(model, data, one) @ J.T)

    def jacobian(one: Any) -> Any:
        return pin.computeFrameJacobian(model, data, one, frame, pin.LOCAL)

    asked: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
        "mass matrix": (
            lambda out: robot.mass_matrix(q).dense(out=out),
            lambda one: pin.crba(model, data, one),
            symmetric,
        ),
        "inverse of the mass matrix": (
            lambda out: robot.inverse_mass_matrix(q, out=out),
            lambda one: pin.computeMinverse(model, data, one),
            symmetric,
        ),
        "log det of the mass matrix": (lambda out: robot.mass_matrix(q).logdet(out=out), logdet, np.asarray),
        "Jacobian": (
            lambda out: robot.jacobian(q, link, out=out),
            jacobian,
            lambda J: J[turn][:, order],
        ),
        "operational inertia": (
            lambda out: robot.operational_inertia(q, link, out=out)[0],
            mobility_inverse,
            lambda x: x[np.ix_(turn, turn)],
        ),
    }
    for question, (ask, call, ordered) in asked.items():
        out = robot.operational_inertia(q, link) if question == "operational inertia" else ask(None)
        first = out[0] if isinstance(out, tuple) else out
        ours = Contestant(lambda ask=ask, out=out: ask(out), BATCH, lambda first=first: first[:8])
        loop = Contestant(
            lambda call=call: [call(one) for one in pq[:FEW]],
            FEW,
            lambda call=call, ordered=ordered: np.array([ordered(np.array(call(one))) for one in pq[:8]]),
        )
        yield Case(GROUP, question, pair.name, ours, {"Pinocchio": loop})
