"""Wrenches that acted on the links of a run from outside: those of forces, and f_ext."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.rollouts import RECALLED, torques

if TYPE_CHECKING:
    from catena.simulation.rolling import Rollout

Array = npt.NDArray[Any]

AT_ONCE = 2_000_000
"""Numbers of states that are computed again at once."""


def exerted(rollout: Rollout, t: Array, q: Array, v: Array, torques: Any) -> Callable[[], Array] | None:
    """How to find what acted on links in the steps after all states that were kept but the last; None without any.

    That is (..., rows - 1, links, 9): wrenches, and points near which they act, in the frames of links. What friction
    remembers was not kept: the steps are made again from the start, under the `torques` that acted in them. Where not
    all states were kept, these are computed again.
    """
    acts = rollout.forces.acting.at_links
    if not acts and rollout.f_ext is None and rollout.wrench is None:
        return None

    def found() -> Array:
        total = np.zeros((*q.shape[:-2], len(t) - 1, rollout.robot.tree.n, 9))
        if acts:
            _follow(rollout, q, v, torques, total)
        for i in range(len(t) - 1):
            given = rollout.wrenches_at(float(t[i]), q[..., i, :], v[..., i, :])
            total[..., i, :, :6] += 0.0 if given is None else given
        return total

    return found


def _follow(rollout: Rollout, q: Array, v: Array, torques: Any, total: Array) -> None:
    """Add what forces exert after each state that was kept."""
    values, every = {"dt": rollout.dt, **rollout.kernel_values()}, rollout.asked.every
    values["tau"] = np.zeros(rollout.robot.nv)
    for part in _parts(rollout, q, v, torques):
        acted = part.torques() if callable(part.torques) else part.torques
        for i in range(part.q.shape[-2] - 1):
            state = part.q[..., i, :], part.v[..., i, :]
            f_ext = rollout.wrenches_at((rollout.first + part.first + i) * rollout.dt, *state)
            tau = {} if acted is None else {"tau": acted[..., i, :]}
            values.update(q=state[0], v=state[1], f_ext=f_ext, **tau)
            kernel = rollout.telling(() if f_ext is None else ("f_ext",))
            wrench, point, *left = kernel(*[values[port.name] for port in kernel.inputs])
            values.update(zip(rollout.forces.acting.memory, left, strict=True))
            if (part.first + i) % every == 0:
                total[..., (part.first + i) // every, :, :] = np.concatenate([wrench, point], axis=-1)


def recalled_torques(rollout: Rollout, q: Array, v: Array) -> Array:
    """The torques, after all states that were kept but the last, of a controller that remembers: it is followed."""
    given: Any = rollout.control
    kernel = rollout.robot._compiled.kernel(torques(given.law), (), rollout.options.dtype, rollout.shape)
    found, memory, every = np.empty_like(v[..., :-1, :]), rollout.forces.values[RECALLED], rollout.asked.every
    for part in _parts(rollout, q, v, None):
        for i in range(part.q.shape[-2] - 1):
            step = part.first + i
            at = part.q[..., i, :], part.v[..., i, :], (rollout.first + step) * rollout.dt
            tau, memory = kernel(*at, memory, *rollout.values(given).values())
            if step % every == 0:
                found[..., step // every, :] = tau
    return found


class _Part(NamedTuple):
    """The states of all steps from one on, and the torques that acted in them, or how to find them."""

    first: int
    q: Array
    v: Array
    torques: Any


def _parts(rollout: Rollout, q: Array, v: Array, torques: Any) -> Iterator[_Part]:
    """All steps in order; computed again, part by part, where not all states were kept."""
    every, rows = rollout.asked.every, q.shape[-2] - 1
    if every == 1:
        yield _Part(0, q, v, torques)
        return
    memory = {name: rollout.forces.values[name] for name in rollout.forces.memory}
    count = max(AT_ONCE // max(every * q[..., 0, :].size, 1), 1)
    for row in range(0, rows, count):
        some = min(count, rows - row)
        start = {"q": q[..., row, :].copy(), "v": v[..., row, :].copy(), "memory": memory or None}
        part = rollout.again(**start, steps=some * every, first=rollout.asked.first + row * every, every=1)
        found = part.results(None)
        memory = found.memory
        acted = part.torques(part.times(part.rows), found.q, found.v) if found.tau is None else found.tau
        yield _Part(row * every, found.q, found.v, acted)


def lines(acting: Array) -> tuple[Array, Array]:
    """Points of links on the lines along which forces act on them, and these, (..., links, 3) each, in their axes.

    Args:
        acting: wrenches on links and points near which they act, (..., links, 9).
    """
    moment, force, near = np.split(acting, 3, axis=-1)
    square = (force**2).sum(axis=-1, keepdims=True)
    off = moment - np.cross(near, force)
    return near + np.cross(force, off) / np.where(square > 0, square, 1.0), force
