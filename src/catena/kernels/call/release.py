"""Give back what calls keep for those to come."""

from __future__ import annotations

from catena.kernels.call.results import release_results
from catena.kernels.call.scratch import release_scratch
from catena.kernels.call.threads import end_helpers


def release_memory() -> None:
    """Free the memory that is kept for results and computations to come, and end the helper threads.

    Nothing that you hold is touched, and calls under way go on; later calls get what they need anew. Up to 256 MB are
    kept for results otherwise, and as much for computing as calls have needed at a time.
    """
    release_results()
    release_scratch()
    end_helpers()
