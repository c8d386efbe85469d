"""Derivatives of dynamics in batches, beside loops over Pinocchio's calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin
from case import Case, Contestant

from cases.batches import BATCH, FEW, GROUP
from peers import Pair


def cases() -> Iterator[Case]:
    """Forward and inverse dynamics, differentiated by q, v and torques or accelerations."""
    for name in ("UR5", "xArm7", "G1"):
        pair = Pair.load(name)
        ours, theirs = pair.states(BATCH)
        data, model = pair.model.createData(), pair.model
        square = np.ix_(pair.order, pair.order)

        def forward(state: Any, model: Any = model, data: Any = data) -> Any:
            pin.computeABADerivatives(model, data, *state)
            return np.array([data.ddq_dq, data.ddq_dv])

        def inverse(state: Any, model: Any = model, data: Any = data) -> Any:
            pin.computeRNEADerivatives(model, data, *state)
            return np.array([data.dtau_dq, data.dtau_dv])

        calls = {
            "forward dynamics derivatives": ("forward", forward, "computeABADerivatives"),
            "inverse dynamics derivatives": ("inverse", inverse, "computeRNEADerivatives"),
        }
        rows = list(zip(*(list(x[:FEW]) for x in theirs), strict=True))
        for question, (which, call, plain) in calls.items():
            ask = getattr(pair.robot, f"{which}_dynamics_derivatives")
            out, run = ask(*ours), getattr(pin, plain)
            here = Contestant(
                lambda ask=ask, out=out, ours=ours: ask(*ours, out=out),
                BATCH,
                lambda out=out: np.array([x[:8] for x in out[:2]]),
            )
            there = Contestant(
                lambda run=run, rows=rows, model=model, data=data: [run(model, data, *row) for row in rows],
                FEW,
                lambda call=call, rows=rows, square=square: np.array(
                    [[x[square] for x in call(row)] for row in rows[:8]]
                ).swapaxes(0, 1),
            )
            yield Case(GROUP, question, name, here, {"Pinocchio": there})
