"""What laws of resistance exert on links in a step: the wrenches that the step was made with, found from where it led.

A law gives a wrench f and an inertia P at a link, and acts with f − P J a, where a are the accelerations of the step
and J a the share of them in the link's acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from catena.algorithms.points import motions, outside
from catena.algorithms.resistance import Resistance
from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force, Vec3
from catena.sweeps import Field, Links


def exerted_by(laws: Sequence[Resistance]) -> Function:
    """What laws exert on links in a step of length dt from (q, v) with accelerations a, and what they remember then.

    Of each link the wrench on it, and a point near which that acts, in the link's frame; zero where there is none.
    """
    inputs = {"q": "q", "v": "v", "a": "v", "dt": "robot"}
    inputs.update({name: kind for law in laws for name, kind in law.inputs.items()})

    def algorithm(links: Links, q: Field, v: Field, a: Field, dt: Scalar, *more: Any) -> tuple[Field, ...]:
        given = iter(more)
        resisting = [law.during(links, q, v, dt, list(islice(given, len(law.inputs)))) for law in laws]
        (wrench, point), (_, A) = links.fields("wrench point"), motions(links, q, a)
        for k in links.base_to_tip():
            found = [x for each in resisting if (x := each.at_link(k)) is not None]
            wrench[k] = k.frame.inv @ sum((f - P @ A[k] for f, P in found), start=Force.zero())
            places = [place for each in resisting if (place := each.near(k)) is not None]
            point[k] = outside(k.frame, places[0]) if places else Vec3.zero()
        return wrench, point, *[field for each in resisting for field in each.remembered(links, v)]

    return Function(
        "/".join(["wrenches", *[law.name for law in laws]]),
        algorithm,
        inputs,
        {"wrench": "force", "point": "point", **{name: inputs[name] for law in laws for name in law.memory}},
        positive=("dt",),
        regroup=False,
    )
