"""Random mechanisms for tests and benchmarks: any joint types, any shape, inertias of real bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.assemble import ROOT_JOINT, UNDIRECTED, WORLD, checked_gravity, starts
from catena.model.axes import axis_frame, unit
from catena.model.joints import BY_NAME, JOINT_TYPES
from catena.model.lie import quaternion_normalized, rotation_matrix
from catena.model.names import Names
from catena.model.numbers import BASES, chosen, count, generator, listed
from catena.model.tree import Tree

Array = npt.NDArray[Any]

MOVING = tuple(joint_type.name for joint_type in JOINT_TYPES if joint_type.nv and joint_type.name != "free")


def random_tree(
    seed: int | np.random.Generator,
    n: int,
    joint_types: str | Sequence[str] = MOVING,
    branching: float = 0.3,
    *,
    base: Literal["fixed", "floating"] = "fixed",
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
    name: str = "random_tree",
) -> Tree:
    """Make a random robot of n links for tests and benchmarks; the same seed gives the same robot.

        robot = catena.random_tree(0, 20, joint_types=["revolute", "prismatic"], branching=0.5)

    `seed` is a number or a NumPy generator. Each joint is of a type drawn from `joint_types` (one name or several; all
    moving types but the free one unless given). `branching` is the probability that a link hangs on a random earlier
    one instead of on its predecessor: 0 makes a chain, 1 a bush. Links measure decimetres and weigh about a kilogram;
    each inertia is that of some cloud of mass, so it is positive definite and obeys the triangle inequality. Joints
    have no limits and no friction. With `base="floating"` the first joint is a free one, "root_joint". `gravity` is 3
    numbers in the base's frame, m/s². Returns the robot. Cost: O(n) time, a few arrays of memory.
    """
    n, codes = count(n), _codes(joint_types)
    if not isinstance(branching, float | int | np.floating) or not 0 <= branching <= 1:
        raise ModelError(f"branching: expected a probability in 0 ... 1, found {shown(branching)}")
    rng, floating = generator(seed), chosen("base", base, BASES) == "floating"
    before = np.arange(-1, n - 1, dtype=np.int64)
    # drawn below i + 1 and lowered by one: any earlier link or the base, which a floating tree has only once
    anywhere = rng.integers(0, np.arange(1, n + 1)) - 1
    if floating:
        anywhere[1:] = np.maximum(anywhere[1:], 0)
    parent = np.where(rng.random(n) < branching, anywhere, before)
    joint_type = rng.choice(codes, n).astype(np.int8)
    if floating:
        joint_type[0] = BY_NAME["free"].code
    nq, nv = (np.array([getattr(t, size) for t in JOINT_TYPES])[joint_type] for size in ("nq", "nv"))
    spread = rng.uniform(-0.2, 0.2, (n, 3, 3))
    second_moment = spread @ np.swapaxes(spread, -1, -2) / 3 + 1e-4 * np.eye(3)
    mass = rng.uniform(0.5, 2.0, n)
    trace = np.trace(second_moment, axis1=1, axis2=2)[:, None, None]
    total_q, total_v = int(nq.sum()), int(nv.sum())
    names = Names("joint{}", n, 1)
    return Tree(
        name=name,
        parent=parent,
        joint_type=joint_type,
        placement_rotation=rotation_matrix(quaternion_normalized(rng.standard_normal((n, 4)))),
        placement_position=rng.uniform(-0.5, 0.5, (n, 3)),
        joint_rotation=_joint_rotations(rng, joint_type),
        pitch=np.where(joint_type == BY_NAME["helical"].code, rng.uniform(-0.2, 0.2, n), 0.0),
        mass=mass,
        com=rng.uniform(-0.2, 0.2, (n, 3)),
        inertia=mass[:, None, None] * (trace * np.eye(3) - second_moment),
        q_start=starts(nq),
        v_start=starts(nv),
        lower=np.full(total_q, -np.inf),
        upper=np.full(total_q, np.inf),
        velocity_limit=np.full(total_v, np.inf),
        effort_limit=np.full(total_v, np.inf),
        damping=np.zeros(total_v),
        friction=np.zeros(total_v),
        armature=np.zeros(total_v),
        gravity=checked_gravity(gravity),
        link_names=Names("link{}", n, 1),
        joint_names=(ROOT_JOINT, *names[:-1]) if floating else names,
        base_name=WORLD if floating else "base",
    )


def _joint_rotations(rng: np.random.Generator, joint_type: Array) -> Array:
    frames = axis_frame(unit(rng.standard_normal((len(joint_type), 3))))
    frames[np.isin(joint_type, [BY_NAME[name].code for name in UNDIRECTED])] = np.eye(3)
    return frames


def _codes(joint_types: str | Sequence[str]) -> list[int]:
    wanted = [joint_types] if isinstance(joint_types, str) else listed("joint_types", joint_types)
    for name in wanted:
        if not isinstance(name, str) or name not in BY_NAME or name == "fixed":
            raise ModelError(f"joint_types: expected names out of {', '.join(MOVING)}, free; found {shown(name)}")
    if not wanted:
        raise ModelError("joint_types: expected at least one, found none")
    return [BY_NAME[name].code for name in wanted]
