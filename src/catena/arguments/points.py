"""Points of links and frames as callers give them: one for one frame, or one for each of several."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.arguments.arrays import Port, Signature
from catena.errors import ShapeError


def points(point: Any, count: int, question: str) -> Any:
    """Points of several frames as one array (..., count, 3); a list or tuple of points (..., 3) is stacked."""
    if not isinstance(point, list | tuple):
        return point
    if len(point) != count:
        raise ShapeError(f"{question}: point must hold one point for each of the {count} links, not {len(point)}")
    signature = Signature(question, tuple(Port(f"point[{i}]", (3,)) for i in range(count)), (), np.dtype(float))
    given, batch = signature.arguments(point) if count else ([], ())
    return np.stack([np.broadcast_to(p, (*batch, 3)) for p in given], axis=-2) if given else np.empty((0, 3))
