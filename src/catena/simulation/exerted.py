"""Wrenches that acted on the links of a run from outside: those of forces, and f_ext."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.configurations import ADVANCED_BY
from catena.algorithms.exerted import exerted_by
from catena.algorithms.rollouts import RECALLED, torques

if TYPE_CHECKING:
    from catena.simulation.rolling import Rollout

Array = npt.NDArray[Any]

AT_ONCE = 2_000_000
"""Numbers of states that are computed again at once."""


def exerted(rollout: Rollout, t: Array, q: Array, v: Array) -> Callable[[], Array] | None:
    """How to find what acted on links in the steps after all states that were kept but the last; None without any.

    That is (..., rows - 1, links, 9): wrenches, and points near which they act, in the frames of links. What friction
    remembers was not kept: forces are followed from the start. Where not all states were kept, these are computed
    again.
    """
    acts = rollout.forces.acting.at_links
    if not acts and rollout.f_ext is None and rollout.wrench is None:
        return None

    def found() -> Array:
        total = np.zeros((*q.shape[:-2], len(t) - 1, rollout.robot.tree.n, 9))
        if acts:
            _follow(rollout, q, v, total)
        for i in range(len(t) - 1):
            given = rollout.wrenches_at(float(t[i]), q[..., i, :], v[..., i, :])
            total[..., i, :, :6] += 0.0 if given is None else given
        return total

    return found


def _follow(rollout: Rollout, q: Array, v: Array, total: Array) -> None:
    """Add what forces exert after each state that was kept."""
    function = exerted_by(rollout.forces.acting, rollout.options.integrator == "linearly_implicit")
    kernel = rollout.robot._compiled.kernel(function, (), rollout.options.dtype, rollout.shape)
    moved = rollout.robot._compiled.kernel(ADVANCED_BY, (), rollout.options.dtype, rollout.shape)
    values, every = {"dt": rollout.dt, **rollout.forces.values}, rollout.asked.every
    for step, (before, after) in enumerate(_steps(rollout, q, v)):
        a = moved(before[1], after[1], rollout.dt)
        state = {**values, "q": before[0], "v": before[1], "a": a}
        wrench, point, *left = kernel(*[state[port.name] for port in kernel.inputs])
        values.update(zip([port.name for port in kernel.outputs][2:], left, strict=True))
        if step % every == 0:
            total[..., step // every, :, :] = np.concatenate([wrench, point], axis=-1)


def recalled_torques(rollout: Rollout, q: Array, v: Array) -> Array:
    """The torques, after all states that were kept but the last, of a controller that remembers: it is followed."""
    given: Any = rollout.control
    kernel = rollout.robot._compiled.kernel(torques(given.law), (), rollout.options.dtype, rollout.shape)
    found, memory, every = np.empty_like(v[..., :-1, :]), rollout.forces.values[RECALLED], rollout.asked.every
    for step, (before, _) in enumerate(_steps(rollout, q, v)):
        t = (rollout.first + step) * rollout.dt
        tau, memory = kernel(*before, t, memory, *rollout.values(given).values())
        if step % every == 0:
            found[..., step // every, :] = tau
    return found


def _steps(rollout: Rollout, q: Array, v: Array) -> Iterator[tuple[tuple[Array, Array], tuple[Array, Array]]]:
    """The states before and after each step, in order."""
    every, rows = rollout.asked.every, q.shape[-2] - 1
    if every == 1:
        for i in range(rows):
            yield (q[..., i, :], v[..., i, :]), (q[..., i + 1, :], v[..., i + 1, :])
        return
    memory = {name: rollout.forces.values[name] for name in rollout.forces.memory}
    count = max(AT_ONCE // max(every * q[..., 0, :].size, 1), 1)
    for row in range(0, rows, count):
        some = min(count, rows - row)
        start = {"q": q[..., row, :].copy(), "v": v[..., row, :].copy(), "memory": memory or None}
        part = rollout.again(**start, steps=some * every, first=rollout.asked.first + row * every, every=1).results(
            None
        )
        memory = part.memory
        for i in range(some * every):
            yield (part.q[..., i, :], part.v[..., i, :]), (part.q[..., i + 1, :], part.v[..., i + 1, :])


def lines(acting: Array) -> tuple[Array, Array]:
    """Points of links on the lines along which forces act on them, and these, (..., links, 3) each, in their axes.

    Args:
        acting: wrenches on links and points near which they act, (..., links, 9).
    """
    moment, force, near = np.split(acting, 3, axis=-1)
    square = (force**2).sum(axis=-1, keepdims=True)
    off = moment - np.cross(near, force)
    return near + np.cross(force, off) / np.where(square > 0, square, 1.0), force
