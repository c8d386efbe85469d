"""The actuators of MJCF that drive a hinge or a slide, as MuJoCo's compiler has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.model.actuators import Actuator

JOINT = (0, 1)  # mjtTrn: joint, joint in parent
NO_DYNAMICS, FIXED_GAIN, NO_BIAS, AFFINE_BIAS = 0, 0, 0, 1  # mjtDyn, mjtGain, mjtBias
SLIDE, HINGE = 2, 3  # mjtJoint
INF = float("inf")


def actuators(model: Any, joints: Sequence[str]) -> tuple[dict[str, Actuator], int]:
    """The actuators by name, and how many others there are: of tendons, sites and bodies, muscles, with activations."""
    found: dict[str, Actuator] = {}
    for i in range(model.nu):
        if _plain(model, i):
            joint = int(model.actuator_trnid[i, 0])
            name = model.actuator(i).name or joints[joint]
            while name in found:
                name += "_"
            found[name] = _actuator(model, i, joints[joint])
    return found, int(model.nu) - len(found)


def _plain(model: Any, i: int) -> bool:
    kinds = int(model.actuator_dyntype[i]), int(model.actuator_gaintype[i])
    affine = int(model.actuator_biastype[i]) in (NO_BIAS, AFFINE_BIAS)
    if int(model.actuator_trntype[i]) not in JOINT or kinds != (NO_DYNAMICS, FIXED_GAIN) or not affine:
        return False
    numbers = np.r_[model.actuator_gear[i, 0], model.actuator_gainprm[i, 0], model.actuator_biasprm[i, :3]]
    return int(model.jnt_type[model.actuator_trnid[i, 0]]) in (SLIDE, HINGE) and bool(np.isfinite(numbers).all())


def _actuator(model: Any, i: int, joint: str) -> Actuator:
    affine = int(model.actuator_biastype[i]) == AFFINE_BIAS
    bias = [float(b) if affine else 0.0 for b in model.actuator_biasprm[i, :3]]

    def limits(what: str) -> tuple[float, float]:
        if not getattr(model, f"actuator_{what}limited")[i]:
            return -INF, INF
        low, high = map(float, getattr(model, f"actuator_{what}range")[i])
        return low, high

    return Actuator(
        joint,
        float(model.actuator_gear[i, 0]),
        float(model.actuator_gainprm[i, 0]),
        (bias[0], bias[1], bias[2]),
        limits("ctrl"),
        limits("force"),
    )
