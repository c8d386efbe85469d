"""What joints lose to damping and dry friction, alone or inside the dynamics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from catena.errors import UnsupportedError
from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask
from catena.scalars import sign
from catena.spatial import Dofs
from catena.sweeps import Field, Links


def losses_at(k: Any, v: Dofs) -> Dofs:
    """The torques that the joint of link k loses at the velocity v: damping v + friction sign(v)."""
    losses: Dofs = k.damping * v + k.friction * Dofs([sign(x) for x in v])
    return losses


def joint_losses(links: Links, v: Field) -> Field:
    """The torques that all joints lose at the velocity v. O(n)."""
    (losses,) = links.fields("losses")
    for k in links.base_to_tip():
        losses[k] = losses_at(k, v[k])
    return losses


JOINT_LOSSES = Function("joint_losses", joint_losses, inputs={"v": "v"}, outputs={"tau": "v"})


@dataclass(frozen=True)
class _Remaining:
    """The torques tau that are left for the dynamics, at each link."""

    tau: Field
    v: Field

    def __getitem__(self, k: Any) -> Dofs:
        remaining: Dofs = self.tau[k] - losses_at(k, self.v[k])
        return remaining


def with_joint_losses(function: Function) -> Function:
    """The same dynamics with joint losses, as one function: they drive against the torques, or have to be driven.

    A `function` that takes torques "tau" beside velocities "v" gets tau less the losses; one that gives "tau", and
    nothing else, gives it with the losses added.
    """
    names = list(function.inputs)
    if "v" not in names or ("tau" not in names and list(function.outputs) != ["tau"]):
        raise UnsupportedError(f"{function.name} has no velocities, or no torques, that joint losses belong to")
    v, tau = names.index("v"), names.index("tau") if "tau" in names else None

    def driven_against(links: Links, *given: Any) -> Any:
        left = [_Remaining(x, given[v]) if i == tau else x for i, x in enumerate(given)]
        return function.algorithm(links, *left)

    def to_be_driven(links: Links, *given: Any) -> Any:
        (total,) = links.fields("total")
        torques = function.algorithm(links, *given)
        for k in links.base_to_tip():
            total[k] = torques[k] + losses_at(k, given[v][k])
        return total

    def by_hand(ask: Ask, *given: Any) -> Any:
        left = [x - ask(JOINT_LOSSES, given[v]) if i == tau else x for i, x in enumerate(given)]
        return function.recipe(ask, *left) if function.recipe is not None else None

    name = f"{function.name}/joint_losses"
    if function.recipe is not None and tau is not None:
        algorithm = by_recipe if function.algorithm is by_recipe else driven_against
        return replace(function, name=name, algorithm=algorithm, recipe=by_hand)
    return replace(function, name=name, algorithm=to_be_driven if tau is None else driven_against)
