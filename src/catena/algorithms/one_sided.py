"""Forces that only push: what a step takes where it leads, so far as it may act.

Stiff forces are linear in the accelerations of a step, once it is decided which of them act and how. That is
decided at the start of the step, and again where it leads, so often as :data:`ROUNDS` says. What is then still wrong,
as impacts of trees throw contacts up that were taken to press, is not left to the accelerations: forces are cut to what
may act, and act as they are. So what is exerted is what was found, and within what may act, in every step.

Forces f that press on bodies at points that accelerate by G f, and give way by C f, have with those asked for the
product f·(G + C) f'. The share of f that comes nearest to f' in that norm is at most one, and takes as much of the
energy of what presses as f' would: too much would throw bodies back. It is one where f is what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catena.algorithms.force_elements import Action, Pressed
from catena.algorithms.points import motions
from catena.scalars import maximum, minimum, where
from catena.sweeps import Field, Links

ROUNDS = 1
"""How often it is decided again what acts."""


Solve = Callable[[Sequence[Action]], Field]
"""The accelerations of joints under what resists."""


def settled(links: Links, q: Field, actions: Sequence[Action], solve: Solve) -> tuple[Field, Sequence[Action]]:
    """The accelerations of a step, and what resisted in it.

    Costs what `solve` does, where something is one-sided so often as it is decided what acts, and two sweeps with the
    factors of another.
    """
    a = solve(actions)
    if not any(each.one_sided for each in actions):
        return a, actions
    for _ in range(ROUNDS):
        A = _of_links(links, q, a)
        actions = [each.again(A) for each in actions]
        a = solve(actions)
    A = _of_links(links, q, a)
    pressed: dict[int, Pressed] = {i: each.pressed(A) for i, each in enumerate(actions) if each.one_sided}
    without = solve([each for each in actions if not each.one_sided])
    pushed = solve([pressed.get(i, each) for i, each in enumerate(actions)])
    ends = _of_links(links, q, without), A, _of_links(links, q, pushed)
    found = [each.products(*ends) for each in pressed.values()]
    asked, own = sum((x for x, _ in found), 0.0), sum((x for _, x in found), 0.0)
    share = where(own > 0.0, minimum(maximum(asked / where(own > 0.0, own, 1.0), 0.0), 1.0), 1.0)
    (total,) = links.fields("total")
    for k in links.base_to_tip():
        total[k] = without[k] + (pushed[k] - without[k]).scaled(share)
    acting = [pressed[i].scaled(share) if i in pressed else each for i, each in enumerate(actions)]
    return total, acting


def _of_links(links: Links, q: Field, a: Field) -> Field:
    """What accelerations of joints are on links."""
    return motions(links, q, a)[1]
