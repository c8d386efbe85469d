"""New trees from old ones, with other numbers: parameters, joint losses, rotors, springs, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, ShapeError, shown
from catena.model.tree import Tree
from catena.parameters import inertial as bodies
from catena.parameters.record import OF_JOINTS, Parameters

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def with_parameters(tree: Tree, record: Parameters) -> Tree:
    """The tree with the numbers of a record; links whose ten numbers did not change keep theirs to the last bit."""
    mass, com, inertia = bodies.body(np.array(record.inertial))
    same = (record.inertial == Parameters.of(tree).inertial).all(axis=-1)
    fields: dict[str, Any] = {
        "mass": np.where(same, tree.mass, mass),
        "com": np.where(same[:, None], tree.com, com),
        "inertia": np.where(same[:, None, None], tree.inertia, inertia),
        **{name: np.array(getattr(record, name)) for name in (*OF_JOINTS, "gravity")},
    }
    return replace(tree, **fields)


def with_joints(robot: Robot, limits: Any = None, **given: Any) -> Tree:
    """The robot's tree with other numbers of its joints; each is one for all, one for each, or a mapping."""
    tree = robot.tree
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None:
            fields[name] = numbers = _spread(robot, name, value, np.array(getattr(tree, name)), "v_slice")
            _check(tree, name, numbers)
    if given.get("stiffness") is not None or given.get("rest") is not None:
        fields["strain"] = _strain(tree, fields)
    if limits is not None:
        fields["lower"], fields["upper"] = _limits(robot, limits)
    return replace(tree, **fields)


def _strain(tree: Tree, fields: Mapping[str, Array]) -> Array:
    """What springs hold at rest: nothing in a joint that was given another spring."""
    own = np.repeat(np.arange(tree.n), np.diff(tree.v_start))
    new = np.zeros(tree.n, dtype=bool)
    for name in ("stiffness", "rest"):
        new[own[fields.get(name, getattr(tree, name)) != getattr(tree, name)]] = True
    return np.where(new, 0.0, tree.strain)


def _limits(robot: Robot, limits: Any) -> tuple[Array, Array]:
    """Lower and upper limits of all coordinates, from a pair, or from a mapping of joints to pairs."""
    lower, upper = np.array(robot.lower), np.array(robot.upper)
    pairs = limits.items() if isinstance(limits, Mapping) else [(None, limits)]
    for joint, pair in pairs:
        try:
            low, high = pair
        except Exception:  # whatever somebody's object raises
            whose = "" if joint is None else f" of joint {joint!r}"
            raise ShapeError(f"limits{whose} must be a pair (lower, upper), got {shown(pair)}") from None
        lower = _spread(robot, "limits", low if joint is None else {joint: low}, lower, "q_slice")
        upper = _spread(robot, "limits", high if joint is None else {joint: high}, upper, "q_slice")
    for i in np.flatnonzero(~(lower <= upper)).tolist():
        name = robot.tree.joint_names[int(np.searchsorted(robot.tree.q_start, i, side="right")) - 1]
        raise ModelError(
            f"joint {name!r}: expected lower limits not above upper ones, found {lower[i]:g} and {upper[i]:g}",
            joint=name,
        )
    return lower, upper


def _spread(robot: Robot, name: str, value: Any, known: Array, part: str) -> Array:
    """One number for each entry of `known`: from a mapping of joints, which leaves the others, or from an array."""
    if not isinstance(value, Mapping):
        return np.array(np.broadcast_to(_numbers(name, value, known.shape), known.shape))
    result: Array = known.copy()
    for joint, numbers in value.items():
        place = getattr(robot.joint(joint), part)
        if place.start == place.stop:
            own = robot.joint(joint).name
            raise ModelError(
                f"{name} of joint {own!r}: it mimics {robot.tree.mimic[own].master!r} and has none of its own; give "
                "that one what both have",
                joint=own,
            )
        result[place] = _numbers(f"{name} of joint {robot.joint(joint).name!r}", numbers, result[place].shape)
    return result


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except Exception:  # whatever the conversion of somebody's object raises
        array = np.full(1, np.nan)
    if array.shape not in ((), shape) or np.isnan(array).any():
        raise ShapeError(f"{name} must be one number or {shape[0]}, got {shown(value)}")
    return array


def _check(tree: Tree, name: str, numbers: Array) -> None:
    expected = "a finite number" if name == "rest" else "zero or more"
    right = ((numbers >= 0) | (name == "rest")) & (np.isfinite(numbers) | name.endswith("limit"))
    for i in np.flatnonzero(~right).tolist():
        joint = tree.joint_names[tree.joint_of(i)]
        raise ModelError(f"joint {joint!r}: expected {name} of {expected}, found {numbers[i]:g}", joint=joint)
