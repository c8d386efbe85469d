"""How many processors this process may use: those it may run on, and no more than its container's quota of time."""

from __future__ import annotations

import functools
import math
import os
from contextlib import suppress
from pathlib import Path


def processors() -> int:
    """The number of processors that this process can keep busy."""
    affinity = getattr(os, "sched_getaffinity", None)
    may_run_on = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, math.ceil(min(may_run_on, quota())))


@functools.cache
def quota(groups: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> float:
    """How many processors' time the control groups of this process grant it, looked up once; infinity if no limit.

    Threads above the quota are stopped in turns, while others wait for them. A group's limit holds for all groups in
    it, so those above it count too. `groups` and `root` are where Linux keeps them, in version 1 or 2.
    """
    least = math.inf
    with suppress(OSError, ValueError):
        for line in Path(groups).read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            top = Path(root) / controllers
            inside = Path(place.lstrip("/"))
            for folder in (inside, *inside.parents):
                least = min(least, _limit(top / folder))
    return least


def _limit(folder: Path) -> float:
    """The limit of one group: "50000 100000" or "max 100000" in version 2, two files in version 1."""
    with suppress(OSError, ValueError):
        given, period = (folder / "cpu.max").read_text().split()
        return math.inf if given == "max" else int(given) / int(period)
    with suppress(OSError, ValueError):
        given, period = ((folder / f"cpu.cfs_{word}_us").read_text() for word in ("quota", "period"))
        return int(given) / int(period) if int(given) > 0 else math.inf
    return math.inf
