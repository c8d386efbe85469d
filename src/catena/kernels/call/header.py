"""Where things are in the header of a NumPy array, for code that reads it directly.

:func:`catena.kernels.call.layout.python_api` verifies all this on real arrays before such code is used.
"""

from __future__ import annotations

TYPE = 8
"""Offset in bytes of the pointer to the type, as in every object of CPython."""
DATA = 16
"""Offset of the pointer to the elements."""
NDIM = 24
"""Offset of the number of dimensions, 32 bits."""
SHAPE = 32
"""Offset of the pointer to the dimensions."""
DTYPE = 56
"""Offset of the pointer to the dtype."""
FLAGS = 64
"""Offset of the flags, 32 bits."""
HEADER_BYTES = FLAGS + 8
"""Up to and including the flags."""

C_CONTIGUOUS, ALIGNED, WRITEABLE = 1, 256, 1024
"""Flags."""
READABLE = C_CONTIGUOUS | ALIGNED
"""The flags of arrays that kernels can read in place."""
FILLABLE = READABLE | WRITEABLE
"""The flags of arrays that kernels can write to."""
