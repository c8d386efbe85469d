"""Actuators: which joints are driven, through which gears, and how hard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError, UnknownNameError, UnsupportedError
from catena.model.topology import listed

if TYPE_CHECKING:
    from catena.model.tree import Tree

Array = npt.NDArray[Any]

INF = float("inf")


@dataclass(frozen=True)
class Actuator:
    """What drives one joint of one degree of freedom, as MJCF has it.

    A control u, held within `control_range`, makes the force gain · u + bias₀ + bias₁ · gear · q + bias₂ · gear · v,
    which is held within `force_range`; the torque at the joint is gear times that. A motor has gain 1 and no bias, a
    position servo gain kp and bias (0, −kp, −kv).
    """

    joint: str
    gear: float = 1.0
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_range: tuple[float, float] = (-INF, INF)
    force_range: tuple[float, float] = (-INF, INF)


class Actuators:
    """The actuators of a robot, or some of them, in order: `robot.actuators`, `robot.actuators["hip", "knee"]`.

    Of a model that names none there is one for each joint of one degree of freedom that mimics no other, with the
    joint's name and gear 1. The torque at a joint never exceeds its `effort_limit`.
    """

    def __init__(self, tree: Tree, names: Iterable[str] | None = None) -> None:
        self._tree, self._all = tree, tree.actuators or by_joint(tree)
        self.names = tuple(self._all if names is None else names)
        """The names of the actuators."""
        for name in self.names:
            if name not in self._all:
                raise UnknownNameError(f"there is no actuator {name!r}; the robot has {listed(list(self._all))}")
        number = {joint: i for i, joint in enumerate(tree.joint_names)}
        self.dofs = np.array([tree.v_start[number[each.joint]] for each in self], dtype=np.int64)
        """The degree of freedom that each of them drives, (nu,)."""

    def _check(self) -> None:
        """Refuse several actuators at one joint."""
        if len(set(self.dofs.tolist())) < len(self.dofs):
            twice = [a.joint for i, a in enumerate(self) if self.dofs[i] in self.dofs[:i]]
            raise UnsupportedError(
                f"several actuators drive joint {twice[0]!r}; choose one of them: robot.actuators['name', …]"
            )

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Actuator]:
        return (self._all[name] for name in self.names)

    def __getitem__(self, names: str | Iterable[str]) -> Actuators:
        """Some of them, by name, in that order."""
        return Actuators(self._tree, (names,) if isinstance(names, str) else names)

    def __repr__(self) -> str:
        return f"<{len(self)} actuators: {listed(list(self.names))}>"

    @property
    def lower(self) -> Array:
        """The lower limits of controls, (nu,)."""
        return np.array([each.control_range[0] for each in self], float)

    @property
    def upper(self) -> Array:
        """The upper limits of controls, (nu,)."""
        return np.array([each.control_range[1] for each in self], float)

    def columns(self) -> dict[str, Array]:
        """Their numbers by degree of freedom, (nv,) each; gear 0 where nothing drives."""
        self._check()
        tree = self._tree
        found = {name: np.zeros(tree.nv) for name in DRIVE}
        for i, each in zip(self.dofs.tolist(), self, strict=True):
            numbers = (each.gear, each.gain, *each.bias, *each.control_range, *each.force_range, tree.effort_limit[i])
            for name, number in zip(DRIVE, numbers, strict=True):
                found[name][i] = number
        return found

    def spread(self, controls: npt.ArrayLike) -> Array:
        """Controls (..., nu) at the degrees of freedom that they drive, (..., nv), zeros elsewhere."""
        given = self._controls(controls)
        full = np.zeros((*given.shape[:-1], self._tree.nv), np.result_type(given.dtype, np.float32))
        full[..., self.dofs] = given
        return full

    def _controls(self, controls: npt.ArrayLike) -> Array:
        """Controls as an array (..., nu)."""
        given = np.asarray(controls)
        if given.ndim < 1 or given.shape[-1] != len(self) or given.dtype.kind not in "fiub":
            raise ShapeError(f"controls must be numbers (..., {len(self)}), one for each actuator, got {given.shape}")
        return given

    def torques(self, controls: npt.ArrayLike, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """The torques at all joints.

        Args:
            controls: (..., nu).
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).

        Returns:
            Torques, (..., nv), in N m or N, zeros where nothing drives.
        """
        tree = self._tree
        q_at = np.array([tree.q_start[tree.joint_of(i)] for i in self.dofs], int)
        d = {name: column[self.dofs] for name, column in self.columns().items()}
        u = np.clip(self._controls(controls), d["control_lower"], d["control_upper"])
        length, speed = d["gear"] * np.asarray(q)[..., q_at], d["gear"] * np.asarray(v)[..., self.dofs]
        force = d["gain"] * u + d["bias0"] + d["bias1"] * length + d["bias2"] * speed
        torque = d["gear"] * np.clip(force, d["force_lower"], d["force_upper"])
        return self.spread(np.clip(torque, -d["effort"], d["effort"]))


DRIVE = (
    "gear",
    "gain",
    "bias0",
    "bias1",
    "bias2",
    "control_lower",
    "control_upper",
    "force_lower",
    "force_upper",
    "effort",
)
"""The numbers of an actuator at its degree of freedom."""


def by_joint(tree: Tree) -> Mapping[str, Actuator]:
    """One actuator for each joint of one degree of freedom."""
    driven = np.flatnonzero(np.diff(tree.v_start) == 1)
    return {name: Actuator(name) for i in driven.tolist() if (name := tree.joint_names[i]) not in tree.mimic}
