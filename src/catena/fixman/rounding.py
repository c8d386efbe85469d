"""How exact the result of many operations can be at best."""

from __future__ import annotations

from typing import Any

import numpy as np

_ROUNDINGS = 16
"""No result of many operations is claimed to be more exact than this many units in the last place."""


def rounding(dtype: Any) -> float:
    """The smallest relative error that an estimate may claim."""
    return _ROUNDINGS * float(np.finfo(dtype).eps)
