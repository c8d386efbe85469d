"""Timing that survives a noisy machine: candidates take turns in one process, whose own time is measured."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

TURN = 0.02
"""Seconds that a turn takes at least."""
FINE = time.get_clock_info("process_time").resolution < 1e-6
clock = time.process_time if FINE else time.perf_counter
"""Seconds that this process has computed, where the system counts finely: what other programs do is left out."""


def in_turns(
    candidates: Mapping[str, Callable[[], object]], seconds: float = 1.0, repeats: int = 1, least: int = 5
) -> dict[str, list[float]]:
    """Seconds for one call of each candidate, turn by turn, which all take in rotation, to and fro.

    A turn is `repeats` calls, or as many more as fill :data:`TURN`, so that a quick candidate does not find every cache
    filled by a slow one each time. There are `least` turns or more, until `seconds` for each candidate have passed.
    Python collects no garbage meanwhile.
    """
    for run in candidates.values():
        run()  # what is done only once is done
    counts = {name: max(repeats, int(TURN / _once(run, 1))) for name, run in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    order, start = list(candidates), time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        while len(times[order[0]]) < least or time.perf_counter() - start < seconds * len(candidates):
            for name in order:
                times[name].append(_once(candidates[name], counts[name]))
            order.reverse()
    finally:
        gc.enable()
    return times


def _once(run: Callable[[], object], count: int) -> float:
    """Seconds for a call, over so many calls after another."""
    begin = clock()
    for _ in range(count):
        run()
    return max(clock() - begin, 1e-9) / count


def best(candidates: Mapping[str, Callable[[], object]], seconds: float = 1.0, repeats: int = 1) -> dict[str, float]:
    """Seconds for one call of each candidate: the best of its turns."""
    return {name: min(times) for name, times in in_turns(candidates, seconds, repeats).items()}


def table(title: str, head: list[str], rows: list[list[object]]) -> None:
    """Print rows under a head, as Markdown."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(x if isinstance(x, str) else f"{x:.3g}" for x in row) + " |", flush=True)
