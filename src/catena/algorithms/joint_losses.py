"""What joints lose to damping and dry friction and what their springs do, alone or inside the dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from catena.algorithms.force_elements import Action, ForceElement
from catena.algorithms.springs import JOINT_SPRINGS, springs_at
from catena.errors import UnsupportedError
from catena.functions.function import Function
from catena.functions.recipes import Ask
from catena.scalars import Scalar, is_zero, sign
from catena.spatial import Dofs
from catena.sweeps import Field, Links


def losses_at(k: Any, v: Dofs) -> Dofs:
    """The torques that the joint of link k loses at the velocity v: damping v + friction sign(v)."""
    losses: Dofs = k.damping * v + k.friction * Dofs([sign(x) for x in v])
    return losses


class AtJoints(NamedTuple):
    """What acts at joints beside the torques: losses, springs, both or neither."""

    losses: bool = False
    springs: bool = False

    @property
    def suffix(self) -> str:
        """What the names of functions end with."""
        return ("/joint_losses" if self.losses else "") + ("/joint_springs" if self.springs else "")

    def taken(self, k: Any, q: Dofs, v: Dofs) -> Dofs:
        """The torques that they take at the joint of link k."""
        taken = Dofs([0] * k.joint_type.nv)
        taken = taken + losses_at(k, v) if self.losses else taken
        return taken + springs_at(k, q) if self.springs else taken


AT_JOINTS = [AtJoints(*chosen) for chosen in product((False, True), repeat=2)]
"""All that there are."""


def joint_losses(links: Links, v: Field) -> Field:
    """The torques that all joints lose at the velocity v. O(n)."""
    (losses,) = links.fields("losses")
    for k in links.base_to_tip():
        losses[k] = losses_at(k, v[k])
    return losses


JOINT_LOSSES = Function("joint_losses", joint_losses, inputs={"v": "v"}, outputs={"tau": "tau"})


@dataclass(frozen=True)
class _Remaining:
    """The torques tau that are left for the dynamics, at each link, after what `taken` takes of them at x."""

    tau: Field
    x: Field
    taken: Callable[[Any, Dofs], Dofs]

    def __getitem__(self, k: Any) -> Dofs:
        remaining: Dofs = self.tau[k] - self.taken(k, self.x[k])
        return remaining


def with_joint_losses(function: Function) -> Function:
    """The same dynamics with joint losses, as one function: they drive against the torques, or have to be driven.

    A `function` that takes torques "tau" beside velocities "v" gets tau less the losses; one that gives "tau", and
    nothing else, gives it with the losses added.
    """
    return _with_torques(function, JOINT_LOSSES, "v", losses_at)


def with_joint_springs(function: Function) -> Function:
    """The same dynamics with the joints' springs, as one function: they take torques, or have to be held."""
    return _with_torques(function, JOINT_SPRINGS, "q", springs_at)


def with_acting(function: Function, losses: bool, springs: bool) -> Function:
    """The same dynamics with what acts at joints beside the torques: losses, springs, both or neither."""
    function = with_joint_losses(function) if losses else function
    return with_joint_springs(function) if springs else function


def _with_torques(function: Function, alone: Function, of: str, taken: Callable[[Any, Dofs], Dofs]) -> Function:
    """The same dynamics where joints take torques by themselves, which depend on the input `of`."""
    names = list(function.inputs)
    if of not in names or ("tau" not in names and list(function.outputs) != ["tau"]):
        raise UnsupportedError(f"{function.name} has no {of}, or no torques, that {alone.name} belong to")
    x, tau = names.index(of), names.index("tau") if "tau" in names else None

    def driven_against(links: Links, *given: Any) -> Any:
        left = [_Remaining(y, given[x], taken) if i == tau else y for i, y in enumerate(given)]
        return function.algorithm(links, *left)

    def to_be_driven(links: Links, *given: Any) -> Any:
        (total,) = links.fields("total")
        torques = function.algorithm(links, *given)
        for k in links.base_to_tip():
            total[k] = torques[k] + taken(k, given[x][k])
        return total

    def by_hand(ask: Ask, *given: Any) -> Any:
        left = [y - ask(alone, given[x]) if i == tau else y for i, y in enumerate(given)]
        return function.recipe(ask, *left) if function.recipe is not None else None

    name = f"{function.name}/{alone.name}"
    if function.recipe is not None and tau is not None:
        algorithm = driven_against if function.sweeps else function.algorithm
        fast = None if function.fast is None else _with_torques(function.fast, alone, of, taken)
        return replace(function, name=name, algorithm=algorithm, recipe=by_hand, fast=fast)
    return replace(function, name=name, algorithm=to_be_driven if tau is None else driven_against)


class _Losing(Action):
    """What joints lose at speeds v, where damping is that of a time `ahead`."""

    def __init__(self, v: Field, ahead: Scalar, friction: bool) -> None:
        self.v, self.ahead, self.friction = v, ahead, friction

    def torques(self, k: Any) -> Dofs | None:
        """−damping v − friction sign(v)."""
        return -(losses_at(k, self.v[k]) if self.friction else k.damping * self.v[k])

    def armature(self, k: Any) -> Dofs | None:
        """h times the damping."""
        return None if is_zero(self.ahead) else k.damping.scaled(self.ahead)


class JointLosses(ForceElement):
    """Damping and dry friction of all joints; without `friction`, damping alone."""

    name, at_links, stiff = "losses", False, False

    def __init__(self, friction: bool = True) -> None:
        self.friction = friction
        self.name = "losses" if friction else "damping"

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """The losses, damping taken after dt."""
        return _Losing(v, dt, self.friction)
