"""Which samples of a rollout diverged, at which step, and in which joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import DivergenceWarning, SingularWarning, warn
from catena.functions.watch import numbered, singular_links, unresisted

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
States = Callable[[Array], tuple[Array, Array]]
"""Of samples, by number, the states after all steps, the start included: (samples, steps + 1, nq) and (…, nv)."""

AT_A_TIME = 2**24
"""About so many numbers are looked at, at a time."""


def healthy(q: Array, v: Array, bound: float | None) -> Array:
    """Whether states, (..., nq) and (..., nv), are finite and no faster than a bound, (...)."""
    with np.errstate(invalid="ignore"):
        slow = np.isfinite(v) if bound is None else np.abs(v) <= bound
    return np.asarray(slow.all(axis=-1) & np.isfinite(q).all(axis=-1))


def located(
    robot: Robot, diverged: Array, steps: int, states: States, bound: float | None, dtype: Any
) -> tuple[Array, Array]:
    """Steps and joints, (...) each, at which samples diverged, of which `diverged` (...) says which they are."""
    step, joint = np.full(diverged.shape, -1), np.full(diverged.shape, -1)
    rows = np.flatnonzero(diverged)
    size = max(1, AT_A_TIME // max(1, (steps + 1) * (robot.nq + robot.nv)))
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        q, v = states(some)
        first = np.argmin(healthy(q, v, bound), axis=1)
        each, before = np.arange(len(some)), np.maximum(first - 1, 0)
        step.flat[some] = first
        blamed = culprit(robot, v[each, before], q[each, first], v[each, first], bound)
        samples = np.argwhere(diverged)[start : start + size]
        joint.flat[some] = unresisted_joints(robot, samples, q[each, before], blamed, dtype)
    return step, joint


def unresisted_joints(robot: Robot, samples: Array, q: Array, blamed: Array, dtype: Any) -> Array:
    """The joints to blame, (count,): where M was singular at the q (count, nq) before, the one that nothing resisted.

    These are warned of, with their `samples`, (count, dimensions). Where M has become too large, it is not singular.
    """
    with np.errstate(invalid="ignore"):
        tame = np.flatnonzero((np.abs(q) <= np.finfo(dtype).max ** 0.2).all(axis=-1))
    links = singular_links(robot._compiled, dtype, q[tame]) if len(tame) else []
    found = [(i, link) for i, link in zip(tame, links, strict=True) if link is not None]
    if found:
        singular = [tuple(map(int, samples[i])) for i, _ in found]
        which = f" of samples {numbered(singular)}" if singular != [()] else ""
        why = unresisted(robot.tree, found[0][1])
        warn(f"the mass matrix becomes singular, and what follows is not finite, in runs{which}{why}", SingularWarning)
        blamed[[i for i, _ in found]] = [link for _, link in found]
    return blamed


def culprit(robot: Robot, before: Array, q: Array, v: Array, bound: float | None) -> Array:
    """A joint that is not healthy in each of the states (..., nq) and (..., nv).

    Where no joint is, because one has spoilt all others in the same step, it is the one that was fastest before.
    """
    tree = robot.tree
    own = np.flatnonzero(np.diff(tree.v_start))  # joints that mimic others have no speeds
    if not len(own):
        return np.full(v.shape[:-1], -1)
    of_v, of_q = tree.v_start[own], tree.q_start[own]
    with np.errstate(invalid="ignore"):
        bad = ~(np.isfinite(v) if bound is None else np.abs(v) <= bound)
    lame = np.maximum.reduceat(bad, of_v, axis=-1)
    lost = np.maximum.reduceat(~np.isfinite(q), of_q, axis=-1)
    lame |= lost & ~lame.any(axis=-1, keepdims=True)
    speed = np.maximum.reduceat(np.where(np.isfinite(before), np.abs(before), -1.0), of_v, axis=-1)
    some = lame.any(axis=-1) & ~lame.all(axis=-1)
    return np.asarray(own[np.where(some, np.argmax(lame, axis=-1), np.argmax(speed, axis=-1))])


def tell(question: str, robot: Robot, step: Array, joint: Array) -> None:
    """Warn of samples that diverged, if there are any."""
    diverged = step >= 0
    if not diverged.any():
        return
    first = int(np.flatnonzero(diverged)[0])
    which = np.unravel_index(first, step.shape)
    name = robot.tree.joint_names[int(joint.flat[first])]
    sample = f"the first is sample {tuple(map(int, which))}: " if step.ndim else ""
    count = f"{int(diverged.sum())} of {step.size} samples" if step.ndim else "the run"
    warn(
        f"{question}: {count} diverged; {sample}after step {int(step.flat[first])}, at joint {name!r} "
        "(see diverged, diverged_step and diverged_joint; a smaller dt may help)",
        DivergenceWarning,
    )
