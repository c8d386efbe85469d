"""What forces exert on links in a step: the wrenches that the step was made with, found from where it led.

A force gives a wrench f and an inertia P at a link, and acts with f − P J a, where a are the accelerations of the step
and J a the share of them in the link's acceleration.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.force_elements import Acting
from catena.algorithms.integrators import advance
from catena.algorithms.points import motions, outside
from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force, Vec3
from catena.sweeps import Field, Links


def exerted_by(all_of_them: Acting, implicit: bool = False) -> Function:
    """What forces exert on links in a step of length dt from (q, v) with accelerations a, and what they remember then.

    Of each link the wrench on it, and a point near which that acts, in the link's frame; zero where there is none. If
    steps are `implicit`, forces that are not stiff are taken where these lead, too; otherwise as at their start.
    """
    acting = all_of_them.only(lambda force: force.at_links)
    stiff, others = acting.only(lambda force: force.stiff), acting.only(lambda force: not force.stiff)
    inputs = {"q": "q", "v": "v", "a": "v", "dt": "robot", **acting.inputs}

    def algorithm(links: Links, q: Field, v: Field, a: Field, dt: Scalar, *given: Any) -> tuple[Field, ...]:
        at = dict(zip(acting.inputs, given, strict=True))
        actions = [*others.during(links, q, v, dt if implicit else 0, at), *stiff.during(links, q, v, dt, at)]
        (wrench, point), (_, A), after = links.fields("wrench point"), motions(links, q, a), advance(links, q, v, a, dt)
        for k in links.base_to_tip():
            found = [x for each in actions if (x := each.at_link(k)) is not None]
            acts = [f if P is None else f - P @ A[k] for f, P in found]
            wrench[k] = k.frame.inv @ sum(acts, start=Force.zero())
            places = [place for each in actions if (place := each.near(k)) is not None]
            point[k] = outside(k.frame, places[0]) if places else Vec3.zero()
        return wrench, point, *[field for each in actions for field in each.remembered(links, after[1])]

    return Function(
        "/".join(["wrenches", *(["implicit"] if implicit else []), *acting.words]),
        algorithm,
        inputs,
        {"wrench": "force", "point": "point", **stiff.memory},
        positive=("dt",),
        regroup=False,
    )
