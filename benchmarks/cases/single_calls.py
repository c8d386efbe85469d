"""One state in a call from Python: what control loops do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin
from case import Case, Contestant

from peers import Drake, Pair, have

GROUP = "one state"


def cases() -> Iterator[Case]:
    """Forward and inverse dynamics and a Jacobian, beside Pinocchio's calls and Drake's."""
    for name in ("UR5", "xArm7", "G1", "Talos"):
        pair = Pair.load(name)
        ours, theirs = ([x[0].copy() for x in state] for state in pair.states(1))
        robot, model, data, order = pair.robot, pair.model, pair.model.createData(), pair.order
        link, frame = pair.tip, model.getFrameId(pair.tip)
        asked: dict[str, tuple[Any, Any, Any]] = {
            "forward dynamics": (
                lambda robot=robot, ours=ours: robot.forward_dynamics(*ours),
                lambda model=model, data=data, theirs=theirs: pin.aba(model, data, *theirs),
                lambda x, order=order: x[order],
            ),
            "inverse dynamics": (
                lambda robot=robot, ours=ours: robot.inverse_dynamics(*ours),
                lambda model=model, data=data, theirs=theirs: pin.rnea(model, data, *theirs),
                lambda x, order=order: x[order],
            ),
            "Jacobian": (
                lambda robot=robot, ours=ours, link=link: robot.jacobian(ours[0], link),
                lambda model=model, data=data, theirs=theirs, frame=frame: pin.computeFrameJacobian(
                    model, data, theirs[0], frame, pin.LOCAL
                ),
                lambda J, order=order: J[np.r_[3:6, 0:3]][:, order],
            ),
        }
        for question, (ask, call, ordered) in asked.items():
            peers = {"Pinocchio": Contestant(call, 1, lambda call=call, ordered=ordered: ordered(np.array(call())))}
            if question == "forward dynamics" and have("pydrake"):
                drake = Drake(pair, *ours)
                peers["Drake"] = Contestant(drake.accelerations, 1, drake.accelerations)
            yield Case(GROUP, question, name, Contestant(ask, 1, ask), peers)
