"""The number type of results, as callers give it."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import UnsupportedError, shown


def checked_dtype(question: str, dtype: Any) -> np.dtype[Any]:
    """The dtype to compute in; UnsupportedError, which names the question, if that cannot be."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except Exception:  # NumPy asks objects of any class for their dtype
        raise UnsupportedError(f"{question}: dtype must be float64 or float32, got {shown(dtype)}") from None
    if found not in (np.float64, np.float32):
        raise UnsupportedError(f"{question}: dtype must be float64 or float32, got {found.name}")
    return found
